"""GULP, against its form over pairs of samples and against the ridge regressions that it bounds."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.linalg
from pairs import assert_same_by_moments, centred, related, unrelated
from torch import Tensor

from seamripper.errors import MeasureError
from seamripper.measures import measures
from seamripper.measures.gulp import GULP
from seamripper.measures.pair import Pair


def predictor(x: Tensor, ridge: float) -> np.ndarray:
    """(n, n): the kernel φᵀ(Σ + λ)⁻¹φ' of rows that are centred and scaled to E|φ|² = 1."""
    rows = centred(x)
    rows = rows * math.sqrt(len(rows)) / np.linalg.norm(rows)
    sigma = rows.T @ rows / len(rows)
    return rows @ np.linalg.inv(sigma + ridge * np.eye(len(sigma))) @ rows.T


@pytest.mark.parametrize("ridge", [1e-3, 0.1, 1.0, 10.0])
@pytest.mark.parametrize(("n", "p", "q"), [(60, 4, 4), (60, 3, 7), (10, 30, 20)])
def test_is_the_distance_of_the_kernels_of_ridge_regression(ridge: float, n: int, p: int, q: int) -> None:
    """Lemma 1 of the paper: d² = E (k(X, X') − l(X, X'))² for independent X, X'."""
    x, y = related(n, p, q)
    wanted = np.sqrt(((predictor(x, ridge) - predictor(y, ridge)) ** 2).mean())
    assert GULP(ridge=ridge).value(Pair.of(x, y)) == pytest.approx(wanted, rel=1e-8)


def test_bounds_how_much_predictions_differ() -> None:
    """The two ridge regressions of any target of unit variance differ by no more, in the mean square."""
    x, y = related(80, 4, 6)
    distance = GULP(ridge=0.1).value(Pair.of(x, y))
    targets = centred(unrelated(80, 200, 1, seed=3)[0])
    targets *= math.sqrt(80) / np.linalg.norm(targets, axis=0)
    gap = (predictor(x, 0.1) - predictor(y, 0.1)) @ targets / 80
    assert 0 < np.sqrt((gap**2).mean(0)).max() < distance


def test_without_a_ridge_it_is_the_canonical_correlations() -> None:
    x, y = related(60, 4, 6)
    cosines = np.cos(scipy.linalg.subspace_angles(centred(x), centred(y)))
    assert GULP(ridge=0.0).value(Pair.of(x, y)) == pytest.approx(math.sqrt(4 + 6 - 2 * (cosines**2).sum()), rel=1e-9)
    with pytest.raises(MeasureError, match="needs more samples than columns"):
        GULP(ridge=0.0).value(Pair.of(*unrelated(10, 10, 3)))
    with pytest.raises(MeasureError, match="got 11 for widths"):
        GULP(ridge=0.0).value(Pair.of(*unrelated(11, 10, 3)))


@pytest.mark.parametrize("ridge", [0.01, 0.3, 1.0, 4.0])
def test_stays_within_its_range(ridge: float) -> None:
    for p in (1, 2, 4, 10, 50):
        value = GULP(ridge=ridge).value(Pair.of(*unrelated(400, p, p, seed=p)))
        assert 0 < value <= GULP(ridge=ridge).claims.range[1]


def test_none_is_none() -> None:
    """Not 1e-8, the root of a rounding."""
    x, _ = related(60, 20, 1)
    assert GULP().value(Pair.of(x, x)) == 0.0


def test_from_moments() -> None:
    assert_same_by_moments(GULP(), *related(90, 5, 4))
    assert_same_by_moments(GULP(ridge=0.0), *related(90, 5, 4))


def test_options() -> None:
    assert measures.make("gulp?ridge=0.1") == GULP(ridge=0.1)
    for ridge in (-1.0, math.inf, math.nan):
        with pytest.raises(MeasureError, match=r"Expected ridge of .*gulp.* to be (at least 0|a finite number)"):
            GULP(ridge=ridge)
