"""Figures as SVG, to stand in a page: text is text, colours follow the page's ground, every mark tells what it is."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from html import escape

from seamripper.report.colours import LINES, ink, shade
from seamripper.report.figures import Grid, Histogram, Lines, Point, Series, Strip, alternative, beside

_WIDE, _HIGH = 640, 320
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 16, 12, 52
_LABEL = 22
"""Letters of a name that fit below an axis."""
_DASH = "7 5"
_DOTS = 60
"""A line of more points is drawn without dots."""


def lines(figure: Lines) -> str:
    """Lines with bands; a point that is hovered over tells its value, interval and n."""
    low, high = figure.bounds or _bounds(point for one in figure.series for point in one.points)
    x, y = (
        _Axis(*_span(len(figure.places)), _LEFT + 12, _WIDE - _RIGHT - 12),
        _Axis(low, high, _HIGH - _BOTTOM, _TOP),
    )
    parts = [*_y_axis(y, figure.y), *_places(figure.places, x)]
    for k, one in enumerate(figure.series):
        parts += _drawn(one, x, y, LINES[k % len(LINES)], figure.places, beside(figure, k))
    parts.append(f'<text class="axis" x="{_WIDE / 2}" y="{_HIGH - 4}" text-anchor="middle">{escape(figure.x)}</text>')
    entries = [(one.name, _line_mark(one, LINES[k % len(LINES)])) for k, one in enumerate(figure.series)]
    return _framed("".join(parts), _WIDE, _HIGH, alternative(figure)) + _legend(entries)


def _drawn(one: Series, x: _Axis, y: _Axis, colour: str, places: Sequence[str], shift: float) -> Iterator[str]:
    known = [(k, point) for k, point in enumerate(one.points) if not math.isnan(point.value)]
    band = [(k, p) for k, p in known if p.has_interval]
    # A baseline of the only place there is runs through the whole of it.
    across = one.dashed and len(places) == 1
    corners = [(x.at(k + shift), p) for k, p in band]
    path = [(x.at(k + shift), p) for k, p in known]
    if across:
        corners, path = ([(end, p) for _, p in pairs for end in (x.first, x.last)] for pairs in (corners, path))
    if len(corners) > 1:
        upper = [f"{at:.1f},{y.at(p.high):.1f}" for at, p in corners]
        lower = [f"{at:.1f},{y.at(p.low):.1f}" for at, p in reversed(corners)]
        yield f'<polygon class="band" points="{" ".join(upper + lower)}" fill="{colour}"/>'
    line = " ".join(f"{at:.1f},{y.at(p.value):.1f}" for at, p in path)
    dash = f' stroke-dasharray="{_DASH}"' if one.dashed else ""
    yield f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>'
    if len(known) > _DOTS:
        return
    for k, point in known:
        if point.has_interval and len(corners) == 1:
            yield _bar(x.at(k + shift), y.at(point.low), y.at(point.high), colour)
        told = f"{one.name}, {places[k]}: {point.told}"
        yield _dot(x.at(k + shift), y.at(point.value), colour, told, small=one.dashed)


def grid(figure: Grid) -> str:
    """A matrix; the diagonal is marked, a cell tells its value, and opens its pair when it is chosen."""
    left, top, size = _room(figure.rows), _room(figure.columns), _size(len(figure.columns))
    wide, high = left + size * len(figure.columns) + 8, top + size * len(figure.rows) + 8
    parts = []
    for j, name in enumerate(figure.columns):
        at = left + size * (j + 0.5)
        parts.append(f'<text class="tick" transform="translate({at:.1f} {top - 6}) rotate(-60)">{_short(name)}</text>')
    for i, name in enumerate(figure.rows):
        at = top + size * (i + 0.5) + 4
        parts.append(f'<text class="tick" x="{left - 6}" y="{at:.1f}" text-anchor="end">{_short(name)}</text>')
        for j, cell in enumerate(figure.cells[i]):
            told = (
                f"{figure.rows[i]} × {figure.columns[j]}: {figure.tags.get('measure', figure.title)} {cell.point.told}"
            )
            same = figure.rows[i] == figure.columns[j]
            parts.append(_cell(left + size * j, top + size * i, size, cell.point, figure, told, cell.key, same))
    return _framed("".join(parts), wide, high, alternative(figure), shrink=True)


def _cell(x: float, y: float, size: float, point: Point, figure: Grid, told: str, key: str, same: bool) -> str:
    if math.isnan(point.value):
        colour, text = "none", ""
    else:
        colour = shade(point.value, figure.scale, reverse=figure.direction == "distance")
        shown = f"{point.value:.2f}".lstrip("0") if 0 < point.value < 1 else f"{point.value:.2g}"
        text = ""
        if size >= 30:
            at = f'x="{x + size / 2:.1f}" y="{y + size / 2 + 4:.1f}"'
            text = f'<text {at} text-anchor="middle" style="fill:{ink(colour)}">{shown}</text>'
    mark = ' class="cell same"' if same else ' class="cell"'
    opens = f' data-pair="{escape(key)}" tabindex="0" role="button"' if key else ""
    box = (
        f'<rect{mark} x="{x + 1:.1f}" y="{y + 1:.1f}" width="{size - 2:.1f}" height="{size - 2:.1f}" fill="{colour}"/>'
    )
    return f'<g data-told="{escape(told)}"{opens} aria-label="{escape(told)}">{box}{text}</g>'


def histogram(figure: Histogram) -> str:
    """Counts over the same bins, one behind the other."""
    most = max((count for counts in figure.counts.values() for count in counts), default=1)
    x, y = _Axis(figure.edges[0], figure.edges[-1], _LEFT, _WIDE - _RIGHT), _Axis(0, most, _HIGH - _BOTTOM, _TOP)
    parts = [*_y_axis(y, "samples"), *_x_axis(x, figure.x)]
    for k, (name, counts) in enumerate(figure.counts.items()):
        for a, b, count in zip(figure.edges, figure.edges[1:], counts, strict=False):
            told = f"{name}: {count:,} from {a:.3g} to {b:.3g}"
            box = f'x="{x.at(a):.1f}" y="{y.at(count):.1f}" width="{max(x.at(b) - x.at(a), 0.5):.1f}"'
            tall = _HIGH - _BOTTOM - y.at(count)
            colour = LINES[k % len(LINES)]
            parts.append(f'<rect class="bin" {box} height="{tall:.1f}" fill="{colour}" data-told="{escape(told)}"/>')
    entries = [(name, _box_mark("bin", LINES[k % len(LINES)])) for k, name in enumerate(figure.counts)]
    return _framed("".join(parts), _WIDE, _HIGH, alternative(figure)) + _legend(entries)


def strip(figure: Strip) -> str:
    """Controls in rows, the observed value as a line through all of them, baselines dashed, each with its interval."""
    points = [point for _, group in figure.groups for point in group]
    low, high = _bounds([figure.observed, *points, *figure.baselines.values()])
    bottom = 40 + 30 * len(figure.groups)
    x = _Axis(low, high, 150, _WIDE - _RIGHT)
    parts = [*_x_axis(x, figure.x, bottom=bottom)]
    for name, point in figure.baselines.items():
        parts += _through(x, point, bottom, name, "base", "currentColor")
        # Within the picture, however near to its edge the line is.
        at = min(max(x.at(point.value), 150), _WIDE - _RIGHT - 3.5 * len(_short(name)))
        parts.append(f'<text class="tick" x="{at:.1f}" y="12" text-anchor="middle">{_short(name)}</text>')
    parts += _through(x, figure.observed, bottom, "observed", "observed", LINES[1])
    for k, (name, group) in enumerate(figure.groups):
        y = 40 + 30 * k
        parts.append(f'<text class="tick" x="142" y="{y + 4}" text-anchor="end">{_short(name)}</text>')
        for number, point in enumerate(group):
            if not math.isnan(point.value):
                # Those of several seeds side by side, as they may have the same value.
                shift = (number % 5 - 2) * 3 if len(group) > 1 else 0
                parts += _control(x, point, y + shift, f"{name}: {point.told}")
    entries = [
        ("observed", _through_mark("observed", LINES[1], figure.observed.has_interval)),
        ("controls", _dot_mark(LINES[0], any(point.has_interval for point in points))),
    ]
    entries += [
        (name, _through_mark("base", "currentColor", point.has_interval)) for name, point in figure.baselines.items()
    ]
    return _framed("".join(parts), _WIDE, bottom + 36, alternative(figure)) + _legend(entries)


def _through(x: _Axis, point: Point, bottom: float, name: str, mark: str, colour: str) -> Iterator[str]:
    """A line through all rows, with the band of its interval; what has no value is not drawn."""
    if math.isnan(point.value):
        return
    told = f'data-told="{escape(f"{name}: {point.told}")}"'
    if point.has_interval:
        first, last = x.at(point.low), x.at(point.high)
        box = f'x="{first:.1f}" y="22" width="{max(last - first, 1):.1f}" height="{bottom - 22:.0f}"'
        yield f'<rect class="band" {box} fill="{colour}" {told}/>'
    at = f"{x.at(point.value):.1f}"
    yield f'<line class="{mark}" x1="{at}" x2="{at}" y1="22" y2="{bottom:.0f}" stroke="{colour}" {told}/>'


def _control(x: _Axis, point: Point, y: float, told: str) -> Iterator[str]:
    if point.has_interval:
        ends = f'x1="{x.at(point.low):.1f}" x2="{x.at(point.high):.1f}" y1="{y}" y2="{y}"'
        yield f'<line class="whisker" {ends} stroke="{LINES[0]}"/>'
    yield _dot(x.at(point.value), y, LINES[0], told)


def scale_bar(scale: tuple[float, float], direction: str) -> str:
    """The colours of a scale, with its ends, for the matrices that share it."""
    steps = [
        shade(scale[0] + (scale[1] - scale[0]) * k / 40, scale, reverse=direction == "distance") for k in range(41)
    ]
    boxes = "".join(f'<rect x="{60 + 5 * k}" y="4" width="5.5" height="12" fill="{c}"/>' for k, c in enumerate(steps))
    words = {"similarity": "unlike → alike", "distance": "alike → unlike"}.get(direction, "low → high")
    ends = f'<text class="tick" x="54" y="14" text-anchor="end">{scale[0]:.2g}</text>'
    ends += f'<text class="tick" x="272" y="14">{scale[1]:.2g}, {words}</text>'
    return _framed(boxes + ends, 420, 22, f"Scale from {scale[0]:g} to {scale[1]:g}, {words}", shrink=True)


# ---- axes and marks


class _Axis:
    """Numbers from low to high, at places from first to last."""

    def __init__(self, low: float, high: float, first: float, last: float) -> None:
        self.low, self.high = low, high if high > low else low + 1
        self.first, self.last = first, last

    def at(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return self.first + (self.last - self.first) * min(1.05, max(-0.05, share))

    def ticks(self) -> list[float]:
        """Round numbers, about five of them."""
        raw = (self.high - self.low) / 5
        power = 10.0 ** math.floor(math.log10(raw))
        step = min((1, 2, 5, 10), key=lambda k: abs(k * power - raw)) * power
        first = math.ceil(self.low / step - 1e-9)
        return [k * step for k in range(first, math.floor(self.high / step + 1e-9) + 1)]


def _bounds(points: Iterable[Point]) -> tuple[float, float]:
    values = [v for p in points for v in (p.value, p.low, p.high) if not math.isnan(v)]
    if not values:
        return 0.0, 1.0
    low, high = min(values), max(values)
    room = 0.05 * (high - low) or 0.05
    return (max(0.0, low - room) if low >= 0 else low - room), (min(1.0, high + room) if high <= 1 else high + room)


def _y_axis(y: _Axis, name: str) -> Iterator[str]:
    for value in y.ticks():
        at = y.at(value)
        yield f'<line class="rule" x1="{_LEFT}" x2="{_WIDE - _RIGHT}" y1="{at:.1f}" y2="{at:.1f}"/>'
        yield f'<text class="tick" x="{_LEFT - 6}" y="{at + 4:.1f}" text-anchor="end">{value:g}</text>'
    turned = f'transform="translate(12 {_HIGH / 2 - 20}) rotate(-90)"'
    yield f'<text class="axis" {turned} text-anchor="middle">{escape(name)}</text>'


def _x_axis(x: _Axis, name: str, bottom: float = _HIGH - _BOTTOM) -> Iterator[str]:
    for value in x.ticks():
        at = x.at(value)
        yield f'<line class="rule" x1="{at:.1f}" x2="{at:.1f}" y1="{_TOP + 8}" y2="{bottom:.1f}"/>'
        yield f'<text class="tick" x="{at:.1f}" y="{bottom + 14:.1f}" text-anchor="middle">{value:g}</text>'
    middle = (x.first + x.last) / 2
    yield f'<text class="axis" x="{middle:.1f}" y="{bottom + 30:.1f}" text-anchor="middle">{escape(name)}</text>'


def _places(names: Sequence[str], x: _Axis) -> Iterator[str]:
    every = max(1, len(names) // 8)
    for k, name in enumerate(names):
        if k % every == 0:
            at = f'x="{x.at(k):.1f}" y="{_HIGH - _BOTTOM + 16}"'
            yield f'<text class="tick" {at} text-anchor="middle">{_short(name)}</text>'


def _dot(x: float, y: float, colour: str, told: str, *, small: bool = False) -> str:
    size = 3 if small else 4.5
    return f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="{size}" fill="{colour}" data-told="{escape(told)}"/>'


def _bar(x: float, low: float, high: float, colour: str) -> str:
    return f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{low:.1f}" y2="{high:.1f}" stroke="{colour}" stroke-width="1.5"/>'


def _legend(entries: Sequence[tuple[str, str]]) -> str:
    """Names, each behind its mark: the same line, dash, dot, box or band that the figure draws."""
    marks = "".join(
        f'<li><svg class="mark" viewBox="0 0 30 14" aria-hidden="true">{mark}</svg>{escape(name)}</li>'
        for name, mark in entries
    )
    return f'<ul class="legend">{marks}</ul>'


def _line_mark(one: Series, colour: str) -> str:
    known = [point for point in one.points if not math.isnan(point.value)]
    intervals = sum(point.has_interval for point in known)
    across = one.dashed and len(one.points) == 1
    parts = _box_mark("band", colour) if intervals > 1 or (intervals and across) else ""
    if intervals == 1 and not across:
        parts += _bar(15, 0, 14, colour)
    dash = f' stroke-dasharray="{_DASH}"' if one.dashed else ""
    if len(known) != 1 or across:
        parts += f'<line x1="1" x2="29" y1="7" y2="7" stroke="{colour}" stroke-width="2"{dash}/>'
    if len(known) <= _DOTS:
        parts += f'<circle class="dot" cx="15" cy="7" r="{3 if one.dashed else 4.5}" fill="{colour}"/>'
    return parts


def _through_mark(mark: str, colour: str, band: bool) -> str:
    line = f'<line class="{mark}" x1="15" x2="15" y1="0" y2="14" stroke="{colour}"/>'
    return (_box_mark("band", colour) if band else "") + line


def _dot_mark(colour: str, whisker: bool) -> str:
    line = f'<line class="whisker" x1="3" x2="27" y1="7" y2="7" stroke="{colour}"/>' if whisker else ""
    return f'{line}<circle class="dot" cx="15" cy="7" r="4.5" fill="{colour}"/>'


def _box_mark(mark: str, colour: str) -> str:
    return f'<rect class="{mark}" x="3" y="1" width="24" height="12" fill="{colour}"/>'


def _short(name: str) -> str:
    return escape(name if len(name) <= _LABEL else f"{name[: _LABEL - 1]}…")


def _span(places: int) -> tuple[float, float]:
    """The ends of an axis with so many places; one alone stands in the middle."""
    return (0, places - 1) if places > 1 else (-1, 1)


def _room(names: Sequence[str]) -> float:
    return 14 + 6.6 * max((min(len(name), _LABEL) for name in names), default=4)


def _size(n: int) -> float:
    return max(18, min(48, 520 / max(n, 1)))


def _framed(inside: str, wide: float, high: float, told: str, *, shrink: bool = False) -> str:
    """An SVG that is as wide as its place allows; a matrix never wider than it was drawn, lines hardly."""
    limit = f' style="max-width:{wide if shrink else 1.2 * wide:.0f}px"'
    return (
        f'<svg viewBox="0 0 {wide:.0f} {high:.0f}" role="img" aria-label="{escape(told)}"{limit}>'
        f"<title>{escape(told)}</title>{inside}</svg>"
    )
