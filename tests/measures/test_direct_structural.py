"""Direct matching, structural: against numpy's least squares fold by fold, and the residual of direct matching."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from pairs import assert_same_by_moments, related, unrelated
from torch import Tensor

from seamripper.errors import MeasureError
from seamripper.matching.moments import Moments
from seamripper.matching.solve import least_squares
from seamripper.measures.direct_structural import DirectStructural
from seamripper.measures.pair import FOLDS, Pair
from seamripper.measures.regression_r2 import RegressionR2


def cross_validated(x: Tensor, y: Tensor) -> float:
    a, b = np.c_[x.numpy(), np.ones(len(x))], y.numpy()
    folds = np.arange(len(x)) % FOLDS
    error = 0.0
    for k in range(FOLDS):
        fit, out = folds != k, folds == k
        error += np.linalg.norm(b[out] - a[out] @ (np.linalg.pinv(a[fit]) @ b[fit])) ** 2
    return error / np.linalg.norm(b) ** 2


@pytest.mark.parametrize(("p", "q"), [(4, 4), (3, 7), (7, 3)])
def test_is_the_held_out_error_of_the_pseudo_inverse(p: int, q: int) -> None:
    x, y = related(60, p, q)
    assert DirectStructural().value(Pair.of(x, y)) == pytest.approx(cross_validated(x, y), rel=1e-9)


def test_is_what_direct_matching_reports() -> None:
    """Two folds with one target a fold: the mean of the two residuals, weighted by the targets' norms."""
    x, y = related(40, 3, 4)
    folds = torch.arange(40) // 20
    error = 0.0
    for k in range(2):
        fit, out = Moments(3, 4), Moments(3, 4)
        fit.add(x[folds != k], y[folds != k])
        out.add(x[folds == k], y[folds == k])
        found = least_squares(fit)
        error += out.residual(found.weight, found.bias) * float(y[folds == k].square().sum())
    value = DirectStructural().value(Pair.of(x, y, fold_of=folds))
    assert value == pytest.approx(error / float(y.square().sum()), rel=1e-9)


def test_shares_its_error_with_regression_r2() -> None:
    """Far from the origin the norm is almost all mean, and the error a small part of it."""
    x, y = related(100, 4, 4, mean=0.0)
    near, far = DirectStructural().value(Pair.of(x, y)), DirectStructural().value(Pair.of(x, y + 50))
    assert near == pytest.approx(1 - RegressionR2().value(Pair.of(x, y)), rel=0.05)
    assert far < near / 100


def test_noise_is_no_better_than_to_answer_zero() -> None:
    assert DirectStructural().value(Pair.of(*unrelated(100, 20, 10))) > 1.1
    assert DirectStructural().value(Pair.of(*unrelated(30, 60, 10))) > 0.8


def test_an_exact_map_leaves_nothing() -> None:
    x, _ = related(50, 5, 1)
    assert 0 <= DirectStructural().value(Pair.of(x, x @ unrelated(5, 3, 1)[0] + 4)) < 1e-12


def test_from_moments() -> None:
    assert_same_by_moments(DirectStructural(), *related(90, 5, 4))


def test_one_fold_is_refused() -> None:
    x, y = related(20, 3, 3)
    with pytest.raises(MeasureError, match="expected 2 folds or more, but got 1"):
        DirectStructural().value(Pair.of(x, y, fold_of=torch.zeros(20, dtype=torch.int64)))
