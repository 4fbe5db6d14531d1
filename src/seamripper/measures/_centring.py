"""Centring of a symmetric matrix over samples, and the alignment of two that are centred."""

from __future__ import annotations

import torch
from torch import Tensor

from seamripper.errors import MeasureError
from seamripper.measures.base import SHAPE, Claims

_ROUNDING = 1e-12


def claims_of(*, debiased: bool) -> Claims:
    """What the alignment of two centred matrices of distances, or of kernels of them, claims."""
    return Claims(
        "similarity",
        symmetric=True,
        range=(-1.0 if debiased else 0.0, 1.0),
        self_score=1.0,
        invariant_to=SHAPE,
        needs="rows",
    )


def centred(matrix: Tensor) -> Tensor:
    """H M H with H = 1 − 11ᵀ/n: every row and column sums to 0.

    >>> centred(torch.tensor([[0.0, 1.0], [1.0, 0.0]]))
    tensor([[-0.5000,  0.5000],
            [ 0.5000, -0.5000]])
    """
    rows = matrix.mean(1)
    return matrix - rows[:, None] - rows + rows.mean()


def u_centred(matrix: Tensor) -> Tensor:
    """Centring without the diagonal (Székely & Rizzo 2014): rows sum to 0, the diagonal is 0.

    The inner product of two such matrices, over n (n − 3), is the unbiased HSIC of Song et al. 2012.

    >>> matrix = torch.tensor([[9.0, 1.0, 2.0, 6.0], [1.0, 9.0, 3.0, 2.0], [2.0, 3.0, 9.0, 1.0], [6.0, 2.0, 1.0, 9.0]])
    >>> u_centred(matrix)
    tensor([[ 0.0000, -1.5000, -0.5000,  2.0000],
            [-1.5000,  0.0000,  2.0000, -0.5000],
            [-0.5000,  2.0000,  0.0000, -1.5000],
            [ 2.0000, -0.5000, -1.5000,  0.0000]])
    """
    n = len(matrix)
    off = matrix.clone().fill_diagonal_(0.0)
    rows = off.sum(1) / (n - 2)
    return (off - rows[:, None] - rows + rows.sum() / (n - 1)).fill_diagonal_(0.0)


def aligned(matrix: Tensor, who: str, *, debiased: bool) -> Tensor:
    """The matrix centred, at Frobenius norm 1: the inner product of two such is their alignment."""
    found = u_centred(matrix) if debiased else centred(matrix)
    norm: Tensor = torch.linalg.matrix_norm(found)
    if bool(norm <= _ROUNDING * torch.linalg.matrix_norm(matrix)):
        raise MeasureError(f"There is nothing to compare: the {who}'s rows are all as far from one another.")
    return found / norm
