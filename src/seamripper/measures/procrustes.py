"""Procrustes: the Euclidean distance of two shapes."""

from __future__ import annotations

import math
from dataclasses import dataclass

from seamripper.measures.alignment import gap
from seamripper.measures.base import SHAPE, Claims, Measure
from seamripper.measures.pair import Pair


@dataclass(frozen=True)
class Procrustes(Measure):
    """Orthogonal Procrustes distance, *not* squared, of centred matrices of Frobenius norm 1.

    ‖·‖_* is the nuclear norm, and Sxy = Xᵀ Y. It is the Euclidean shape metric of Williams et al. 2021 on matrices of
    one size. It obeys the triangle inequality; its square is `opd`. Widths may differ: columns of zeros that would make
    them equal add nothing to either norm. A distance below 2e-7 is rounding and comes out as 0.

    >>> import torch
    >>> x = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
    >>> round(Procrustes().value(Pair.of(x, x[:, :1])), 6)  # the root of 2 - 2 / sqrt(2)
    0.765367
    """

    name = "procrustes"
    paper = "Williams, Kunz, Kornblith, Linderman 2021"
    formula = "min over orthogonal Q of ‖X Q / ‖X‖ − Y / ‖Y‖‖ = √(2 − 2 ‖Sxy‖_* / (‖X‖ ‖Y‖))"
    claims = Claims("distance", symmetric=True, range=(0.0, math.sqrt(2)), self_score=0.0, invariant_to=SHAPE)

    def of(self, pair: Pair) -> float:
        return math.sqrt(2 * gap(pair, pair.nuclear))
