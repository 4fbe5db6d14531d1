"""RBF CKA, against the paper's formula in loops, its limits, and planted pairs."""

from __future__ import annotations

import itertools
import math
import statistics

import pytest
import torch
from pairs import noise
from torch import Tensor

from seamripper.errors import MeasureError
from seamripper.measures.linear_cka import LinearCKA
from seamripper.measures.pair import Pair
from seamripper.measures.rbf_cka import RBFCKA


def kernel(x: Tensor, sigma: float) -> list[list[float]]:
    squares = [[sum((a - b) ** 2 for a, b in zip(u, v, strict=True)) for v in x.tolist()] for u in x.tolist()]
    bandwidth = sigma * math.sqrt(statistics.median(d for row in squares for d in row))
    return [[math.exp(-d / (2 * bandwidth**2)) for d in row] for row in squares]


def hsic(k: list[list[float]], l: list[list[float]]) -> float:  # noqa: E741
    """tr(K H L H), by its expansion."""
    n = len(k)
    both = sum(k[i][j] * l[i][j] for i in range(n) for j in range(n))
    cross = sum(sum(k[i]) * sum(l[i]) for i in range(n))
    return both - 2 * cross / n + sum(map(sum, k)) * sum(map(sum, l)) / n**2


def unbiased(k: list[list[float]], l: list[list[float]]) -> float:  # noqa: E741
    """The mean over distinct tuples (Song et al. 2012)."""
    return statistics.fmean(
        k[i][j] * (l[i][j] + l[q][r] - 2 * l[i][q]) for i, j, q, r in itertools.permutations(range(len(k)), 4)
    )


@pytest.mark.parametrize("n", [9, 10])  # an odd and an even number of distances have their medians
@pytest.mark.parametrize("sigma", [0.2, 0.5, 1.0])
def test_biased(sigma: float, n: int) -> None:
    x, y = noise(n, 3, 0), noise(n, 2, 1)
    k, l = kernel(x, sigma), kernel(y, sigma)  # noqa: E741
    expected = hsic(k, l) / math.sqrt(hsic(k, k) * hsic(l, l))
    assert RBFCKA(sigma=sigma).value(Pair.of(x, y)) == pytest.approx(expected, abs=1e-13)


def test_debiased() -> None:
    x, y = noise(8, 3, 0), noise(8, 2, 1)
    k, l = kernel(x, 0.5), kernel(y, 0.5)  # noqa: E741
    expected = unbiased(k, l) / math.sqrt(unbiased(k, k) * unbiased(l, l))
    assert RBFCKA(debiased=True).value(Pair.of(x, y)) == pytest.approx(expected, abs=1e-13)


def test_wide_rows() -> None:
    x, y = noise(10, 50, 0) + 1, noise(10, 70, 1)
    k, l = kernel(x, 0.5), kernel(y, 0.5)  # noqa: E741
    expected = hsic(k, l) / math.sqrt(hsic(k, k) * hsic(l, l))
    assert RBFCKA().value(Pair.of(x, y)) == pytest.approx(expected, abs=1e-12)


def test_a_wide_kernel_is_linear() -> None:
    # exp(−d²/2σ²) tends to 1 − d²/2σ², whose centred matrix is that of the inner products (Alvarez 2021).
    x = noise(40, 5, 0)
    pair = Pair.of(x, x[:, :2] + noise(40, 2, 1))
    linear = LinearCKA().value(pair)
    gaps = [abs(RBFCKA(sigma=sigma).value(pair) - linear) for sigma in (10.0, 100.0)]
    assert gaps[0] < 1e-2
    assert gaps[1] < gaps[0] / 50


def test_a_narrow_kernel_finds_any_two_alike_unless_debiased() -> None:
    pair = Pair.of(noise(60, 20, 0), noise(60, 20, 1))
    assert RBFCKA(sigma=0.1).value(pair) > 0.999
    assert abs(RBFCKA(sigma=0.5, debiased=True).value(pair)) < 0.2


def test_sees_a_dependence_that_is_not_linear() -> None:
    angle = torch.rand(300, generator=torch.Generator().manual_seed(0)).double() * 2 * math.pi
    x = torch.stack([angle.cos(), angle.sin()], 1)
    y = torch.stack([(2 * angle).cos(), (2 * angle).sin()], 1)
    assert LinearCKA().value(Pair.of(x, y)) < 0.05
    assert RBFCKA(debiased=True).value(Pair.of(x, y)) > 0.2


@pytest.mark.parametrize("sigma", [0.0, -1.0, math.nan, math.inf])
def test_refuses_a_sigma_that_is_no_width(sigma: float) -> None:
    with pytest.raises(MeasureError, match=r"Expected sigma of .* to be (above 0|a finite number), but got"):
        RBFCKA(sigma=sigma)


def test_refuses_rows_that_give_no_bandwidth() -> None:
    x = torch.zeros(10, 2)
    x[0] = 1.0
    with pytest.raises(MeasureError, match="no bandwidth: half of the receiver's pairs of rows are the same"):
        RBFCKA().value(Pair.of(noise(10, 2, 0), x))
