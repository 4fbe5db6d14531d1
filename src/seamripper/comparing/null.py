"""The nulls of a comparison: every cell, and the best cell of each matrix, beside those of permuted samples.

One permutation serves all cells, so that the best cell is compared with the best ones of permuted samples: the more
cells there are, the better the best of them is by chance alone (Gröger, Wen, Brbić 2026, algorithm 2).
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace

from seamripper._progress import Progress, Watcher, nobody
from seamripper.comparing.comparison import Matrix
from seamripper.comparing.sums import Sums, source
from seamripper.comparing.values import workers
from seamripper.estimate import Estimate
from seamripper.measures.base import Measure
from seamripper.measures.null import measure_null, obstacle, sample_orders
from seamripper.measures.pair import Pair
from seamripper.measures.score import reason

_At = tuple[int, int]
_Cell = dict[str, float | str]
"""The values of a cell by measure, or why one has none."""


def with_nulls(
    matrices: Mapping[str, Matrix], sums: Sums, measures: Sequence[Measure], watch: Watcher = nobody
) -> dict[str, Matrix]:
    """The matrices with what each score, and the best one, is worth beside those of permuted samples."""
    plan, has_null = sums.plan, [measure for measure in measures if not obstacle(measure)]
    cells = itertools.product(range(len(plan.senders)), range(len(plan.receivers)))
    permuted: dict[_At, list[_Cell]] = {at: [] for at in cells}
    permutations = plan.null if has_null else 0
    with workers() as pool:
        # What is the same in every order is computed here: the sides of permuted samples take it over.
        list(pool.map(functools.partial(_values, sums, has_null), permuted))
        orders = sample_orders(sums.fold_of, permutations=permutations, seed=plan.rule.seed)
        for number, order in enumerate(orders):
            cell = functools.partial(_values, sums.in_order(order), has_null)
            for at, values in zip(permuted, pool.map(cell, permuted), strict=True):
                permuted[at].append(values)
            watch(Progress("permutations", number + 1, permutations))
    return dict(matrices) | {m.label: _with_null(matrices[m.label], m, permuted) for m in measures}


def _values(sums: Sums, measures: Sequence[Measure], at: _At) -> _Cell:
    """The value of every measure for one cell of permuted samples, or why it has none."""
    pairs, values = dict[str, Pair](), _Cell()
    for measure in measures:
        try:
            kind = source(measure, sums.plan.rule.sampling)
            if kind not in pairs:
                pairs[kind] = sums.pair(kind, *at)
            values[measure.label] = measure.value(pairs[kind])
        except Exception as e:
            # As for the scores themselves: a user's own measure may raise anything.
            values[measure.label] = reason(measure, e)
    return values


def _with_null(matrix: Matrix, measure: Measure, permuted: Mapping[_At, Sequence[_Cell]]) -> Matrix:
    """The matrix with its nulls; cells without a score, or without one of permuted samples, have none."""
    if why := obstacle(measure):
        return replace(matrix, no_null=why)
    values: dict[_At, list[float]] = {}
    for (i, j), cells in permuted.items():
        some = [cell[measure.label] for cell in cells if matrix.scores[i][j] is not None]
        why = why or next((value for value in some if isinstance(value, str)), "")
        if some and not any(isinstance(value, str) for value in some):
            values[i, j] = [float(value) for value in some]
    if not values:
        return replace(matrix, no_null=why)

    def with_null(score: Estimate | None, at: _At) -> Estimate | None:
        if score is None or at not in values:
            return score
        return replace(score, null=measure_null(measure, score.value, values[at]))

    rows = enumerate(matrix.scores)
    scores = tuple(tuple(with_null(score, (i, j)) for j, score in enumerate(row)) for i, row in rows)
    best = max if matrix.direction == "similarity" else min
    observed = best(score.value for row in scores for score in row if score is not None and score.null is not None)
    null = measure_null(measure, observed, [best(column) for column in zip(*values.values(), strict=True)])
    return replace(matrix, scores=scores, null=null, no_null=why and f"Some cells have no null: {why}")
