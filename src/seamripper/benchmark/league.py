"""League: the ratings of measures as tables, ordered by their mean rank."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any, ClassVar

from scipy.stats import rankdata

from seamripper._frames import Row
from seamripper.benchmark.base import ALL, BenchTest, Rating
from seamripper.benchmark.contestants import Contestant
from seamripper.benchmark.methods import COST, league_sentences
from seamripper.cards import MEASURED_ON, WithMethods
from seamripper.errors import ExperimentError
from seamripper.figures import Sheet

COLUMNS = (
    "test",
    "statistic",
    "family",
    "measure",
    "value",
    "low",
    "high",
    "n",
    "unit",
    "p",
    "p_holm",
    "chance",
    "note",
)
_MARK = "*"
_DIGITS = 9
"""Values that agree to so many digits are equal: the order in which numbers were added makes no rank."""
Column = tuple[str, str]
"""A test and one of its statistics."""


@dataclass(frozen=True, eq=False)
class League(WithMethods):
    """What the tests say of the measures.

    `costs` are the seconds that a pair of layers took, by the kind of measure. `unrated` has the measures that no test
    could rate, with the reason, and `trouble` the errors of the jobs that failed. `made_from` is all that decides the
    ratings, as their methods cards have it. `remarks` are, by test, what must be known to read its ratings.
    """

    kind: ClassVar[str] = "league"
    axes: ClassVar[tuple[str, ...]] = ("test", "statistic", "family", "measure")

    name: str
    about: str
    sampling: str
    tests: tuple[BenchTest, ...]
    contestants: tuple[Contestant, ...] = field(repr=False)
    ratings: tuple[Rating, ...] = field(repr=False)
    folder: Path
    costs: Mapping[str, float] = field(default_factory=dict)
    unrated: Mapping[str, str] = field(default_factory=dict)
    trouble: tuple[str, ...] = ()
    made_from: Mapping[str, Any] = field(default_factory=dict, repr=False)
    remarks: Mapping[str, tuple[str, ...]] = field(default_factory=dict, repr=False)

    def rows(self) -> list[Row]:
        """One row per rating, and one per kind of measure with the seconds that a pair of layers took."""
        ratings = [dict(zip(COLUMNS, row, strict=True)) for row in rating_rows(self.ratings)]
        machines = {part[MEASURED_ON]: None for role, part in self.made_from.items() if role.startswith("study ")}
        time = {"test": COST, "statistic": "seconds per pair of layers", "family": "", MEASURED_ON: "; ".join(machines)}
        return [*ratings, *({**time, "measure": kind, "value": seconds} for kind, seconds in self.costs.items())]

    def method(self) -> dict[str, Any]:
        """All that decides the ratings."""
        if not self.made_from:
            raise ExperimentError("This league was not made by `bench`, so how its ratings were made is not known.")
        return dict(self.made_from)

    def sentences(self) -> list[str]:
        """How the ratings were made."""
        return league_sentences(self.name, self.made_from)

    def figure_sentences(self) -> dict[str, str]:
        """How each test is to be read."""
        return {test.label: " ".join((test.about, *self.remarks.get(test.label, ()))) for test in self.tests}

    @functools.cached_property
    def columns(self) -> tuple[Column, ...]:
        """The columns of the league that have a rating."""
        every = [(test.label, statistic) for test in self.tests for statistic in test.columns]
        known = {column for column, _ in self.overall}
        return tuple(column for column in every if column in known)

    @functools.cached_property
    def overall(self) -> dict[tuple[Column, str], Rating]:
        """By column and measure, the rating on all families; that on the only one if there are no others."""
        families: dict[tuple[Column, str], list[Rating]] = {}
        for rating in self.ratings:
            families.setdefault(((rating.test, rating.statistic), rating.measure), []).append(rating)
        return {key: next((r for r in some if r.family == ALL), some[0]) for key, some in families.items()}

    @functools.cached_property
    def _values(self) -> dict[Column, dict[str, float]]:
        """The value of each measure in each column, rounded so that equal ones are equal."""
        values: dict[Column, dict[str, float]] = {column: {} for column in self.columns}
        for (column, measure), rating in self.overall.items():
            if column in values:
                values[column][measure] = round(rating.estimate.value, _DIGITS)
        return values

    @functools.cached_property
    def uncounted(self) -> dict[Column, str]:
        """The columns that no mean rank counts, with the reason."""
        by_definition = {(test.label, statistic) for test in self.tests for statistic in test.by_definition}
        same = {column for column, values in self._values.items() if len(set(values.values())) < 2}
        return {
            column: "some measures pass by definition" if column in by_definition else "has one value for all"
            for column in self._values
            if column in by_definition | same
        }

    @functools.cached_property
    def counts(self) -> dict[str, int]:
        """For each measure that has a rating: how many of the columns that count rate it."""
        measures = dict.fromkeys(measure for values in self._values.values() for measure in values)
        counted = [values for column, values in self._values.items() if column not in self.uncounted]
        return {measure: sum(measure in values for values in counted) for measure in measures}

    @property
    def counted(self) -> int:
        """How many columns a mean rank rests on."""
        return len(self._values) - len(self.uncounted)

    @functools.cached_property
    def mean_ranks(self) -> dict[str, float]:
        """The mean rank over the columns that count, of the measures that all of them rate, best first.

        A mean over other columns could not be compared with it, so the other measures have none.
        """
        complete = [measure for measure, n in self.counts.items() if n == self.counted > 0]
        ranks = [
            rankdata([-values[measure] for measure in complete])
            for column, values in self._values.items()
            if column not in self.uncounted
        ]
        means = {measure: fmean(rank[i] for rank in ranks) for i, measure in enumerate(complete)}
        return dict(sorted(means.items(), key=lambda item: (item[1], item[0])))

    @property
    def places(self) -> list[tuple[int | None, str]]:
        """Every measure that has a rating: those with a mean rank by place, then the others, most columns first.

        Equal mean ranks share a place.
        """
        means = [round(mean, _DIGITS) for mean in self.mean_ranks.values()]
        others = sorted(self.counts.keys() - self.mean_ranks.keys(), key=lambda name: (-self.counts[name], name))
        ranked = [(means.index(mean) + 1, name) for mean, name in zip(means, self.mean_ranks, strict=True)]
        return [*ranked, *((None, name) for name in others)]

    def cell(self, column: Column, measure: str) -> str:
        """A rating as the league shows it: value, interval, and a star if it is better than chance."""
        rating = self.overall.get((column, measure))
        return "–" if rating is None else f"{rating.estimate.as_share}{f' {_MARK}' if rating.is_marked else ''}"

    @property
    def table(self) -> Sheet:
        """The league: one row per measure, best mean rank first, then those without one."""
        rows = [
            (
                place,
                measure,
                *(self.cell(column, measure) for column in self.columns),
                None if place is None else round(self.mean_ranks[measure], 2),
                self.counts[measure],
            )
            for place, measure in self.places
        ]
        names = tuple(f"{test}: {statistic}" for test, statistic in self.columns)
        last = f"rated by (of {columns_in_words(self.counted)})"
        return Sheet("League", ("place", "measure", *names, "mean rank", last), tuple(rows), self.caption)

    @property
    def caption(self) -> str:
        """How the league is to be read."""
        return (
            f"Sampling of structural measures: {self.sampling}. Intervals of 95 % are over training seeds. "
            f"{_MARK}: better than chance, p < 0.05 by permutation, adjusted for the number of measures (Holm). "
            f"{self._order_sentences}"
        )

    @property
    def _order_sentences(self) -> str:
        """Over which columns the mean rank is, and who has none."""
        left_out = "; ".join(f"{test}: {statistic}, which {why}" for (test, statistic), why in self.uncounted.items())
        without = f", without {left_out}" if left_out else ""
        if not self.counted:
            return f"There is no mean rank: no column tells these measures apart{without}."
        others = len(self.counts) - len(self.mean_ranks)
        unplaced = " Measures that not all of these columns rate have no place." if others else ""
        return f"The mean rank is over {columns_in_words(self.counted)}{without}.{unplaced}"

    @property
    def tables(self) -> dict[str, Sheet]:
        """Every rating, one table for each test."""
        sheets = {}
        for test in self.tests:
            rows = tuple(tuple(row[1:]) for row in rating_rows(r for r in self.ratings if r.test == test.label))
            sheets[test.label] = Sheet(f"{test.label}: every rating", COLUMNS[1:], rows, test.about)
        return sheets

    def cost_sentences(self) -> list[str]:
        """What a pair of layers took."""
        counts = Counter[str](contestant.kind for contestant in self.contestants)
        return [
            f"A pair of layers took {1000 * seconds:.3g} ms; {kind} measures: {counts[kind]}."
            for kind, seconds in self.costs.items()
        ]

    def as_record(self) -> dict[str, Any]:
        """The league as JSON has it."""
        return {
            "name": self.name,
            "about": self.about,
            "sampling": self.sampling,
            "tests": {test.label: {"about": test.about, **test.as_record()} for test in self.tests},
            "league": [
                {
                    "place": place,
                    "measure": measure,
                    "mean_rank": self.mean_ranks.get(measure),
                    "columns": self.counts[measure],
                }
                for place, measure in self.places
            ],
            "columns": self.counted,
            "remarks": {test: list(remarks) for test, remarks in self.remarks.items()},
            "ratings": [rating.as_record() for rating in self.ratings],
            "seconds_per_layer_pair": dict(self.costs),
            "store": str(self.folder),
            "unrated": dict(self.unrated),
            "trouble": list(self.trouble),
        }


def columns_in_words(n: int) -> str:
    """A number of columns.

    >>> columns_in_words(1), columns_in_words(2)
    ('1 column', '2 columns')
    """
    return f"{n} column{'s' * (n != 1)}"


def rating_rows(ratings: Iterable[Rating]) -> list[tuple[Any, ...]]:
    """Ratings as rows of a table with the columns `COLUMNS`; what is not known is None."""
    rows = []
    for r in ratings:
        estimate = r.estimate.as_share
        low, high = (estimate.low, estimate.high) if estimate.has_interval else (None, None)
        numbers = (estimate.value, low, high, estimate.n, estimate.unit, r.p, r.p_holm, r.chance)
        rows.append((r.test, r.statistic, r.family, r.measure, *numbers, r.note))
    return rows
