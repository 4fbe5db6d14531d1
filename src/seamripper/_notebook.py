"""How results look in a notebook: short tables of escaped HTML.

The HTML has no script, requests nothing, and takes its colours from the notebook's theme.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, NewType

from seamripper.figures import Interval

Html = NewType("Html", str)
"""Text in which all that came from outside is escaped."""

_NAME, _SENTENCE = 200, 1000
"""Letters that are shown of a name and of a sentence, whatever a file says."""
_CARD = "border:1px solid rgba(128,128,128,.4);border-radius:4px;padding:.6em .8em;margin:.3em 0;overflow-x:auto"
_CELL = "text-align:left;vertical-align:top;padding:.15em .8em .15em 0"
_FIGURE = "padding:.15em .5em"


def text_of(value: object) -> str:
    """A value as a reader wants it.

    >>> text_of(0.123456), text_of(None), text_of(math.nan), text_of(12000), text_of(True)
    ('0.1235', '–', '–', '12,000', 'yes')
    """
    if isinstance(value, Interval):
        ends = f" [{text_of(value.low)}, {text_of(value.high)}]" if value.has_interval else " (no interval)"
        return text_of(value.value) + ends
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def short(text: str, longest: int = _NAME) -> str:
    """The text, or its end: what tells layers and files apart stands there.

    >>> short("stages.2.blocks.1", 10)
    '….blocks.1'
    """
    return text if len(text) <= longest else f"…{text[1 - longest :]}"


def one_line(text: str) -> str:
    """The text without its line breaks, which a name from outside may have.

    >>> one_line("a net\\nof mine")
    'a net of mine'
    """
    return " ".join(text.split())


def choice(chosen: Any) -> str:
    """A stitch or a matching by name, with those options that are not the default.

    >>> from seamripper.stitches.low_rank import LowRank
    >>> choice(LowRank(rank=3))
    'low_rank (rank=3)'
    """
    options = ", ".join(_changed(chosen))
    return f"{chosen.name} ({options})" if options else str(chosen.name)


def _changed(chosen: Any, usual: Any = None) -> Iterator[str]:
    for field in fields(chosen):
        value = getattr(chosen, field.name)
        default = field.default if usual is None else getattr(usual, field.name)
        if repr(value) == repr(default):
            continue
        if is_dataclass(value):
            yield from _changed(value, default if type(default) is type(value) else None)
        else:
            yield f"{field.name}={value}"


def line(text: str, *, faint: bool = False) -> Html:
    """A sentence."""
    style = "margin-top:.3em" + (";opacity:.65" if faint else "")
    return Html(f'<div style="{style}">{_escaped(text)}</div>')


def facts(rows: Iterable[tuple[str, object]]) -> Html:
    """Names and values, one line each."""
    lines = (
        f'<tr><th style="{_CELL};font-weight:normal;opacity:.65">{_escaped(short(str(name)))}</th>'
        f'<td style="{_CELL}">{_escaped(value)}</td></tr>'
        for name, value in rows
    )
    return Html(f'<table style="border-collapse:collapse">{"".join(lines)}</table>')


def table(columns: Sequence[str], rows: Sequence[Sequence[object]], *, shades: Sequence[Sequence[float]] = ()) -> Html:
    """A table whose first column holds names; `shades`, from 0 to 1, colour the other cells, which are numbers then."""
    head = "".join(
        f'<th style="{_FIGURE if shades and k else _CELL}">{_escaped(short(c))}</th>' for k, c in enumerate(columns)
    )
    lines = []
    for k, (name, *cells) in enumerate(rows):
        styles = [_shaded(share) for share in shades[k]] if shades else [_CELL] * len(cells)
        filled = (f'<td style="{style}">{_escaped(cell)}</td>' for style, cell in zip(styles, cells, strict=True))
        first = f'<th style="{_CELL};font-weight:normal">{_escaped(short(str(name)))}</th>'
        lines.append(f'<tr style="text-align:right">{first}{"".join(filled)}</tr>')
    return Html(f'<table style="border-collapse:collapse;margin-top:.3em"><tr>{head}</tr>{"".join(lines)}</table>')


def card(title: str, *parts: Html) -> Html:
    """A frame with a title around parts that the functions above return."""
    return Html(f'<div style="{_CARD}"><div style="font-weight:600">{_escaped(title)}</div>{"".join(parts)}</div>')


def _escaped(value: object) -> str:
    text = text_of(value)
    return html.escape(text if len(text) <= _SENTENCE else f"{text[: _SENTENCE - 1]}…")


def _shaded(share: float) -> str:
    # Half transparent at most, so that the theme's own ink can be read on it, be that dark or light.
    return _FIGURE if math.isnan(share) else f"{_FIGURE};background:rgba(0,114,178,{0.04 + 0.5 * share:.2f})"


def spread_out(n: int, most: int) -> list[int]:
    """At most so many of 0 … n − 1, the first and the last among them.

    >>> spread_out(3, 5), spread_out(9, 5)
    ([0, 1, 2], [0, 2, 4, 6, 8])
    """
    return list(range(n)) if n <= most else [round(k * (n - 1) / (most - 1)) for k in range(most)]
