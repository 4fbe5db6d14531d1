"""Hard correlation match against every pairing there is, with NumPy's correlations."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from pairs import assert_same_by_moments, noise, related, summed_about_zero
from torch import Tensor

from seamripper.errors import MeasureError
from seamripper.measures.hard_correlation_match import HardCorrelationMatch
from seamripper.measures.pair import Pair


def match(x: Tensor, y: Tensor) -> float:
    return HardCorrelationMatch().value(Pair.of(x, y))


def by_brute_force(x: Tensor, y: Tensor) -> float:
    if x.shape[1] > y.shape[1]:
        x, y = y, x
    p, q = x.shape[1], y.shape[1]
    found = [[np.corrcoef(x[:, i].numpy(), y[:, j].numpy())[0, 1] for j in range(q)] for i in range(p)]
    return max(sum(found[i][j] for i, j in enumerate(order)) for order in itertools.permutations(range(q), p)) / p


@pytest.mark.parametrize(("n", "p", "q"), [(30, 5, 5), (30, 2, 5), (30, 5, 3), (5, 6, 6), (30, 1, 1)])
@pytest.mark.parametrize("seed", range(3))
def test_no_pairing_is_better(n: int, p: int, q: int, seed: int) -> None:
    x, y = noise(n, p, seed) * 3 + 2, noise(n, q, seed + 10)
    assert match(x, y) == pytest.approx(by_brute_force(x, y), abs=1e-12)


def test_the_sign_counts() -> None:
    x = noise(30, 1, 0)
    assert match(x, 2 * x + 1) == pytest.approx(1.0, abs=1e-12)
    assert match(x, -x) == pytest.approx(-1.0, abs=1e-12)


def test_greed_would_be_worse() -> None:
    # Both units of x have the first of y for their best partner; only one can have it.
    a, b = noise(1000, 1, 0), noise(1000, 1, 1)
    x, y = torch.cat([a + 0.1 * b, a], 1), torch.cat([a, b], 1)
    assert match(x, y) == pytest.approx(by_brute_force(x, y), abs=1e-12)
    assert match(x, y) < 0.6


def test_every_column_may_have_units_of_its_own() -> None:
    x = noise(50, 4, 0)
    assert match(x, x.flip(1) * torch.tensor([1.0, 10.0, 0.1, 1e4]) + 1) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("level", [0.0, 0.1, 1e6])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_dead_units_count_as_nothing(level: float, dtype: torch.dtype) -> None:
    x = noise(50, 4, 0).to(dtype)
    dead = torch.cat([x[:, :3], torch.full((50, 1), level, dtype=dtype)], 1)
    assert match(x, dead) == pytest.approx(0.75, abs=1e-6)
    assert match(dead, dead.clone()) == pytest.approx(0.75, abs=1e-6)
    assert HardCorrelationMatch().value(summed_about_zero(dead, dead)) == pytest.approx(0.75, abs=1e-6)


def test_only_dead_units_are_refused() -> None:
    x = noise(50, 4, 0)
    with pytest.raises(MeasureError, match="sender's activations are constant"):
        match(torch.ones_like(x), x)


def test_moments_give_the_same() -> None:
    assert_same_by_moments(HardCorrelationMatch(), *related(60, 5, 7))
