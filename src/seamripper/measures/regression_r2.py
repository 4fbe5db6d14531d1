"""Regression R²: how much of the receiver's variation a linear map of the sender predicts."""

from __future__ import annotations

import math
from dataclasses import dataclass

from seamripper.measures.base import SHAPE, TRANSFORMATIONS, Claims, Measure
from seamripper.measures.held_out import held_out
from seamripper.measures.pair import Pair


@dataclass(frozen=True)
class RegressionR2(Measure):
    """R² of the linear regression from x to y, on samples that it was not fitted on.

    Each fold is left out once: the sums run over the folds left out, with W, b and the mean ȳ from the others. A
    prediction worse than that mean is below 0. With `held_out=False` it is the figure of Kornblith 2019 on the samples
    of the fit, R²_LR = ‖Qxᵀ Y‖² / ‖Y‖² (Qx an orthonormal basis of the centred x, Y centred).

    >>> import torch
    >>> x = torch.tensor([[1.0], [2.0], [3.0], [4.0], [5.0], [6.0]])
    >>> y = x + torch.tensor([[0.5], [-0.5], [0.5], [-0.5], [0.5], [-0.5]])
    >>> round(RegressionR2().value(Pair.of(x, y)), 6), round(RegressionR2(held_out=False).value(Pair.of(x, y)), 6)
    (0.78412, 0.914286)
    """

    name = "regression_r2"
    paper = "Kornblith, Norouzi, Lee, Hinton 2019"
    formula = "1 − Σ|y − ŷ|² / Σ|y − ȳ|²,  ŷ = W x + b"
    held_out: bool = True

    @property
    def claims(self) -> Claims:
        """At most 1; blind to any invertible map of the sender, and to the shape of the receiver."""
        return Claims(
            "similarity",
            symmetric=False,
            range=(-math.inf if self.held_out else 0.0, 1.0),
            self_score=1.0,
            invariant_to=frozenset(TRANSFORMATIONS),
            receiver_invariant_to=SHAPE,
            spans=not self.held_out,
        )

    def of(self, pair: Pair) -> float:
        if self.held_out:
            fits = held_out(pair, label=self.label)
            return 1 - sum(fits.errors) / sum(fits.variations)
        return min(1.0, float((pair.x.whitener.T @ pair.sxy).square().sum()) / pair.y.total)

    def by_fold(self, pair: Pair) -> tuple[float, ...] | None:
        if not self.held_out:
            return None
        fits = held_out(pair, label=self.label)
        return tuple(1 - error / other for error, other in zip(fits.errors, fits.variations, strict=True))
