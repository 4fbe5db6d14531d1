"""Similarity matrices side by side, one colour scale, the diagonal marked (Balogh & Jelasity 2025, Fig. 2)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from seamripper.experiment.reading import Reading
from seamripper.experiment.result import Result
from seamripper.figures import Cell, Grid
from seamripper.report.sections.base import Section, score_of


def matrices(run: Reading) -> Section | None:
    """Every measure of every comparison; which are seen can be chosen."""
    comparisons = run.of("compare")
    if not comparisons:
        return None
    scales = _scales(comparisons)
    figures, details = list[Grid](), dict[str, dict[str, Any]]()
    for number, comparison in enumerate(comparisons):
        rule = comparison.record["record"]["rule"]
        for measure, matrix in comparison.record["matrices"].items():
            tags = {"measure": measure, "sampling": rule["sampling"], "pair": comparison.pair}
            figures.append(_grid(number, comparison, measure, matrix, scales[matrix["direction"]], tags))
        details |= _details(number, comparison)
    switches = {
        name: tuple(dict.fromkeys(grid.tags[name] for grid in figures)) for name in ("pair", "measure", "sampling")
    }
    text = (
        "Each cell compares a cut of the sender (row) with one of the receiver (column). All similarities share "
        "one scale, and so do all distances, on which alike is bright too; cells of the same name are framed. "
        "Intervals are over samples: they say nothing about other training seeds. Choose a cell to see every "
        "measure of that pair."
    )
    return Section("matrices", "How similar the layers are", text, tuple(figures), switches, details)


def _scales(comparisons: Sequence[Result]) -> dict[str, tuple[float, float]]:
    values: dict[str, list[float]] = {}
    for comparison in comparisons:
        for matrix in comparison.record["matrices"].values():
            known = [s["value"] for row in matrix["scores"] for s in row if s is not None and s["value"] is not None]
            values.setdefault(matrix["direction"], []).extend(known)
    return {
        direction: (min(0.0, *each, 0.0), 1.0 if max(each, default=1) <= 1 else _round_up(max(each)))
        for direction, each in values.items()
    }


def _round_up(value: float) -> float:
    power = 10.0 ** math.floor(math.log10(value))
    return next(k * power for k in (1, 2, 5, 10) if k * power >= value)


def _grid(
    number: int,
    comparison: Result,
    measure: str,
    matrix: Mapping[str, Any],
    scale: tuple[float, float],
    tags: Mapping[str, str],
) -> Grid:
    cells = tuple(
        tuple(Cell(score_of(score, comparison.record), f"{number}-{i}-{j}") for j, score in enumerate(row))
        for i, row in enumerate(matrix["scores"])
    )
    record = comparison.record["record"]
    caption = f"{matrix['direction']}, {record['n']:,} samples of {record['data']['name']}, {tags['sampling']}"
    rows, columns = tuple(comparison.record["senders"]), tuple(comparison.record["receivers"])
    return Grid(f"{measure}: {comparison.pair}", rows, columns, cells, scale, matrix["direction"], caption, tags)


def _details(number: int, comparison: Result) -> dict[str, dict[str, Any]]:
    """For each pair of cuts all its measures: what opens when a cell is chosen."""
    record, details = comparison.record, {}
    for i, sender in enumerate(record["senders"]):
        for j, receiver in enumerate(record["receivers"]):
            rows = []
            for measure, matrix in record["matrices"].items():
                score = matrix["scores"][i][j]
                why = matrix["failed"].get(f"{sender} × {receiver}", "")
                value = score_of(score, record).describe() if score else f"no score: {why}"
                rows.append([measure, matrix["direction"], value])
            details[f"{number}-{i}-{j}"] = {"title": f"{comparison.pair}: {sender} × {receiver}", "rows": rows}
    return details
