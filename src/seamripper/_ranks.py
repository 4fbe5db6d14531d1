"""Statistics of ranks that several packages need: the AUROC, and two rank correlations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Array = NDArray[np.float64]
Values = Array | Sequence[float]


def auroc(low: Values, high: Values) -> float:
    """P(high > low) + P(high = low) / 2 for one of each drawn at random (Mann & Whitney 1947).

    >>> auroc([0.1, 0.8], [0.9, 0.8])
    0.875
    """
    m, n = len(high), len(low)
    ranks = stats.rankdata(np.concatenate([low, high]))[n:]
    return float((ranks.sum() - m * (m + 1) / 2) / (m * n))


def weighted_aurocs(values: Array, low: Array, high: Array) -> Array:
    """The AUROC for each row of weights: how often each value counts as one that should be low, and as one high.

    NaN where one of the kinds has no weight.

    >>> weighted_aurocs(np.array([0.1, 0.8, 0.9]), np.array([[1, 1, 0], [0, 2, 1]]), np.array([[0, 1, 1], [0, 0, 0]]))
    array([0.875,   nan])
    """
    order = np.argsort(values, kind="stable")
    starts = np.flatnonzero(np.diff(values[order], prepend=np.nan) != 0)
    lows, highs = (np.add.reduceat(kind[:, order].astype(np.float64), starts, axis=1) for kind in (low, high))
    below = np.cumsum(lows, axis=1) - lows / 2
    total = low.sum(1, dtype=np.float64) * high.sum(1, dtype=np.float64)
    shares = (highs * below).sum(1)
    return np.asarray(np.divide(shares, total, out=np.full_like(shares, np.nan), where=total > 0))


def kendall(x: Values, y: Values) -> tuple[float, float]:
    """Kendall's τ-b with SciPy's p-value; 0 if one of the two is constant.

    >>> kendall([1.0, 2.0, 3.0], [1.0, 3.0, 2.0])[0], kendall([1.0, 2.0, 3.0], [1.0, 1.0, 1.0])
    (0.333..., (0.0, 1.0))
    """
    return (0.0, 1.0) if _is_constant(x) or _is_constant(y) else _pair(stats.kendalltau(x, y))


def spearman(x: Values, y: Values) -> tuple[float, float]:
    """Spearman's ρ with SciPy's p-value; 0 if one of the two is constant.

    >>> spearman([1.0, 2.0, 3.0], [1.0, 3.0, 2.0])[0]
    0.5
    """
    return (0.0, 1.0) if _is_constant(x) or _is_constant(y) else _pair(stats.spearmanr(x, y))


def _is_constant(values: Values) -> bool:
    return len(set(values)) < 2


def _pair(result: object) -> tuple[float, float]:
    return float(result.statistic), float(result.pvalue)  # type: ignore[attr-defined]
