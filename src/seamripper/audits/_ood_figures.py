"""How well a score tells two kinds of activations apart: AUROC, AUPR and FPR95, with intervals and a p.

A score is higher where activations look stranger. Sample i has two: of the receiver's own activations (native) and of
the stitched ones. The two are paired, as they come of one and the same input.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from seamripper.errors import AuditError
from seamripper.estimate import Estimate, bootstrap

Array = NDArray[np.float64]

_RESAMPLES = 1000
_FLIPS = 9999
_AT_ONCE = 4_000_000
"""Numbers held in one table of resamples: 32 MB."""
_BINS = 40
_ROUNDING = 1e-12
"""Scores that differ by less than this share of their size are the same."""


@dataclass(frozen=True, eq=False)
class Scores:
    """One score of the same samples, native and stitched.

    `folds` are the numbers of the samples that may be compared with each other: scores of two classifiers are not on
    one scale. Figures are the means over folds.

    >>> told = Scores(np.array([0.1, 0.2, 0.3, 0.4]), np.array([0.35, 0.5, 0.6, 0.7]))
    >>> told.auroc, told.aupr, told.fpr95
    (0.9375, 0.95, 0.25)
    """

    native: Array
    stitched: Array
    folds: tuple[NDArray[np.int64], ...] = ()

    def __post_init__(self) -> None:
        if len(self.native) != len(self.stitched) or len(self.native) < 1:
            raise AuditError(
                f"Expected a native and a stitched score of each sample, but got {len(self.native)} and "
                f"{len(self.stitched)}."
            )

    @property
    def auroc(self) -> float:
        """The chance that a stitched score is above a native one."""
        return float(np.mean([auroc(native, stitched) for native, stitched in self.compared()]))

    @property
    def aupr(self) -> float:
        """Average precision with native as what is looked for."""
        return float(np.mean([aupr(native, stitched) for native, stitched in self.compared()]))

    @property
    def fpr95(self) -> float:
        """The share of stitched activations that pass where 95 % of the native ones do."""
        return float(np.mean([fpr95(native, stitched) for native, stitched in self.compared()]))

    @property
    def within(self) -> tuple[NDArray[np.int64], ...]:
        """The folds; all the samples if there are none."""
        return self.folds or (np.arange(len(self.native)),)

    def compared(self) -> Iterator[tuple[Array, Array]]:
        """Native and stitched scores of each fold."""
        return ((self.native[fold], self.stitched[fold]) for fold in self.within)

    def resampled(self, *, seed: int = 0) -> Array:
        """The AUROC of each of 1,000 bootstrap samples; the same seed draws the same samples for every score."""
        counts = _counts(len(self.native), seed)
        each = [_weighted_auroc(self.native[fold], self.stitched[fold], counts[:, fold]) for fold in self.within]
        # A resample may miss a small fold: its mean is over the others.
        return np.asarray(np.nanmean(each, axis=0))

    def estimate(self, *, seed: int = 0) -> Estimate:
        """The AUROC with a 95 % interval over samples, both versions of a sample drawn together."""
        return bootstrap(self.auroc, self.resampled(seed=seed), len(self.native))

    def p_values(self, *, seed: int = 0) -> list[float]:
        """For each fold, how often its AUROC is reached when native and stitched change places at random."""
        return [flip_p(native, stitched, seed=seed + i) for i, (native, stitched) in enumerate(self.compared())]

    def on_one_scale(self) -> tuple[Array, Array]:
        """Native and stitched scores of all samples, fit to be counted together: as they are, if there are no folds.

        Those of each fold have the mean of the fold's native scores taken away and are divided by their deviation.

        >>> apart = Scores(np.array([0.0, 2.0, 10.0, 30.0]), np.array([2.0, 4.0, 10.0, 50.0]), (np.r_[:2], np.r_[2:4]))
        >>> [scores.tolist() for scores in apart.on_one_scale()]
        [[-1.0, 1.0, -1.0, 1.0], [1.0, 3.0, -1.0, 3.0]]
        """
        if not self.folds:
            return self.native, self.stitched
        native, stitched = np.empty_like(self.native), np.empty_like(self.stitched)
        for fold in self.folds:
            centre, deviation = self.native[fold].mean(), self.native[fold].std()
            # Native scores that are all the same have no scale: then the distance from them is as it is.
            scale = deviation if deviation > _ROUNDING * abs(centre) else 1.0
            native[fold], stitched[fold] = ((kind[fold] - centre) / scale for kind in (self.native, self.stitched))
        return native, stitched


def auroc(native: Array, stitched: Array) -> float:
    """P(stitched > native) + P(stitched = native) / 2 for one of each drawn at random (Mann & Whitney 1947).

    >>> auroc(np.array([1.0, 2.0]), np.array([2.0, 3.0]))
    0.875
    """
    _require_both(native, stitched)
    ranks = rankdata(np.concatenate([native, stitched]))[len(native) :]
    m = len(stitched)
    return float((ranks.sum() - m * (m + 1) / 2) / (m * len(native)))


def aupr(native: Array, stitched: Array) -> float:
    """Average precision, Σ (Rₖ − Rₖ₋₁) Pₖ over thresholds from the least strange score up, native being the positives.

    As Liu et al. 2020 have it ("AUPR in"). It is a sum of steps and not of trapezoids, which would be optimistic.

    >>> round(aupr(np.array([1.0, 3.0]), np.array([2.0, 4.0])), 4)
    0.8333
    """
    _require_both(native, stitched)
    passed_native, passed_stitched = _passed(native, stitched)
    precision = passed_native / (passed_native + passed_stitched)
    return float(np.sum(np.diff(passed_native, prepend=0) * precision) / len(native))


def fpr95(native: Array, stitched: Array) -> float:
    """The share of stitched activations that pass at the first threshold at which 95 % of the native ones do.

    Native activations are the positives, as in Liu et al. 2020: 0 is perfect separation, 0.95 is chance.

    >>> fpr95(np.arange(20.0), np.arange(20.0) + 17.5)
    0.05
    """
    _require_both(native, stitched)
    passed_native, passed_stitched = _passed(native, stitched)
    # In whole numbers: 0.95 · 20 is not 19 in floating point.
    first = int(np.argmax(passed_native * 20 >= 19 * len(native)))
    return float(passed_stitched[first] / len(stitched))


def flip_p(native: Array, stitched: Array, *, seed: int = 0) -> float:
    """(1 + how many of 9,999 draws reach the AUROC) / 10,000, a draw being a coin a sample: which of the two is which.

    Ranks stay as they are when the two of a pair change places, so the AUROC of a draw is a sum of rank differences
    with signs. One-sided, and exact if the score was made without these samples.

    >>> flip_p(np.zeros(5), np.zeros(5)), flip_p(np.zeros(30), np.ones(30))
    (1.0, 0.0001)
    """
    _require_both(native, stitched)
    ranks = rankdata(np.concatenate([native, stitched]))
    change = ranks[len(native) :] - ranks[: len(native)]
    rng, reached = np.random.default_rng(seed), 0
    # Ranks are halves of whole numbers, so their sums are exact, and so is >=.
    for size in _steps(_FLIPS, len(change)):
        signs = rng.integers(0, 2, size=(size, len(change)), dtype=np.int8) * 2.0 - 1
        reached += int(np.count_nonzero(signs @ change >= change.sum()))
    return (1 + reached) / (1 + _FLIPS)


def combined_p(values: list[float]) -> float:
    """One p of several, whatever they have to do with each other: twice their mean (Rüschendorf 1982).

    >>> combined_p([0.03]), combined_p([0.01, 0.03]), combined_p([0.9, 0.8])
    (0.03, 0.04, 1.0)
    """
    return values[0] if len(values) == 1 else min(1.0, 2 * float(np.mean(values)))


def bin_edges(scores: Array) -> Array:
    """41 edges of 40 bins of one width, from the 0.5 % quantile of the scores to the 99.5 % one.

    The few beyond would leave no room for the others. Scores that are all the same are in the middle of a width of 1.

    >>> edges = bin_edges(np.full(9, 3.0))
    >>> len(edges), float(edges[0]), float(edges[-1])
    (41, 2.5, 3.5)
    """
    low, high = np.quantile(scores[np.isfinite(scores)], [0.005, 0.995]) if np.isfinite(scores).any() else (0.0, 0.0)
    size = max(abs(low), abs(high))
    if high - low <= _ROUNDING * size:
        half = max(0.5, 1e-6 * size)
        low, high = low - half, high + half
    return np.linspace(low, high, _BINS + 1)


def counts_between(edges: Array, scores: Array) -> list[int]:
    """How many scores lie in each bin, its lower edge included; the outermost bins take what lies beyond as well.

    >>> counts_between(np.array([0.0, 1.0, 2.0, 3.0]), np.array([-9.0, 0.5, 1.0, 2.0, 3.0, 7.0]))
    [2, 1, 3]
    """
    bins = np.searchsorted(edges, scores, side="right") - 1
    return [int(n) for n in np.bincount(np.clip(bins, 0, len(edges) - 2), minlength=len(edges) - 1)]


def _require_both(native: Array, stitched: Array) -> None:
    if not (len(native) and len(stitched)):
        raise AuditError(
            f"Expected scores of native and of stitched activations, but got {len(native)} and {len(stitched)}: "
            "with one kind alone there is nothing to tell apart."
        )
    if np.isnan(native).any() or np.isnan(stitched).any():
        raise AuditError("Expected scores that are numbers, but got NaN. Look at the activations that they are of.")


def _passed(native: Array, stitched: Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """At each threshold, from the least strange score up: how many of either kind lie at it or below."""
    thresholds = np.unique(np.concatenate([native, stitched]))
    below = [np.searchsorted(np.sort(kind), thresholds, side="right") for kind in (native, stitched)]
    return below[0], below[1]


def _counts(n: int, seed: int) -> NDArray[np.int64]:
    """How often each of n samples is drawn, a row a bootstrap sample."""
    return np.asarray(np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=_RESAMPLES))


def _weighted_auroc(native: Array, stitched: Array, counts: NDArray[np.int64]) -> Array:
    """The AUROC with each sample counted as often as each row of `counts` says; NaN where none is."""
    n = len(native)
    scores = np.concatenate([native, stitched])
    order = np.argsort(scores, kind="stable")
    starts = np.flatnonzero(np.diff(scores[order], prepend=np.nan) != 0)
    is_native = order < n
    blocks = []
    for rows in np.split(counts, np.cumsum(list(_steps(len(counts), 2 * n)))[:-1]):
        weights = rows[:, order % n].astype(np.float64)
        natives = np.add.reduceat(weights * is_native, starts, axis=1)
        others = np.add.reduceat(weights * ~is_native, starts, axis=1)
        below = np.cumsum(natives, axis=1) - natives / 2
        total = rows.sum(1, dtype=np.float64)
        with np.errstate(invalid="ignore"):
            blocks.append((others * below).sum(1) / total**2)
    return np.concatenate(blocks)


def _steps(rows: int, width: int) -> Iterator[int]:
    """Sizes of the blocks in which a table of `rows` × `width` is made.

    >>> list(_steps(9, 1_000_000))
    [4, 4, 1]
    """
    size = max(1, _AT_ONCE // width)
    yield from (min(size, rows - start) for start in range(0, rows, size))
