"""Linear CKA: how alike two centred Gram matrices are."""

from __future__ import annotations

import math
from dataclasses import dataclass

from seamripper.measures.base import SHAPE, Claims, Measure
from seamripper.measures.pair import Pair, squared_norm


@dataclass(frozen=True)
class LinearCKA(Measure):
    """Linear centred kernel alignment, the biased form, with Frobenius norms (Kornblith 2019).

    Biased: with few samples for the columns, unrelated representations come out alike as well; see `debiased_cka`.

    >>> import torch
    >>> x = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
    >>> y = torch.tensor([[1.0], [0.0], [-1.0], [0.0]])
    >>> round(LinearCKA().value(Pair.of(x, y)), 6)
    0.707107
    """

    name = "linear_cka"
    paper = "Kornblith, Norouzi, Lee, Hinton 2019"
    formula = "‖Sxy‖² / (‖Sxx‖ ‖Syy‖)"
    claims = Claims("similarity", symmetric=True, range=(0.0, 1.0), self_score=1.0, invariant_to=SHAPE)

    def of(self, pair: Pair) -> float:
        return squared_norm(pair.sxy) / math.sqrt(pair.x.square * pair.y.square)
