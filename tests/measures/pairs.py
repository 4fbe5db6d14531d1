"""What tests of measures are made of: rows, rotations, and pairs of which only the moments are kept."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from seamripper.measures.base import Measure
from seamripper.measures.draws import as_moments
from seamripper.measures.pair import FoldMoments, Pair, Side


def related(n: int, p: int, q: int, *, seed: int = 0, mean: float = 2.0) -> tuple[Tensor, Tensor]:
    """Correlated columns of different sizes about a mean that is not zero, and others that they explain in part."""
    g = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=g, dtype=torch.float64)

    x = draw(n, p) @ (draw(p, p) / p**0.5 + torch.eye(p, dtype=torch.float64))
    y = x @ draw(p, q) / p**0.5 + draw(n, q)
    return x + mean * draw(p), y + mean * draw(q)


def unrelated(n: int, p: int, q: int, *, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Noise and other noise."""
    g = torch.Generator().manual_seed(seed)
    return torch.randn(n, p, generator=g, dtype=torch.float64), torch.randn(n, q, generator=g, dtype=torch.float64)


def noise(n: int, width: int, seed: int) -> Tensor:
    """Rows of noise."""
    return torch.randn(n, width, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def rotation(width: int, seed: int) -> Tensor:
    """An orthogonal matrix."""
    return torch.linalg.qr(noise(width, width, seed))[0]


def summed_about_zero(x: Tensor, y: Tensor) -> Pair:
    """The moments of these rows as a pass makes them: Σ x xᵀ, and the mean taken off at the end, with its rounding."""
    n, grain, a, b = len(x), torch.finfo(x.dtype).eps, x.double(), y.double()
    mean, other = a.mean(0), b.mean(0)
    sides = [Side(grain, (FoldMoments(n, m, z.T @ z - n * torch.outer(m, m)),)) for z, m in ((a, mean), (b, other))]
    return Pair(*sides, (a.T @ b - n * torch.outer(mean, other),))


def centred(x: Tensor) -> np.ndarray:
    """The rows about their mean, for numpy."""
    rows = x.double().numpy()
    return rows - rows.mean(0)


def ucentred_hsic(x: Tensor, y: Tensor) -> float:
    """HSIC₁ as the inner product of U-centred Gram matrices (Székely & Rizzo 2014), with uncentred rows."""
    n = len(x)
    parts = []
    for rows in (x.double().numpy(), y.double().numpy()):
        k = rows @ rows.T
        np.fill_diagonal(k, 0)
        sums = k.sum(0)
        u = k - sums[:, None] / (n - 2) - sums[None] / (n - 2) + sums.sum() / ((n - 1) * (n - 2))
        np.fill_diagonal(u, 0)
        parts.append(u)
    return float((parts[0] * parts[1]).sum()) / (n * (n - 3))


def by_moments(x: Tensor, y: Tensor, *, fold_of: Tensor | None = None) -> Pair:
    """The pair of these rows with nothing kept but the moments of its folds."""
    return as_moments(Pair.of(x, y, fold_of=fold_of))


def assert_same_by_moments(measure: Measure, x: Tensor, y: Tensor) -> None:
    """Moments and rows give one value, on all folds and with one left out."""
    by_rows, moments = Pair.of(x, y), by_moments(x, y)
    assert measure.value(moments) == pytest.approx(measure.value(by_rows), rel=1e-9, abs=1e-9)
    assert measure.value(moments.without(1)) == pytest.approx(measure.value(by_rows.without(1)), rel=1e-9, abs=1e-9)
