"""Permutation Procrustes against every permutation there is."""

from __future__ import annotations

import itertools

import pytest
import torch
from pairs import assert_same_by_moments, noise, related, rotation
from torch import Tensor

from seamripper.measures.pair import Pair
from seamripper.measures.permutation_procrustes import PermutationProcrustes
from seamripper.measures.procrustes import Procrustes


def distance(x: Tensor, y: Tensor) -> float:
    return PermutationProcrustes().value(Pair.of(x, y))


def by_brute_force(x: Tensor, y: Tensor) -> float:
    """The least distance over all orders of the columns, the narrower side padded with zeros."""
    width = max(x.shape[1], y.shape[1])
    a, b = (torch.nn.functional.pad(z - z.mean(0), (0, width - z.shape[1])) for z in (x, y))
    a, b = a / a.norm(), b / b.norm()
    return min(float((a - b[:, list(order)]).norm()) for order in itertools.permutations(range(width)))


@pytest.mark.parametrize(("n", "p", "q"), [(20, 5, 5), (20, 2, 5), (20, 5, 3), (4, 6, 6), (20, 1, 1)])
@pytest.mark.parametrize("seed", range(3))
def test_no_order_of_the_columns_is_nearer(n: int, p: int, q: int, seed: int) -> None:
    x, y = noise(n, p, seed) * 3 + 2, noise(n, q, seed + 10)
    assert distance(x, y) == pytest.approx(by_brute_force(x, y), abs=1e-12)


def test_a_negative_partner_is_still_a_partner() -> None:
    # Padded to one width, a column cannot be left alone: with all signs turned the best assignment is below 0.
    x = noise(20, 1, 0)
    assert distance(x, -x) == pytest.approx(2.0, abs=1e-12)
    y = torch.cat([-x, -2 * x], 1)
    assert distance(x, y) == pytest.approx(by_brute_force(x, y), abs=1e-12)
    assert distance(x, y) > 2**0.5


def test_a_permuted_copy_is_exactly_0_and_a_rotated_one_is_not() -> None:
    x = noise(300, 30, 0) + 7
    order = torch.randperm(30, generator=torch.Generator().manual_seed(1))
    assert distance(x, x.clone()) == 0.0
    assert distance(x, 2 * x[:, order] - 1) == 0.0
    turned = x @ rotation(30, 2)
    assert Procrustes().value(Pair.of(x, turned)) == 0.0
    assert distance(x, turned) > 0.5


def test_moments_give_the_same() -> None:
    assert_same_by_moments(PermutationProcrustes(), *related(60, 5, 7))
