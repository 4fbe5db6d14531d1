"""Debiased CKA: linear CKA from the unbiased estimate of HSIC."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from seamripper.measures.base import SHAPE, Claims, Measure
from seamripper.measures.hsic import cka_of_hsic, hsic
from seamripper.measures.pair import Pair


@dataclass(frozen=True)
class DebiasedCKA(Measure):
    """Linear CKA with Song's U-statistic, HSIC₁; q = Σ|c|²|d|² over centred rows c, d.

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
    formula = (
        "HSIC₁(x, y) / √(HSIC₁(x, x) HSIC₁(y, y)),  n(n−3)·HSIC₁ = ‖Sxy‖² − q + tr Sxx tr Syy/((n−1)(n−2)) − 2q/(n−2)"
    )
    claims = Claims("similarity", symmetric=True, range=(-1.0, 1.0), self_score=1.0, invariant_to=SHAPE, needs="rows")

    def of(self, pair: Pair) -> float:
        x, y = pair.x, pair.y
        # For (x, x), (x, y) and (y, y): ‖S‖², the two totals, and the quartic sum.
        crosses = [float((s * s).sum()) for s in (x.s, pair.sxy, y.s)]
        totals = [[x.total, x.total, y.total], [x.total, y.total, y.total]]
        terms = torch.tensor([crosses, *totals, [x.quartic, pair.quartic, y.quartic]], dtype=torch.float64)
        own_x, cross, own_y = hsic(pair.n, *terms).tolist()
        return cka_of_hsic(own_x, cross, own_y, label=self.label)
