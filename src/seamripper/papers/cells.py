"""Cells of a claim: the value of each, what stands against it, and what comes of the check, now or with more seeds."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from seamripper.estimate import Estimate, with_units
from seamripper.papers.checks import CHECKS, OPEN, Looks, Status, difference, numbers
from seamripper.papers.claims import Claim, Clause
from seamripper.papers.results import Labels, Results
from seamripper.papers.rules import Names, cell_name, looks_of

_NARROW = 0.01
"""A narrower interval, which may have no width at all, counts as one of this half-width where claims are weighed."""


@dataclass(frozen=True)
class DecidedCell:
    """A cell of a claim: its labels, its value, what stands against it, and what came of the check of its clause."""

    name: str
    labels: Labels
    value: Estimate
    against: Estimate | float
    status: Status
    words: str
    clause: Clause
    gap: Estimate
    """What the check is about: the difference, or the value itself if the check is of single seeds."""
    looks: Looks = Looks()

    @property
    def summary(self) -> tuple[str, Status, str]:
        """The cell as `combine` takes it."""
        return self.name, self.status, self.words

    @property
    def row(self) -> tuple[Any, ...]:
        """The cell as a row of a table."""
        if isinstance(self.against, Estimate):
            against, gap = str(self.against.as_share), str(difference(self.value, self.against))
        else:
            against, gap = f"{self.against:g}", "–"
        return self.name or "–", str(self.value.as_share), against, gap, self.status

    @property
    def weight(self) -> float:
        """By how much it misses what its check asks for, in half-widths of its interval."""
        ends = [end for end in (self.gap.low, self.gap.high) if math.isfinite(end)]
        reach = max((abs(end - self.gap.value) for end in ends), default=math.inf)
        missed = CHECKS[self.clause.check].shortfall(self.gap.value, self.clause.slack)
        return max(0.0, missed) / max(reach, _NARROW)

    @property
    def learning(self) -> bool:
        """Whether training had not ended, so that a figure is a lower bound."""
        return _learning(self.value, self.against)

    @property
    def seeds(self) -> int:
        """How many seeds its interval is over; 1 if it has none, or one over samples."""
        return self.gap.n if self.gap.unit == "seeds" and self.gap.has_interval and self.gap.n else 1

    def with_seeds(self, n: int) -> DecidedCell:
        """The cell as so many seeds would decide it, if value and deviation stay; as it is, if it has an answer."""
        if self.status != OPEN or not 1 < self.seeds < n:
            return self
        gap = with_units(self.gap, n)
        return replace(self, status=self.looks.decide(CHECKS[self.clause.check], gap, self.clause.slack))


def decided_cells(
    claim: Claim, results: Results, names: Names, profile: str, *, by_value: bool = False
) -> list[DecidedCell]:
    """Every cell of a claim in these results; with `by_value`, one without an interval is decided by its value."""
    clauses = claim.clauses(profile)
    places = [(clause, labels) for clause in clauses for labels in clause.select.cells()]
    all_labels = [labels for _, labels in places]
    cells = []
    for (clause, labels), looks in zip(places, looks_of(claim, all_labels), strict=True):
        value, against = read_cell(clause, labels, results)
        check = CHECKS[clause.check]
        gap = value if check.of_seeds else difference(value, against)
        if by_value and not gap.has_interval and not _learning(value, against):
            gap = replace(gap, low=gap.value, high=gap.value)
        status = looks.decide(check, gap, clause.slack)
        words, name = numbers(value, against, of_seeds=check.of_seeds), cell_name(labels, all_labels, names)
        cells.append(DecidedCell(name, labels, value, against, status, words, clause, gap, looks))
    return cells


def _learning(value: Estimate, against: Estimate | float) -> bool:
    return value.lower_bound or (isinstance(against, Estimate) and against.lower_bound)


def read_cell(clause: Clause, labels: Labels, results: Results) -> tuple[Estimate, Estimate | float]:
    """The value of a cell, and what stands against it."""
    value = results.of(clause.select.figures, labels)
    others = [
        results.of(s.figures or clause.select.figures, s.beside(labels, clause.select.axes)) for s in clause.beside
    ]
    if clause.at_rest:
        value, others = replace(value, lower_bound=False), [replace(x, lower_bound=False) for x in others]
    return value, max(others, key=lambda estimate: estimate.value) if others else float(clause.number)
