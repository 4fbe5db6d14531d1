"""CKNNA, against the paper's equation in loops, and planted pairs."""

from __future__ import annotations

import math

import pytest
import torch
from pairs import noise
from torch import Tensor

from seamripper.errors import MeasureError
from seamripper.measures.cknna import CKNNA
from seamripper.measures.pair import Pair


def kernel(x: Tensor) -> list[list[float]]:
    units = [[a / math.hypot(*row) for a in row] for row in x.tolist()]
    return [[sum(a * b for a, b in zip(u, v, strict=True)) for v in units] for u in units]


def align(k: list[list[float]], l: list[list[float]], near: int) -> float:  # noqa: E741
    total, n = 0.0, len(k)
    for i in range(n):
        others = [j for j in range(n) if j != i]
        in_k = sorted(others, key=lambda j: -k[i][j])[:near]
        in_l = sorted(others, key=lambda j: -l[i][j])[:near]
        for j in set(in_k) & set(in_l):
            total += (k[i][j] - sum(k[i]) / n) * (l[i][j] - sum(l[i]) / n)
    return total


@pytest.mark.parametrize(("p", "q"), [(5, 4), (50, 60)])
@pytest.mark.parametrize("near", [1, 5, 29])
def test_in_loops(near: int, p: int, q: int) -> None:
    x, y = noise(30, p, 0) + 0.3, noise(30, q, 1)
    y[:, :3] += 2 * x[:, :3]
    k, l = kernel(x), kernel(y)  # noqa: E741
    expected = align(k, l, near) / math.sqrt(align(k, k, near) * align(l, l, near))
    assert expected > 0.01
    assert CKNNA(k=near).value(Pair.of(x, y)) == pytest.approx(expected, abs=1e-12)


def test_neighbourhoods_apart_give_nothing() -> None:
    # On a circle of six: in x the nearest of i is i ± 1, in y it is i ± 3.
    def circle(places: list[float]) -> Tensor:
        angles = torch.tensor(places, dtype=torch.float64)
        return torch.stack([angles.cos(), angles.sin()], 1)

    x, y = circle([0.0, 0.1, 2.0, 2.1, 4.0, 4.1]), circle([0.0, 2.0, 4.0, 0.1, 2.1, 4.1])
    assert CKNNA(k=1).value(Pair.of(x, y)) == 0.0
    assert CKNNA(k=1).value(Pair.of(x, x)) == pytest.approx(1.0, abs=1e-14)


def test_sees_local_agreement_that_a_global_shuffle_hides() -> None:
    # Ten tight groups, their centres anew in y: neighbours agree, the rest does not.
    inside = 0.1 * noise(100, 6, 0)
    group = torch.arange(100) // 10
    x, y = noise(10, 6, 1)[group] + inside, noise(10, 6, 2)[group] + inside
    assert CKNNA(k=9).value(Pair.of(x, y)) > 0.95
    assert CKNNA(k=9).value(Pair.of(x, y[torch.randperm(100, generator=torch.Generator().manual_seed(0))])) < 0.3


def test_says_how_many_samples_are_needed() -> None:
    with pytest.raises(MeasureError, match="cknna needs at least 11 samples, but got 10"):
        CKNNA().value(Pair.of(noise(10, 3, 0), noise(10, 3, 1)))


def test_refuses_a_k_that_counts_nothing() -> None:
    with pytest.raises(MeasureError, match="Expected k of the measure 'cknna' to be a whole number of at least 1"):
        CKNNA(k=0)
