"""OPD: the squared orthogonal Procrustes distance of Ding et al."""

from __future__ import annotations

from dataclasses import dataclass

from seamripper.measures.alignment import gap
from seamripper.measures.base import SHAPE, Claims, Measure
from seamripper.measures.pair import Pair


@dataclass(frozen=True)
class OPD(Measure):
    """Orthogonal Procrustes distance, *squared*, of centred matrices of Frobenius norm 1 (Ding et al. 2021).

    ‖·‖_* is the nuclear norm, and Sxy = Xᵀ Y. It is 0 for the same shape, 2 for representations that share nothing.
    Widths may differ: columns of zeros that would make them equal add nothing to either norm. Its root is `procrustes`.

    >>> import torch
    >>> x = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
    >>> round(OPD().value(Pair.of(x, x[:, :1])), 6)  # 2 - 2 / sqrt(2)
    0.585786
    """

    name = "opd"
    paper = "Ding, Denain, Steinhardt 2021"
    formula = "min over orthogonal Q of ‖X Q / ‖X‖ − Y / ‖Y‖‖² = 2 − 2 ‖Sxy‖_* / (‖X‖ ‖Y‖)"
    claims = Claims("distance", symmetric=True, range=(0.0, 2.0), self_score=0.0, invariant_to=SHAPE)

    def of(self, pair: Pair) -> float:
        return 2 * gap(pair, pair.nuclear)
