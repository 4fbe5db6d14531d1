"""Figures with their uncertainty: estimates; 95 % intervals of accuracies, of paired ones, and over seeds."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

_Z = float(ndtri(0.975))
_RESAMPLES = 4000


@dataclass(frozen=True)
class Estimate:
    """A figure, its 95 % interval, and how many samples it rests on.

    >>> print(Estimate(0.914, 0.905, 0.922, 5000))
    0.914 [0.905, 0.922]
    """

    value: float
    low: float
    high: float
    n: int

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"

    def as_record(self) -> dict[str, Any]:
        """The estimate as JSON has it: a figure that is not a number becomes null."""
        value, low, high = (x if math.isfinite(x) else None for x in (self.value, self.low, self.high))
        return {"value": value, "interval": [low, high], "n": self.n}


def proportion(hits: int, n: int) -> Estimate:
    """A share of n with Wilson's score interval, which keeps its level near 0 and 1 (Wilson 1927).

    >>> proportion(95, 100)
    Estimate(value=0.95, low=0.888..., high=0.978..., n=100)
    """
    p, z2 = hits / n, _Z**2
    centre = (p + z2 / (2 * n)) / (1 + z2 / n)
    half = _Z / (1 + z2 / n) * math.sqrt(p * (1 - p) / n + z2 / (4 * n * n))
    # At p = 0 and 1 the interval ends there exactly; rounding must not push it past.
    return Estimate(p, min(max(0.0, centre - half), p), max(min(1.0, centre + half), p), n)


def paired(a: NDArray[np.bool_], b: NDArray[np.bool_], figure: Callable[[Any, Any], Any], *, seed: int = 0) -> Estimate:
    """`figure(accuracy of a, accuracy of b)` for two networks on the same samples, with a paired bootstrap interval.

    Samples are resampled together, so what both networks find hard widens neither. All that matters of a sample is
    which of the two got it right, so the bootstrap draws the four counts from a multinomial: the same, and fast.

    >>> a, b = np.array([True] * 90 + [False] * 10), np.array([True] * 80 + [False] * 20)
    >>> print(paired(a, b, lambda x, y: x - y))
    0.100 [0.050, 0.160]
    """
    n = len(a)
    shares = np.array([(a & b).sum(), (a & ~b).sum(), (~a & b).sum(), (~a & ~b).sum()]) / n
    drawn = np.random.default_rng(seed).multinomial(n, shares, size=_RESAMPLES) / n
    with np.errstate(divide="ignore", invalid="ignore"):
        value = figure(shares[0] + shares[1], shares[0] + shares[2])
        spread = figure(drawn[:, 0] + drawn[:, 1], drawn[:, 0] + drawn[:, 2])
    finite = spread[np.isfinite(spread)]
    if not np.isfinite(value) or len(finite) == 0:
        return Estimate(math.nan, math.nan, math.nan, n)
    low, high = np.quantile(finite, [0.025, 0.975])
    return Estimate(float(value), float(low), float(high), n)


def over_seeds(values: Sequence[float]) -> Estimate:
    """The mean of a figure over seeds with Student's interval; from one seed there is no interval.

    >>> print(over_seeds([0.90, 0.92, 0.94]))
    0.920 [0.870, 0.970]
    >>> over_seeds([0.9])
    Estimate(value=0.9, low=nan, high=nan, n=1)
    """
    n, mean = len(values), math.fsum(values) / len(values)
    if n < 2:
        return Estimate(mean, math.nan, math.nan, n)
    spread = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (n - 1))
    half = float(stdtrit(n - 1, 0.975)) * spread / math.sqrt(n)
    return Estimate(mean, mean - half, mean + half, n)
