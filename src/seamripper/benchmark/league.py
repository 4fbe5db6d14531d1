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
Column = tuple[str, str]
"""A test and one of its statistics."""


@dataclass(frozen=True, eq=False)
class League(WithMethods):
    """What the tests say of the measures.

    `costs` are the seconds that a pair of layers took, by the kind of measure. `unrated` has the measures that no test
    could rate, with the reason, and `trouble` the errors of the jobs that failed. `made_from` is all that decides the
    ratings, as their methods cards have it.
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
        return {test.label: test.about for test in self.tests}

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
    def mean_ranks(self) -> dict[str, tuple[float, int]]:
        """For each measure, best first: its mean rank over the columns that rate it, and how many columns do."""
        ranks: dict[str, list[float]] = {}
        for column in self.columns:
            values = {measure: r.estimate.value for (place, measure), r in self.overall.items() if place == column}
            for measure, rank in zip(values, rankdata([-value for value in values.values()]), strict=True):
                ranks.setdefault(measure, []).append(float(rank))
        means = {measure: (fmean(some), len(some)) for measure, some in ranks.items()}
        return dict(sorted(means.items(), key=lambda item: (item[1][0], item[0])))

    def cell(self, column: Column, measure: str) -> str:
        """A rating as the league shows it: value, interval, and a star if it is better than chance."""
        rating = self.overall.get((column, measure))
        return "–" if rating is None else f"{rating.estimate}{f' {_MARK}' if rating.is_marked else ''}"

    @property
    def table(self) -> Sheet:
        """The league: one row per measure, best mean rank first."""
        rows = [
            (place, measure, *(self.cell(column, measure) for column in self.columns), round(mean, 2), n)
            for place, (measure, (mean, n)) in enumerate(self.mean_ranks.items(), 1)
        ]
        names = tuple(f"{test}: {statistic}" for test, statistic in self.columns)
        return Sheet(
            "League", ("place", "measure", *names, "mean rank", "columns that rate it"), tuple(rows), self.caption
        )

    @property
    def caption(self) -> str:
        """How the league is to be read."""
        return (
            f"Sampling of structural measures: {self.sampling}. Intervals of 95 % are over training seeds. "
            f"{_MARK}: better than chance, p < 0.05 by permutation, adjusted for the number of measures (Holm). "
            "Measures are ordered by their mean rank over the columns that rate them."
        )

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
                {"measure": measure, "mean_rank": mean, "columns": n} for measure, (mean, n) in self.mean_ranks.items()
            ],
            "ratings": [rating.as_record() for rating in self.ratings],
            "seconds_per_layer_pair": dict(self.costs),
            "store": str(self.folder),
            "unrated": dict(self.unrated),
            "trouble": list(self.trouble),
        }


def rating_rows(ratings: Iterable[Rating]) -> list[tuple[Any, ...]]:
    """Ratings as rows of a table with the columns `COLUMNS`; what is not known is None."""
    rows = []
    for r in ratings:
        low, high = (r.estimate.low, r.estimate.high) if r.estimate.has_interval else (None, None)
        numbers = (r.estimate.value, low, high, r.estimate.n, r.estimate.unit, r.p, r.p_holm, r.chance)
        rows.append((r.test, r.statistic, r.family, r.measure, *numbers, r.note))
    return rows
