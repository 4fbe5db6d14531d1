"""Papers and their items: an experiment, claims, tables and plots, all of them data."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from seamripper._words import did_you_mean
from seamripper.errors import ExperimentError, FileError
from seamripper.estimate import Estimate
from seamripper.experiment import Experiment
from seamripper.figures import Figure, Grid, Lines, Series, Sheet
from seamripper.papers.claims import Claim
from seamripper.papers.decisions import DecidedClaim, decide, points_at
from seamripper.papers.findings import Finding
from seamripper.papers.profiles import Profile, Sizes, departures, work
from seamripper.papers.results import Results, Row, Select
from seamripper.papers.rules import CUT, Names, cell_name, figure_name, label_name


@dataclass(frozen=True)
class PaperTable:
    """A table: cells as they are, and selections, each of which fills as many columns as it has cells."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    caption: str = ""
    form: str = ""
    """How values are written, such as ".1e" where they span many powers of ten; by default as shares, which end at 0
    and 1, with three decimals."""

    def draw(self, results: Results, names: Names) -> Sheet:
        """The table with the values of these results; a value that they lack is a dash."""
        rows = tuple(tuple(word for cell in row for word in self._words(cell, results)) for row in self.rows)
        return Sheet(self.title, self.columns, rows, self.caption)

    def selections(self) -> Iterator[Select]:
        """What it selects of the results."""
        for row in self.rows:
            for cell in row:
                yield from (part for part in (cell if isinstance(cell, tuple) else (cell,)) if isinstance(part, Select))

    def _words(self, cell: Any, results: Results) -> Sequence[str]:
        if isinstance(cell, Select):
            values = [results.find(cell.figures, labels) for labels in cell.cells()]
            return ["–" if value is None else self._text(value) for value in values]
        if isinstance(cell, tuple):
            return [word for part in cell for word in self._words(part, results)]
        return ["–" if cell is None else f"{cell:{self.form or '.3f'}}" if isinstance(cell, float) else str(cell)]

    def _text(self, value: Estimate) -> str:
        if not self.form:
            return str(value.as_share)
        interval = f" [{value.low:{self.form}}, {value.high:{self.form}}]" if value.has_interval else ""
        return f"{value.value:{self.form}}{interval}"


@dataclass(frozen=True)
class PaperPlot:
    """Lines over an axis: one for each value of the other axes, baselines, and the authors' own numbers, dashed."""

    title: str
    selects: tuple[Select, ...]
    baselines: Mapping[str, Select] = field(default_factory=dict)
    authors: Mapping[str, Sequence[float]] = field(default_factory=dict)
    caption: str = ""
    along: str = "receiver_cut"

    def draw(self, results: Results, names: Names) -> Lines:
        """The plot with the values of these results."""
        lines: dict[str, dict[Any, Estimate | None]] = {}
        cells = [cell for select in self.selects for cell in select.cells()]
        rest = [{key: value for key, value in cell.items() if key != self.along} for cell in cells]
        for select in self.selects:
            for cell in select.cells():
                name = select.called or cell_name({k: v for k, v in cell.items() if k != self.along}, rest, names)
                values = lines.setdefault(name or figure_name(select), {})
                values[cell[self.along]] = results.find(select.figures, cell)
        places = list(dict.fromkeys(cell[self.along] for cell in cells))
        series = [Series(name, points_at(places, values)) for name, values in lines.items()]
        for name, select in self.baselines.items():
            values = {place: results.find(select.figures, {**select.labels, self.along: place}) for place in places}
            series.append(Series(name, points_at(places, values), dashed=True))
        for name, numbers in self.authors.items():
            series.append(Series(f"{name} (authors)", tuple(Estimate(number) for number in numbers), dashed=True))
        words = tuple(label_name(names, self.along, place) for place in places)
        y = figure_name(Select(*self.selects[0].figures))
        x = "cut" if self.along == "receiver_cut" else self.along
        return Lines(self.title, words, tuple(series), y, x, caption=self.caption)

    def selections(self) -> Iterator[Select]:
        """What it selects of the results."""
        yield from self.selects
        places = tuple(dict.fromkeys(cell[self.along] for select in self.selects for cell in select.cells()))
        for name, select in self.baselines.items():
            yield select.with_labels(**{self.along: places}).with_name(name)


@dataclass(frozen=True)
class PaperGrid:
    """A matrix of a figure over two labels, which are axes of its selection: by default the cuts of both networks."""

    title: str
    select: Select
    rows: str = "sender_cut"
    columns: str = "receiver_cut"
    caption: str = ""
    scale: tuple[float, float] = (0, 1)
    sparse: bool = False
    """Whether rows and columns without any value are left out, as a profile may leave them out."""

    def __post_init__(self) -> None:
        if set(self.select.axes) != {self.rows, self.columns}:
            raise ExperimentError(
                f"Expected the select of the grid {self.title!r} to have {self.rows} and {self.columns} as its axes, "
                f"but it has {', '.join(self.select.axes) or 'none'}. Give both labels as tuples, and no other."
            )

    def draw(self, results: Results, names: Names) -> Grid:
        """The matrix with the values of these results; a cell that they lack is empty."""
        # Unless they have names of their own, the sender's cuts are called like the receiver's.
        known = {"sender_cut": names.get(CUT, {}), **names}
        points: dict[Any, dict[Any, Estimate | None]] = {}
        for cell in self.select.cells():
            row = points.setdefault(cell[self.rows], {})
            row[cell[self.columns]] = results.find(self.select.figures, cell)
        across = self.select.axes[self.columns]
        if self.sparse:
            points = {place: row for place, row in points.items() if any(row.values())}
            across = tuple(place for place in across if any(row[place] for row in points.values()))
        return Grid(
            self.title,
            tuple(label_name(known, self.rows, place) for place in points),
            tuple(label_name(known, self.columns, place) for place in across),
            tuple(points_at(across, row) for row in points.values()),
            self.scale,
            direction="value",
            caption=self.caption,
            axes=(_axis_name(self.rows), _axis_name(self.columns)),
        )

    def selections(self) -> Iterator[Select]:
        """What it selects of the results."""
        yield self.select


def _axis_name(label: str) -> str:
    return {"sender_cut": "sender's cuts", CUT: "receiver's cuts"}.get(label, label.replace("_", " "))


@dataclass(frozen=True)
class ItemReading:
    """What the results of an item say: its claims decided, tables and figures, and where it departs from the paper."""

    claims: tuple[DecidedClaim, ...]
    figures: tuple[Figure, ...]
    departs: tuple[str, ...] = ()
    sizes: frozenset[str] = frozenset()
    """The sizes of the profile that its experiment uses."""
    results: Results | None = field(default=None, repr=False)
    """The results, with the rows that were derived."""

    @property
    def cells(self) -> Sheet:
        """Every cell of every claim, as one table."""
        rows = tuple((claim.says, *row) for claim in self.claims for row in claim.sheet.rows)
        columns = ("claim", "cell", "value", "against", "difference", "status")
        return Sheet("Cells of the claims", columns, rows)


@dataclass(frozen=True)
class Item:
    """A table or figure of a paper, with those that come out of the same experiments.

    `experiment` describes the runs for a profile. An item that `shows` nothing of its own shows the figures of its
    claims. `departs` is where it departs from the paper in every profile. `pictures` are how the titles of the figures
    begin that are shown of its jobs: rows of images, and energies. `derive` computes further rows from the rows of all
    jobs that have a value; claims and figures select them like any other.
    """

    name: str
    covers: tuple[str, ...]
    about: str
    experiment: Callable[[Any], Experiment] = field(repr=False)
    claims: tuple[Claim, ...] = field(repr=False)
    shows: tuple[PaperTable | PaperPlot | PaperGrid, ...] = field(default=(), repr=False)
    departs: tuple[str, ...] = field(default=(), repr=False)
    names: Names = field(default_factory=dict, repr=False)
    pictures: tuple[str, ...] = ()
    derive: Callable[[Sequence[Row]], Iterable[Row]] | None = field(default=None, repr=False)

    @property
    def words(self) -> tuple[str, ...]:
        """What it can be called.

        >>> Item("table-c1", ("Table C.1", "Fig. 2b"), "", None, ()).words
        ('table-c1', 'fig-2b')
        """
        return tuple(dict.fromkeys((self.name, *map(_word, self.covers))))

    def read(self, results: Results, profile: str) -> ItemReading:
        """The claims, tables and figures of these results."""
        results = self._with_derived(results)
        decided = [decide(claim, results, self.names, profile) for claim in self.claims]
        claims = tuple(claim for claim in decided if claim is not None)
        figures: list[Figure] = [row.draw(results, self.names) for row in self.shows]
        if not self.shows:
            figures += [claim.lines or claim.sheet for claim in claims if claim.cells]
        figures += [p for start in self.pictures for p in results.pictures if p.title.startswith(start)]
        return ItemReading(claims, tuple(figures), results=results)

    def _with_derived(self, results: Results) -> Results:
        """The results with the rows that are derived from them."""
        if self.derive is None:
            return results
        try:
            rows = list(self.derive([row for row in results.rows if row.get("value") is not None]))
            nameless = [row for row in rows if not {"figure", "value"} <= row.keys()]
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as e:
            raise ExperimentError(
                f"The rows of {self.name} that are derived could not be computed ({type(e).__name__}: {e}): some jobs "
                "have failed or were not run. `seamripper status` on the store tells which."
            ) from e
        if nameless:
            raise ExperimentError(
                f"Expected every row that {self.name} derives to have a figure and a value, but got {nameless[0]}."
            )
        return replace(results, rows=[*results.rows, *rows])


def _word(title: str) -> str:
    """A title as a word: Fig. 2b → fig-2b, Table C.1 → table-c1, Section 4.2 → section-4.2."""
    kind, _, rest = title.lower().replace("§", "section ").partition(" ")
    number = rest.strip()
    if kind.startswith(("fig", "table")) and re.fullmatch(r"[a-z]\.\d\w*", number):
        number = number.replace(".", "")
    return f"{kind.rstrip('.')}-{number.replace(' ', '-')}"


@dataclass(frozen=True)
class Paper:
    """A paper: its items, the sizes of its profiles, the record of how long the items took, and what is found."""

    name: str
    title: str
    items: tuple[Item, ...]
    sizes: Sizes = field(default_factory=dict, repr=False)
    measured: Path | None = field(default=None, repr=False)
    findings: tuple[Finding, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        says = [claim.says for item in self.items for claim in item.claims]
        names = [item.name for item in self.items]
        for finding in self.findings:
            for start in finding.claims:
                n = sum(sentence.startswith(start) for sentence in says)
                if n != 1:
                    raise ExperimentError(
                        f"Expected one claim of {self.name} to begin with {start!r}, as the finding {finding.holds!r} "
                        f"rests on it, but {n} do."
                    )
            for item, _ in finding.numbers.values():
                if item not in names:
                    raise ExperimentError(f"{self.name} has no item {item!r}: {did_you_mean(item, names)}")

    @property
    def about(self) -> str:
        """The title."""
        return self.title

    def choose(self, word: str) -> tuple[Item, ...]:
        """The items that a word means: one, or all that have a part of the table or figure."""
        items = tuple(item for item in self.items if word in item.words)
        if not items:
            known = list(dict.fromkeys(name for item in self.items for name in item.words))
            raise ExperimentError(f"{self.name} has no {word!r}: {did_you_mean(word, known)}")
        return items

    def experiment(self, item: Item, profile: str) -> Experiment:
        """The runs of an item in a profile."""
        return item.experiment(Profile(profile, self.sizes))

    def read(self, item: Item, results: Results, profile: str) -> ItemReading:
        """What the results of an item say, with where it departs from the paper."""
        reading, sizes = item.read(results, profile), self._sizes(item, profile)
        return replace(reading, departs=self.departures(item, profile), sizes=sizes)

    def departures(self, item: Item, profile: str) -> tuple[str, ...]:
        """Where an item departs from the paper: by the sizes that its experiment uses, and in every profile."""
        smaller = departures(self.sizes, self._sizes(item, profile), profile)
        return (*((smaller,) if smaller else ()), *item.departs)

    def _sizes(self, item: Item, profile: str) -> frozenset[str]:
        """The sizes that the experiment of an item uses."""
        used = Profile(profile, self.sizes)
        item.experiment(used)
        return frozenset(used.used)

    def seconds(self, item: Item, profile: str) -> float | None:
        """About how long an item takes on two cores: measured, or for the paper's sizes estimated from them."""
        minutes = self.minutes.get(item.name)
        if minutes is None or profile == "quick":
            return None if minutes is None else 60 * minutes
        return 60 * minutes * work(self.experiment(item, profile)) / work(self.experiment(item, "quick"))

    def sharing(self, item: Item, profile: str) -> tuple[str, ...]:
        """The items that ask for jobs of this one too, itself among them: the first that is run does them for all."""
        parts = [part for _, part in self.experiment(item, profile).parts()]
        return tuple(
            other.name
            for other in self.items
            if other is item or any(part in parts for _, part in self.experiment(other, profile).parts())
        )

    @functools.cached_property
    def minutes(self) -> Mapping[str, float]:
        """Minutes of each item in the quick profile, from the last run of record."""
        if self.measured is None:
            return {}
        return numbers_in(self.measured, "minutes", "`seamripper reproduce --measured` writes it.")


def numbers_in(path: Path, key: str, remedy: str) -> dict[str, float]:
    """The numbers by name that a JSON file has under a key; none if there is no file."""
    if not path.is_file():
        return {}
    try:
        return {str(name): float(value) for name, value in json.loads(path.read_text())[key].items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as e:
        raise FileError(f"{path} is damaged: {e}. {remedy}") from e
