"""Moments and closed forms, against numpy, scipy and formulas written another way."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import torch
from hypothesis import given, settings, strategies as st
from torch import Tensor

from seamripper.errors import MatchError
from seamripper.matching.moments import Moments
from seamripper.matching.solve import least_squares, procrustes, reduced_rank


def moments_of(x: Tensor, y: Tensor, *, batch: int = 64) -> Moments:
    moments = Moments(x.shape[1], y.shape[1])
    for a, b in zip(x.split(batch), y.split(batch), strict=True):
        moments.add(a, b)
    return moments


def rows(n: int, p: int, q: int, *, seed: int = 0, mean: float = 0.0) -> tuple[Tensor, Tensor]:
    """Correlated columns of different sizes and a target that they explain in part."""
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, p, generator=g, dtype=torch.float64) @ torch.randn(p, p, generator=g, dtype=torch.float64)
    x = x + mean * torch.randn(p, generator=g, dtype=torch.float64)
    y = x @ torch.randn(p, q, generator=g, dtype=torch.float64) + torch.randn(n, q, generator=g, dtype=torch.float64)
    return x, y + mean


def lstsq(x: Tensor, y: Tensor, *, intercept: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """numpy's least squares of least norm: W (q, p) and b (q), the bias not counted in the norm."""
    a, c = x.double().numpy(), y.double().numpy()
    mean_x, mean_y = (a.mean(0), c.mean(0)) if intercept else (np.zeros(a.shape[1]), np.zeros(c.shape[1]))
    w = np.linalg.lstsq(a - mean_x, c - mean_y, rcond=1e-7)[0].T
    return w, mean_y - w @ mean_x


def error(x: Tensor, y: Tensor, weight: Tensor, bias: Tensor) -> float:
    return float((y - x @ weight.T - bias).square().sum())


# ---- moments ----


@settings(max_examples=30, deadline=None)
@given(
    n=st.integers(1, 60), cut=st.integers(0, 60), batch=st.integers(1, 70), mean=st.sampled_from([0.0, 3.0, 1e6, -1e8])
)
def test_merged_halves_equal_one_pass(n: int, cut: int, batch: int, mean: float) -> None:
    x, y = rows(n, 3, 2, mean=mean)
    at = min(cut, n)
    merged = moments_of(x[:at], y[:at], batch=batch) if at else Moments(3, 2)
    merged.merge(moments_of(x[at:], y[at:], batch=batch) if at < n else Moments(3, 2))
    centred_x, centred_y = x - x.mean(0), y - y.mean(0)
    # The rows themselves are known to 1e-16 of their size, and the moments of their differences to 1e-10.
    tolerance = 1e-10 * max(1.0, abs(mean) * 1e-4) * max(1, n)
    assert merged.n == n
    torch.testing.assert_close(merged.mean_x, x.mean(0), rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(merged.sxx, centred_x.T @ centred_x, rtol=1e-10, atol=tolerance)
    torch.testing.assert_close(merged.sxy, centred_x.T @ centred_y, rtol=1e-10, atol=tolerance)
    assert merged.syy == pytest.approx(float(centred_y.square().sum()), rel=1e-10, abs=tolerance)


def test_far_from_zero_the_small_differences_survive() -> None:
    x, y = rows(500, 3, 2)
    near, far = moments_of(x, y), moments_of(x + 1e6, y - 1e6)
    torch.testing.assert_close(far.sxx, near.sxx, rtol=1e-8, atol=1e-6)
    torch.testing.assert_close(far.sxy, near.sxy, rtol=1e-8, atol=1e-6)
    # What is not done, for comparison: sums about zero lose them.
    raw = x + 1e6
    naive = raw.T @ raw - 500 * torch.outer(raw.mean(0), raw.mean(0))
    assert float((naive - near.sxx).abs().max()) > 1e-3


def test_about_zero_is_the_second_moment() -> None:
    x, y = rows(100, 3, 2, mean=5.0)
    raw = moments_of(x, y).about_zero()
    torch.testing.assert_close(raw.sxx, x.T @ x)
    torch.testing.assert_close(raw.sxy, x.T @ y)
    assert raw.syy == pytest.approx(float(y.square().sum()))
    assert not raw.mean_x.any()


def test_residual_is_the_one_computed_outright() -> None:
    x, y = rows(300, 4, 3, mean=2.0)
    g = torch.Generator().manual_seed(7)
    weight = torch.randn(3, 4, generator=g, dtype=torch.float64)
    bias = torch.randn(3, generator=g, dtype=torch.float64)
    outright = error(x, y, weight, bias) / float(y.square().sum())
    assert moments_of(x, y).residual(weight, bias) == pytest.approx(outright, rel=1e-12)


def test_residual_of_nothing_is_not_a_number() -> None:
    zeros = torch.zeros(5, 2)
    assert np.isnan(moments_of(zeros, zeros).residual(torch.eye(2), torch.zeros(2)))


# ---- least squares ----


@pytest.mark.parametrize("mean", [0.0, 50.0])
@pytest.mark.parametrize(("n", "p", "q"), [(200, 5, 3), (30, 1, 1), (1000, 40, 7)])
def test_equals_lstsq(n: int, p: int, q: int, mean: float) -> None:
    x, y = rows(n, p, q, mean=mean)
    found = least_squares(moments_of(x, y))
    weight, bias = lstsq(x, y)
    np.testing.assert_allclose(found.weight, weight, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(found.bias, bias, rtol=1e-8, atol=1e-7)
    assert found.rank == p
    assert found.condition == pytest.approx(np.linalg.cond(x - x.mean(0)), rel=1e-6)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("mean", [0.0, 5.0, 100.0])
@pytest.mark.parametrize(("p", "rank"), [(3, 2), (16, 5), (64, 63)])
def test_dependent_columns(p: int, rank: int, mean: float, dtype: torch.dtype) -> None:
    """The rank is told, also where rounding to float32 hides it, and W is the solution of least norm."""
    g = torch.Generator().manual_seed(p)
    z = torch.randn(500, rank, generator=g, dtype=dtype)
    x = z @ torch.randn(rank, p, generator=g, dtype=dtype) + mean * torch.randn(p, generator=g, dtype=dtype)
    y = z[:, :2] + torch.randn(500, 2, generator=g, dtype=dtype)
    found = least_squares(moments_of(x, y))
    assert found.rank == rank
    centred = (x.double() - x.double().mean(0)).numpy()
    # numpy is told the rank: of a float32 design in float64 it would see the rounding as directions.
    u, s, vt = np.linalg.svd(centred, full_matrices=False)
    weight = (vt[:rank].T / s[:rank] @ u[:, :rank].T @ y.double().numpy()).T
    tolerance = 1e-8 if dtype == torch.float64 else 1e-4 * max(1.0, mean)
    np.testing.assert_allclose(centred @ found.weight.numpy().T, centred @ weight.T, atol=tolerance)
    assert float(found.weight.norm()) == pytest.approx(np.linalg.norm(weight), rel=tolerance)


def test_dead_and_doubled_channels() -> None:
    x, y = rows(200, 4, 3)
    wide = torch.cat([x, torch.zeros(200, 2, dtype=torch.float64), x[:, :1], torch.full_like(x[:, :1], 7.0)], 1)
    found = least_squares(moments_of(wide, y))
    weight, bias = lstsq(wide, y)
    assert found.rank == 4
    np.testing.assert_allclose(found.weight, weight, atol=1e-9)
    np.testing.assert_allclose(found.bias, bias, atol=1e-8)
    assert float(found.weight[:, 4:6].abs().max()) < 1e-12


def test_fewer_rows_than_columns() -> None:
    x, y = rows(6, 10, 2)
    found = least_squares(moments_of(x, y))
    weight, _ = lstsq(x, y)
    assert found.rank == 5  # centring takes one
    np.testing.assert_allclose(found.weight, weight, atol=1e-8)
    assert moments_of(x, y).residual(found.weight, found.bias) < 1e-12


def test_a_sender_that_says_nothing() -> None:
    _, y = rows(50, 3, 2, mean=4.0)
    found = least_squares(moments_of(torch.full((50, 3), 2.0, dtype=torch.float64), y))
    assert found.rank == 0
    assert found.condition == float("inf")
    assert not found.weight.any()
    torch.testing.assert_close(found.bias, y.mean(0))


@pytest.mark.parametrize("ridge", [1e-3, 0.1, 10.0])
def test_ridge_is_the_closed_form(ridge: float) -> None:
    x, y = rows(80, 6, 3, mean=3.0)
    a, c = (x - x.mean(0)).numpy(), (y - y.mean(0)).numpy()
    damp = ridge * np.trace(a.T @ a) / 6
    closed = np.linalg.solve(a.T @ a + damp * np.eye(6), a.T @ c).T
    found = least_squares(moments_of(x, y), ridge=ridge)
    np.testing.assert_allclose(found.weight, closed, rtol=1e-9)
    np.testing.assert_allclose(found.bias, y.mean(0).numpy() - closed @ x.mean(0).numpy(), rtol=1e-9)


def test_rtol_leaves_out_more() -> None:
    g = torch.Generator().manual_seed(0)
    x = torch.randn(400, 3, generator=g, dtype=torch.float64) * torch.tensor([1.0, 0.1, 0.001])
    moments = moments_of(x, x)
    assert [least_squares(moments, rtol=rtol).rank for rtol in (1e-9, 1e-4, 0.5)] == [3, 2, 1]


# ---- reduced rank ----


def izenman(x: Tensor, y: Tensor, rank: int, *, damp: float = 0.0) -> np.ndarray:
    """The best W of this rank by an SVD of the whitened cross-covariance, written apart from the library's way."""
    a, c = (x - x.mean(0)).numpy(), (y - y.mean(0)).numpy()
    values, vectors = np.linalg.eigh(a.T @ a + damp * np.eye(a.shape[1]))
    root = vectors / np.sqrt(values) @ vectors.T
    u, s, vt = np.linalg.svd(root @ a.T @ c, full_matrices=False)
    return (root @ (u[:, :rank] * s[:rank]) @ vt[:rank]).T


@pytest.mark.parametrize("ridge", [0.0, 0.5])
@pytest.mark.parametrize("rank", [1, 2, 3, 5])
def test_reduced_rank_equals_an_independent_formula(rank: int, ridge: float) -> None:
    x, y = rows(120, 6, 4, mean=1.0)
    damp = ridge * float((x - x.mean(0)).square().sum()) / 6
    found = reduced_rank(moments_of(x, y), rank, ridge=ridge)
    np.testing.assert_allclose(found.weight, izenman(x, y, rank, damp=damp), atol=1e-8)
    assert np.linalg.matrix_rank(found.weight.numpy(), tol=1e-8) == min(rank, 4)


def test_reduced_rank_is_the_best_of_many() -> None:
    x, y = rows(120, 6, 4, mean=1.0)
    found = reduced_rank(moments_of(x, y), 2)
    best = error(x, y, found.weight, found.bias)
    g = torch.Generator().manual_seed(3)

    def fitted(into: Tensor) -> float:
        """The error of the best map through this bottleneck."""
        weight, bias = lstsq(x @ into, y)
        return error(x, y, torch.from_numpy(weight) @ into.T, torch.from_numpy(bias))

    full = least_squares(moments_of(x, y)).weight
    u, s, vt = torch.linalg.svd(full, full_matrices=False)
    truncated = (u[:, :2] * s[:2]) @ vt[:2]
    others = [fitted(torch.randn(6, 2, generator=g, dtype=torch.float64)) for _ in range(300)]
    near = found.weight.T @ torch.randn(4, 2, generator=g, dtype=torch.float64)
    others += [fitted(near + 0.1 * torch.randn(6, 2, generator=g, dtype=torch.float64)) for _ in range(300)]
    others.append(error(x, y, truncated, y.mean(0) - truncated @ x.mean(0)))
    assert best < min(others)
    assert best == pytest.approx(fitted(near), rel=1e-9)


def test_a_rank_below_one_is_refused() -> None:
    with pytest.raises(MatchError, match="rank of at least 1, but got 0"):
        reduced_rank(moments_of(*rows(10, 2, 2)), 0)


# ---- orthogonal ----


def test_procrustes_equals_scipy() -> None:
    x, y = rows(100, 5, 5, mean=2.0)
    found = procrustes(moments_of(x, y))
    r, _ = scipy.linalg.orthogonal_procrustes((x - x.mean(0)).numpy(), (y - y.mean(0)).numpy())
    np.testing.assert_allclose(found.weight, r.T, atol=1e-9)
    torch.testing.assert_close(found.bias, y.mean(0) - found.weight @ x.mean(0))


@pytest.mark.parametrize(("p", "q"), [(3, 5), (5, 3)])
def test_procrustes_between_widths(p: int, q: int) -> None:
    x, y = rows(100, p, q)
    found = procrustes(moments_of(x, y))
    gram = found.weight @ found.weight.T if q <= p else found.weight.T @ found.weight
    torch.testing.assert_close(gram, torch.eye(min(p, q), dtype=torch.float64))
    centred_x, centred_y = x - x.mean(0), y - y.mean(0)
    g = torch.Generator().manual_seed(0)
    gain = float((found.weight * (centred_y.T @ centred_x)).sum())
    for _ in range(50):
        other = torch.linalg.qr(torch.randn(max(p, q), min(p, q), generator=g, dtype=torch.float64))[0]
        other = other if q >= p else other.T
        assert float((other * (centred_y.T @ centred_x)).sum()) < gain
