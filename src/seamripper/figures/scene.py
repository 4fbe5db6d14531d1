"""The one renderer: a figure becomes a scene of primitive marks, which `svg` and `paper` draw alike."""

from __future__ import annotations

import functools
import math
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from seamripper.figures.colours import LINES, ink, shade
from seamripper.figures.values import Figure, Grid, Histogram, Interval, Lines, Pictures, Series, Strip, Words, describe

_WIDE, _HIGH = 640, 320
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 16, 12, 52
_LETTER = 6.6
"""The width of a letter."""
_LABEL = 22
"""Letters of a name that fit below an axis."""
_DOTS = 60
"""A line of more points is drawn without dots."""
Shape = Literal["line", "polyline", "polygon", "rect", "circle", "text", "image"]
Points = tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Mark:
    """A primitive shape. `points` are its corners: of a rectangle two, of a circle or a text its place."""

    shape: Shape
    points: Points
    role: str
    """What it is in the figure: see `colours.ROLES`, which says how that looks."""
    colour: str = ""
    """A colour, or the name of one in `colours.GROUND`, or nothing for that of the role."""
    hover: str = ""
    """The sentence for whoever points at it."""
    text: str = ""
    """Of a text, and within a rectangle."""
    key: str = ""
    """What a click on it opens."""
    anchor: Literal["start", "middle", "end"] = "start"
    turn: float = 0.0
    """Degrees by which a text is turned, clockwise."""
    dashed: bool = False
    png: bytes = field(default=b"", repr=False)


@dataclass(frozen=True)
class Scene:
    """Marks on a ground of so many pixels, and the names of a legend with a mark of 30 × 14 pixels each."""

    width: float
    height: float
    marks: tuple[Mark, ...]
    legend: tuple[tuple[str, tuple[Mark, ...]], ...] = ()
    title: str = ""
    about: str = ""
    """The figure in words."""
    grows: bool = False
    """Whether it may be drawn a bit wider than it is."""


def scene(figure: Figure) -> Scene:
    """The scene of a figure; a table has none."""
    return replace(_scene(figure), title=figure.title, about=describe(figure))


@functools.singledispatch
def _scene(figure: Figure) -> Scene:
    raise TypeError(f"A figure of the kind {figure.kind!r} is not drawn.")


def standalone(scene: Scene) -> Scene:
    """The scene with its title above and its legend below, as marks: for a figure that stands alone."""
    title = list(_text_lines(scene.title, 8, 18, role="title", width=scene.width))
    top = 10 + 16 * len(title)
    marks = [*title, *(_move(mark, 0, top) for mark in scene.marks)]
    x, y = 8.0, scene.height + top + 6
    for name, parts in scene.legend:
        wide = 46 + _LETTER * len(name)
        if x > 8 and x + wide > scene.width:
            x, y = 8.0, y + 18
        marks += [_move(part, x, y) for part in parts]
        marks.append(Mark("text", ((x + 36, y + 11),), "tick", text=name))
        x += wide
    height = y + 22 if scene.legend else scene.height + top
    return Scene(scene.width, height, tuple(marks), about=scene.about, grows=scene.grows)


def _move(mark: Mark, x: float, y: float) -> Mark:
    return replace(mark, points=tuple((a + x, b + y) for a, b in mark.points))


# ---- figures


@_scene.register
def _lines(figure: Lines) -> Scene:
    low, high = figure.bounds or _bounds((p for s in figure.series for p in s.points), log=figure.log)
    count = len(figure.places)
    x = _Axis(*((0, count - 1) if count > 1 else (-1, 1)), _LEFT + 12, _WIDE - _RIGHT - 12)
    y = _Axis(low, high, _HIGH - _BOTTOM, _TOP, log=figure.log)
    names, lower = _places(figure.places, x)
    marks = [*_y_axis(y, figure.y), *names]
    for k, series in enumerate(figure.series):
        marks += _series(series, x, y, LINES[k % len(LINES)], figure.places, _shift(figure, k))
    marks.append(Mark("text", ((_WIDE / 2, _HIGH - 4 + lower),), "axis", text=figure.x, anchor="middle"))
    legend = tuple((series.name, _line_key(series, LINES[k % len(LINES)])) for k, series in enumerate(figure.series))
    return Scene(_WIDE, _HIGH + lower, tuple(marks), legend, grows=True)


def _shift(figure: Lines, number: int) -> float:
    """How far the marks of a series stand beside their place: at one place alone they would hide each other."""
    solid = [k for k, series in enumerate(figure.series) if not series.dashed]
    if len(figure.places) > 1 or number not in solid:
        return 0.0
    return (solid.index(number) - (len(solid) - 1) / 2) * min(0.2, 1.6 / len(solid))


def _series(series: Series, x: _Axis, y: _Axis, colour: str, places: Sequence[str], shift: float) -> Iterator[Mark]:
    known = [(x.at(k + shift), places[k], p) for k, p in enumerate(series.points) if not math.isnan(p.value)]
    band = [(at, point) for at, _, point in known if point.has_interval]
    path = [(at, point) for at, _, point in known]
    if series.dashed and len(places) == 1:
        # A baseline of the only place there is runs through the whole of it.
        band, path = ([(end, point) for _, point in pairs for end in (x.first, x.last)] for pairs in (band, path))
    if len(band) > 1:
        upper = [(at, y.at(point.high)) for at, point in band]
        lower = [(at, y.at(point.low)) for at, point in reversed(band)]
        yield Mark("polygon", (*upper, *lower), "band", colour)
    if path:
        steps = tuple((at, y.at(point.value)) for at, point in path)
        yield Mark("polyline", steps, "series", colour, dashed=series.dashed)
    if len(known) > _DOTS:
        return
    for at, place, point in known:
        if point.has_interval and len(band) == 1:
            yield Mark("line", ((at, y.at(point.low)), (at, y.at(point.high))), "bar", colour)
        sentence = f"{series.name}, {place}: {point.describe()}"
        yield Mark("circle", ((at, y.at(point.value)),), "small" if series.dashed else "dot", colour, sentence)


def _line_key(series: Series, colour: str) -> tuple[Mark, ...]:
    known = [point for point in series.points if not math.isnan(point.value)]
    intervals = sum(point.has_interval for point in known)
    across = series.dashed and len(series.points) == 1
    marks = [_box_key("band", colour)] if intervals > 1 or (intervals and across) else []
    if intervals == 1 and not across:
        marks.append(Mark("line", ((15, 0), (15, 14)), "bar", colour))
    if len(known) != 1 or across:
        marks.append(Mark("line", ((1, 7), (29, 7)), "series", colour, dashed=series.dashed))
    if len(known) <= _DOTS:
        marks.append(Mark("circle", ((15, 7),), "small" if series.dashed else "dot", colour))
    return tuple(marks)


def _box_key(role: str, colour: str) -> Mark:
    return Mark("rect", ((3, 1), (27, 13)), role, colour)


@_scene.register
def _grid(figure: Grid) -> Scene:
    left, top = (_room(names) for names in (figure.rows, figure.columns))
    size = max(18, min(48, 520 / max(len(figure.columns), 1)))
    marks = []
    for j, name in enumerate(figure.columns):
        marks.append(Mark("text", ((left + size * (j + 0.5), top - 6),), "tick", text=_short(name), turn=-60))
    for i, name in enumerate(figure.rows):
        at = left - 6, top + size * (i + 0.5) + 4
        marks.append(Mark("text", (at,), "tick", text=_short(name), anchor="end"))
        marks += [_cell(figure, i, j, (left + size * j, top + size * i), size) for j in range(len(figure.columns))]
    bottom = top + size * len(figure.rows) + 10
    marks += _scale_bar(figure, bottom)
    return Scene(max(left + size * len(figure.columns) + 8, 360), bottom + 36, tuple(marks))


def _cell(figure: Grid, i: int, j: int, corner: tuple[float, float], size: float) -> Mark:
    (x, y), cell = corner, figure.cells[i][j]
    row, column, value = figure.rows[i], figure.columns[j], cell.value
    what = figure.tags.get("measure", figure.title)
    colour = "none" if math.isnan(value) else shade(value, figure.scale, reverse=figure.direction == "distance")
    text = ""
    if size >= 30 and not math.isnan(value):
        text = f"{value:.2f}".lstrip("0") if 0 < value < 1 else f"{value:.2g}"
    return Mark(
        "rect",
        ((x + 1, y + 1), (x + size - 1, y + size - 1)),
        "same" if row == column else "cell",
        colour,
        f"{row} × {column}: {what} {cell.describe()}",
        text,
        figure.key and f"{figure.key}-{i}-{j}",
    )


def _scale_bar(figure: Grid, top: float) -> Iterator[Mark]:
    """The colours of a scale with its ends, and what rows and columns are."""
    scale, direction, (rows, columns) = figure.scale, figure.direction, figure.axes
    low, high = scale
    for k in range(41):
        colour = shade(low + (high - low) * k / 40, scale, reverse=direction == "distance")
        yield Mark("rect", ((54 + 3.5 * k, top), (58 + 3.5 * k, top + 12)), "scale", colour)
    words = {"similarity": "unlike → alike", "distance": "alike → unlike"}.get(direction, "low → high")
    yield Mark("text", ((48, top + 10),), "tick", text=f"{low:.2g}", anchor="end")
    yield Mark("text", ((204, top + 10),), "tick", text=f"{high:.2g}, {words}")
    yield Mark("text", ((8, top + 30),), "axis", text=f"rows: {rows}, columns: {columns}")


@_scene.register
def _histogram(figure: Histogram) -> Scene:
    most = max((count for counts in figure.counts.values() for count in counts), default=1)
    x, y = _Axis(figure.edges[0], figure.edges[-1], _LEFT, _WIDE - _RIGHT), _Axis(0, most, _HIGH - _BOTTOM, _TOP)
    marks = [*_y_axis(y, "samples"), *_x_axis(x, figure.x)]
    for k, (name, counts) in enumerate(figure.counts.items()):
        for a, b, count in zip(figure.edges, figure.edges[1:], counts, strict=False):
            corners = (x.at(a), y.at(count)), (max(x.at(b), x.at(a) + 0.5), _HIGH - _BOTTOM)
            sentence = f"{name}: {count:,} from {a:.3g} to {b:.3g}"
            marks.append(Mark("rect", corners, "bin", LINES[k % len(LINES)], sentence))
    legend = tuple((name, (_box_key("bin", LINES[k % len(LINES)]),)) for k, name in enumerate(figure.counts))
    return Scene(_WIDE, _HIGH, tuple(marks), legend, grows=True)


@_scene.register
def _strip(figure: Strip) -> Scene:
    """Controls in rows, the observed value as a line through all of them, baselines dashed, each with its interval."""
    points = [point for _, group in figure.groups for point in group]
    observed = [] if figure.observed is None else [figure.observed]
    bottom = 40 + 30 * len(figure.groups)
    x = _Axis(*(figure.bounds or _bounds([*observed, *points, *figure.baselines.values()])), 150, _WIDE - _RIGHT)
    marks = [*_x_axis(x, figure.x, bottom=bottom)]
    for name, point in figure.baselines.items():
        marks += _through(x, point, bottom, name, "base", "faint")
        # Within the picture, however near to its edge the line is.
        at = min(max(x.at(point.value), 150), _WIDE - _RIGHT - 3.5 * len(_short(name)))
        marks.append(Mark("text", ((at, 12),), "tick", text=_short(name), anchor="middle"))
    for point in observed:
        marks += _through(x, point, bottom, "observed", "observed", LINES[1])
    for k, (name, group) in enumerate(figure.groups):
        y = 40 + 30 * k
        marks.append(Mark("text", ((142, y + 4),), "tick", text=_short(name), anchor="end"))
        for number, point in enumerate(group):
            if not math.isnan(point.value):
                # Those of several seeds side by side, as they may have the same value.
                at = y + ((number % 5 - 2) * 3 if len(group) > 1 else 0)
                if point.has_interval:
                    marks.append(Mark("line", ((x.at(point.low), at), (x.at(point.high), at)), "whisker", LINES[0]))
                sentence = f"{name}: {point.describe()}"
                marks.append(Mark("circle", ((x.at(point.value), at),), "dot", LINES[0], sentence))
    return Scene(_WIDE, bottom + 36, tuple(marks), tuple(_strip_legend(figure, points)), grows=True)


def _strip_legend(figure: Strip, points: Sequence[Interval]) -> Iterator[tuple[str, tuple[Mark, ...]]]:
    if figure.observed is not None:
        yield "observed", _through_key("observed", LINES[1], figure.observed.has_interval)
    if points and figure.observed is not None:
        whisker = (Mark("line", ((3, 7), (27, 7)), "whisker", LINES[0]),)
        dot = Mark("circle", ((15, 7),), "dot", LINES[0])
        yield "controls", (*(whisker if any(point.has_interval for point in points) else ()), dot)
    for name, point in figure.baselines.items():
        yield name, _through_key("base", "faint", point.has_interval)


def _through_key(role: str, colour: str, band: bool) -> tuple[Mark, ...]:
    line = Mark("line", ((15, 0), (15, 14)), role, "" if role == "base" else colour)
    return (_box_key("band", colour), line) if band else (line,)


def _through(x: _Axis, point: Interval, bottom: float, name: str, role: str, colour: str) -> Iterator[Mark]:
    """A line through all rows, with the band of its interval; without a value there is no line."""
    if math.isnan(point.value):
        return
    sentence = f"{name}: {point.describe()}"
    if point.has_interval:
        first, last = x.at(point.low), x.at(point.high)
        yield Mark("rect", ((first, 22), (max(last, first + 1), bottom)), "band", colour, sentence)
    at = x.at(point.value)
    yield Mark("line", ((at, 22), (at, bottom)), role, "" if role == "base" else colour, sentence)


@_scene.register
def _pictures(figure: Pictures) -> Scene:
    marks, wide = list[Mark](), max((len(images) for _, images in figure.rows), default=1)
    for i, (name, images) in enumerate(figure.rows):
        top = 8 + 92 * i
        marks.append(Mark("text", ((142, top + 36),), "tick", text=_short(name), anchor="end"))
        for k, image in enumerate(images):
            corners = (150 + 80 * k, top), (214 + 80 * k, top + 64)
            marks.append(Mark("image", corners, "image", hover=image.alt, png=image.png))
            colour = LINES[1] if image.apart else ""
            for n, part in enumerate(textwrap.wrap(image.caption, 14)[:2]):
                place = 182 + 80 * k, top + 74 + 10 * n
                marks.append(Mark("text", (place,), "value", colour, text=part, anchor="middle"))
    return Scene(150 + 80 * wide, 8 + 92 * len(figure.rows), tuple(marks))


@_scene.register
def _words(figure: Words) -> Scene:
    return Scene(_WIDE, 120, tuple(_text_lines(figure.sentence, _WIDE / 2, 30, role="tick")))


# ---- axes and text


class _Axis:
    """Numbers from low to high, at places from first to last."""

    def __init__(self, low: float, high: float, first: float, last: float, *, log: bool = False) -> None:
        self.low, self.high = low, high if high > low else low + 1
        self.first, self.last, self.log = first, last, log

    def at(self, value: float) -> float:
        low, high = self.low, self.high
        if self.log:
            low, high, value = math.log10(low), math.log10(high), math.log10(max(value, low))
        return self.first + (self.last - self.first) * min(1.05, max(-0.05, (value - low) / (high - low)))

    def ticks(self) -> list[float]:
        """Round numbers, about five of them; on a log scale powers of ten."""
        if self.log:
            powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
            ticks = [k * 10.0**power for power in powers for k in ((1,) if len(powers) > 4 else (1, 3))]
            return [tick for tick in ticks if self.low <= tick <= self.high]
        raw = (self.high - self.low) / 5
        power = 10.0 ** math.floor(math.log10(raw))
        step = min((1, 2, 5, 10), key=lambda k: abs(k * power - raw)) * power
        first = math.ceil(self.low / step - 1e-9)
        return [k * step for k in range(first, math.floor(self.high / step + 1e-9) + 1)]


def _bounds(points: Iterable[Interval], *, log: bool = False) -> tuple[float, float]:
    values = [v for p in points for v in (p.value, p.low, p.high) if math.isfinite(v)]
    if not values:
        return 0.0, 1.0
    low, high = min(values), max(values)
    if log:
        return low / 1.2, high * 1.2
    room = 0.05 * (high - low) or 0.05 * abs(high) or 0.05
    return (max(0.0, low - room) if low >= 0 else low - room), (min(1.0, high + room) if high <= 1 else high + room)


def _y_axis(y: _Axis, name: str) -> Iterator[Mark]:
    for value in y.ticks():
        at = y.at(value)
        yield Mark("line", ((_LEFT, at), (_WIDE - _RIGHT, at)), "rule")
        yield Mark("text", ((_LEFT - 6, at + 4),), "tick", text=f"{value:g}", anchor="end")
    yield Mark("text", ((12, _HIGH / 2 - 20),), "axis", text=name, anchor="middle", turn=-90)


def _x_axis(x: _Axis, name: str, bottom: float = _HIGH - _BOTTOM) -> Iterator[Mark]:
    for value in x.ticks():
        at = x.at(value)
        yield Mark("line", ((at, _TOP + 8), (at, bottom)), "rule")
        yield Mark("text", ((at, bottom + 14),), "tick", text=f"{value:g}", anchor="middle")
    yield Mark("text", (((x.first + x.last) / 2, bottom + 30),), "axis", text=name, anchor="middle")


def _places(names: Sequence[str], x: _Axis) -> tuple[list[Mark], float]:
    """The names below an axis, and how much lower it must end for them: long ones are turned."""
    every = max(1, len(names) // 8)
    ticks = [(x.at(k), _short(name)) for k, name in enumerate(names) if k % every == 0]
    longest = max((len(name) for _, name in ticks), default=0)
    if len(ticks) < 2 or _LETTER * longest <= (x.last - x.first) / (len(ticks) - 1):
        place = _HIGH - _BOTTOM + 16
        # Within the picture, also at its edge.
        inside = [(min(at, _WIDE - _LETTER * len(name) / 2), name) for at, name in ticks]
        return [Mark("text", ((at, place),), "tick", text=name, anchor="middle") for at, name in inside], 0.0
    place = _HIGH - _BOTTOM + 12
    marks = [Mark("text", ((at + 4, place),), "tick", text=name, anchor="end", turn=-25) for at, name in ticks]
    return marks, 0.42 * _LETTER * longest


def _room(names: Sequence[str]) -> float:
    return 14 + _LETTER * max((min(len(name), _LABEL) for name in names), default=4)


def _short(name: str) -> str:
    return name if len(name) <= _LABEL else f"{name[: _LABEL - 1]}…"


def _text_lines(text: str, x: float, y: float, *, role: str, width: float = _WIDE) -> Iterator[Mark]:
    """A text in five lines at most; a title begins at its place, any other text has it for its middle."""
    anchor: Literal["start", "middle"] = "start" if role == "title" else "middle"
    for k, line in enumerate(textwrap.wrap(text, int(width / _LETTER))[:5]):
        yield Mark("text", ((x, y + 16 * k),), role, text=line, anchor=anchor)


def label(mark: Mark) -> Mark:
    """The text within a rectangle, as a mark."""
    (x, y), (a, b) = mark.points
    return Mark("text", (((x + a) / 2, (y + b) / 2 + 4),), "value", ink(mark.colour), text=mark.text, anchor="middle")
