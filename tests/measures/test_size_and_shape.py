"""Size and shape against SciPy's rotation of the centred rows."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
from pairs import assert_same_by_moments, noise, related, rotation
from torch import Tensor

from seamripper.measures.pair import Pair
from seamripper.measures.size_and_shape import SizeAndShape


def distance(x: Tensor, y: Tensor) -> float:
    return SizeAndShape().value(Pair.of(x, y))


@pytest.mark.parametrize(("n", "p", "q"), [(30, 6, 6), (30, 2, 6), (8, 15, 12)])
def test_it_is_the_length_of_what_the_best_rotation_leaves(n: int, p: int, q: int) -> None:
    x, y = 3 * noise(n, p, 0) + 4, noise(n, q, 1)
    wide = max(p, q)
    a, b = (np.pad((z - z.mean(0)).numpy(), ((0, 0), (0, wide - z.shape[1]))) for z in (x, y))
    turn, _ = scipy.linalg.orthogonal_procrustes(a, b)
    assert distance(x, y) == pytest.approx(np.linalg.norm(a @ turn - b), rel=1e-12)


def test_a_scaled_copy_differs_by_its_size_alone() -> None:
    x = noise(50, 5, 0)
    norm = float((x - x.mean(0)).norm())
    for scale in (1 + 1e-9, 0.5, 1.5, 100.0):
        assert distance(x, scale * x) == pytest.approx(abs(scale - 1) * norm, rel=1e-6)


def test_it_grows_with_the_units() -> None:
    x, y = noise(50, 5, 0), noise(50, 5, 1)
    assert distance(1000 * x, 1000 * y) == pytest.approx(1000 * distance(x, y), rel=1e-12)


def test_the_same_rows_are_exactly_0() -> None:
    x = noise(300, 20, 0) * 1000 + 5
    assert distance(x, x.clone()) == 0.0
    assert distance(x, x @ rotation(20, 1)) == pytest.approx(0, abs=1e-6)


def test_moments_give_the_same() -> None:
    assert_same_by_moments(SizeAndShape(), *related(60, 5, 7))
