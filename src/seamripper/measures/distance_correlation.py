"""Distance correlation: how alike two centred matrices of distances are."""

from __future__ import annotations

import math
from dataclasses import dataclass

from torch import Tensor

from seamripper.measures.base import Claims, Measure
from seamripper.measures.distances import both, chords, square
from seamripper.measures.hsic import alignment_claims, unit_centred
from seamripper.measures.memo import recall
from seamripper.measures.pair import Pair, Side


@dataclass(frozen=True, kw_only=True)
class DistanceCorrelation(Measure):
    """Distance correlation dCor, the root included (Székely, Rizzo, Bakirov 2007).

    A is the centred matrix of Euclidean distances (not squared) of x; B is that of y. This is the V-statistic of the
    paper. It is biased: with more columns than samples, unrelated representations come close to 1 as well.

    `debiased` centres without the diagonal (Székely & Rizzo 2013); the value is then ⟨A, B⟩ / (‖A‖ ‖B‖), which
    estimates the *square* of dCor and can be negative.

    >>> import torch
    >>> x = torch.tensor([[-1.0], [0.0], [1.0], [2.0]])
    >>> round(DistanceCorrelation().value(Pair.of(x, x.abs())), 6)
    0.787511
    """

    name = "distance_correlation"
    paper = "Székely, Rizzo, Bakirov 2007"
    formula = "√(⟨A, B⟩ / (‖A‖ ‖B‖)),  A = H D H,  Dᵢⱼ = |xᵢ − xⱼ|,  H = 1 − 11ᵀ/n"
    debiased: bool = False

    @property
    def claims(self) -> Claims:
        """Symmetric, between 0 and 1; below 0 as well if debiased."""
        return alignment_claims(debiased=self.debiased)

    def of(self, pair: Pair) -> float:
        x, y = both(pair, self._matrix)
        product = float((x * y).sum())
        # Below 0 by rounding alone: ⟨H D H, H E H⟩ is never negative for distances.
        return product if self.debiased else math.sqrt(max(product, 0.0))

    def _matrix(self, side: Side, who: str) -> Tensor:
        def make() -> Tensor:
            return unit_centred(square(chords(side, "euclidean", who), side.n), who, debiased=self.debiased)

        return recall(side, (self.name, self.debiased), make)
