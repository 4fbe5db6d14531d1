"""Figures as values: what is to be seen, and not how. `svg` draws them for a page, `paper` on paper."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True)
class Point:
    """A figure with its interval and n; not a number where there is none."""

    value: float
    low: float = math.nan
    high: float = math.nan
    n: int | None = None
    note: str = ""
    at_least: bool = False
    """Whether it is a lower bound: the figure may yet be higher."""
    unit: str = ""
    """What n counts, which is what the interval is over: samples, stitch seeds."""

    @property
    def has_interval(self) -> bool:
        """Whether both ends of its interval are known."""
        return not (math.isnan(self.low) or math.isnan(self.high))

    @property
    def written(self) -> str:
        """Value and interval for a cell of a table; with an arrow if it is a lower bound.

        >>> Point(0.837, 0.495, 1.0, at_least=True).written
        '0.837 [0.495, 1.000] ↑'
        >>> Point(142.4, 140.0, 145.2).written
        '142 [140, 145]'
        """
        if math.isnan(self.value):
            return "–"
        digits = 3 if abs(self.value) < 10 else 0
        words = f"{self.value:.{digits}f}"
        if self.has_interval:
            words += f" [{self.low:.{digits}f}, {self.high:.{digits}f}]"
        return words + (" ↑" if self.at_least else "")

    @property
    def short(self) -> str:
        """Value, interval, and n with what it counts.

        >>> Point(0.914, 0.905, 0.922, 5000, unit="samples").short
        '0.914 [0.905, 0.922], n = 5,000 samples'
        """
        words = "no value" if math.isnan(self.value) else f"{self.value:.3g}"
        if self.has_interval:
            words += f" [{self.low:.3g}, {self.high:.3g}]"
        return words + ("" if self.n is None else f", n = {self.n:,} {self.unit}".rstrip())

    @property
    def told(self) -> str:
        """The point in words, with its note, for whoever hovers over it or hears it."""
        return self.short + (f" ({self.note})" if self.note else "")


@dataclass(frozen=True)
class Series:
    """One line: a point for each place on the axis. A `dashed` one is a baseline."""

    name: str
    points: tuple[Point, ...]
    dashed: bool = False


@dataclass(frozen=True)
class Lines:
    """Lines over named places (cuts), with bands: accuracy by cut, rank by cut, losses."""

    title: str
    places: tuple[str, ...]
    series: tuple[Series, ...]
    y: str
    x: str = "cut"
    bounds: tuple[float, float] | None = None
    caption: str = ""
    kind: Literal["lines"] = "lines"


@dataclass(frozen=True)
class Cell:
    """One cell of a matrix; `key` is what a click on it opens."""

    point: Point
    key: str = ""


@dataclass(frozen=True)
class Grid:
    """A matrix of scores, sender's cuts (rows) × receiver's (columns), on a scale that it shares with others."""

    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[Cell, ...], ...]
    scale: tuple[float, float]
    direction: str = "similarity"
    caption: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)
    """What a switch chooses it by: measure, sampling, seed."""
    kind: Literal["grid"] = "grid"


@dataclass(frozen=True)
class Histogram:
    """Counts of several kinds over the same bins: native and stitched energies."""

    title: str
    edges: tuple[float, ...]
    counts: Mapping[str, tuple[int, ...]]
    x: str
    caption: str = ""
    kind: Literal["histogram"] = "histogram"


@dataclass(frozen=True)
class Strip:
    """Points in named rows around one that is observed: the controls of a comparison."""

    title: str
    groups: tuple[tuple[str, tuple[Point, ...]], ...]
    observed: Point
    x: str
    baselines: Mapping[str, Point] = field(default_factory=dict)
    caption: str = ""
    kind: Literal["strip"] = "strip"


@dataclass(frozen=True)
class Picture:
    """One image, as bytes of a PNG, and what is said below it; `apart` marks what departs."""

    png: bytes = field(repr=False)
    caption: str = ""
    alt: str = ""
    apart: bool = False


@dataclass(frozen=True)
class Pictures:
    """Rows of images, each with a name."""

    title: str
    rows: tuple[tuple[str, tuple[Picture, ...]], ...]
    caption: str = ""
    kind: Literal["pictures"] = "pictures"


@dataclass(frozen=True)
class Sheet:
    """A table that can be sorted."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    caption: str = ""
    kind: Literal["sheet"] = "sheet"


Figure = Lines | Grid | Histogram | Strip | Pictures | Sheet


def beside(figure: Lines, number: int) -> float:
    """How far the marks of a series stand beside their place: at one place alone they would hide each other."""
    solid = [k for k, one in enumerate(figure.series) if not one.dashed]
    if len(figure.places) > 1 or number not in solid:
        return 0.0
    return (solid.index(number) - (len(solid) - 1) / 2) * min(0.2, 1.6 / len(solid))


def alternative(figure: Figure) -> str:
    """What a figure shows, in a sentence or two: for those who cannot see it, and for search."""
    if isinstance(figure, Lines):
        told = [f"{one.name}: {_ends(figure.places, one.points)}" for one in figure.series]
        return f"{figure.title}. Lines of {figure.y} by {figure.x}. " + "; ".join(told) + "."
    if isinstance(figure, Grid):
        found = [(c.point.value, r, k) for r, row in enumerate(figure.cells) for k, c in enumerate(row)]
        known = [one for one in found if not math.isnan(one[0])]
        if not known:
            return f"{figure.title}. No cell has a value."
        (least, a, b), (most, c, d) = min(known), max(known)
        return (
            f"{figure.title}. A matrix of {len(figure.rows)} by {len(figure.columns)} cells, from {least:.3g} at "
            f"{figure.rows[a]} × {figure.columns[b]} to {most:.3g} at {figure.rows[c]} × {figure.columns[d]}."
        )
    if isinstance(figure, Histogram):
        means = [f"{name} about {_centre(figure.edges, counts):.3g}" for name, counts in figure.counts.items()]
        return f"{figure.title}. Histograms of {figure.x}: {', '.join(means)}."
    if isinstance(figure, Strip):
        told = [f"{name} {_span(points)}" for name, points in figure.groups]
        told += [f"{name} {point.told}" for name, point in figure.baselines.items()]
        return f"{figure.title}. Observed {figure.observed.told}; {'; '.join(told)}."
    if isinstance(figure, Pictures):
        return f"{figure.title}. Rows of images: {', '.join(name for name, _ in figure.rows)}."
    return f"{figure.title}. A table of {len(figure.rows)} rows."


def _ends(places: Sequence[str], points: Sequence[Point]) -> str:
    known = [(place, one) for place, one in zip(places, points, strict=True) if not math.isnan(one.value)]
    if not known:
        return "no value"
    told = [f"{_with_interval(one)} at {place}" for place, one in (known[0], known[-1])[: len(known)]]
    return " to ".join(dict.fromkeys(told))


def _with_interval(one: Point) -> str:
    return f"{one.value:.3g} [{one.low:.3g}, {one.high:.3g}]" if one.has_interval else f"{one.value:.3g}"


def _centre(edges: Sequence[float], counts: Sequence[int]) -> float:
    total = sum(counts)
    middles = [(a + b) / 2 for a, b in itertools.pairwise(edges)]
    return math.fsum(m * c for m, c in zip(middles, counts, strict=True)) / total if total else math.nan


def _span(points: Sequence[Point]) -> str:
    values = [one.value for one in points if not math.isnan(one.value)]
    if not values:
        return "no value"
    return f"{values[0]:.3g}" if len(values) == 1 else f"{min(values):.3g} to {max(values):.3g}"


def as_point(estimate: Mapping[str, Any] | None, note: str = "", *, unit: str) -> Point:
    """The point of an estimate as records have it; `unit` is what its n counts.

    >>> as_point({"value": 0.5, "interval": [None, None], "n": 3}, unit="stitch seeds").told
    '0.5, n = 3 stitch seeds'
    """
    if estimate is None or estimate["value"] is None:
        return Point(math.nan, note=note)
    low, high = estimate["interval"] or (None, None)
    low, high = (math.nan if end is None else float(end) for end in (low, high))
    return Point(float(estimate["value"]), low, high, estimate["n"], note, unit=unit)
