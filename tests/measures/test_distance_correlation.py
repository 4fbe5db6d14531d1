"""Distance correlation, against a published value, a closed form, and the formula in loops."""

from __future__ import annotations

import itertools
import math
import statistics

import pytest
import torch
from pairs import noise
from torch import Tensor

from seamripper.measures.distance_correlation import DistanceCorrelation
from seamripper.measures.pair import Pair


def between(x: Tensor) -> list[list[float]]:
    return [[math.dist(u, v) for v in x.tolist()] for u in x.tolist()]


def covariance(d: list[list[float]], e: list[list[float]]) -> float:
    """n² dCov², as S1 + S2 − 2 S3 of the paper's equation 2.18 (times n²)."""
    n = len(d)
    s1 = sum(d[i][j] * e[i][j] for i in range(n) for j in range(n))
    s2 = sum(map(sum, d)) * sum(map(sum, e)) / n**2
    s3 = sum(d[i][j] * e[i][m] for i in range(n) for j in range(n) for m in range(n)) / n
    return s1 + s2 - 2 * s3


def unbiased(d: list[list[float]], e: list[list[float]]) -> float:
    """The mean over distinct tuples, an unbiased estimate of dCov²."""
    return statistics.fmean(
        d[i][j] * (e[i][j] + e[q][r] - 2 * e[i][q]) for i, j, q, r in itertools.permutations(range(len(d)), 4)
    )


def test_a_published_value() -> None:
    # From the documentation of EnergyStatistics.jl: dcor(x, x^4 - x^2) for x = -1:0.01:1.
    x = torch.arange(-100, 101, dtype=torch.float64)[:, None] / 100
    assert DistanceCorrelation().value(Pair.of(x, x**4 - x**2)) == pytest.approx(0.374204050, abs=5e-10)


@pytest.mark.parametrize(("p", "q"), [(3, 2), (30, 20)])
def test_in_loops(p: int, q: int) -> None:
    x, y = noise(9, p, 0) + 2, noise(9, q, 1)
    y[:, 0] += x[:, 0]
    d, e = between(x), between(y)
    expected = math.sqrt(covariance(d, e) / math.sqrt(covariance(d, d) * covariance(e, e)))
    assert DistanceCorrelation().value(Pair.of(x, y)) == pytest.approx(expected, abs=1e-12)
    expected = unbiased(d, e) / math.sqrt(unbiased(d, d) * unbiased(e, e))
    assert DistanceCorrelation(debiased=True).value(Pair.of(x, y)) == pytest.approx(expected, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
def test_of_normal_variables(rho: float) -> None:
    # Theorem 7 of the paper gives dCor² of two normal variables of correlation ρ.
    root = math.sqrt
    inner = rho * math.asin(rho) + root(1 - rho**2) - rho * math.asin(rho / 2) - root(4 - rho**2) + 1
    squared = inner / (1 + math.pi / 3 - root(3))
    x, other = noise(2000, 1, 0), noise(2000, 1, 1)
    y = rho * x + root(1 - rho**2) * other
    assert DistanceCorrelation(debiased=True).value(Pair.of(x, y)) == pytest.approx(squared, abs=0.03)
    assert DistanceCorrelation().value(Pair.of(x, y)) ** 2 == pytest.approx(squared, abs=0.03)


def test_in_many_dimensions_only_debiased_tells_the_unrelated() -> None:
    pair = Pair.of(noise(50, 500, 0), noise(50, 500, 1))
    assert DistanceCorrelation().value(pair) > 0.9
    assert abs(DistanceCorrelation(debiased=True).value(pair)) < 0.1
