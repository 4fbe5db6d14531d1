"""Figures as values: what is to be seen. `scene` says how they are drawn."""

from __future__ import annotations

import itertools
import math
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, runtime_checkable

if TYPE_CHECKING:
    from numpy.typing import NDArray


@runtime_checkable
class Interval(Protocol):
    """A value with its interval, as a figure draws and describes it: `seamripper.estimate.Estimate` is one."""

    @property
    def value(self) -> float:
        """The value; NaN if there is none."""

    @property
    def low(self) -> float:
        """The lower end, NaN if there is no interval."""

    @property
    def high(self) -> float:
        """The upper end."""

    @property
    def has_interval(self) -> bool:
        """Whether both ends are known."""

    @property
    def n(self) -> int | None:
        """How many units it rests on, if that is known."""

    @property
    def values(self) -> Mapping[Any, float]:
        """The value of each unit (a training seed, say), if they are known."""

    def describe(self) -> str:
        """The value in words, with its interval, n and note."""


@dataclass(frozen=True)
class Series:
    """One line: a value for each place on the axis. A `dashed` line is a baseline."""

    name: str
    points: tuple[Interval, ...]
    dashed: bool = False
    colour: str = ""
    """The colour of its model; without one, that of its place among the lines."""


@dataclass(frozen=True)
class Lines:
    """Lines over named places (cuts), with intervals: accuracy by cut, rank by cut, losses.

    At one place alone it is drawn as a `Strip`.
    """

    title: str
    places: tuple[str, ...]
    series: tuple[Series, ...]
    y: str
    x: str = "cut"
    bounds: tuple[float, float] | None = None
    caption: str = ""
    log: bool = False
    kind: Literal["lines"] = "lines"


@dataclass(frozen=True)
class Grid:
    """A matrix of scores, sender's cuts (rows) × receiver's (columns), on a scale that it shares with others."""

    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[Interval, ...], ...]
    scale: tuple[float, float]
    direction: str = "similarity"
    caption: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)
    """What a switch chooses it by: measure, sampling, seed."""
    key: str = ""
    """Where a click on the cell in row i and column j opens something: the detail `KEY-i-j`."""
    axes: tuple[str, str] = ("sender's cuts", "receiver's cuts")
    """What rows and columns are."""
    kind: Literal["grid"] = "grid"


@dataclass(frozen=True)
class Histogram:
    """Counts of several kinds over the same bins: native and stitched energies."""

    title: str
    edges: tuple[float, ...]
    counts: Mapping[str, tuple[int, ...]]
    x: str
    caption: str = ""
    bounds: tuple[float, float] | None = None
    kind: Literal["histogram"] = "histogram"


@dataclass(frozen=True)
class Strip:
    """Values in named rows, around an observed one if there is one: the controls of a comparison."""

    title: str
    groups: tuple[tuple[str, tuple[Interval, ...]], ...]
    observed: Interval | None
    x: str
    baselines: Mapping[str, Interval] = field(default_factory=dict)
    caption: str = ""
    bounds: tuple[float, float] | None = None
    kinds: Mapping[str, str] = field(default_factory=dict)
    """What is known of the group of a name, in words."""
    colours: Mapping[str, str] = field(default_factory=dict)
    """The colour of the group of a name; "" is the observed value."""
    kind: Literal["strip"] = "strip"


@dataclass(frozen=True)
class Picture:
    """One image, as bytes of a PNG, and what is said below it; `apart` marks what departs."""

    png: bytes = field(repr=False)
    caption: str = ""
    alt: str = ""
    apart: bool = False


def png(image: NDArray[Any]) -> bytes:
    """A PNG of an image (1 or 3 channels, height, width) of bytes.

    >>> import numpy as np
    >>> png(np.zeros((3, 2, 2), np.uint8))[:8]
    b'\\x89PNG\\r\\n\\x1a\\n'
    """
    import numpy as np

    channels, high, wide = image.shape
    rows = np.ascontiguousarray(image.transpose(1, 2, 0), dtype=np.uint8).reshape(high, wide * channels)
    # A byte before each row says how it was filtered: not at all.
    filtered = np.concatenate([np.zeros((high, 1), np.uint8), rows], axis=1).tobytes()
    kind = {1: 0, 3: 2}[channels]
    header = struct.pack(">IIBBBBB", wide, high, 8, kind, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(filtered, 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, data) for name, data in parts)


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


@dataclass(frozen=True)
class Pictures:
    """Rows of images, each with a name."""

    title: str
    rows: tuple[tuple[str, tuple[Picture, ...]], ...]
    caption: str = ""
    kind: Literal["pictures"] = "pictures"


class Answer(str):
    """A short answer in a table, coloured by its tone: good, bad, open or none.

    >>> Answer("yes", "good"), Answer("yes", "good").tone
    ('yes', 'good')
    """

    tone: str

    def __new__(cls, text: str, tone: str) -> Answer:
        """The text with a tone."""
        answer = super().__new__(cls, text)
        answer.tone = tone
        return answer


@dataclass(frozen=True)
class Sheet:
    """A table that can be sorted."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    caption: str = ""
    kind: Literal["sheet"] = "sheet"


@dataclass(frozen=True)
class Words:
    """A sentence in the place of a figure: why there is nothing to draw."""

    title: str
    sentence: str
    caption: str = ""
    kind: Literal["words"] = "words"


Figure = Lines | Grid | Histogram | Strip | Pictures | Sheet | Words


@dataclass(frozen=True)
class Section:
    """A section of a page. `switches` are what its figures can be chosen by; `details` are what cells open.

    Each line of its text is a paragraph.
    """

    name: str
    title: str
    text: str
    figures: tuple[Figure, ...]
    switches: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    details: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    place: int = 100
    """Where it stands: a page has its sections in the order of their places. Those of seamripper have 10, 20 … 90, 45
    and 75."""
    folded: bool = False
    """Whether its figures are shown only when asked for."""
    code: str = ""
    """Lines below its text that are shown as they are."""


_STRETCHES = 50
"""A curve of more steps is drawn by means over equal stretches of steps."""


@dataclass(frozen=True)
class _Mean:
    """A point of a curve, which has no interval."""

    value: float
    note: str = ""
    low: float = math.nan
    high: float = math.nan
    has_interval: bool = False
    n: int | None = None
    values: Mapping[Any, float] = field(default_factory=dict)

    def describe(self) -> str:
        return f"{self.value:.3g}{self.note}"


def curves(title: str, values: Mapping[str, Sequence[float]], *, colours: Mapping[str, str] | None = None) -> Lines:
    """Losses over steps: of long curves, means over equal stretches of steps; on a log scale if the values need it."""
    longest = max(map(len, values.values()))
    size = -(-longest // _STRETCHES)
    places = tuple(str(start + 1) for start in range(0, longest, size))
    note = f" (mean of {size} steps)" if size > 1 else ""
    series = []
    for name, steps in values.items():
        points = [_Mean(_mean(steps[start : start + size]), note) for start in range(0, longest, size)]
        series.append(Series(name, tuple(points), colour=(colours or {}).get(name, "")))
    known = [point.value for line in series for point in line.points if math.isfinite(point.value)]
    log = bool(known) and min(known) > 0 and max(known) > 30 * min(known)
    return Lines(title, places, tuple(series), "loss", "step", log=log)


def _mean(values: Sequence[float]) -> float:
    known = [value for value in values if math.isfinite(value)]
    return math.fsum(known) / len(known) if known else math.nan


def bounds_of(points: Iterable[Interval], *, log: bool = False) -> tuple[float, float]:
    """Ends of an axis that has room for these values, their intervals and those of their units."""
    ends = ((point.value, point.low, point.high, *point.values.values()) for point in points)
    values = [value for point in ends for value in point if math.isfinite(value)]
    if not values:
        return 0.0, 1.0
    low, high = min(values), max(values)
    if log:
        return low / 1.2, high * 1.2
    room = 0.05 * (high - low) or 0.05 * abs(high) or 0.05
    return (max(0.0, low - room) if low >= 0 else low - room), (min(1.0, high + room) if high <= 1 else high + room)


def points_of(figure: Lines | Strip) -> list[Interval]:
    """Every point that is drawn."""
    if isinstance(figure, Lines):
        return [point for series in figure.series for point in series.points]
    observed = [] if figure.observed is None else [figure.observed]
    return [*observed, *(point for _, group in figure.groups for point in group), *figure.baselines.values()]


Twin = TypeVar("Twin", Lines, Strip, Histogram)


def twins(figures: Iterable[Twin]) -> tuple[Twin, ...]:
    """The figures on one axis, so that they can be compared by eye."""
    known = tuple(figures)
    bounds = _shared_bounds(known)
    return tuple(replace(figure, bounds=bounds) for figure in known)


def _shared_bounds(figures: Sequence[Lines | Strip | Histogram]) -> tuple[float, float]:
    edges = [edge for figure in figures if isinstance(figure, Histogram) for edge in figure.edges]
    points = (point for figure in figures if not isinstance(figure, Histogram) for point in points_of(figure))
    log = any(isinstance(figure, Lines) and figure.log for figure in figures)
    return (min(edges), max(edges)) if edges else bounds_of(points, log=log)


Rows = list[tuple[Any, ...]]


def numbers_of(figure: Figure) -> tuple[tuple[str, ...], Rows]:
    """What a figure shows, as the columns and rows of a table; none of pictures and words."""
    ends = "value", "low", "high", "n"
    rows: Rows = []
    if isinstance(figure, Lines):
        for series in figure.series:
            points = zip(figure.places, series.points, strict=True)
            rows += [(series.name, place, *row) for place, point in points for row in _units(point)]
        return ("line", figure.x, "unit", *ends), rows
    if isinstance(figure, Grid):
        for name, cells in zip(figure.rows, figure.cells, strict=True):
            rows += [(name, column, *_row(cell)) for column, cell in zip(figure.columns, cells, strict=True)]
        return (*figure.axes, *ends), rows
    if isinstance(figure, Strip):
        named = [*((name, point) for name, group in figure.groups for point in group), *figure.baselines.items()]
        named = [*([] if figure.observed is None else [("observed", figure.observed)]), *named]
        return (figure.x, "unit", *ends), [(name, *row) for name, point in named for row in _units(point)]
    if isinstance(figure, Histogram):
        counts = zip(*figure.counts.values(), strict=True)
        return ("from", "to", *figure.counts), [
            (*edges, *count) for edges, count in zip(itertools.pairwise(figure.edges), counts, strict=True)
        ]
    return (figure.columns, list(figure.rows)) if isinstance(figure, Sheet) else ((), [])


def _row(point: Interval) -> tuple[float | int | None, ...]:
    return *(None if math.isnan(value) else value for value in (point.value, point.low, point.high)), point.n


def _units(point: Interval) -> Iterator[tuple[Any, ...]]:
    """A point, and the units whose mean it is."""
    yield "mean" if point.values else "", *_row(point)
    for unit, value in point.values.items():
        yield str(unit), value, None, None, None


def describe(figure: Figure) -> str:
    """What a figure shows, in a sentence or two: for those who cannot see it, and for search."""
    if isinstance(figure, Lines):
        parts = [f"{series.name}: {_ends(figure.places, series.points)}" for series in figure.series]
        return f"{figure.title}. Lines of {figure.y} by {figure.x}. " + "; ".join(parts) + "."
    if isinstance(figure, Grid):
        return f"{figure.title}. {_extremes(figure)}"
    if isinstance(figure, Histogram):
        means = [f"{name} about {_centre(figure.edges, counts):.3g}" for name, counts in figure.counts.items()]
        return f"{figure.title}. Histograms of {figure.x}: {', '.join(means)}."
    if isinstance(figure, Strip):
        parts = [] if figure.observed is None else [f"Observed {figure.observed.describe()}"]
        parts += [f"{name} {_span(points)}" for name, points in figure.groups]
        parts += [f"{name} {point.describe()}" for name, point in figure.baselines.items()]
        return f"{figure.title}. {'; '.join(parts)}."
    if isinstance(figure, Pictures):
        return f"{figure.title}. Rows of images: {', '.join(name for name, _ in figure.rows)}."
    return f"{figure.title}. " + (
        figure.sentence if isinstance(figure, Words) else f"A table of {len(figure.rows)} rows."
    )


def _extremes(figure: Grid) -> str:
    cells = [(cell.value, i, j) for i, row in enumerate(figure.cells) for j, cell in enumerate(row)]
    known = [cell for cell in cells if not math.isnan(cell[0])]
    if not known:
        return "No cell has a value."
    (least, a, b), (most, c, d) = min(known), max(known)
    return (
        f"A matrix of {len(figure.rows)} by {len(figure.columns)} cells, from {least:.3g} at "
        f"{figure.rows[a]} × {figure.columns[b]} to {most:.3g} at {figure.rows[c]} × {figure.columns[d]}."
    )


def _ends(places: Sequence[str], points: Sequence[Interval]) -> str:
    known = [(place, point) for place, point in zip(places, points, strict=True) if not math.isnan(point.value)]
    if not known:
        return "no value"
    ends = [f"{_with_interval(point)} at {place}" for place, point in (known[0], known[-1])[: len(known)]]
    return " to ".join(dict.fromkeys(ends))


def _with_interval(point: Interval) -> str:
    return f"{point.value:.3g}" + (f" [{point.low:.3g}, {point.high:.3g}]" if point.has_interval else "")


def _centre(edges: Sequence[float], counts: Sequence[int]) -> float:
    total = sum(counts)
    middles = [(a + b) / 2 for a, b in itertools.pairwise(edges)]
    return math.fsum(m * c for m, c in zip(middles, counts, strict=True)) / total if total else math.nan


def _span(points: Sequence[Interval]) -> str:
    values = [point.value for point in points if not math.isnan(point.value)]
    if not values:
        return "no value"
    return f"{values[0]:.3g}" if len(values) == 1 else f"{min(values):.3g} to {max(values):.3g}"
