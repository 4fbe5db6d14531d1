"""Means and differences of figures that several seeds gave, each of them an estimate over samples."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from statistics import fmean, variance
from typing import TypeAlias

from scipy.special import stdtrit

from seamripper._stats import Estimate, over_seeds
from seamripper.controls import Outcome

Seeded: TypeAlias = Sequence[tuple[int, Estimate]]
"""A figure, seed by seed."""


def seeded_figures(outcomes: Iterable[Outcome], figure: Callable[[Outcome], Estimate]) -> Seeded:
    """The figure of each outcome, with its seed."""
    return [(outcome.seed, figure(outcome)) for outcome in outcomes]


def accuracy(outcome: Outcome) -> Estimate:
    """The accuracy of an outcome."""
    return outcome.result.top1


def mean_over(estimates: Sequence[Estimate]) -> Estimate:
    """The mean over seeds; its interval reaches as far as the one over seeds and the one over samples.

    Of one seed it is the estimate over samples as it is. Seeds share their samples, so more of them do not make the
    error over samples smaller: its ends are averaged. Seeds that all say 1.000 are thus not taken for certainty.

    >>> from seamripper._stats import proportion
    >>> print(mean_over([proportion(100, 100)] * 3))
    1.000 [0.963, 1.000]
    """
    if len(estimates) == 1:
        return estimates[0]
    seeds = over_seeds([estimate.value for estimate in estimates])
    ends = fmean(estimate.low for estimate in estimates), fmean(estimate.high for estimate in estimates)
    return _wider(seeds.value, (seeds.low, seeds.high), ends, len(estimates))


def share_over(shares: Sequence[Estimate]) -> Estimate:
    """The mean of shares over seeds, as `mean_over` has it, its interval kept within 0 and 1.

    >>> print(share_over([Estimate(0.9, 0.88, 0.92, 100), Estimate(0.99, 0.97, 1.0, 100)]))
    0.945 [0.373, 1.000]
    """
    mean = mean_over(shares)
    low, high = (end if math.isnan(end) else min(1.0, max(0.0, end)) for end in (mean.low, mean.high))
    return Estimate(mean.value, low, high, mean.n)


def difference(a: Seeded, b: Seeded) -> Estimate:
    """mean a − mean b; its interval reaches as far as the one over seeds and the one over samples.

    Over seeds it is Student's for the differences seed by seed, if both have the same seeds, and else Welch's (1947).
    Over samples it is Newcombe's (1998), which squares and adds the distances of both means from the ends of their
    intervals. It takes the two for independent. Networks on the same samples find the same ones hard, so for them it
    is rather too wide than too narrow.

    >>> def seeds(*values):
    ...     return [(seed, Estimate(value, value - 0.01, value + 0.01, 1000)) for seed, value in enumerate(values)]
    >>> print(difference(seeds(0.90, 0.92, 0.94), seeds(0.50, 0.53, 0.53)))
    0.400 [0.375, 0.425]
    """
    firsts, seconds = ([estimate.value for _, estimate in each] for each in (a, b))
    seeds = _paired(a, b) if _same_seeds(a, b) else _welch(firsts, seconds)
    value = fmean(firsts) - fmean(seconds)
    return _wider(value, seeds, _newcombe(a, b, value), min(len(a), len(b)))


def _same_seeds(a: Seeded, b: Seeded) -> bool:
    ours, theirs = ([seed for seed, _ in each] for each in (a, b))
    return len(a) > 1 and sorted(ours) == sorted(theirs) and len(set(ours)) == len(ours)


def _paired(a: Seeded, b: Seeded) -> tuple[float, float]:
    theirs = dict(b)
    paired = over_seeds([estimate.value - theirs[seed].value for seed, estimate in a])
    return paired.low, paired.high


def _welch(a: Sequence[float], b: Sequence[float]) -> tuple[float, float]:
    """Welch's interval; a side with one value counts as if it had no spread, as none can be seen."""
    errors = [(variance(side) / len(side), len(side) - 1) for side in (a, b) if len(side) > 1]
    if not errors:
        return math.nan, math.nan
    middle, total = fmean(a) - fmean(b), math.fsum(error for error, _ in errors)
    if total == 0:
        return middle, middle
    freedom = total**2 / math.fsum(error**2 / df for error, df in errors)
    half = float(stdtrit(freedom, 0.975)) * math.sqrt(total)
    return middle - half, middle + half


def _newcombe(a: Seeded, b: Seeded, value: float) -> tuple[float, float]:
    def reach(side: Seeded, *, up: bool) -> float:
        return fmean(
            (estimate.high - estimate.value) if up else (estimate.value - estimate.low) for _, estimate in side
        )

    below = math.hypot(reach(a, up=False), reach(b, up=True))
    above = math.hypot(reach(a, up=True), reach(b, up=False))
    return value - below, value + above


def _wider(value: float, first: tuple[float, float], other: tuple[float, float], n: int) -> Estimate:
    """An estimate whose interval holds both; one that could not be had does not count."""
    known = [(low, high) for low, high in (first, other) if math.isfinite(low) and math.isfinite(high)]
    if not known:
        return Estimate(value, math.nan, math.nan, n)
    return Estimate(value, min(low for low, _ in known), max(high for _, high in known), n)
