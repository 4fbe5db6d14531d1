"""Values: every measure's matrix, from the sums of a pass."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import torch

from seamripper._progress import Progress, Watcher, nobody
from seamripper.comparing.comparison import Matrix
from seamripper.comparing.sums import PassPlan, Sums, source
from seamripper.estimate import Estimate
from seamripper.measures.base import Measure
from seamripper.measures.pair import Pair
from seamripper.measures.score import reason, score


def score_matrices(sums: Sums, measures: Sequence[Measure], watch: Watcher = nobody) -> dict[str, Matrix]:
    """Every measure's matrix. What measures share of a pair, and pairs of a side, is computed once and then let go.

    Pairs are measured side by side, so a measure may be asked from several threads at once.
    """
    if not measures:
        return {}
    high, wide = len(sums.plan.senders), len(sums.plan.receivers)
    cells: dict[tuple[int, int], list[Estimate | str]] = {}
    sums.settle()
    order = _wide_and_narrow([form.width for form in sums.plan.senders])
    with workers() as pool:
        # Grid by grid, as a sender has one side for all the receivers of a grid.
        for j in sorted(range(wide), key=lambda j: sums.plan.receivers[j].grid):
            column = functools.partial(_scores, sums, measures, j)
            scores: dict[int, list[Estimate | str]] = {}
            for i, of_pair in zip(order, pool.map(column, order), strict=True):
                scores[i] = of_pair
                watch(Progress("measures", (len(cells) + len(scores)) * len(measures), high * wide * len(measures)))
            cells |= {(i, j): scores[i] for i in range(high)}
            sums.forget(j)
    return {m.label: _matrix(sums.plan, m, {at: cell[k] for at, cell in cells.items()}) for k, m in enumerate(measures)}


@contextlib.contextmanager
def workers() -> Iterator[ThreadPoolExecutor]:
    """As many threads as torch has here, with torch itself held to one for as long as they work.

    Two small problems side by side take less time than each of them in two threads, one after the other.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with ThreadPoolExecutor(threads, thread_name_prefix="measures") as pool:
            yield pool
    finally:
        torch.set_num_threads(threads)


def _wide_and_narrow(widths: Sequence[int]) -> list[int]:
    """The widest first, then the narrowest, the second widest, and so on.

    Of two threads, one then decomposes its wide sender while the other decomposes the receiver, which both need.

    >>> _wide_and_narrow([64, 128, 256])
    [2, 0, 1]
    """
    widest = sorted(range(len(widths)), key=lambda i: -widths[i])
    turns = zip(widest, reversed(widest), strict=True)
    return list(dict.fromkeys(i for turn in turns for i in turn))


def _scores(sums: Sums, measures: Sequence[Measure], j: int, i: int) -> list[Estimate | str]:
    """Every measure's score for sender i and receiver j, or why it has none."""
    rule, pairs, scores = sums.plan.rule, dict[str, Pair](), list[Estimate | str]()
    for measure in measures:
        try:
            kind = source(measure, rule.sampling)
            if kind not in pairs:
                pairs[kind] = sums.pair(kind, i, j)
            scores.append(score(measure, pairs[kind], sampling=rule.sampling, interval=rule.interval))
        except Exception as e:
            # Also what a user's own measure raises: after a long pass, the other measures are worth having.
            scores.append(reason(measure, e))
    return scores


def _matrix(plan: PassPlan, measure: Measure, cells: dict[tuple[int, int], Estimate | str]) -> Matrix:
    high, wide = range(len(plan.senders)), range(len(plan.receivers))
    scores = tuple(tuple(s if isinstance(s := cells[i, j], Estimate) else None for j in wide) for i in high)
    failed = {
        f"{plan.senders[i].cut.name} × {plan.receivers[j].cut.name}": why
        for (i, j), why in sorted(cells.items(), key=lambda cell: cell[0])
        if isinstance(why, str)
    }
    return Matrix(measure.label, measure.claims.direction, scores, failed)
