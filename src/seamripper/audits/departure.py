"""Departures on mixtures: how much more a sender believes in the other input than its control does, over all looks.

A pair of inputs is a sample, and a family of mixtures is a look at all pairs. The receiver chooses: 1 where it is sure
of the first input's answer, −1 of the second's, 0 where it is sure of neither. A stitched network leans: of its
probability for the two answers, the share of the second one. Its departure from the receiver on a mixture is the
share that it gives to the input that the receiver does not name. Mixtures on which the receiver is not sure do not
count. That needs no threshold on the stitched network, which may seldom be sure: an undecided one departs by a half.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seamripper.estimate import reach_of_all

Choices = NDArray[np.int8]
Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
RESAMPLES = 1000
FEWEST = 30
"""A look counts if the receiver is sure on this many pairs."""


@dataclass(frozen=True, eq=False)
class Excess:
    """The excess of a sender's departure over its control's in each look, with intervals that hold for all at once.

    `sender` and `control` are departures, means over the `pairs` on which the receiver is sure. `error` is the standard
    error over pairs, over the inputs that they share, and over networks: `spread` is the standard deviation between the
    control's. `reach` errors on both sides make the intervals. `p` tests that no look has an excess above `tolerance`.
    Looks with fewer pairs than `FEWEST` do not count.
    """

    value: Floats
    error: Floats
    sender: Floats
    control: Floats
    pairs: NDArray[np.int64]
    reach: float
    p: float
    spread: float
    tolerance: float

    @property
    def counts(self) -> NDArray[np.bool_]:
        """Which looks count."""
        return self.pairs >= FEWEST

    @property
    def low(self) -> Floats:
        """The lower ends of the intervals."""
        return np.maximum(-1.0, self.value - self.reach * self.error)

    @property
    def high(self) -> Floats:
        """The upper ends."""
        return np.minimum(1.0, self.value + self.reach * self.error)

    @property
    def largest(self) -> int:
        """The look whose excess is the furthest above the tolerance, in errors."""
        return int(np.argmax(np.where(self.counts, (self.value - self.tolerance) / self.error, -np.inf)))


def excess(
    receiver: Choices,
    sender: Floats,
    control: Floats,
    *,
    partners: Rows | None = None,
    tolerance: float = 0.0,
    seed: int = 0,
) -> Excess | None:
    """The sender's excess over its control; None if no look counts.

    `receiver` is (pairs, looks); `sender` (stitches, pairs, looks) and `control` (networks, pairs, looks) are how their
    members lean, which is averaged. Pairs are drawn with replacement, the same for all looks and networks; how far the
    resamples deviate gives p-value and intervals (`reach_of_all`). `partners` (pairs) says which pair has this one's
    second input as its first: the pairs of an input are not independent of each other, and the error counts that.
    """
    sure = receiver != 0
    pairs = sure.sum(0)
    looks = pairs >= FEWEST
    if not looks.any():
        return None
    n = len(receiver)
    weights = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=RESAMPLES).astype(np.float64)
    each = departures(receiver, control)
    ours, theirs = departures(receiver, sender).mean(0), each.mean(0)
    a, b = (side.sum(0) / np.maximum(pairs, 1) for side in (ours, theirs))
    resamples = weights @ (ours - theirs) / np.maximum(weights @ sure, 1)
    value, spread = a - b, _spread(each, pairs, looks)
    # Where all agree a resample never differs; one pair more could still have.
    error = np.maximum(resamples.std(0), 1 / np.maximum(pairs, 1))
    deviations = np.abs(resamples - value)[:, looks] / error[looks]
    if partners is not None:
        error = np.maximum(error, _error_over_inputs((ours - theirs - value * sure) / np.maximum(pairs, 1), partners))
    # The sender is one more network, and the control's mean is that of all its networks.
    error = np.sqrt(error**2 + spread**2 * (1 + 1 / len(control)))
    reach, p = reach_of_all(deviations, float(((value - tolerance) / error)[looks].max()))
    return Excess(value, error, a, b, pairs, reach, p, spread, tolerance)


def _error_over_inputs(shares: Floats, partners: Rows) -> Floats:
    """The standard error of a mean over pairs that share inputs, from each pair's share in the deviation from it.

    The variance is the sum over all couples of pairs that have an input in common (Fafchamps & Gubert 2007): over the
    inputs, the square of all that an input's pairs deviate by, less the squares of the pairs, which have two inputs.
    """
    by_input = shares.copy()
    np.add.at(by_input, partners, shares)
    return np.asarray(np.sqrt(np.maximum(0.0, (by_input**2).sum(0) - (shares**2).sum(0))))


def departures(receiver: Choices, leanings: Floats) -> Floats:
    """The departure of each network on each pair; 0 where the receiver is not sure.

    >>> departures(np.array([1, -1, 0], np.int8), np.array([[0.25, 0.25, 0.25]])).tolist()
    [[0.25, 0.75, 0.0]]
    """
    return np.asarray(np.where(receiver > 0, leanings, 1.0 - leanings) * (receiver != 0))


def _spread(each: Floats, pairs: NDArray[np.int64], looks: NDArray[np.bool_]) -> float:
    """The standard deviation of departures between a side's networks, over all looks together; 0 for a single network.

    From what a network departs by more than the mean of all networks on the same pair: the variance of its mean, less
    that which the variance between pairs gives it.
    """
    if len(each) < 2:
        return 0.0
    n = pairs[looks]
    residuals = (each - each.mean(0))[:, :, looks]
    means = residuals.sum(1) / n
    within = ((residuals**2).sum(1) / n - means**2) / n
    return float(np.sqrt(max(0.0, (means**2 - within).sum(0).mean() / (len(each) - 1))))
