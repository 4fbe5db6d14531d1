"""Claims decided by results: the status, the numbers behind it, and the table and figure of the cells."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from seamripper.estimate import Estimate
from seamripper.figures import Lines, Series, Sheet
from seamripper.papers.checks import CHECKS, FAILS, HOLDS, Over, Status, best, combine, difference, numbers
from seamripper.papers.claims import COUNTS, Claim, Clause
from seamripper.papers.results import Labels, Results
from seamripper.papers.rules import CUT, Names, cell_name, figure_name, label_name, rule_of


@dataclass(frozen=True)
class DecidedCell:
    """A cell of a claim: its labels, its value, what stands against it, and what came of the check."""

    name: str
    labels: Labels
    value: Estimate
    against: Estimate | float
    status: Status
    words: str

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


@dataclass(frozen=True)
class DecidedClaim:
    """A claim with its rule in words, its status, and the cells and numbers that decided it."""

    claim: Claim
    rule: str
    status: str
    figure: str
    cells: tuple[DecidedCell, ...] = field(default=(), repr=False)
    names: Names = field(default_factory=dict, repr=False)

    @property
    def says(self) -> str:
        """What the paper says, and where."""
        return self.claim.sentence

    @property
    def beyond(self) -> bool:
        """Whether the paper does not ask this."""
        return self.claim.beyond

    def as_record(self) -> dict[str, Any]:
        """The claim as JSON has it."""
        names = ("says", "rule", "status", "figure", "beyond")
        return {name: getattr(self, name) for name in names}

    @property
    def sheet(self) -> Sheet:
        """The cells as a table."""
        columns = ("cell", "value", "against", "difference", "status")
        return Sheet(self.says, columns, tuple(cell.row for cell in self.cells), self.rule)

    @property
    def lines(self) -> Lines | None:
        """The cells as lines over cuts; None if they are at fewer than two."""
        cuts = list(dict.fromkeys(cell.labels[CUT] for cell in self.cells if cell.labels.get(CUT) is not None))
        if len(cuts) < 2:
            return None
        series: dict[tuple[str, bool], dict[Any, Estimate | None]] = {}
        for cell in self.cells:
            name = cell.name.rpartition(" at ")[0] or figure_name(self.claim.select)
            series.setdefault((name, False), {})[cell.labels.get(CUT)] = cell.value
            if isinstance(cell.against, Estimate):
                series.setdefault((f"{name}: against", True), {})[cell.labels.get(CUT)] = cell.against
        places = tuple(label_name(self.names, CUT, cut) for cut in cuts)
        lines = tuple(Series(name, points_at(cuts, by_cut), dashed=dashed) for (name, dashed), by_cut in series.items())
        return Lines(self.says, places, lines, figure_name(self.claim.select), caption=self.rule)


def points_at(places: Sequence[Any], values: Mapping[Any, Estimate | None]) -> tuple[Estimate, ...]:
    """The values at these places as points of a line; NaN where there is none."""
    points = (values.get(place) for place in places)
    return tuple(Estimate(math.nan) if point is None else point.as_share for point in points)


def decide(claim: Claim, results: Results, names: Names, profile: str = "") -> DecidedClaim | None:
    """What comes of a claim in these results; None if this profile runs none of its cells."""
    if not claim.clauses(profile):
        return None
    rule = rule_of(claim, names, profile)
    if claim.check == COUNTS:
        return _decide_by_counts(claim, results, names, rule)
    if claim.depends is not None:
        ways = [_cells(claim.variant(value), results, names, profile) for value in claim.depends.values]
        status, words = claim.depends.compare(*([cell.summary for cell in cells] for cells in ways))
        return DecidedClaim(claim, rule, status, words, tuple(itertools.chain(*ways)), names)
    cells = _cells(claim, results, names, profile)
    if claim.over == "best":
        status, words = best([cell.value for cell in cells], claim.bound)
    elif claim.within is None:
        status, words = combine([cell.summary for cell in cells], claim.over)
    else:
        status, words = combine(list(_groups(cells, claim.within, names)), claim.over)
    answer = dict(zip((HOLDS, FAILS), claim.answers, strict=True)).get(status, status)
    return DecidedClaim(claim, rule, answer, words, tuple(cells), names)


def _cells(claim: Claim, results: Results, names: Names, profile: str) -> list[DecidedCell]:
    clauses = claim.clauses(profile)
    all_labels = [labels for clause in clauses for labels in clause.select.cells()]
    cells = []
    for clause in clauses:
        for labels in clause.select.cells():
            value, against = read_cell(clause, labels, results)
            check = CHECKS[clause.check]
            # Where the bound is what a value is compared with, it is no slack beside that.
            slack = clause.bound if clause.beside or check.of_seeds else 0.0
            status = check.decide(value if check.of_seeds else difference(value, against), slack)
            words = numbers(value, against, of_seeds=check.of_seeds)
            cells.append(DecidedCell(cell_name(labels, all_labels, names), labels, value, against, status, words))
    return cells


def read_cell(clause: Clause, labels: Labels, results: Results) -> tuple[Estimate, Estimate | float]:
    """The value of a cell, and what stands against it."""
    value = results.of(clause.select.figures, labels)
    others = [
        results.of(s.figures or clause.select.figures, s.beside(labels, clause.select.axes)) for s in clause.beside
    ]
    if clause.at_rest:
        value, others = replace(value, lower_bound=False), [replace(x, lower_bound=False) for x in others]
    return value, max(others, key=lambda estimate: estimate.value) if others else float(clause.number)


def _groups(cells: Sequence[DecidedCell], within: tuple[Over, str], names: Names) -> Iterator[tuple[str, Status, str]]:
    """The cells along one label, combined: one for each value of the other labels."""
    over, along = within
    rest = [{key: value for key, value in cell.labels.items() if key != along} for cell in cells]
    groups: dict[str, list[tuple[str, Status, str]]] = {}
    for cell, labels in zip(cells, rest, strict=True):
        inner = label_name(names, along, cell.labels[along])
        groups.setdefault(cell_name(labels, rest, names), []).append((inner, cell.status, cell.words))
    for name, group in groups.items():
        yield (name, *combine(group, over))


def _decide_by_counts(claim: Claim, results: Results, names: Names, rule: str) -> DecidedClaim:
    """How often audits conclude what, with the values of the cells beside."""
    (clause,) = claim.clauses()
    (audits,) = clause.beside
    labels = {**clause.select.labels, CUT: None, **audits.labels, "figure": audits.figures[0]}
    counts = results.counts("status", labels)
    values = [
        (label_name(names, CUT, cell[CUT]), results.of(clause.select.figures, cell)) for cell in clause.select.cells()
    ]
    words = ", ".join(f"{place} {value.value:.2f}" for place, value in values)
    status = ", ".join(f"{answer} ({n})" for answer, n in counts.most_common())
    return DecidedClaim(claim, rule, status, f"{figure_name(clause.select)}: {words}", (), names)


def claims_sheet(claims: Sequence[DecidedClaim]) -> Sheet:
    """The claims as a table."""
    rows = tuple((claim.says, claim.status, claim.figure, claim.rule) for claim in claims)
    return Sheet("Claims, restated as checks", ("the paper says", "status", "figure", "rule"), rows)
