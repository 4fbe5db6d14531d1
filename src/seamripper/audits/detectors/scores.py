"""How well a score tells two kinds of activations apart: AUROC, AUPR and FPR95, with intervals and a p.

A score is higher where activations look stranger. Each sample has two: one of the receiver's own activations (native)
and one of the stitched ones. The two are paired, as they belong to the same input.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from seamripper._ranks import auroc as auroc_of, weighted_aurocs
from seamripper.errors import AuditError
from seamripper.estimate import Estimate, bootstrap

Array = NDArray[np.float64]

_RESAMPLES = 1000
_FLIPS = 9999
_AT_ONCE = 4_000_000
"""How many numbers a table of resamples may hold: 32 MB."""
_BINS = 40
_ROUNDING = 1e-12
"""Scores that differ by less than this share of their size are the same."""


@dataclass(frozen=True, eq=False)
class Scores:
    """One score of the same samples, native and stitched.

    `folds` are groups of samples, by number, whose scores may be compared: scores of two classifiers are not on one
    scale. Figures are means over folds; without folds, all samples are compared.

    >>> scores = Scores(np.array([0.1, 0.2, 0.3, 0.4]), np.array([0.35, 0.5, 0.6, 0.7]))
    >>> scores.auroc, scores.aupr, scores.fpr95
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
        """The probability that a stitched score is above a native one."""
        return self._mean(auroc)

    @property
    def aupr(self) -> float:
        """Average precision of finding the native ones."""
        return self._mean(aupr)

    @property
    def fpr95(self) -> float:
        """The share of stitched activations that pass where 95 % of the native ones do."""
        return self._mean(fpr95)

    def _mean(self, figure: Callable[[Array, Array], float]) -> float:
        return float(np.mean([figure(self.native[fold], self.stitched[fold]) for fold in self._groups]))

    @property
    def _groups(self) -> tuple[NDArray[np.int64], ...]:
        return self.folds or (np.arange(len(self.native)),)

    def resample(self, *, seed: int = 0) -> Array:
        """The AUROC of each of 1,000 bootstrap samples; the same seed draws the same samples for every score."""
        n = len(self.native)
        # How often each sample is drawn, one row per bootstrap sample.
        counts = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=_RESAMPLES)
        aurocs = [_weighted_auroc(self.native[fold], self.stitched[fold], counts[:, fold]) for fold in self._groups]
        # A resample may miss a small fold: the mean is then over the others.
        return np.asarray(np.nanmean(aurocs, axis=0))

    def estimate(self, *, seed: int = 0) -> Estimate:
        """The AUROC with a 95 % interval over samples, both versions of a sample drawn together."""
        return bootstrap(self.auroc, self.resample(seed=seed), len(self.native))

    def p_values(self, *, seed: int = 0) -> list[float]:
        """For each fold, how often its AUROC is reached when native and stitched are exchanged at random."""
        return [flip_p(self.native[fold], self.stitched[fold], seed=seed + i) for i, fold in enumerate(self._groups)]

    def on_one_scale(self) -> tuple[Array, Array]:
        """Native and stitched scores of all samples on one scale: unchanged, if there are no folds.

        In each fold, the mean of its native scores is subtracted, and the result is divided by their deviation.

        >>> apart = Scores(np.array([0.0, 2.0, 10.0, 30.0]), np.array([2.0, 4.0, 10.0, 50.0]), (np.r_[:2], np.r_[2:4]))
        >>> [scores.tolist() for scores in apart.on_one_scale()]
        [[-1.0, 1.0, -1.0, 1.0], [1.0, 3.0, -1.0, 3.0]]
        """
        if not self.folds:
            return self.native, self.stitched
        native, stitched = np.empty_like(self.native), np.empty_like(self.stitched)
        for fold in self.folds:
            centre, deviation = self.native[fold].mean(), self.native[fold].std()
            # Native scores that are all equal have no scale: then differences from them are kept as they are.
            scale = deviation if deviation > _ROUNDING * abs(centre) else 1.0
            native[fold], stitched[fold] = ((kind[fold] - centre) / scale for kind in (self.native, self.stitched))
        return native, stitched


def auroc(native: Array, stitched: Array) -> float:
    """P(stitched > native) + P(stitched = native) / 2 for one of each drawn at random (Mann & Whitney 1947)."""
    _require_both(native, stitched)
    return auroc_of(native, stitched)


def aupr(native: Array, stitched: Array) -> float:
    """Average precision, Σ (Rₖ − Rₖ₋₁) Pₖ over thresholds from the least strange score up; native are the positives.

    This is the "AUPR in" of Liu et al. 2020: a sum of steps, not of trapezoids, which would be optimistic.
    """
    _require_both(native, stitched)
    natives, others = _counts_up_to(native, stitched)
    precision = natives / (natives + others)
    return float(np.sum(np.diff(natives, prepend=0) * precision) / len(native))


def fpr95(native: Array, stitched: Array) -> float:
    """The share of stitched activations that pass at the first threshold at which 95 % of the native ones do.

    Native activations are the positives, as in Liu et al. 2020: 0 is perfect separation, 0.95 is chance.
    """
    _require_both(native, stitched)
    natives, others = _counts_up_to(native, stitched)
    # In whole numbers: 0.95 · 20 is not 19 in floating point.
    first = int(np.argmax(natives * 20 >= 19 * len(native)))
    return float(others[first] / len(stitched))


def flip_p(native: Array, stitched: Array, *, seed: int = 0) -> float:
    """(1 + how many of 9,999 draws reach the AUROC) / 10,000; a draw exchanges the two of each sample by a coin toss.

    Ranks do not change when the two of a pair change places, so the AUROC of a draw is a sum of rank differences with
    signs. One-sided, and exact if the score was made without these samples.

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
    """One p from several, whatever their dependence: twice their mean (Rüschendorf 1982).

    >>> combined_p([0.03]), combined_p([0.01, 0.03]), combined_p([0.9, 0.8])
    (0.03, 0.04, 1.0)
    """
    return values[0] if len(values) == 1 else min(1.0, 2 * float(np.mean(values)))


def histogram(scores: Mapping[str, Scores]) -> dict[str, Any]:
    """How often the scores of the sender and of each control take which values: 41 edges, and counts between them.

    `native` and `stitched` are the sender's; `controls` has the counts of each control's stitched activations. The
    edges are common to all: 40 bins of one width from the 0.5 % to the 99.5 % quantile of all these scores together, as
    the few beyond would leave no room for the others. The outermost bins count those as well. Where there are folds,
    scores are brought to one scale first (see `Scores.on_one_scale`).
    """
    pairs = {name: score.on_one_scale() for name, score in scores.items()}
    native, stitched = pairs.pop("sender")
    controls = {name: theirs for name, (_, theirs) in pairs.items()}
    edges, counts = common_bins([native, stitched, *controls.values()])
    return {
        "edges": edges,
        "native": counts[0],
        "stitched": counts[1],
        "controls": dict(zip(controls, counts[2:], strict=True)),
    }


def common_bins(kinds: Sequence[Array]) -> tuple[list[float], list[list[int]]]:
    """41 edges that are common to all kinds of scores, and the counts of each kind between them (see `histogram`).

    >>> edges, counts = common_bins([np.zeros(3), np.ones(5)])
    >>> edges[0], edges[-1], counts[0][:2], counts[1][-2:]
    (0.0, 1.0, [3, 0], [0, 5])
    """
    edges = _bin_edges(np.concatenate(kinds))
    clipped = (np.clip(kind, edges[0], edges[-1]) for kind in kinds)
    return edges.tolist(), [[int(n) for n in np.histogram(kind, edges)[0]] for kind in clipped]


def _bin_edges(scores: Array) -> Array:
    finite = scores[np.isfinite(scores)]
    low, high = np.quantile(finite, [0.005, 0.995]) if len(finite) else (0.0, 0.0)
    size = max(abs(low), abs(high))
    # Scores that are all equal are put in the middle of a width of 1.
    if high - low <= _ROUNDING * size:
        half = max(0.5, 1e-6 * size)
        low, high = low - half, high + half
    return np.linspace(low, high, _BINS + 1)


def _require_both(native: Array, stitched: Array) -> None:
    if not (len(native) and len(stitched)):
        raise AuditError(
            f"Expected scores of native and of stitched activations, but got {len(native)} and {len(stitched)}: "
            "with one kind only there is nothing to tell apart."
        )
    if np.isnan(native).any() or np.isnan(stitched).any():
        raise AuditError("Expected scores that are numbers, but got NaN. Look at the activations behind them.")


def _counts_up_to(native: Array, stitched: Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How many scores of either kind lie at or below each threshold, from the least strange score up."""
    thresholds = np.unique(np.concatenate([native, stitched]))
    below = [np.searchsorted(np.sort(kind), thresholds, side="right") for kind in (native, stitched)]
    return below[0], below[1]


def _weighted_auroc(native: Array, stitched: Array, counts: NDArray[np.int64]) -> Array:
    """The AUROC with each sample counted as often as each row of `counts` says; NaN where none counts."""
    scores, blocks = np.concatenate([native, stitched]), []
    for rows in np.split(counts, np.cumsum(list(_steps(len(counts), len(scores))))[:-1]):
        nobody = np.zeros_like(rows)
        blocks.append(weighted_aurocs(scores, np.hstack([rows, nobody]), np.hstack([nobody, rows])))
    return np.concatenate(blocks)


def _steps(rows: int, width: int) -> Iterator[int]:
    """Sizes of the blocks in which a table of `rows` × `width` is made.

    >>> list(_steps(9, 1_000_000))
    [4, 4, 1]
    """
    size = max(1, _AT_ONCE // width)
    yield from (min(size, rows - start) for start in range(0, rows, size))
