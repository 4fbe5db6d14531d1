"""Departures on mixtures: how much more often a sender names the other input than its control does, over all looks.

A pair of inputs is a sample, and a family of mixtures is a look at all pairs. What networks say comes as arrays of
choices: 1 where a network is sure of the first input's answer, −1 of the second's, 0 where it is sure of neither.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Choices = NDArray[np.int8]
Floats = NDArray[np.float64]
RESAMPLES = 1000
FEWEST = 30
"""A look counts if sender and control are each sure on this many pairs of those that the receiver is sure of."""
_LEVEL, _Z = 0.05, 1.96
"""An interval is never narrower than that of a single look."""


@dataclass(frozen=True, eq=False)
class Excess:
    """The excess of a sender's departure over its control's in each look, with intervals that hold for all at once.

    `sender` and `control` are departures: of the pairs on which receiver and network are both sure, the share on which
    they name different inputs. `pairs` is how many these are, for the side that has fewer. `error` is a standard error
    over pairs, with the `spread` between the control's networks; `reach` errors on both sides make the intervals. `p`
    tests that no look has an excess above `tolerance`. Looks with fewer pairs than `FEWEST` do not count.
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
    receiver: Choices, sender: Choices, control: Choices, *, tolerance: float = 0.0, seed: int = 0
) -> Excess | None:
    """The sender's excess over its control; None if no look counts.

    `receiver` is (pairs, looks); `sender` (stitches, pairs, looks) and `control` (networks, pairs, looks) pool what
    their members choose. Pairs are drawn with replacement, the same for all looks and networks, and the distribution of
    the largest deviation over all looks, in errors, gives p-value and intervals (max-T: Westfall & Young 1993).
    """
    ours, theirs = (_counts(receiver, networks) for networks in (sender, control))
    # Pooled over a side's networks, a pair counts once for each of them.
    pairs = np.minimum(*(sure.sum((0, 1)) // len(sure) for _, sure in (ours, theirs)))
    looks = pairs >= FEWEST
    if not looks.any():
        return None
    n = len(receiver)
    weights = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=RESAMPLES).astype(np.float64)
    a, b = (_departures(side, np.ones((1, n)))[0] for side in (ours, theirs))
    resamples = _departures(ours, weights) - _departures(theirs, weights)
    value, spread = a - b, _spread(theirs, looks)
    # Where all agree a resample never differs; one pair more could still have.
    error = np.maximum(resamples.std(0), 1 / np.maximum(pairs, 1))
    deviations = np.abs(resamples - value)[:, looks] / error[looks]
    largest = deviations.max(1)
    error = error * np.sqrt(spread)
    reach = max(_Z, float(np.quantile(largest, 1 - _LEVEL)))
    observed = float(((value - tolerance) / error)[looks].max())
    p = float((1 + (largest >= observed).sum()) / (1 + RESAMPLES))
    return Excess(value, error, a, b, pairs, reach, p, spread, tolerance)


def _counts(receiver: Choices, networks: Choices) -> tuple[Floats, Floats]:
    """Where each network names the other input, and where receiver and network are both sure."""
    product = networks.astype(np.int64) * receiver
    return (product < 0).astype(np.float64), (product != 0).astype(np.float64)


def _departures(side: tuple[Floats, Floats], weights: Floats) -> Floats:
    """The departure in each look, for each row of weights of the pairs; 0 where nobody is sure."""
    other, sure = (weights @ counts.sum(0) for counts in side)
    return np.asarray(other / np.maximum(sure, 1e-9))


def _spread(side: tuple[Floats, Floats], looks: NDArray[np.bool_]) -> float:
    """How much more a side's networks vary than pairs drawn by chance would make them, as a ratio of variances ≥ 1.

    Pearson's χ² over its degrees of freedom, over all looks together (quasi-binomial); 1 for a single network.
    """
    other, sure = (counts.sum(1)[:, looks] for counts in side)
    if len(sure) < 2:
        return 1.0
    # One pair more of either kind, as a share of 0 would have no variance.
    share = (other.sum(0) + 1) / (sure.sum(0) + 2)
    squares = (other - share * sure) ** 2 / np.maximum(sure * share * (1 - share), 1e-9)
    return max(1.0, float(squares.sum() / ((len(sure) - 1) * looks.sum())))
