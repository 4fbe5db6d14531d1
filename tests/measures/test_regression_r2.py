"""Regression R², against numpy's least squares fold by fold."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from pairs import assert_same_by_moments, centred, related, unrelated
from torch import Tensor

from seamripper.errors import MeasureError
from seamripper.measures import measures
from seamripper.measures.pair import FOLDS, Pair
from seamripper.measures.regression_r2 import RegressionR2


def cross_validated(x: Tensor, y: Tensor) -> float:
    a, b = np.c_[x.numpy(), np.ones(len(x))], y.numpy()
    folds = np.arange(len(x)) % FOLDS
    error = variation = 0.0
    for k in range(FOLDS):
        fit, out = folds != k, folds == k
        w = np.linalg.lstsq(a[fit], b[fit], rcond=None)[0]
        error += ((b[out] - a[out] @ w) ** 2).sum()
        variation += ((b[out] - b[fit].mean(0)) ** 2).sum()
    return 1 - error / variation


@pytest.mark.parametrize(("p", "q"), [(4, 4), (3, 7), (7, 3)])
def test_is_cross_validated_least_squares(p: int, q: int) -> None:
    x, y = related(60, p, q)
    assert RegressionR2().value(Pair.of(x, y)) == pytest.approx(cross_validated(x, y), rel=1e-9)


@pytest.mark.parametrize(("p", "q"), [(4, 4), (3, 7), (7, 3)])
def test_in_sample_is_the_part_of_y_that_x_spans(p: int, q: int) -> None:
    x, y = related(60, p, q)
    wanted = np.linalg.norm(np.linalg.qr(centred(x))[0].T @ centred(y)) ** 2 / np.linalg.norm(centred(y)) ** 2
    assert RegressionR2(held_out=False).value(Pair.of(x, y)) == pytest.approx(wanted, rel=1e-9)


def test_a_planted_map_is_found() -> None:
    """y = W x + b + noise of a fifth of its variance."""
    x, _ = unrelated(5000, 4, 1)
    w, noise = unrelated(4, 3, 1, seed=1)[0], unrelated(5000, 3, 1, seed=2)[0]
    y = x @ (w / w.norm(dim=0)) * 2 + noise + 7
    assert RegressionR2().value(Pair.of(x, y)) == pytest.approx(0.8, abs=0.02)


def test_noise_predicts_less_than_nothing() -> None:
    """In sample p columns of noise explain p/(n − 1); held out they cost about as much."""
    pair = Pair.of(*unrelated(101, 20, 10))
    assert RegressionR2(held_out=False).value(pair) == pytest.approx(0.2, abs=0.05)
    assert RegressionR2().value(pair) < -0.1


def test_more_columns_than_samples_do_not_make_it_one() -> None:
    assert RegressionR2().value(Pair.of(*unrelated(30, 60, 4))) < 0.2
    with pytest.raises(MeasureError, match="needs more samples than columns"):
        RegressionR2(held_out=False).value(Pair.of(*unrelated(30, 60, 4)))
    with pytest.raises(MeasureError, match="got 11 for widths"):
        RegressionR2(held_out=False).value(Pair.of(*unrelated(11, 10, 4)))


def test_dependent_columns_get_the_solution_of_least_norm() -> None:
    x, y = related(60, 4, 3)
    doubled = torch.cat([x, x[:, :2] * 3], 1)
    assert RegressionR2().value(Pair.of(doubled, y)) == pytest.approx(RegressionR2().value(Pair.of(x, y)), rel=1e-9)


def test_from_moments() -> None:
    assert_same_by_moments(RegressionR2(), *related(90, 5, 4))
    assert_same_by_moments(RegressionR2(held_out=False), *related(90, 5, 4))


def test_one_fold_is_refused() -> None:
    x, y = related(20, 3, 3)
    with pytest.raises(MeasureError, match="expected 2 folds or more, but got 1"):
        RegressionR2().value(Pair.of(x, y, fold_of=torch.zeros(20, dtype=torch.int64)))


def test_options() -> None:
    assert measures.make("regression_r2?held_out=false") == RegressionR2(held_out=False)
    with pytest.raises(MeasureError, match="True or False"):
        RegressionR2(held_out="no")  # type: ignore[arg-type]
