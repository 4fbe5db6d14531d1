"""The one renderer: a figure becomes a scene of primitive marks, which `svg` and `paper` draw alike."""

from __future__ import annotations

import functools
import math
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from seamripper.figures.colours import LINES, hue, shade
from seamripper.figures.marks import (
    BOTTOM,
    HIGH,
    LEFT,
    LETTER,
    RIGHT,
    TOP,
    WIDE,
    Axis,
    Mark,
    places,
    room,
    short,
    text_lines,
    x_axis,
    y_axis,
)
from seamripper.figures.values import (
    Figure,
    Grid,
    Histogram,
    Interval,
    Lines,
    Picture,
    Pictures,
    Series,
    Strip,
    Words,
    bounds_of,
    describe,
    points_of,
)

_DOTS = 60
"""A line of more points is drawn without dots."""
_DIRECT = 16
"""More lines than this have a legend, and no labels at their ends."""
_UNITS = 12
"""So many units (seeds, say) are drawn beside their mean, at most."""


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
    fits: bool = False
    """Whether it was drawn for the width of its place; others keep their size, and are scrolled."""


def scene(figure: Figure, width: float = WIDE) -> Scene:
    """The scene of a figure in a place of so many pixels; a table has none."""
    return replace(_scene(figure, width), title=figure.title, about=describe(figure))


@functools.singledispatch
def _scene(figure: Figure, width: float) -> Scene:
    raise TypeError(f"A figure of the kind {figure.kind!r} is not drawn.")


def standalone(scene: Scene) -> Scene:
    """The scene with its title above and its legend below, as marks: for a figure that stands alone."""
    title = list(text_lines(scene.title, 8, 18, role="title", width=scene.width))
    top = 10 + 16 * len(title)
    marks = [*title, *(_move(mark, 0, top) for mark in scene.marks)]
    x, y = 8.0, scene.height + top + 6
    for name, parts in scene.legend:
        wide = 46 + LETTER * len(name)
        if x > 8 and x + wide > scene.width:
            x, y = 8.0, y + 18
        marks += [_move(part, x, y) for part in parts]
        marks.append(Mark("text", ((x + 36, y + 11),), "tick", text=name))
        x += wide
    height = y + 22 if scene.legend else scene.height + top
    return Scene(scene.width, height, tuple(marks), about=scene.about, fits=scene.fits)


def _move(mark: Mark, x: float, y: float) -> Mark:
    return replace(mark, points=tuple((a + x, b + y) for a, b in mark.points))


# ---- lines


@_scene.register
def _lines(figure: Lines, width: float) -> Scene:
    if len(figure.places) == 1:
        return _strip(_as_strip(figure), width)
    colours = [series.colour or hue(k) for k, series in enumerate(figure.series)]
    direct = width >= WIDE and 1 < len(figure.series) <= _DIRECT
    # Where lines are labelled, there is room for their names beside the last place.
    end = width - (room([series.name for series in figure.series]) if direct else RIGHT)
    low, high = figure.bounds or bounds_of(points_of(figure), log=figure.log)
    slot = (end - LEFT) / len(figure.places)
    shifts = _shifts(figure, slot)
    edge = 10 + max(shifts, default=0)
    x = Axis(0, max(len(figure.places) - 1, 1), LEFT + edge, end - edge)
    y = Axis(low, high, HIGH - BOTTOM, TOP, log=figure.log)
    names, lower = places(figure.places, x, width)
    marks = [*y_axis(y, figure.y, end), *names]
    for series, colour, shift in zip(figure.series, colours, shifts, strict=True):
        marks += _series(series, x, y, colour, figure.places, shift)
    marks.append(Mark("text", (((LEFT + end) / 2, HIGH - 4 + lower),), "axis", text=figure.x, anchor="middle"))
    if direct:
        marks += _end_labels(figure.series, colours, y, [x.at(k) for k in range(len(figure.places))], end)
        return Scene(width, HIGH + lower, tuple(marks), fits=True)
    keys = tuple((series.name, _line_key(series, c)) for series, c in zip(figure.series, colours, strict=True))
    return Scene(width, HIGH + lower, tuple(marks), keys if len(keys) > 1 else (), fits=True)


def _as_strip(figure: Lines) -> Strip:
    """Lines at one place alone: a row for each, and baselines through all of them."""
    solid = [series for series in figure.series if not series.dashed]
    colours = {series.name: series.colour or hue(k) for k, series in enumerate(solid)}
    baselines = {series.name: series.points[0] for series in figure.series if series.dashed}
    rows = tuple((series.name, series.points) for series in solid)
    label = f"{figure.y}, {figure.x} {figure.places[0]}"
    return Strip(figure.title, rows, None, label, baselines, figure.caption, figure.bounds, colours=colours)


def _shifts(figure: Lines, slot: float) -> list[float]:
    """How far the marks of each series stand beside their place, so that intervals do not hide each other."""
    solid = [k for k, series in enumerate(figure.series) if not series.dashed]
    step = min(9.0, 0.6 * slot / max(len(solid), 1))
    middle = (len(solid) - 1) / 2
    return [step * (solid.index(k) - middle) if k in solid else 0.0 for k in range(len(figure.series))]


def _series(series: Series, x: Axis, y: Axis, colour: str, names: Sequence[str], shift: float) -> Iterator[Mark]:
    """A line with an interval at each of its points, and with its units as small dots: seeds, if they are few."""
    known = [(x.at(k) + shift, names[k], p) for k, p in enumerate(series.points) if _is_known(p)]
    if known:
        steps = tuple((at, y.at(point.value)) for at, _, point in known)
        yield Mark("polyline", steps, "series", colour, dashed=series.dashed)
    if len(known) > _DOTS:
        return
    for at, place, point in known:
        if point.has_interval:
            yield Mark("line", ((at, y.at(point.low)), (at, y.at(point.high))), "whisker", colour)
        yield from _unit_dots(point, colour, f"{series.name}, {place}", y, at + 4, upright=True)
        sentence = f"{series.name}, {place}: {point.describe()}"
        yield Mark("circle", ((at, y.at(point.value)),), "small" if series.dashed else "dot", colour, sentence)


def _unit_dots(point: Interval, colour: str, name: str, axis: Axis, beside: float, *, upright: bool) -> Iterator[Mark]:
    """Each unit that a point is the mean of, if they are so few that a mean says little."""
    for unit, value in point.values.items() if len(point.values) <= _UNITS else ():
        place = (beside, axis.at(value)) if upright else (axis.at(value), beside)
        yield Mark("circle", (place,), "unit", colour, f"{name}: {unit} {value:.3g}")


def _is_known(point: Interval) -> bool:
    return not math.isnan(point.value)


def _end_labels(
    series: Sequence[Series], colours: Sequence[str], y: Axis, at: Sequence[float], end: float
) -> Iterator[Mark]:
    """The name of each line beside its last point, moved up or down where names would overlap."""
    last = {k: max(n for n, p in enumerate(s.points) if _is_known(p)) for k, s in enumerate(series) if _has_any(s)}
    points = {k: (at[n], y.at(series[k].points[n].value)) for k, n in last.items()}
    order = sorted(points, key=lambda k: points[k][1])
    heights = [points[k][1] for k in order]
    for n in range(1, len(heights)):
        heights[n] = max(heights[n], heights[n - 1] + 13)
    # Those that were pushed below the axis push the others up again.
    floor = HIGH - BOTTOM + 4.0
    for n in reversed(range(len(heights))):
        heights[n] = min(heights[n], floor)
        floor = heights[n] - 13
    for k, height in zip(order, heights, strict=True):
        yield Mark("line", (points[k], (end, height)), "leader", colours[k], dashed=True)
        yield Mark("circle", ((end + 3, height),), "small", colours[k])
        yield Mark("text", ((end + 9, height + 4),), "tick", text=short(series[k].name))


def _has_any(series: Series) -> bool:
    return any(map(_is_known, series.points))


def _line_key(series: Series, colour: str) -> tuple[Mark, ...]:
    known = [point for point in series.points if _is_known(point)]
    marks = [Mark("line", ((1, 7), (29, 7)), "series", colour, dashed=series.dashed)]
    if any(point.has_interval for point in known):
        marks.append(Mark("line", ((15, 0), (15, 14)), "whisker", colour))
    if len(known) <= _DOTS:
        marks.append(Mark("circle", ((15, 7),), "small" if series.dashed else "dot", colour))
    return tuple(marks)


def _box_key(role: str, colour: str) -> Mark:
    return Mark("rect", ((3, 1), (27, 13)), role, colour)


# ---- matrices

_ENDS = {"similarity": "unlike → alike", "distance": "alike → unlike", "share": "ignored → followed"}
"""What the ends of a scale mean, by the direction of a grid."""


@_scene.register
def _grid(figure: Grid, width: float) -> Scene:
    # Rows and columns have their titles beside their names.
    left, top = room(figure.rows) + 16, room(figure.columns) + 18
    # Two of 12 columns stand side by side on a wide page.
    size = max(24, min(48, 432 / max(len(figure.columns), 1)))
    wide, high = size * len(figure.columns), size * len(figure.rows)
    marks = [
        Mark("text", ((12, top + high / 2),), "axis", text=figure.axes[0], anchor="middle", turn=-90),
        Mark("text", ((left + wide / 2, 12),), "axis", text=figure.axes[1], anchor="middle"),
    ]
    for j, name in enumerate(figure.columns):
        marks.append(Mark("text", ((left + size * (j + 0.5), top - 6),), "tick", text=short(name), turn=-60))
    for i, name in enumerate(figure.rows):
        at = left - 6, top + size * (i + 0.5) + 4
        marks.append(Mark("text", (at,), "tick", text=short(name), anchor="end"))
        marks += [_cell(figure, i, j, (left + size * j, top + size * i), size) for j in range(len(figure.columns))]
    marks += _scale_bar(figure, top + high + 10)
    # A turned name leans beyond the last column.
    return Scene(max(left + wide + room(figure.columns[-1:]) / 2, 360), top + high + 30, tuple(marks))


def _cell(figure: Grid, i: int, j: int, corner: tuple[float, float], size: float) -> Mark:
    (x, y), cell = corner, figure.cells[i][j]
    row, column, value = figure.rows[i], figure.columns[j], cell.value
    what = figure.tags.get("measure", figure.title)
    colour = "none" if math.isnan(value) else shade(value, figure.scale, reverse=figure.direction == "distance")
    text = ""
    if not math.isnan(value):
        text = f"{value:.2f}".lstrip("0") if 0 < value < 1 else f"{value:.2g}"
    return Mark(
        "rect",
        ((x + 1, y + 1), (x + size - 1, y + size - 1)),
        "same" if row == column and figure.direction != "share" else "cell",
        colour,
        f"{row} × {column}: {what} {cell.describe()}",
        # Digits that do not fit are told to whoever points at the cell.
        text if LETTER * len(text) <= size - 4 else "",
        figure.key and f"{figure.key}-{i}-{j}",
    )


def _scale_bar(figure: Grid, top: float) -> Iterator[Mark]:
    """The colours of a scale with its ends."""
    low, high = figure.scale
    for k in range(41):
        colour = shade(low + (high - low) * k / 40, figure.scale, reverse=figure.direction == "distance")
        yield Mark("rect", ((54 + 3.5 * k, top), (58 + 3.5 * k, top + 12)), "scale", colour)
    words = _ENDS.get(figure.direction, "low → high")
    yield Mark("text", ((48, top + 10),), "tick", text=f"{low:.2g}", anchor="end")
    yield Mark("text", ((204, top + 10),), "tick", text=f"{high:.2g}, {words}")


# ---- histograms and strips


@_scene.register
def _histogram(figure: Histogram, width: float) -> Scene:
    most = max((count for counts in figure.counts.values() for count in counts), default=1)
    x = Axis(*(figure.bounds or (figure.edges[0], figure.edges[-1])), LEFT, width - RIGHT)
    y = Axis(0, most, HIGH - BOTTOM, TOP)
    marks = [*y_axis(y, "samples", width - RIGHT), *x_axis(x, figure.x)]
    for k, (name, counts) in enumerate(figure.counts.items()):
        for a, b, count in zip(figure.edges, figure.edges[1:], counts, strict=False):
            corners = (x.at(a), y.at(count)), (max(x.at(b), x.at(a) + 0.5), HIGH - BOTTOM)
            sentence = f"{name}: {count:,} from {a:.3g} to {b:.3g}"
            marks.append(Mark("rect", corners, "bin", hue(k), sentence))
    legend = tuple((name, (_box_key("bin", hue(k)),)) for k, name in enumerate(figure.counts))
    return Scene(width, HIGH, tuple(marks), legend, fits=True)


_ROW = 32


@_scene.register
def _strip(figure: Strip, width: float) -> Scene:
    """Controls in rows, the observed value as a line through all of them, baselines dashed, each with its interval."""
    longest = 22 if width >= WIDE else 20
    words = [*(name for name, _ in figure.groups), *figure.kinds.values()]
    left = min(room(words), 14 + LETTER * longest)
    top = 8.0 + 14 * len(figure.baselines)
    bottom = top + _ROW * max(len(figure.groups), 1)
    x = Axis(*(figure.bounds or bounds_of(points_of(figure))), left, width - RIGHT)
    marks = [*x_axis(x, figure.x, top=top, bottom=bottom)]
    for k, (name, point) in enumerate(figure.baselines.items()):
        marks += _through(x, point, (top, bottom), name, "base", "faint")
        # Within the picture, however near to its edge the line is.
        half = LETTER * len(short(name)) / 2
        at = min(max(x.at(point.value), half), width - half)
        marks.append(Mark("text", ((at, 12 + 14 * k),), "tick", text=short(name), anchor="middle"))
    if figure.observed is not None:
        marks += _through(x, figure.observed, (top, bottom), "observed", "observed", figure.colours.get("", LINES[1]))
    for k, (name, group) in enumerate(figure.groups):
        y, kind = top + _ROW * (k + 0.5), figure.kinds.get(name, "")
        marks.append(
            Mark("text", ((left - 8, y - 2 if kind else y + 4),), "tick", text=short(name, longest), anchor="end")
        )
        if kind:
            marks.append(Mark("text", ((left - 8, y + 11),), "kind", text=short(kind, longest), anchor="end"))
        marks += _strip_row(name, group, x, y, _strip_colour(figure, name))
    return Scene(width, bottom + 36, tuple(marks), tuple(_strip_legend(figure)), fits=True)


def _strip_colour(figure: Strip, name: str) -> str:
    return figure.colours.get(name, LINES[0])


def _strip_row(name: str, group: Sequence[Interval], x: Axis, y: float, colour: str) -> Iterator[Mark]:
    """The values of a row. Those of several seeds stand below each other, as they may be the same."""
    known = [point for point in group if _is_known(point)]
    step = min(5.0, (_ROW - 8) / max(len(known), 1))
    for number, point in enumerate(known):
        at = y + step * (number - (len(known) - 1) / 2)
        if point.has_interval:
            yield Mark("line", ((x.at(point.low), at), (x.at(point.high), at)), "whisker", colour)
        yield from _unit_dots(point, colour, name, x, at + 6, upright=False)
        sentence = f"{name}: {point.describe()}"
        yield Mark("circle", ((x.at(point.value), at),), "dot" if len(known) == 1 else "small", colour, sentence)


def _strip_legend(figure: Strip) -> Iterator[tuple[str, tuple[Mark, ...]]]:
    """What lines and colours are; rows have their names beside them."""
    if figure.observed is not None:
        yield "observed", _through_key("observed", figure.colours.get("", LINES[1]), figure.observed.has_interval)
        by_kind = {figure.kinds.get(name, "controls"): _strip_colour(figure, name) for name, _ in figure.groups}
        whiskers = any(point.has_interval for _, group in figure.groups for point in group)
        for kind, colour in by_kind.items():
            whisker = (Mark("line", ((3, 7), (27, 7)), "whisker", colour),) if whiskers else ()
            yield kind, (*whisker, Mark("circle", ((15, 7),), "dot", colour))
    for name, point in figure.baselines.items():
        yield name, _through_key("base", "faint", point.has_interval)


def _through_key(role: str, colour: str, band: bool) -> tuple[Mark, ...]:
    line = Mark("line", ((15, 0), (15, 14)), role, "" if role == "base" else colour)
    return (_box_key("band", colour), line) if band else (line,)


def _through(x: Axis, point: Interval, ends: tuple[float, float], name: str, role: str, colour: str) -> Iterator[Mark]:
    """A line through all rows, with the band of its interval; without a value there is no line."""
    if not _is_known(point):
        return
    sentence, (top, bottom) = f"{name}: {point.describe()}", ends
    if point.has_interval:
        first, last = x.at(point.low), x.at(point.high)
        yield Mark("rect", ((first, top), (max(last, first + 1), bottom)), "band", colour, sentence)
    at = x.at(point.value)
    yield Mark("line", ((at, top), (at, bottom)), role, "" if role == "base" else colour, sentence)


# ---- images and words


@_scene.register
def _pictures(figure: Pictures, width: float) -> Scene:
    marks, wide = list[Mark](), max((len(images) for _, images in figure.rows), default=1)
    lines = [len(_caption(image)) for _, images in figure.rows for image in images]
    high = 78 + 13 * max(lines, default=0)
    for i, (name, images) in enumerate(figure.rows):
        top = 8 + high * i
        marks.append(Mark("text", ((142, top + 36),), "tick", text=short(name), anchor="end"))
        for k, image in enumerate(images):
            corners = (160 + 90 * k, top), (224 + 90 * k, top + 64)
            marks.append(Mark("image", corners, "image", hover=image.alt, png=image.png))
            colour = LINES[1] if image.apart else ""
            for n, part in enumerate(_caption(image)):
                place = 192 + 90 * k, top + 76 + 13 * n
                marks.append(Mark("text", (place,), "value", colour, text=part, anchor="middle"))
    return Scene(150 + 90 * wide, 8 + high * len(figure.rows), tuple(marks))


def _caption(image: Picture) -> list[str]:
    """What is said below an image, in three short lines at most."""
    return [line for part in image.caption.split(", ") for line in textwrap.wrap(part, 14)][:3]


@_scene.register
def _words(figure: Words, width: float) -> Scene:
    return Scene(width, 120, tuple(text_lines(figure.sentence, width / 2, 30, role="tick", width=width)), fits=True)
