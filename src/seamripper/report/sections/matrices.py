"""Similarity matrices side by side, one colour scale, the diagonal marked (Balogh & Jelasity 2025, Fig. 2)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from seamripper.experiment.reading import Reading
from seamripper.experiment.result import Result
from seamripper.report.figures import Cell, Grid
from seamripper.report.sections.base import Section, score_point


def matrices(run: Reading) -> Section | None:
    """Every measure of every comparison; which are seen can be chosen."""
    found = run.of("compare")
    if not found:
        return None
    scales = _scales(found)
    figures, details = list[Grid](), dict[str, dict[str, Any]]()
    for number, one in enumerate(found):
        rule = one.record["record"]["rule"]
        for measure, matrix in one.record["matrices"].items():
            tags = {"measure": measure, "sampling": rule["sampling"], "pair": one.pair}
            figures.append(_grid(number, one, measure, matrix, scales[matrix["direction"]], tags))
        details |= _details(number, one)
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


def _scales(found: Sequence[Result]) -> dict[str, tuple[float, float]]:
    values: dict[str, list[float]] = {}
    for one in found:
        for matrix in one.record["matrices"].values():
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
    one: Result,
    measure: str,
    matrix: Mapping[str, Any],
    scale: tuple[float, float],
    tags: Mapping[str, str],
) -> Grid:
    cells = tuple(
        tuple(Cell(score_point(score, one.record), f"{number}-{i}-{j}") for j, score in enumerate(row))
        for i, row in enumerate(matrix["scores"])
    )
    record = one.record["record"]
    caption = f"{matrix['direction']}, {record['n']:,} samples of {record['data']['name']}, {tags['sampling']}"
    rows, columns = tuple(one.record["senders"]), tuple(one.record["receivers"])
    return Grid(f"{measure}: {one.pair}", rows, columns, cells, scale, matrix["direction"], caption, tags)


def _details(number: int, one: Result) -> dict[str, dict[str, Any]]:
    """For each pair of cuts all its measures: what opens when a cell is chosen."""
    record, found = one.record, {}
    for i, sender in enumerate(record["senders"]):
        for j, receiver in enumerate(record["receivers"]):
            rows = []
            for measure, matrix in record["matrices"].items():
                score = matrix["scores"][i][j]
                why = matrix["failed"].get(f"{sender} × {receiver}", "")
                told = score_point(score, record).told if score else f"no score: {why}"
                rows.append([measure, matrix["direction"], told])
            found[f"{number}-{i}-{j}"] = {"title": f"{one.pair}: {sender} × {receiver}", "rows": rows}
    return found
