"""What tests of measures draw: rows, a rotation to turn them by, and moments as a pass sums them."""

from __future__ import annotations

import torch
from torch import Tensor

from seamripper.measures.pair import FoldCross, FoldMoments, Pair, Side


def drawn(n: int, width: int, seed: int) -> Tensor:
    """Rows of noise."""
    return torch.randn(n, width, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def rotation(width: int, seed: int) -> Tensor:
    """An orthogonal matrix."""
    return torch.linalg.qr(drawn(width, width, seed))[0]


def summed_about_zero(x: Tensor, y: Tensor) -> Pair:
    """The moments of these rows as a pass makes them: Σ x xᵀ, and the mean taken off at the end, with its rounding."""
    n, grain, a, b = len(x), torch.finfo(x.dtype).eps, x.double(), y.double()
    mean, other = a.mean(0), b.mean(0)
    sides = [Side(grain, (FoldMoments(n, m, z.T @ z - n * torch.outer(m, m)),)) for z, m in ((a, mean), (b, other))]
    return Pair(*sides, (FoldCross(a.T @ b - n * torch.outer(mean, other)),))
