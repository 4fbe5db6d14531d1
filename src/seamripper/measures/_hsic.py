"""The unbiased estimate of HSIC for linear kernels, which the debiased forms of CKA are made of."""

from __future__ import annotations

import math

from torch import Tensor

from seamripper.errors import MeasureError

_ROUNDING = 1e-12


def hsic(n: int, cross: float, total_x: float, total_y: float, quartic: float) -> float:
    """HSIC₁ of n rows from `cross` = ‖Sxy‖², `total_x` = tr Sxx, `total_y` = tr Syy and `quartic` = Σ|c|²|d|².

    For Gram matrices K, L with their diagonals set to zero, Song et al. 2012 (equation 5) have n(n−3)·HSIC₁ =
    tr(KL) + 1ᵀK1·1ᵀL1/((n−1)(n−2)) − 2·1ᵀKL1/(n−2). It does not change if the rows are centred, and of centred rows
    tr(KL) = ‖Sxy‖² − q, 1ᵀK1 = −tr Sxx, 1ᵀKL1 = q. What float64 cannot tell from zero comes out as zero.

    >>> hsic(4, 4.0, 4.0, 4.0, 4.0), hsic(4, 8.0, 4.0, 4.0, 4.0)
    (-0.333..., 0.666...)
    """
    terms = (cross, -quartic, total_x * total_y / ((n - 1) * (n - 2)), -2 * quartic / (n - 2))
    value = math.fsum(terms)
    return 0.0 if abs(value) <= _ROUNDING * max(map(abs, terms)) else value / (n * (n - 3))


def hsic_of_rows(x: Tensor, y: Tensor) -> tuple[float, float, float]:
    """HSIC₁(x, x), HSIC₁(x, y) and HSIC₁(y, y) of a batch of rows, in time that grows with n² and not with columns²."""
    n = len(x)
    k, l = ((r - r.mean(0)) @ (r - r.mean(0)).T for r in (x, y))  # noqa: E741  (K and L are what they are called)
    kk, kl, ll = (
        hsic(n, float((a * b).sum()), float(a.trace()), float(b.trace()), float((a.diag() * b.diag()).sum()))
        for a, b in ((k, k), (k, l), (l, l))
    )
    return kk, kl, ll


def aligned(own_x: float, cross: float, own_y: float, *, label: str) -> float:
    """HSIC(x, y) / √(HSIC(x, x) HSIC(y, y)), not clamped."""
    for name, own in (("sender", own_x), ("receiver", own_y)):
        if own <= 0:
            raise MeasureError(
                f"{label} is not defined here: expected the {name}'s unbiased HSIC with itself to be above zero, but "
                f"got {own:.3g}, as when all samples are equally far apart. Give more samples, or use 'linear_cka'."
            )
    return cross / math.sqrt(own_x * own_y)
