"""Regression: what a linear map of the sender tells of the receiver."""

from __future__ import annotations

from typing import Any

import numpy as np

from .base import TALL, Array, lib, oracle, resi

INSIDE = "regression_r2?held_out=False"


@oracle(INSIDE, by="scikit-learn", inputs=TALL)
def sklearn_r2(x: Array, y: Array) -> Any:
    predicted = lib("sklearn.linear_model").LinearRegression().fit(x, y).predict(x)
    return lib("sklearn.metrics").r2_score(y, predicted, multioutput="variance_weighted")


@oracle(INSIDE, by="scikit-learn", inputs=TALL, differs="columns count the same, whatever their variance")
def sklearn_score(x: Array, y: Array) -> Any:
    return lib("sklearn.linear_model").LinearRegression().fit(x, y).score(x, y)


@oracle(INSIDE, by="mklabunde/resi", inputs=TALL)
def resi_regression(x: Array, y: Array) -> Any:
    return resi("linear_regression").linear_reg(y, x, "nd")


@oracle("regression_r2", by="scikit-learn")
def sklearn_held_out(x: Array, y: Array) -> Any:
    of_line = left_out(lib("sklearn.linear_model").LinearRegression(), x, y)
    of_mean = left_out(lib("sklearn.dummy").DummyRegressor(), x, y)
    return 1 - of_line / of_mean


@oracle("direct_structural", by="scikit-learn")
def sklearn_structural(x: Array, y: Array) -> Any:
    return left_out(lib("sklearn.linear_model").LinearRegression(), x, y) / (y**2).sum()


def left_out(model: Any, x: Array, y: Array) -> float:
    """The squared error on five folds (row i is in fold i mod 5), each predicted by a model of the others."""
    selection = lib("sklearn.model_selection")
    folds = selection.PredefinedSplit(np.arange(len(x)) % 5)
    return float(((y - selection.cross_val_predict(model, x, y, cv=folds)) ** 2).sum())
