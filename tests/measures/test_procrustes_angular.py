"""The angle between two shapes against arccos of SciPy's overlap, and at both ends of its range."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.linalg
import torch
from pairs import assert_same_by_moments, noise, related, rotation
from torch import Tensor

from seamripper.measures.pair import Pair
from seamripper.measures.procrustes_angular import ProcrustesAngular


def angle(x: Tensor, y: Tensor) -> float:
    return ProcrustesAngular().value(Pair.of(x, y))


@pytest.mark.parametrize(("n", "width"), [(30, 6), (8, 15)])
def test_it_is_the_angle_to_the_best_rotation(n: int, width: int) -> None:
    x, y = noise(n, width, 0) + 4, noise(n, width, 1)
    a, b = ((z - z.mean(0)).numpy() for z in (x, y))
    turn, _ = scipy.linalg.orthogonal_procrustes(a, b)
    cosine = np.sum((a @ turn) * b) / (np.linalg.norm(a) * np.linalg.norm(b))
    assert angle(x, y) == pytest.approx(math.acos(cosine), abs=1e-12)


@pytest.mark.parametrize("degrees", [0.0001, 1, 30, 60, 89])
def test_a_planted_angle(degrees: float) -> None:
    # Columns of an orthonormal set, all of mean zero: y is x with each column tilted out of x's span.
    basis = torch.linalg.qr(torch.cat([torch.ones(20, 1, dtype=torch.float64), noise(20, 8, 0)], 1))[0]
    tilt = math.radians(degrees)
    x, y = basis[:, 1:5], math.cos(tilt) * basis[:, 1:5] + math.sin(tilt) * basis[:, 5:9]
    assert angle(x, y) == pytest.approx(tilt, abs=1e-9)


def test_nothing_shared_is_a_right_angle() -> None:
    x = torch.tensor([[1.0], [1.0], [-1.0], [-1.0]])
    assert angle(x, x[[0, 2, 1, 3]]) == math.pi / 2


def test_the_same_shape_is_exactly_0() -> None:
    x = noise(500, 12, 0) - 20
    assert angle(x, x.clone()) == 0.0
    assert angle(x, 0.3 * x @ rotation(12, 1)) == 0.0


def test_moments_give_the_same() -> None:
    assert_same_by_moments(ProcrustesAngular(), *related(60, 5, 7))
