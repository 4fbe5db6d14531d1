"""Claims decided by results: the status, the numbers behind it, and the table and figure of the cells."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from seamripper.estimate import Estimate
from seamripper.figures import Lines, Series, Sheet
from seamripper.papers.cells import DecidedCell, decided_cells
from seamripper.papers.checks import FAILS, HOLDS, OPEN, UNTESTABLE, Over, Status, best, combine
from seamripper.papers.claims import COUNTS, Claim
from seamripper.papers.outlook import Outlook, outlook_of
from seamripper.papers.results import Results
from seamripper.papers.rules import CUT, Names, cell_name, figure_name, label_name, rule_of


@dataclass(frozen=True)
class DecidedClaim:
    """A claim with its rule in words, its status, and the cells and numbers that decided it."""

    claim: Claim
    rule: str
    status: str
    figure: str
    cells: tuple[DecidedCell, ...] = field(default=(), repr=False)
    names: Names = field(default_factory=dict, repr=False)
    outlook: Outlook | None = field(default=None, repr=False)
    """Why it stays open, if it does, and what would decide it."""
    remark: str = ""
    """Which of its gates are open."""

    @property
    def says(self) -> str:
        """What the paper says, and where."""
        return self.claim.sentence

    @property
    def beyond(self) -> bool:
        """Whether the paper does not ask this."""
        return self.claim.beyond

    @property
    def outcome(self) -> Status:
        """The status, whatever the claim's own answers are called; one that is neither of two answers is open."""
        answers = self.claim.answers
        if self.claim.depends is not None:
            answers = f"depends on {self.claim.depends.what}", f"does not depend on {self.claim.depends.what}"
        known: dict[str, Status] = dict(zip(answers, (HOLDS, FAILS), strict=True))
        return UNTESTABLE if self.status == UNTESTABLE else known.get(self.status, OPEN)

    @property
    def weight(self) -> float:
        """How much it counts where it fails: the most by which one of its cells does, in widths of its interval."""
        return max((cell.weight for cell in self.cells if cell.status == FAILS), default=0.0)

    def notes(self, minutes: float | None = None) -> str:
        """Why it is open and what would decide it, and which gates are open; `minutes` are what its item takes."""
        return " ".join(filter(None, (self.outlook.sentence(minutes) if self.outlook else "", self.remark)))

    def as_record(self, minutes: float | None = None) -> dict[str, Any]:
        """The claim as JSON has it; `minutes` are what its item takes."""
        names = ("says", "rule", "status", "figure", "beyond")
        return {**{name: getattr(self, name) for name in names}, "notes": self.notes(minutes) or None}

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
        return _through_gates(_decide_by_counts(claim, results, names, rule), results)
    ways = [claim.variant(value) for value in claim.depends.values] if claim.depends else [claim]
    cells = [cell for way in ways for cell in decided_cells(way, results, names, profile)]
    status, words = _outcome(claim, cells, names)
    outlook = outlook_of(cells, lambda some: _outcome(claim, some, names)[0]) if status == OPEN else None
    return _through_gates(DecidedClaim(claim, rule, status, words, tuple(cells), names, outlook), results)


def _outcome(claim: Claim, cells: Sequence[DecidedCell], names: Names) -> tuple[str, str]:
    """What comes of all cells of a claim: its status or answer, and the numbers."""
    named = [cell.summary for cell in cells]
    if claim.depends is not None:
        half = len(cells) // 2
        return claim.depends.compare(named[:half], named[half:])
    if claim.over == "best":
        status, words = best([cell.value for cell in cells], claim.bound)
    else:
        status, words = combine(list(_groups(cells, claim.within, names)) if claim.within else named, claim.over)
    return dict(zip((HOLDS, FAILS), claim.answers, strict=True)).get(status, status), words


def _through_gates(decided: DecidedClaim, results: Results) -> DecidedClaim:
    """The claim as its gates let it be: not testable if one of them fails, with a remark if one is open."""
    words: dict[Status, list[str]] = {HOLDS: [], FAILS: [], OPEN: []}
    for gate in decided.claim.gates:
        cells = decided_cells(gate.claim, results, decided.names, "", by_value=True)
        status, figures = combine([cell.summary for cell in cells], "every")
        words[status].append(f"{gate.says} ({figures})")
    if words[FAILS]:
        reason = f"it does not hold that {' nor that '.join(words[FAILS])}"
        return replace(decided, status=UNTESTABLE, figure=reason, outlook=None)
    remark = f"It is open whether {' and whether '.join(words[OPEN])}." if words[OPEN] else ""
    return replace(decided, remark=remark)


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
