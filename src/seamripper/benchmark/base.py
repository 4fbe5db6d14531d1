"""What a test of the benchmark is: it says which parts of a study it needs, and rates measures by their results."""

from __future__ import annotations

import abc
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from seamripper.benchmark.bench_set import BenchSet
from seamripper.benchmark.contestants import Contestant, Kind
from seamripper.benchmark.scores import Row
from seamripper.benchmark.statistics import Statistic, holm, mean_statistic
from seamripper.errors import ExperimentError
from seamripper.estimate import Estimate
from seamripper.experiment import Experiment
from seamripper.registry import Choice, Registry

ALL = "all"
"""The family of a rating that is the mean over families."""
LEVEL = 0.05
"""A p-value below this, adjusted by Holm's method, is marked."""


@dataclass(frozen=True)
class Rating:
    """What one statistic of a test says of a measure, on one family or on all of them.

    `p` is one-sided; `p_holm` is adjusted for the number of measures that the same statistic has on the same family.
    """

    test: str
    statistic: str
    family: str
    measure: str
    estimate: Estimate
    p: float | None = None
    p_holm: float | None = None
    chance: float | None = None
    note: str = ""

    @property
    def is_marked(self) -> bool:
        """Whether it is better than chance at the level of 5 %, adjusted for the number of measures."""
        return self.p_holm is not None and self.p_holm < LEVEL

    def as_record(self) -> dict[str, Any]:
        """The rating as JSON has it."""
        return {**vars(self), "estimate": self.estimate.as_record()}


@dataclass(frozen=True)
class BenchTest(Choice):
    """A test that measures are put to. Leaves are frozen dataclasses with a `name`, an `about`, and their options.

    `about` says how to read the number; `columns` are the statistics that the league shows, and `by_definition` those
    of them that some measures pass by definition, which no mean rank counts. `kinds` are the kinds of measures that
    the test can rate, and `unable` those of these kinds, by their labels, that it cannot.
    """

    what, error = "benchmark test", ExperimentError
    about: ClassVar[str]
    columns: ClassVar[tuple[str, ...]]
    by_definition: ClassVar[tuple[str, ...]] = ()
    kinds: ClassVar[tuple[Kind, ...]] = ("structural", "functional")
    unable: ClassVar[tuple[str, ...]] = ()

    @abc.abstractmethod
    def experiment(self, bench_set: BenchSet, contestants: Sequence[Contestant]) -> Experiment:
        """The study whose results the test reads."""

    @abc.abstractmethod
    def rate(self, rows: Sequence[Row], bench_set: BenchSet, contestants: Sequence[Contestant]) -> Iterator[Rating]:
        """The ratings of the measures by the rows of that study."""

    def remarks(self, rows: Sequence[Row], contestants: Sequence[Contestant]) -> Iterator[str]:
        """What must be known to read its ratings, beyond each by itself; by default nothing."""
        return iter(())

    def admit(self, contestants: Sequence[Contestant]) -> tuple[Contestant, ...]:
        """The measures that the test can rate; none is refused."""
        able = tuple(c for c in contestants if c.kind in self.kinds and c.label not in self.unable)
        if not able:
            labels, kinds = ", ".join(c.label for c in contestants), " and ".join(self.kinds)
            raise ExperimentError(
                f"The test {self.name!r} rates {kinds} measures, and can rate none of {labels}. Name others, "
                "'linear_cka' for example, or leave the test out."
            )
        return able


bench_tests: Registry[BenchTest] = Registry(
    BenchTest, "seamripper.benchmark", what="benchmark test", error=ExperimentError
)
"""Every test by name. `bench_tests.make("sensitivity?cuts=all")` makes one; `mine.py:MyTest` one of a user's file."""


def rating_of(
    statistic: Statistic, test: str, name: str, family: str, measure: str, *, p: float | None = None
) -> Rating:
    """A statistic as a rating; `p` is for one that does not come from its permutations."""
    return Rating(
        test,
        name,
        family,
        measure,
        statistic.estimate,
        statistic.p if p is None else p,
        chance=statistic.chance,
        note=statistic.note,
    )


def family_ratings(test: str, name: str, measure: str, families: Mapping[str, Statistic]) -> Iterator[Rating]:
    """The rating on each family that has a value, and their mean if there are several."""
    known = {family: statistic for family, statistic in families.items() if not math.isnan(statistic.value)}
    for family, statistic in known.items():
        yield rating_of(statistic, test, name, family, measure)
    if len(known) > 1:
        mean = mean_statistic(list(known.values()), f"networks of {len(known)} families")
        yield rating_of(mean, test, name, ALL, measure)


def with_holm(ratings: Iterable[Rating]) -> tuple[Rating, ...]:
    """The ratings with their p-values adjusted over the measures that share test, statistic and family."""
    rated = list(ratings)
    groups: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for i, rating in enumerate(rated):
        if rating.p is not None:
            groups[rating.test, rating.statistic, rating.family].append(i)
    for members in groups.values():
        adjusted = holm([rated[i].p or 0.0 for i in members])
        for i, p in zip(members, adjusted, strict=True):
            rated[i] = replace(rated[i], p_holm=p)
    return tuple(rated)
