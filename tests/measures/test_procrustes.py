"""The Euclidean Procrustes distance against SciPy's rotation, and as a metric."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import scipy.linalg
import torch
from pairs import assert_same_by_moments, noise, related, rotation, summed_about_zero
from torch import Tensor

from seamripper.measures.pair import Pair
from seamripper.measures.procrustes import Procrustes


def distance(x: Tensor, y: Tensor) -> float:
    return Procrustes().value(Pair.of(x, y))


def test_it_is_the_length_of_what_the_best_rotation_leaves() -> None:
    x, y = noise(30, 6, 0) + 4, noise(30, 6, 1)
    a, b = ((z - z.mean(0)).numpy() for z in (x, y))
    a, b = a / np.linalg.norm(a), b / np.linalg.norm(b)
    turn, _ = scipy.linalg.orthogonal_procrustes(a, b)
    assert distance(x, y) == pytest.approx(np.linalg.norm(a @ turn - b), abs=1e-12)


def test_zero_columns_change_nothing() -> None:
    x, y = noise(30, 3, 0), noise(30, 5, 1)
    padded = torch.cat([x, torch.zeros(30, 2)], 1)
    assert distance(x, y) == pytest.approx(distance(padded, y), abs=1e-12)


def test_triangle_inequality() -> None:
    x = noise(20, 4, 0)
    members = [x + scale * noise(20, 4, seed) for seed, scale in enumerate((0.1, 0.3, 1.0, 3.0), 1)]
    for a, b, c in itertools.permutations(members, 3):
        assert distance(a, c) <= distance(a, b) + distance(b, c)


def test_the_same_shape_is_exactly_0() -> None:
    x = noise(200, 16, 0) + 100
    turn = rotation(16, 1)
    assert distance(x, x.clone()) == 0.0
    assert distance(x, 7 * x @ turn - 3) == 0.0


def test_small_distances_are_not_lost() -> None:
    # For x + h z with z orthogonal to every column of x, the cosine of the shapes is 1 / √(1 + h² ‖z‖² / ‖x‖²).
    basis = torch.linalg.qr(torch.cat([torch.ones(20, 1, dtype=torch.float64), noise(20, 8, 0)], 1))[0]
    x, z = basis[:, 1:5], basis[:, 5:9]
    for h in (1e-2, 1e-4, 1e-6):
        assert distance(x, torch.cat([x, h * z], 1)) == pytest.approx(h, rel=h**2 + 1e-3)


def test_largest_is_the_root_of_2() -> None:
    x = torch.tensor([[1.0], [1.0], [-1.0], [-1.0]])
    assert distance(x, x[[0, 2, 1, 3]]) == math.sqrt(2)


def test_moments_give_the_same() -> None:
    assert_same_by_moments(Procrustes(), *related(60, 5, 7))


@pytest.mark.parametrize("mean", [0.0, 10.0, 1000.0])
def test_a_large_mean_costs_moments_digits_and_makes_no_distance(mean: float) -> None:
    x = noise(400, 8, 0) + mean
    assert Procrustes().value(summed_about_zero(x, x @ rotation(8, 1))) == 0.0
    near = x + 1e-3 * noise(400, 8, 1)
    assert Procrustes().value(summed_about_zero(x, near)) == pytest.approx(distance(x, near), rel=1e-2)
