"""The null of a score: what it would be if the sender's samples had nothing to do with the receiver's.

Raw scores of unrelated representations are not 0, and grow with the number of columns where samples are few. Gröger,
Wen & Brbić (2026) compare a score with those of the same two representations, one with its samples in another order.
What was true of either side alone still is, so the difference is what the pairing of samples explains.

Here samples change places within their fold. That is as exact a test (the orders are a group), and the moments of each
fold stay as they are, so that what is decomposed once serves every permutation; measures that are fitted on some folds
and scored on others are permuted like any other. All rows of one sample move together: positions of one image are not
independent, and shuffled by themselves they would make any score seem far from chance.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from seamripper._doors import require_whole
from seamripper.errors import MeasureError
from seamripper.estimate import LEVEL, Null
from seamripper.measures.base import Measure
from seamripper.measures.pair import Pair

FEWEST = round(1 / LEVEL) - 1
"""With fewer permutations no p-value could be as small as the level."""


def require_permutations(null: int) -> None:
    """Refuse a number of permutations that cannot tell anything; 0 asks for no null."""
    require_whole(null, "null", least=0, error=MeasureError)
    if 0 < null < FEWEST:
        raise MeasureError(
            f"Expected null to be at least {FEWEST} permutations, as p cannot be {LEVEL:g} with fewer, but got {null}. "
            "Use 200, or 0 for none."
        )


def sample_orders(fold_of: Tensor, *, permutations: int, seed: int) -> Iterator[Tensor]:
    """So many orders of the samples, drawn by the seed, in which each stays in its fold.

    >>> fold_of = torch.tensor([0, 1, 0, 1, 0, 1])
    >>> orders = list(sample_orders(fold_of, permutations=2, seed=0))
    >>> [torch.equal(fold_of[order], fold_of) for order in orders], torch.equal(*orders)
    ([True, True], False)
    """
    generator = torch.Generator().manual_seed(seed)
    folds = [(fold_of == fold).nonzero()[:, 0] for fold in sorted(set(fold_of.tolist()))]
    for _ in range(permutations):
        order = torch.arange(len(fold_of))
        for rows in folds:
            order[rows] = rows[torch.randperm(len(rows), generator=generator)]
        yield order


def null_of(value: float, permuted: Sequence[float], *, best: float, distance: bool = False) -> Null:
    """What a score is worth beside those of permuted samples; `best` is the score of a representation with itself.

    >>> null_of(0.8, [0.1 * (k % 5) for k in range(199)], best=1.0)
    Null(p=0.005, threshold=0.4, calibrated=0.66..., permutations=199)
    """
    sign = -1.0 if distance else 1.0
    observed, others, k = sign * value, [sign * other for other in permuted], len(permuted)
    # Of measures that count, such as neighbours, many orders have the same score; rounding must not tell them apart.
    as_good = sum(other >= observed - 1e-12 * max(1.0, abs(observed)) for other in others)
    threshold = sorted([observed, *others])[math.ceil((1 - LEVEL) * (k + 1)) - 1]
    share = (observed - threshold) / max(sign * best - threshold, 1e-12)
    return Null((1 + as_good) / (k + 1), sign * threshold, min(1.0, max(0.0, share)), k)


def measure_null(measure: Measure, value: float, permuted: Sequence[float]) -> Null:
    """What a measure's value is worth beside its values of permuted samples."""
    claims = measure.claims
    return null_of(value, permuted, best=claims.self_score, distance=claims.direction == "distance")


def obstacle(measure: Measure) -> str:
    """Why a measure has no null, in a sentence; empty if it has one."""
    if measure.claims.paired:
        return ""
    return f"{measure.label} does not depend on which sample is which, so a permutation of them changes nothing."


def null_of_pair(measure: Measure, pair: Pair, value: float, *, permutations: int, seed: int) -> Null:
    """What the measure's value for a pair with rows is worth beside those with y's samples permuted."""
    why = obstacle(measure)
    if not why and (pair.x.rows is None or pair.places is None):
        why = "A null needs the rows of each sample, and as many of every sample. Use the sampling 'pool'."
    if why:
        raise MeasureError(why)
    assert pair.x.fold_of is not None
    orders = sample_orders(pair.x.fold_of[:: pair.places].cpu(), permutations=permutations, seed=seed)
    return measure_null(measure, value, [measure.value(pair.in_order(order)) for order in orders])
