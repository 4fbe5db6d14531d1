"""Figures that are derived from matrices of stitches: means by place in the matrix, and errors between activations.

A unit is a receiver: the network that was trained from one seed, or the untrained one. What several senders give
into one receiver is averaged first.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from seamripper.papers.hernandez2022.setting import LAYERS, RANDOM
from seamripper.papers.results import Row

Cell = tuple[float, float]
"""The places of the sender's and of the receiver's layer."""
Matrix = Mapping[Cell, float]
FIGURES = {"relative_accuracy": "mean_relative_accuracy", "top1": "mean_accuracy", "ood_fast": "mean_ood"}
BETWEEN = {("vanilla", "native"): "EV", ("similarity", "native"): "ES", ("similarity", "vanilla"): "SV"}
MARGIN = 0.05
"""The ε of the paper's section 3.1, which gives no number for it: within it, two similarities are as high."""
MANY = 2.0
"""Powers of ten that count as many orders of magnitude; the paper gives no number."""


def number(network: str, cut: str) -> int:
    """The number of blocks before a layer, as the paper counts."""
    return LAYERS[network.removesuffix(RANDOM)].index(cut)


def share(network: str, cut: str) -> float:
    """The share of a network's blocks that come before a layer."""
    return number(network, cut) / (len(LAYERS[network.removesuffix(RANDOM)]) - 1)


Place = Callable[[str, str], float]


def case_of(row: Row) -> str:
    """Which of sender and receiver are trained."""
    sender, receiver = (str(row[role]).endswith(RANDOM) for role in ("sender", "receiver"))
    return "both random" if sender and receiver else "random sender" if sender else (
        "random receiver" if receiver else "trained"
    )  # fmt: skip


def shape_of(row: Row) -> str:
    """Which of the two networks is deeper."""
    sender, receiver = (len(LAYERS[str(row[role]).removesuffix(RANDOM)]) for role in ("sender", "receiver"))
    return "deeper sender" if sender > receiver else "deeper receiver" if sender < receiver else "as deep"


def unit_of(row: Row) -> str:
    """The receiver, which is what intervals are over."""
    return f"{row['receiver']}/{row.get('receiver_seed')}"


def regions(cells: Sequence[Cell]) -> dict[str, list[Cell]]:
    """The cells of a matrix by their place: below is where the sender's layer is the later one.

    Far is half of the deeper network or more. The corners are the first two layers of both, and the last two.

    >>> {name: len(cells) for name, cells in regions([(i, j) for i in range(5) for j in range(5)]).items() if cells}
    {'below': 10, 'diagonal': 5, 'above': 10, 'far below': 6, 'all': 25, 'first': 4, 'last': 4, 'elsewhere': 17}
    """
    senders, receivers = (sorted({cell[k] for cell in cells}) for k in (0, 1))
    depth = max(senders[-1], receivers[-1])
    first = [(i, j) for i, j in cells if i in senders[:2] and j in receivers[:2]]
    last = [(i, j) for i, j in cells if i in senders[-2:] and j in receivers[-2:]]
    return {
        "below": [(i, j) for i, j in cells if j < i],
        "diagonal": [(i, j) for i, j in cells if i == j],
        "above": [(i, j) for i, j in cells if j > i],
        "far below": [(i, j) for i, j in cells if 2 * (i - j) >= depth],
        "all": list(cells),
        "first": first,
        "last": last,
        "elsewhere": [cell for cell in cells if cell not in (*first, *last)],
    }


def matrices(rows: Sequence[Row], figures: Mapping[str, str], place: Place) -> dict[tuple[str, ...], dict[Cell, float]]:
    """The matrices by what they are: figure, case, shape, matching, receiver, sender."""
    tables: dict[tuple[str, ...], dict[Cell, float]] = defaultdict(dict)
    for row in rows:
        if row.get("kind") == "functional" and row["figure"] in figures:
            key = (figures[row["figure"]], case_of(row), shape_of(row), row["matching"], unit_of(row), row["sender"])
            cell = place(row["sender"], row["sender_cut"]), place(row["receiver"], row["receiver_cut"])
            tables[key][cell] = row["value"]
    return tables


def triangle(rows: Sequence[Row], place: Place = number) -> Iterator[Row]:
    """For each receiver, mean accuracies and AUROCs by place, for all senders together and by who is deeper.

    `gap` is the mean below the diagonal minus that above, and `elsewhere` all but the two corners. `several` is the
    share of the sender's layers whose two best layers of the receiver are within a margin of each other.
    """
    values: dict[tuple[str, ...], list[float]] = defaultdict(list)
    for (figure, case, shape, matching, unit, _), matrix in matrices(rows, FIGURES, place).items():
        means = {name: float(np.mean([matrix[c] for c in cells])) for name, cells in regions(list(matrix)).items()
                 if cells}  # fmt: skip
        if {"below", "above"} <= means.keys():
            means["gap"] = means["below"] - means["above"]
        if figure == "mean_relative_accuracy" and len({j for _, j in matrix}) > 1:
            means["several"] = several(matrix)
        for name, mean in means.items():
            for of in ("any", shape):
                values[figure, case, of, matching, unit, name].append(mean)
    for (figure, case, shape, matching, unit, name), means_ in values.items():
        labels = {"case": case, "shape": shape, "matching": matching, "layers": name, "receiver_seed": unit}
        yield {**labels, "figure": figure, "value": float(np.mean(means_)), "n": len(means_)}


def several(matrix: Matrix) -> float:
    """The share of the sender's layers for which a second layer of the receiver is as similar as the best one.

    >>> several({(0, 0): 0.9, (0, 1): 0.5, (1, 0): 0.88, (1, 1): 0.9})
    0.5
    """
    best = [sorted((v for (i, _), v in matrix.items() if i == row), reverse=True)[:2] for row, _ in matrix]
    return float(np.mean([second >= first - MARGIN for first, second in best]))


def errors(rows: Sequence[Row]) -> Iterator[Row]:
    """EV, ES and SV over corresponding layers and over all: means for each receiver, and extremes over everything.

    `orders` is the power of ten by which EV is larger than ES; `many_orders` the share of cells in which it is larger
    by many.
    """
    tables: dict[tuple[str, str], dict[str, dict[tuple[Any, ...], Mapping[str, float]]]]
    tables = defaultdict(lambda: defaultdict(dict))
    cells: dict[tuple[Any, ...], dict[str, float]] = defaultdict(dict)
    for row in rows:
        between = BETWEEN.get((str(row.get("matching")), str(row.get("against"))))
        if row.get("kind") == "functional" and between is not None:
            cell = number(row["sender"], row["sender_cut"]), number(row["receiver"], row["receiver_cut"])
            key = (case_of(row), between, unit_of(row), row["sender"], cell)
            cells[key][row["figure"]] = row["value"]
    for (case, between, unit, sender, (i, j)), figures in cells.items():
        for layers in ("all", "diagonal") if i == j else ("all",):
            tables[case, layers][between][unit, sender, i, j] = figures
    for (case, layers), each in tables.items():
        labels = {"case": case, "layers": layers}
        for between, known in each.items():
            yield from _statistics(list(known.values()), {**labels, "between": between})
        yield from _by_receiver(each, labels)


def _statistics(figures: Sequence[Mapping[str, float]], labels: Mapping[str, Any]) -> Iterator[Row]:
    """The smallest, the largest and the deviation over every image and cell, of which each has as many images."""
    mean = float(np.mean([f["error"] for f in figures]))
    second = float(np.mean([f["error_std"] ** 2 + f["error"] ** 2 for f in figures]))
    values = {
        "least_error": min(f["error_min"] for f in figures),
        "largest_error": max(f["error_max"] for f in figures),
        "error_deviation": math.sqrt(max(0.0, second - mean**2)),
    }
    for name, value in values.items():
        yield {**labels, "figure": name, "value": value, "n": len(figures)}


def _by_receiver(
    each: Mapping[str, Mapping[tuple[Any, ...], Mapping[str, float]]], labels: Mapping[str, Any]
) -> Iterator[Row]:
    """Mean errors into each receiver, and how far EV lies above ES there."""
    for unit in sorted({key[0] for key in each["EV"]}):
        known = {b: {k: f["error"] for k, f in cells.items() if k[0] == unit} for b, cells in each.items()}
        place = {**labels, "receiver_seed": unit, "n": len(known["EV"])}
        means = {between: float(np.mean(list(values.values()))) for between, values in known.items() if values}
        for between, mean in means.items():
            yield {**place, "between": between, "figure": "mean_error", "value": mean}
        for other in ("EV", "SV"):
            if min(means.get(other, 0.0), means.get("ES", 0.0)) > 0:
                value = math.log10(means[other] / means["ES"])
                yield {**place, "between": other, "figure": "orders", "value": value}
        many = [known["EV"][key] >= 10**MANY * known["ES"][key] for key in known["EV"].keys() & known["ES"].keys()]
        yield {**place, "between": "EV", "figure": "many_orders", "value": float(np.mean(many))}
