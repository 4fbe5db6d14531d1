"""Aligned cosine: the angle between a sample's two rows, once the representations are rotated onto each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch

from seamripper.errors import MeasureError
from seamripper.measures.base import SHAPE, Claims, Measure
from seamripper.measures.distances import directions
from seamripper.measures.pair import Pair


@dataclass(frozen=True)
class AlignedCosine(Measure):
    """The mean cosine of the two rows of a sample, with Q the rotation of X that is nearest to Y.

    Hamilton et al. 2016; as a measure of representations in Klabunde et al. 2023. By default, as in ReSi, cosines are
    taken `about` the origin and X and Y are not centred: where activations have a large mean, all cosines are near 1.
    `about="mean"` centres both first, and then it is invariant to translations as well. Widths may differ (Q then has
    orthonormal rows or columns). Samples whose row is zero on either side have no cosine and are left out. Where Xᵀ Y
    is short of rank, Q is not unique; the part of it that is free counts as 0.

    >>> import torch
    >>> x = torch.tensor([[2.0, 0.0], [0.0, 1.0], [-2.0, 0.0], [0.0, -1.0]])
    >>> y = torch.tensor([[0.0, 1.0], [1.0, 0.0], [0.0, -1.0], [1.0, 0.0]])
    >>> round(AlignedCosine().value(Pair.of(x, y)), 6)  # the cosines are 1, 0, 1, 0
    0.5
    """

    name = "aligned_cosine"
    paper = "Hamilton, Leskovec, Jurafsky 2016"
    formula = "(1/n) Σᵢ cos(xᵢ Q, yᵢ),  Q = U Vᵀ from Xᵀ Y = U Σ Vᵀ"
    about: Literal["origin", "mean"] = "origin"

    @property
    def claims(self) -> Claims:
        """Symmetric, between −1 and 1; from rows."""
        centred = self.about == "mean"
        return Claims(
            "similarity",
            symmetric=True,
            range=(-1.0, 1.0),
            self_score=1.0,
            invariant_to=SHAPE if centred else SHAPE - {"translation"},
            needs="rows",
            varying=centred,
        )

    def of(self, pair: Pair) -> float:
        centred = self.about == "mean"
        x, y = (pair.x.centred, pair.y.centred) if centred else (pair.x.matrix, pair.y.matrix)
        cross = pair.sxy if centred else x.T @ y
        u, values, vt = torch.linalg.svd(cross, full_matrices=False)
        rank = int((values > max(cross.shape) * torch.finfo(torch.float64).eps * values[0]).sum())
        (x, some_x), (y, some_y) = directions(x), directions(y)
        both = some_x & some_y
        if not bool(both.any()):
            raise MeasureError(f"{self.label} is not defined here: in every sample the row of one side is zero.")
        cosines = ((x @ u[:, :rank]) * (y @ vt[:rank].T)).sum(1)[both]
        # A cosine beyond 1 is rounding.
        return float(cosines.clamp(-1.0, 1.0).mean())
