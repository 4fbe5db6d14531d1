"""OPD against SciPy's rotation, put to the matrices themselves."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import scipy.spatial
import torch
from numpy.typing import NDArray
from pairs import assert_same_by_moments, related

from seamripper.errors import MeasureError
from seamripper.measures.opd import OPD
from seamripper.measures.pair import Pair

Matrix = NDArray[np.float64]


def drawn(n: int, *widths: int, seed: int = 0) -> list[Matrix]:
    rng = np.random.default_rng(seed)
    base = rng.normal(size=(n, max(widths)))
    return [base @ rng.normal(size=(max(widths), width)) + rng.normal(size=(n, width)) + 3 for width in widths]


def pair_of(x: Matrix, y: Matrix) -> Pair:
    return Pair.of(torch.from_numpy(x), torch.from_numpy(y))


def normalised(x: Matrix, width: int) -> Matrix:
    x = x - x.mean(0)
    return np.pad(x / np.linalg.norm(x), ((0, 0), (0, width - x.shape[1])))


@pytest.mark.parametrize(("n", "p", "q"), [(40, 5, 5), (40, 3, 7), (40, 7, 3), (9, 20, 20), (9, 20, 4)])
def test_it_is_what_the_best_rotation_leaves(n: int, p: int, q: int) -> None:
    x, y = drawn(n, p, q)
    a, b = normalised(x, max(p, q)), normalised(y, max(p, q))
    turn, _ = scipy.linalg.orthogonal_procrustes(a, b)
    assert OPD().value(pair_of(x, y)) == pytest.approx(np.linalg.norm(a @ turn - b) ** 2, abs=1e-12)


def test_scipys_disparity_scales_too_and_follows_from_it() -> None:
    x, y = drawn(30, 4, 4)
    _, _, disparity = scipy.spatial.procrustes(x, y)
    overlap = 1 - OPD().value(pair_of(x, y)) / 2
    assert 1 - overlap**2 == pytest.approx(disparity, abs=1e-12)


def test_nothing_shared_is_2() -> None:
    x = np.array([[1.0], [1.0], [-1.0], [-1.0]])
    y = np.array([[1.0], [-1.0], [1.0], [-1.0]])
    assert OPD().value(pair_of(x, y)) == 2.0


@pytest.mark.parametrize("n", [12, 60, 3000])
def test_the_same_shape_is_exactly_0(n: int) -> None:
    (x,) = drawn(n, 24)
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(24, 24)))[0]
    assert OPD().value(pair_of(x, x.copy())) == 0.0
    assert OPD().value(pair_of(x, 3 * x @ turn + 5)) == 0.0


def test_constant_rows_are_refused() -> None:
    x, y = drawn(10, 2, 2)
    with pytest.raises(MeasureError, match="receiver's activations are constant"):
        OPD().value(pair_of(x, np.ones_like(y)))


def test_moments_give_the_same() -> None:
    assert_same_by_moments(OPD(), *related(60, 5, 7))
