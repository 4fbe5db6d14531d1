"""Permutation Procrustes: the distance of two shapes whose columns may be reordered, not rotated."""

from __future__ import annotations

import math
from dataclasses import dataclass

from seamripper.measures.alignment import UNITS, best_assignment, gap
from seamripper.measures.base import Claims, Measure
from seamripper.measures.pair import Pair


@dataclass(frozen=True)
class PermutationProcrustes(Measure):
    """Procrustes distance with permutations instead of rotations (Williams et al. 2021): are the same *units* there?

    X and Y are centred and scaled as a whole to Frobenius norm 1; m is the greatest sum of Sxy = Xᵀ Y over a one-to-one
    assignment of columns. Never less than `procrustes`; 2 at most, for one unit and its negative. Where widths differ,
    columns of zeros make them equal: every column of the narrower side has a partner, and the columns left over have
    zero for theirs.

    Implementations differ: netrep centres and does not scale, ReSi does neither.

    >>> import torch
    >>> x = torch.tensor([[2.0, 0.0], [0.0, 1.0], [-2.0, 0.0], [0.0, -1.0]])
    >>> PermutationProcrustes().value(Pair.of(x, x.flip(1)))
    0.0
    >>> round(PermutationProcrustes().value(Pair.of(x, x * torch.tensor([1.0, -1.0]))), 6)  # sqrt(2 - 2 * 6 / 10)
    0.894427
    """

    name = "permutation_procrustes"
    paper = "Williams, Kunz, Kornblith, Linderman 2021"
    formula = "min over permutations P of ‖X P / ‖X‖ − Y / ‖Y‖‖ = √(2 − 2 m / (‖X‖ ‖Y‖))"
    claims = Claims("distance", symmetric=True, range=(0.0, 2.0), self_score=0.0, invariant_to=UNITS)

    def of(self, pair: Pair) -> float:
        return math.sqrt(2 * gap(pair, float(best_assignment(pair.sxy, pair.hints, self.name).sum())))
