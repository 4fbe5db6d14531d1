"""HSIC and centring: the alignment of two kernels, or of two matrices of distances, over the same samples."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from seamripper.errors import MeasureError
from seamripper.measures.base import SHAPE, Claims

FEWEST = 4
"""HSIC₁ is not defined for fewer rows than this; a last minibatch that is smaller is left out."""

_ROUNDING = 1e-12


def hsic(n: int, cross: Tensor, total_x: Tensor, total_y: Tensor, quartic: Tensor) -> Tensor:
    """HSIC₁ of n rows from `cross` = ‖Sxy‖², `total_x` = tr Sxx, `total_y` = tr Syy and `quartic` = Σ|c|²|d|².

    For Gram matrices K, L with their diagonals set to zero, Song et al. 2012 (equation 5) have n(n−3)·HSIC₁ =
    tr(KL) + 1ᵀK1·1ᵀL1/((n−1)(n−2)) − 2·1ᵀKL1/(n−2). It does not change if the rows are centred, and of centred rows
    tr(KL) = ‖Sxy‖² − q, 1ᵀK1 = −tr Sxx, 1ᵀKL1 = q. What float64 cannot tell from zero comes out as zero.

    >>> four, eight = (torch.tensor(number, dtype=torch.float64) for number in (4.0, 8.0))
    >>> hsic(4, four, four, four, four).item(), hsic(4, eight, four, four, four).item()
    (-0.333..., 0.666...)
    """
    terms = torch.stack([cross, -quartic, total_x * total_y / ((n - 1) * (n - 2)), -2 * quartic / (n - 2)])
    value = terms.sum(0)
    return torch.where(value.abs() <= _ROUNDING * terms.abs().amax(0), 0.0, value / (n * (n - 3)))


def hsic_of_grams(k: Tensor, l: Tensor) -> Tensor:  # noqa: E741  (K and L are what they are called)
    """HSIC₁ of every centred Gram matrix in `k` (a, n, n) with every one in `l` (b, n, n): (a, b)."""
    own_k, own_l = k.diagonal(dim1=1, dim2=2), l.diagonal(dim1=1, dim2=2)
    cross = k.flatten(1) @ l.flatten(1).T
    return hsic(k.shape[1], cross, own_k.sum(1)[:, None].expand_as(cross), own_l.sum(1), own_k @ own_l.T)


def centred_gram(rows: Tensor) -> Tensor:
    """The Gram matrix (n, n) of the rows about their mean."""
    centred = rows.double() - rows.double().mean(0)
    return centred @ centred.T


def hsic_of_rows(x: Tensor, y: Tensor) -> tuple[float, float, float]:
    """HSIC₁(x, x), HSIC₁(x, y) and HSIC₁(y, y) of a batch of rows, in time that grows with n² and not with columns²."""
    grams = torch.stack([centred_gram(x), centred_gram(y)])
    table = hsic_of_grams(grams, grams)
    return float(table[0, 0]), float(table[0, 1]), float(table[1, 1])


def cka_of_hsic(own_x: float, cross: float, own_y: float, *, label: str) -> float:
    """HSIC(x, y) / √(HSIC(x, x) HSIC(y, y)), not clamped."""
    for name, own in (("sender", own_x), ("receiver", own_y)):
        if own <= 0:
            raise MeasureError(
                f"{label} is not defined here: expected the {name}'s unbiased HSIC with itself to be above zero, but "
                f"got {own:.3g}, as when all samples are equally far apart. Give more samples, or use 'linear_cka'."
            )
    return cross / math.sqrt(own_x * own_y)


def alignment_claims(*, debiased: bool) -> Claims:
    """What the alignment of two centred matrices of distances, or of kernels of them, claims."""
    return Claims(
        "similarity",
        symmetric=True,
        range=(-1.0 if debiased else 0.0, 1.0),
        self_score=1.0,
        invariant_to=SHAPE,
        needs="rows",
    )


def centre(matrix: Tensor) -> Tensor:
    """H M H with H = 1 − 11ᵀ/n: every row and column sums to 0.

    >>> centre(torch.tensor([[0.0, 1.0], [1.0, 0.0]]))
    tensor([[-0.5000,  0.5000],
            [ 0.5000, -0.5000]])
    """
    rows = matrix.mean(1)
    return matrix - rows[:, None] - rows + rows.mean()


def u_centre(matrix: Tensor) -> Tensor:
    """Centring without the diagonal (Székely & Rizzo 2014): rows sum to 0, the diagonal is 0.

    The inner product of two such matrices, over n (n − 3), is the unbiased HSIC of Song et al. 2012.

    >>> matrix = torch.tensor([[9.0, 1.0, 2.0, 6.0], [1.0, 9.0, 3.0, 2.0], [2.0, 3.0, 9.0, 1.0], [6.0, 2.0, 1.0, 9.0]])
    >>> u_centre(matrix)
    tensor([[ 0.0000, -1.5000, -0.5000,  2.0000],
            [-1.5000,  0.0000,  2.0000, -0.5000],
            [-0.5000,  2.0000,  0.0000, -1.5000],
            [ 2.0000, -0.5000, -1.5000,  0.0000]])
    """
    n = len(matrix)
    off = matrix.clone().fill_diagonal_(0.0)
    rows = off.sum(1) / (n - 2)
    return (off - rows[:, None] - rows + rows.sum() / (n - 1)).fill_diagonal_(0.0)


def unit_centred(matrix: Tensor, who: str, *, debiased: bool) -> Tensor:
    """The matrix centred, at Frobenius norm 1: the inner product of two such is their alignment."""
    result = u_centre(matrix) if debiased else centre(matrix)
    norm: Tensor = torch.linalg.matrix_norm(result)
    if bool(norm <= _ROUNDING * torch.linalg.matrix_norm(matrix)):
        raise MeasureError(f"There is nothing to compare: the {who}'s rows are all equally far from one another.")
    return result / norm
