"""GULP: how far the ridge regressions on two representations can differ."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from seamripper.errors import MeasureError
from seamripper.measures.base import SHAPE, TRANSFORMATIONS, Claims, Measure
from seamripper.measures.pair import Pair, Side, squared_norm


@dataclass(frozen=True)
class GULP(Measure):
    """The GULP distance: how much predictions by ridge regression can differ, over all tasks (Boix-Adserà et al. 2022).

    λ is `ridge`, and the value is d. (The public code returns d².) The rows are centred and scaled to tr Σ = 1, as in
    the paper's experiments, so λ is in units of the whole variance, and translation and scale are not seen. A large λ
    approaches a distance between Gram matrices; without a ridge d² = rank x + rank y − 2 Σ ρᵢ², which any invertible
    map leaves as it is. d is at most 1/√(2λ).

    >>> import torch
    >>> x = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
    >>> round(GULP().value(Pair.of(x, x[:, :1])), 6), round(GULP(ridge=0.5).value(Pair.of(x, x[:, :1])), 6)
    (0.372678, 0.527046)
    """

    name = "gulp"
    paper = "Boix-Adserà, Lawrence, Stepaniants, Rigollet 2022"
    formula = "d² = tr(Ax Σx Ax Σx) + tr(Ay Σy Ay Σy) − 2 tr(Ax Σxy Ay Σyx),  A = (Σ + λ1)⁻¹"
    ridge: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.ridge < math.inf:
            raise MeasureError(f"Expected ridge of gulp to be at least 0 and finite, but got {self.ridge}.")

    @property
    def claims(self) -> Claims:
        """Symmetric, at least 0; without a ridge it compares subspaces."""
        free = self.ridge == 0
        return Claims(
            "distance",
            symmetric=True,
            range=(0.0, math.inf if free else 1 / math.sqrt(2 * self.ridge)),
            self_score=0.0,
            invariant_to=frozenset(TRANSFORMATIONS) if free else SHAPE,
            spans=free,
        )

    def of(self, pair: Pair) -> float:
        (own_x, scale_x, worst_x), (own_y, scale_y, worst_y) = self._ridge_terms(pair.x), self._ridge_terms(pair.y)
        cross = squared_norm(pair.rotated / scale_x[:, None] / scale_y)
        square = own_x + own_y - 2 * cross
        # Below this float64 cannot tell the difference from none, and its root would make it look like one.
        eps = (pair.x.width + pair.y.width) * torch.finfo(torch.float64).eps * max(worst_x, worst_y)
        return math.sqrt(square) if square > eps * (own_x + own_y) else 0.0

    def _ridge_terms(self, side: Side) -> tuple[float, torch.Tensor, float]:
        """tr(A Σ A Σ), the roots of the eigenvalues of A⁻¹ (for rows that are not yet scaled), and the condition of A.

        All on the directions that vary by more than rounding.
        """
        values = side.eigen[0][: side.rank] / side.total
        damped = values + self.ridge
        return float((values / damped).square().sum()), (damped * side.total).sqrt(), float(damped[0] / damped[-1])
