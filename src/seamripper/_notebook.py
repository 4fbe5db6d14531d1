"""How results look in a notebook: short tables of escaped HTML, and figures of matplotlib.

The HTML has no script, asks for nothing from elsewhere, and takes its colours from the notebook's theme. matplotlib is
imported when a figure is asked for, and pyplot never: no window, and nothing that other figures could notice.
"""

from __future__ import annotations

import functools
import html
import io
import math
import statistics
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, NewType, Protocol, runtime_checkable

from seamripper._words import need

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Html = NewType("Html", str)
"""Text in which all that came from outside is escaped."""

_NAME, _SENTENCE = 200, 1000
"""Letters that are shown of a name and of a sentence, whatever a file says."""
_BLUE, _ORANGE = "#0072b2", "#d55e00"
"""Of Okabe and Ito 2008: the colour-blind can tell them apart."""
_CARD = "border:1px solid rgba(128,128,128,.4);border-radius:4px;padding:.6em .8em;margin:.3em 0;overflow-x:auto"
_CELL = "text-align:left;vertical-align:top;padding:.15em .8em .15em 0"
_FIGURE = "padding:.15em .5em"


@runtime_checkable
class Interval(Protocol):
    """A figure with its interval: an estimate, or a score."""

    @property
    def value(self) -> float:
        """The figure."""

    @property
    def low(self) -> float:
        """The lower end, NaN if there is no interval."""

    @property
    def high(self) -> float:
        """The upper end."""


# ---- words and HTML


def told(value: object) -> str:
    """A figure or a word as a reader wants it.

    >>> told(0.123456), told(None), told(math.nan), told(12000), told(True)
    ('0.1235', '–', '–', '12,000', 'yes')
    """
    if isinstance(value, Interval):
        within = _finite(value.low, value.high)
        return told(value.value) + (f" [{told(value.low)}, {told(value.high)}]" if within else " (no interval)")
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
    """What is known, a line each: its name, and the value."""
    lines = (
        f'<tr><th style="{_CELL};font-weight:normal;opacity:.65">{_escaped(short(str(name)))}</th>'
        f'<td style="{_CELL}">{_escaped(value)}</td></tr>'
        for name, value in rows
    )
    return Html(f'<table style="border-collapse:collapse">{"".join(lines)}</table>')


def table(columns: Sequence[str], rows: Sequence[Sequence[object]], *, shades: Sequence[Sequence[float]] = ()) -> Html:
    """A table whose first column is names; `shades` are 0 … 1 for the other cells, which are figures then."""
    head = "".join(
        f'<th style="{_FIGURE if shades and k else _CELL}">{_escaped(short(c))}</th>' for k, c in enumerate(columns)
    )
    lines = []
    for k, (name, *cells) in enumerate(rows):
        styles = [_shaded(share) for share in shades[k]] if shades else [_CELL] * len(cells)
        drawn = (f'<td style="{style}">{_escaped(cell)}</td>' for style, cell in zip(styles, cells, strict=True))
        first = f'<th style="{_CELL};font-weight:normal">{_escaped(short(str(name)))}</th>'
        lines.append(f'<tr style="text-align:right">{first}{"".join(drawn)}</tr>')
    return Html(f'<table style="border-collapse:collapse;margin-top:.3em"><tr>{head}</tr>{"".join(lines)}</table>')


def card(title: str, *parts: Html) -> Html:
    """A frame with a title around parts that the functions above have made."""
    return Html(f'<div style="{_CARD}"><div style="font-weight:600">{_escaped(title)}</div>{"".join(parts)}</div>')


def _escaped(value: object) -> str:
    text = told(value)
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


# ---- figures


def draw_curves(title: str, lines: Mapping[str, Sequence[float]], *, x: str) -> Figure:
    """Lines over steps; of a long one the values are faint, and means over blocks of steps are drawn through them."""
    figure, axes = _axes(7, 4, title)
    handles = []
    for name, values in lines.items():
        long = len(values) > 2 * _BLOCKS
        (drawn,) = axes.plot(range(1, len(values) + 1), values, alpha=0.3 if long else 1, linewidth=1 if long else 1.8)
        if long:
            (drawn,) = axes.plot(*zip(*_blocks(values), strict=True), color=drawn.get_color(), linewidth=1.8)
        handles.append((drawn, f" {_plain(name)}"))  # a label that begins with "_" would be left out
    known = [v for values in lines.values() for v in values if math.isfinite(v)]
    if known and min(known) > 0 and max(known) > 30 * min(known):
        axes.set_yscale("log")
    axes.set_xlabel(_plain(x))
    if len(handles) == 1:
        axes.set_ylabel(handles[0][1])
    else:
        axes.legend(*zip(*handles, strict=True), frameon=False)
    return figure


_BLOCKS = 40


def _blocks(values: Sequence[float]) -> Iterator[tuple[float, float]]:
    """(the middle step, the mean) of blocks of steps."""
    size = math.ceil(len(values) / _BLOCKS)
    for start in range(0, len(values), size):
        part = values[start : start + size]
        known = [v for v in part if math.isfinite(v)]
        yield start + (len(part) + 1) / 2, statistics.fmean(known) if known else math.nan


def draw_bars(title: str, values: Mapping[str, float], *, x: str) -> Figure:
    """A bar for each figure, with its value written beside it."""
    figure, axes = _axes(7, 1.3 + 0.45 * len(values), title)
    drawn = axes.barh(range(len(values)), list(values.values()), color=_BLUE, height=0.6)
    axes.bar_label(drawn, labels=[told(v) for v in values.values()], padding=4)
    _names(axes, "y", list(values))
    axes.invert_yaxis()
    axes.margins(x=0.15)
    axes.set_xlabel(_plain(x))
    return figure


def draw_strip(title: str, observed: Interval, groups: Mapping[str, Sequence[Interval]], *, x: str) -> Figure:
    """The figures of each control in a row of its own, around the observed one, all with their intervals."""
    rows: list[tuple[str, Sequence[Interval]]] = [("observed", (observed,)), *groups.items()]
    figure, axes = _axes(7, 1.6 + 0.45 * len(rows), title)
    if math.isfinite(observed.value):
        axes.axvline(observed.value, color=_ORANGE, linewidth=1, zorder=1)
    if _finite(observed.low, observed.high):
        axes.axvspan(observed.low, observed.high, color=_ORANGE, alpha=0.12, linewidth=0, zorder=0)
    for k, (_, each) in enumerate(rows):
        for j, one in enumerate(each):
            # Side by side in their row, or the intervals of several seeds would hide each other.
            _mark(axes, one, k + 0.6 * ((j + 0.5) / len(each) - 0.5), _BLUE if k else _ORANGE)
    _names(axes, "y", [name for name, _ in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlabel(_plain(x))
    return figure


def draw_scale(title: str, one: Interval, ends: tuple[float, float], *, x: str, itself: float | None = None) -> Figure:
    """A figure with its interval on a scale; an end that is not finite is put beyond the figure. `itself` is marked."""
    figure, axes = _axes(7, 1.9, title)
    known = [v for v in (one.value, one.low, one.high) if math.isfinite(v)] or [0.0]
    room = 0.15 * (max(known) - min(known)) or 0.15 * abs(known[0]) or 1.0
    low = min(ends[0] if math.isfinite(ends[0]) else min(known) - room, *known)
    high = max(ends[1] if math.isfinite(ends[1]) else max(known) + room, *known)
    edge = 0.02 * (high - low)
    axes.set_xlim(low - edge, high + edge)
    if itself is not None and low <= itself <= high:
        axes.axvline(itself, color="0.5", linestyle=":")
        side = "right" if itself > (low + high) / 2 else "left"
        axes.text(itself, 0.92, " of itself ", ha=side, va="top", color="0.4", transform=axes.get_xaxis_transform())
    _mark(axes, one, 0, _BLUE)
    axes.set_ylim(-1, 1)
    axes.set_yticks([])
    axes.set_xlabel(_plain(x))
    return figure


def draw_matrix(
    title: str,
    names: tuple[Sequence[str], Sequence[str]],
    values: Sequence[Sequence[float]],
    *,
    ends: tuple[float, float],
    label: str,
    bright: str = "high",
    marked: Iterable[tuple[int, int]] = (),
) -> Figure:
    """A matrix in the colours of cividis, from dark to bright, with some cells outlined; few cells tell values."""
    high, wide = len(names[0]), len(names[1])
    # Room for the cells and for the names, which are slanted below.
    below = 0.05 * max((len(short(name, 28)) for name in names[1]), default=0)
    figure, axes = _axes(min(3.5 + 0.55 * wide, 13), max(3.6, min(1.5 + 0.45 * high, 11)) + below, title)
    colours = need("matplotlib", extra="report", what="A plot").colormaps[
        "cividis" if bright == "high" else "cividis_r"
    ]
    low, top = ends if ends[0] < ends[1] else (ends[0] - 0.5, ends[1] + 0.5)
    image = axes.imshow(values, cmap=colours.with_extremes(bad="0.85"), vmin=low, vmax=top, aspect="auto")
    figure.colorbar(image, ax=axes, label=_plain(short(label, 40)))
    patches = need("matplotlib.patches", extra="report", what="A plot")
    for i, j in marked:
        outline = patches.Rectangle((j - 0.5, i - 0.5), 1, 1, fill=False, edgecolor=_ORANGE, linewidth=1.6)
        axes.add_patch(outline)
    if max(high, wide) <= _WRITTEN:
        _write_values(axes, image, values)
    _names(axes, "y", names[0])
    _names(axes, "x", names[1], rotation=45, ha="right", rotation_mode="anchor")
    axes.set_ylabel("sender's cut")
    axes.set_xlabel("receiver's cut")
    return figure


_WRITTEN = 12
"""Rows or columns of a matrix whose cells still have room for their values."""


def _write_values(axes: Any, image: Any, values: Sequence[Sequence[float]]) -> None:
    for i, row in enumerate(values):
        for j, value in enumerate(row):
            red, green, blue, _ = image.to_rgba(value) if math.isfinite(value) else (1, 1, 1, 1)
            ink = "black" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "white"
            text = "–" if not math.isfinite(value) else f"{value:.2f}" if abs(value) < 100 else f"{value:.2g}"
            axes.text(j, i, text, ha="center", va="center", color=ink, fontsize=8)


def draw_words(title: str, sentence: str) -> Figure:
    """A figure that says why there is nothing to be drawn."""
    figure, axes = _axes(7, 1.6, title)
    axes.set_axis_off()
    axes.text(0.5, 0.5, _wrapped(sentence, 12), ha="center", va="center", transform=axes.transAxes)
    return figure


def _axes(wide: float, high: float, title: str) -> tuple[Figure, Any]:
    figure = need("matplotlib.figure", extra="report", what="A plot").Figure(figsize=(wide, high), layout="constrained")
    # A notebook shows figures by itself only once pyplot was imported; this one shows itself.
    figure._repr_png_ = functools.partial(_png, figure)
    axes = figure.add_subplot()
    # The figure's and not the axes', which long names beside them make narrow.
    figure.suptitle(_wrapped(title, 4, wide=int(11 * wide)), fontsize=10, x=0.01, ha="left")
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _png(figure: Any) -> bytes:
    file = io.BytesIO()
    figure.savefig(file, format="png")
    return file.getvalue()


def _mark(axes: Any, one: Interval, at: float, colour: str) -> None:
    if _finite(one.low, one.high):
        axes.plot([one.low, one.high], [at, at], color=colour, linewidth=1.5, alpha=0.6, solid_capstyle="butt")
    if math.isfinite(one.value):
        axes.plot([one.value], [at], "o", color=colour, markersize=5)


def _names(axes: Any, axis: str, names: Sequence[str], **style: Any) -> None:
    """The names beside an axis, or so many of them as can be read."""
    shown = spread_out(len(names), 40)
    getattr(axes, f"set_{axis}ticks")(shown, labels=[_plain(short(names[k], 28)) for k in shown], fontsize=8, **style)


def _plain(text: str) -> str:
    """Text that matplotlib draws as it is: a dollar sign is no formula, and a line is a line."""
    return " ".join(text.split()).replace("$", r"\$")


def _wrapped(text: str, most: int, *, wide: int = 80) -> str:
    # Wrapped first: a break must not come between a dollar sign and what makes it plain.
    return "\n".join(_plain(part) for part in textwrap.wrap(text, wide)[:most])


def _finite(*values: float) -> bool:
    return all(math.isfinite(value) for value in values)
