"""Soft correlation match against loops over NumPy's correlations."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from pairs import assert_same_by_moments, noise, related
from torch import Tensor

from seamripper.measures.hard_correlation_match import HardCorrelationMatch
from seamripper.measures.pair import Pair
from seamripper.measures.soft_correlation_match import SoftCorrelationMatch


def match(x: Tensor, y: Tensor) -> float:
    return SoftCorrelationMatch().value(Pair.of(x, y))


def one_way(x: Tensor, y: Tensor) -> float:
    """The semi-matching of Li et al.: each unit of x with its best unit of y."""
    best = [max(np.corrcoef(a, b)[0, 1] for b in y.T.numpy()) for a in x.T.numpy()]
    return float(np.mean(best))


@pytest.mark.parametrize(("n", "p", "q"), [(30, 5, 5), (30, 2, 7), (30, 7, 2), (5, 6, 6)])
@pytest.mark.parametrize("seed", range(3))
def test_it_is_the_mean_of_both_ways(n: int, p: int, q: int, seed: int) -> None:
    x, y = noise(n, p, seed) * 3 + 2, noise(n, q, seed + 10)
    assert match(x, y) == pytest.approx((one_way(x, y) + one_way(y, x)) / 2, abs=1e-12)


def test_a_partner_may_be_shared() -> None:
    a, b = noise(1000, 1, 0), noise(1000, 1, 1)
    x, y = torch.cat([a + 0.1 * b, a], 1), torch.cat([a, b], 1)
    assert match(x, y) == pytest.approx((one_way(x, y) + one_way(y, x)) / 2, abs=1e-12)
    assert match(x, y) > HardCorrelationMatch().value(Pair.of(x, y)) + 0.1


def test_the_sign_counts() -> None:
    x = noise(30, 1, 0)
    assert match(x, 2 * x + 1) == pytest.approx(1.0, abs=1e-12)
    assert match(x, -x) == pytest.approx(-1.0, abs=1e-12)


def test_dead_units_count_as_nothing() -> None:
    x = noise(50, 4, 0)
    dead = torch.cat([x[:, :3], torch.full((50, 1), 0.1)], 1)
    # From the dead side 3 units of 4 find themselves; from the other side the fourth finds its best among three.
    rest = max(0.0, max(float(np.corrcoef(x[:, 3], x[:, j])[0, 1]) for j in range(3)))
    assert match(dead, x) == pytest.approx((3 / 4 + (3 + rest) / 4) / 2, abs=1e-12)
    assert match(dead, dead.clone()) == pytest.approx(3 / 4, abs=1e-12)


def test_moments_give_the_same() -> None:
    assert_same_by_moments(SoftCorrelationMatch(), *related(60, 5, 7))
