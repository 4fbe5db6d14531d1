"""How results look in a notebook: short tables of escaped HTML.

The HTML has no script, requests nothing, and takes its colours from the notebook's theme.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, NewType

from seamripper.figures import Interval

Html = NewType("Html", str)
"""Text in which everything from outside is escaped."""

_NAME, _SENTENCE = 200, 1000
"""How many characters of a name and of a sentence are shown, whatever a file says."""
_FOLDERS = re.compile(r"(?:^|(?<=[:=\s'\"]))/(?:[^/\s?]+/)+")
"""The folders of an absolute path."""
_CARD = "border:1px solid rgba(128,128,128,.4);border-radius:4px;padding:.6em .8em;margin:.3em 0;overflow-x:auto"
_CELL = "text-align:left;vertical-align:top;padding:.15em .8em .15em 0"
_FIGURE = "padding:.15em .5em"


def text_of(value: object) -> str:
    """A value as a table shows it.

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
    """The text, or only its end if it is long: the end tells layers and files apart. Of absolute paths it has names.

    >>> short("stages.2.blocks.1", 10), short("/home/me/runs/digit-0.safetensors"), short("hf:/data/lm/gpt2?head=lm")
    ('….blocks.1', 'digit-0.safetensors', 'hf:gpt2?head=lm')
    """
    # A notebook is sent to others, whom the folders of this machine do not concern.
    text = _FOLDERS.sub("", text)
    return text if len(text) <= longest else f"…{text[1 - longest :]}"


def one_line(text: str) -> str:
    """The text without line breaks, which a name from outside may contain.

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
    options = ", ".join(_set_options(chosen))
    return f"{chosen.name} ({options})" if options else str(chosen.name)


def _set_options(chosen: Any, usual: Any = None) -> Iterator[str]:
    for field in fields(chosen):
        value = getattr(chosen, field.name)
        default = field.default if usual is None else getattr(usual, field.name)
        if repr(value) == repr(default):
            continue
        if is_dataclass(value):
            yield from _set_options(value, default if type(default) is type(value) else None)
        else:
            yield f"{field.name}={value}"


def line(text: str, *, faint: bool = False) -> Html:
    """A sentence."""
    style = "margin-top:.3em" + (";opacity:.65" if faint else "")
    return Html(f'<div style="{style}">{_escape(text)}</div>')


def facts(rows: Iterable[tuple[str, object]]) -> Html:
    """Names and values, one line each."""
    lines = (
        f'<tr><th style="{_CELL};font-weight:normal;opacity:.65">{_escape(short(str(name)))}</th>'
        f'<td style="{_CELL}">{_escape(value)}</td></tr>'
        for name, value in rows
    )
    return Html(f'<table style="border-collapse:collapse">{"".join(lines)}</table>')


def table(columns: Sequence[str], rows: Sequence[Sequence[object]], *, shades: Sequence[Sequence[float]] = ()) -> Html:
    """A table whose first column holds names; `shades`, from 0 to 1, colour the other cells, which are then numbers."""
    head = "".join(
        f'<th style="{_FIGURE if shades and k else _CELL}">{_escape(short(c))}</th>' for k, c in enumerate(columns)
    )
    lines = []
    for k, (name, *cells) in enumerate(rows):
        styles = [_shade(share) for share in shades[k]] if shades else [_CELL] * len(cells)
        filled = (f'<td style="{style}">{_escape(cell)}</td>' for style, cell in zip(styles, cells, strict=True))
        first = f'<th style="{_CELL};font-weight:normal">{_escape(short(str(name)))}</th>'
        lines.append(f'<tr style="text-align:right">{first}{"".join(filled)}</tr>')
    return Html(f'<table style="border-collapse:collapse;margin-top:.3em"><tr>{head}</tr>{"".join(lines)}</table>')


def card(title: str, *parts: Html) -> Html:
    """A frame with a title around parts that the functions above return."""
    return Html(f'<div style="{_CARD}"><div style="font-weight:600">{_escape(title)}</div>{"".join(parts)}</div>')


def _escape(value: object) -> str:
    text = text_of(value)
    return html.escape(text if len(text) <= _SENTENCE else f"{text[: _SENTENCE - 1]}…")


def _shade(share: float) -> str:
    # At most half opaque, so that the theme's own text colour, dark or light, stays readable.
    return _FIGURE if math.isnan(share) else f"{_FIGURE};background:rgba(0,114,178,{0.04 + 0.5 * share:.2f})"


def spread_out(n: int, most: int) -> list[int]:
    """At most this many of 0 … n − 1, the first and the last among them.

    >>> spread_out(3, 5), spread_out(9, 5)
    ([0, 1, 2], [0, 2, 4, 6, 8])
    """
    return list(range(n)) if n <= most else [round(k * (n - 1) / (most - 1)) for k in range(most)]
