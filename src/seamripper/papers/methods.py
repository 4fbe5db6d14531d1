"""How the numbers of an item were made, for their methods cards: of its claims, gates, tables, plots and matrices."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from seamripper._frames import Row
from seamripper.cards import MEASURED_ON, method_record, version_words
from seamripper.estimate import Estimate
from seamripper.experiment.methods import study_words
from seamripper.papers.cells import DecidedCell, decided_cells
from seamripper.papers.claims import COUNTS
from seamripper.papers.decisions import DecidedClaim
from seamripper.papers.items import Item, ItemReading
from seamripper.papers.results import Labels, Results, Select
from seamripper.papers.rules import Names, label_name

AXES = ("part", "cell", "figure")
TIME = "time"


def item_method(paper: str, profile: str, item: Item, study: Mapping[str, Any]) -> dict[str, Any]:
    """All that decides the numbers of an item; the fingerprint of its study covers all of its jobs."""
    return method_record(
        "seamripper.papers.reproduce",
        paper=paper,
        profile=profile,
        item=item.name,
        study=dict(study),
        cut=None,
        n=None,
        sampling=None,
        pooling=None,
        mask=None,
        estimator={"interval": "95 %, over seeds, or over samples where there is one network"},
        null=None,
        versions=study["versions"],
    )


def item_sentences(method: Mapping[str, Any]) -> list[str]:
    """How the numbers of an item were made, from its method."""
    return [
        f"It is a number of {method['paper']}/{method['item']}, profile {method['profile']!r}, read from the results "
        f"of {study_words(method['study'])}: networks, cuts, samples, matchings and seeds are those of its jobs, each "
        "of which has a card of its own. The 95 % interval is over seeds, or over samples where there is one network.",
        version_words(method["versions"]),
    ]


def item_rows(item: Item, reading: ItemReading, findings: Mapping[str, Select]) -> list[Row]:
    """One row per number: of the cells of each claim and its gates, of what the item shows, and of findings."""
    rows: list[Row] = []
    for claim in reading.claims:
        rows += _claim_rows(claim, reading.results, item.names)
    if reading.results is not None:
        for show in item.shows:
            rows += _selected_rows(show.title, show.selections(), reading.results, item.names)
        for name, select in findings.items():
            rows += _selected_rows(f"finding: {name}", [select], reading.results, item.names)
    return _told_apart(rows)


def time_row(seconds: float, machine: str) -> Row:
    """What all jobs took, and on what that was measured."""
    row = {"part": TIME, "cell": "", "figure": "seconds of all jobs", "value": seconds}
    return {**row, MEASURED_ON: machine}


def _claim_rows(claim: DecidedClaim, results: Results | None, names: Names) -> Iterator[Row]:
    yield from _cell_rows(claim.says, claim.cells)
    if results is None:
        return
    if claim.claim.check == COUNTS:
        for clause in claim.claim.clauses():
            yield from _selected_rows(claim.says, [clause.select], results, names)
    for gate in claim.claim.gates:
        cells = decided_cells(gate.claim, results, names, "", by_value=True)
        yield from _cell_rows(f"{claim.says}: gate, {gate.says}", cells)


def _cell_rows(part: str, cells: Iterable[DecidedCell]) -> Iterator[Row]:
    for cell in cells:
        known = {"value": cell.value, "against": cell.against, "difference": cell.gap}
        for figure, estimate in known.items():
            if isinstance(estimate, Estimate):
                yield {"part": part, "cell": cell.name, "figure": figure, "status": cell.status, **estimate.as_row()}


def _selected_rows(part: str, selects: Iterable[Select], results: Results, names: Names) -> Iterator[Row]:
    for select in selects:
        for cell in select.cells():
            estimate = results.find(select.figures, cell)
            if estimate is not None:
                row = {"part": part, "cell": _words(cell, names), "figure": select.figures[0], "status": None}
                yield {**row, **estimate.as_row()}


def _words(cell: Labels, names: Names) -> str:
    """The labels of a cell; those that may have any value are left out."""
    known = {key: sorted(map(str, v)) if isinstance(v, frozenset) else v for key, v in cell.items() if v is not None}
    return ", ".join(f"{key} {label_name(names, key, v) if not isinstance(v, list) else v}" for key, v in known.items())


def _told_apart(rows: Iterable[Row]) -> list[Row]:
    """The rows, each with labels that no other has: cells of two clauses, or of two variants, may have one name."""
    seen: dict[tuple[str, ...], int] = {}
    apart = []
    for row in rows:
        labels = tuple(str(row[axis]) for axis in AXES)
        seen[labels] = seen.get(labels, 0) + 1
        apart.append(row if seen[labels] == 1 else {**row, "cell": f"{row['cell']} ({seen[labels]})".strip()})
    return apart
