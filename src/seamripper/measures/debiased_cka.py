"""Debiased CKA: linear CKA from the unbiased estimate of HSIC."""

from __future__ import annotations

from dataclasses import dataclass

from seamripper.measures._hsic import aligned, hsic
from seamripper.measures.base import SHAPE, Claims, Measure
from seamripper.measures.pair import Pair


@dataclass(frozen=True)
class DebiasedCKA(Measure):
    """Linear CKA with Song's U-statistic: HSIC₁(x, y) / √(HSIC₁(x, x) HSIC₁(y, y)).

    n(n−3)·HSIC₁ = ‖Sxy‖² − q + tr Sxx tr Syy/((n−1)(n−2)) − 2q/(n−2), with q = Σ|c|²|d|² over centred rows c, d.
    Each HSIC₁ is unbiased (their ratio nearly so): unrelated representations come out about 0, also with more columns
    than samples. Nothing is clamped, and values below 0 are to be expected. None is below −1 or above 1: HSIC₁ is the
    inner product of U-centred Gram matrices (Székely & Rizzo 2014).

    Unbiased, that is, for independent rows. Rows that are positions of one image are not, and some bias stays.

    >>> import torch
    >>> x = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0], [1.0, 1.0], [-1.0, -1.0]])
    >>> y = torch.tensor([[1.0], [-1.0], [1.0], [-1.0], [1.0], [-1.0]])
    >>> round(DebiasedCKA().value(Pair.of(x, y)), 6), round(DebiasedCKA().value(Pair.of(x, x[:, :1])), 6)
    (-0.059391, 0.763763)
    """

    name = "debiased_cka"
    paper = "Song, Smola, Gretton, Bedo, Borgwardt 2012"

    @property
    def claims(self) -> Claims:
        """Symmetric, between −1 and 1."""
        return Claims("similarity", symmetric=True, range=(-1.0, 1.0), self_score=1.0, invariant_to=SHAPE, needs="rows")

    def of(self, pair: Pair) -> float:
        """The three HSIC₁."""
        n, x, y = pair.n, pair.x, pair.y
        cross, own_x, own_y = (float((s * s).sum()) for s in (pair.sxy, x.s, y.s))
        return aligned(
            hsic(n, own_x, x.total, x.total, x.quartic),
            hsic(n, cross, x.total, y.total, pair.quartic),
            hsic(n, own_y, y.total, y.total, y.quartic),
            label=self.label,
        )
