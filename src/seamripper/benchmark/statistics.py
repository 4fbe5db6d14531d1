"""Statistics of the benchmark. The training seed is the unit: neither layers nor pairs count as independent.

An interval comes from a bootstrap over networks, a p-value from permutations that treat all networks alike.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from seamripper._ranks import kendall, spearman, weighted_aurocs
from seamripper.audits.identification import Ranking
from seamripper.estimate import CORRELATION, Ends, Estimate, bootstrap

RESAMPLES, DRAWS = 2000, 2000
FEWEST = 3
"""With fewer networks there is no interval: a bootstrap of two knows three outcomes."""
KENDALL, SPEARMAN = "kendall", "spearman"
_EXACT = 7
"""Up to so many things are permuted in every way; 7! = 5040."""
_NUMBERS = 4_000_000
"""Numbers that are held at once."""
_ROUNDING = 1e-9
Array = NDArray[np.float64]
Orders = NDArray[np.int64]
Points = Mapping[int, tuple[float, float]]
"""For each rank: the loss of probing accuracy, and the distance."""


@dataclass(frozen=True, eq=False)
class Statistic:
    """A value, its resamples over networks, and its values if what it rests on were permuted; larger is better."""

    value: float
    resamples: Array
    null: Array
    networks: int
    chance: float = 0.0
    unit: str = "training seeds"
    note: str = ""
    range: Ends | None = None
    """As of an `Estimate`: what the value can be, where it is no share."""

    @property
    def p(self) -> float | None:
        """One-sided: (1 + permutations that are as good) / (1 + permutations); None if there is nothing to permute.

        >>> Statistic(0.9, np.zeros(0), np.array([0.1, 0.9, 0.2]), 3).p
        0.5
        """
        known = self.null[~np.isnan(self.null)]
        if math.isnan(self.value) or len(known) == 0:
            return None
        return (1 + int((known >= self.value - _ROUNDING).sum())) / (1 + len(known))

    @property
    def estimate(self) -> Estimate:
        """The value with its percentile interval; without one if there are fewer than three networks."""
        known = self.resamples[~np.isnan(self.resamples)]
        if math.isnan(self.value) or len(known) == 0:
            return Estimate(self.value, n=self.networks, unit=self.unit, range=self.range)
        return replace(bootstrap(self.value, known, self.networks), unit=self.unit, range=self.range)


def mean_statistic(statistics: Sequence[Statistic], unit: str) -> Statistic:
    """The mean of statistics of families that share no network; each family is resampled and permuted by itself."""
    values = [statistic.value for statistic in statistics]
    generator = np.random.default_rng(0)
    whole = all(len(statistic.resamples) for statistic in statistics)
    # In another order each: families of one size would otherwise be drawn alike, and they share no network.
    shuffled = [generator.permutation(statistic.resamples) for statistic in statistics]
    resamples = np.mean(shuffled, axis=0) if whole else np.zeros(0)
    nulls = [statistic.null for statistic in statistics if len(statistic.null)]
    null = np.zeros(0)
    if len(nulls) == len(statistics):
        # Every permutation of one family goes with every one of the others: some of these are drawn, the true one too.
        wholes = [np.append(null, statistic.value) for null, statistic in zip(nulls, statistics, strict=True)]
        null = np.mean([generator.choice(whole, DRAWS) for whole in wholes], axis=0)
    return Statistic(
        float(np.mean(values)),
        resamples,
        null,
        sum(statistic.networks for statistic in statistics),
        float(np.mean([statistic.chance for statistic in statistics])),
        unit,
        "; ".join(dict.fromkeys(statistic.note for statistic in statistics if statistic.note)),
        statistics[0].range,
    )


def holm(ps: Sequence[float]) -> list[float]:
    """p-values adjusted for the number of tests (Holm 1979), in the order in which they were given.

    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    adjusted, largest = [0.0] * len(ps), 0.0
    for place, i in enumerate(sorted(range(len(ps)), key=lambda i: ps[i])):
        largest = max(largest, min(1.0, (len(ps) - place) * ps[i]))
        adjusted[i] = largest
    return adjusted


def draws_of_networks(n: int, *, seed: int = 0) -> Array:
    """How often each of n networks is drawn, in each resample (rows); no rows if there are fewer than three."""
    if n < FEWEST:
        return np.zeros((0, n))
    return np.random.default_rng(seed).multinomial(n, [1 / n] * n, RESAMPLES).astype(float)


def orders_of(k: int) -> Orders:
    """Orders of k things, other than the order they are in: all of them if they are few, else random ones.

    >>> orders_of(3).tolist()
    [[0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]]
    """
    if k <= _EXACT:
        return np.array(list(itertools.permutations(range(k)))[1:], dtype=np.int64).reshape(-1, k)
    return np.random.default_rng(0).permuted(np.tile(np.arange(k), (DRAWS, 1)), axis=1)


def few_note(n: int) -> str:
    """What is said where there are too few networks for an interval."""
    return f"no interval: {n} training seed{'s' * (n != 1)}, and it takes {FEWEST}" if n < FEWEST else ""


# ---- identification


def identification(similarities: Array, *, between: bool) -> Statistic:
    """The share of layers whose counterpart is the most similar one, ties against it.

    `similarities` has the axes sender, receiver, sender's layer, receiver's layer; what is missing is NaN. Either each
    network is compared with itself, or with the others. The layers of the receivers are permuted, alike in all of them.
    """
    n, k = similarities.shape[0], similarities.shape[-1]
    shares, votes, pairs = np.full((n, n), math.nan), np.zeros((k, k)), 0
    for a, b in itertools.product(range(n), repeat=2):
        grid = similarities[a, b]
        if (a != b) != between or np.isnan(grid).all():
            continue
        winners = Ranking.of(grid).rows
        shares[a, b] = np.mean([i == j for i, j in enumerate(winners)])
        for i, j in enumerate(winners):
            votes[i, j] += j >= 0
        pairs += 1
    if not pairs:
        return Statistic(math.nan, np.zeros(0), np.zeros(0), n, 1 / k)
    draws = draws_of_networks(n)
    resamples = _mean_over_pairs(shares, draws) if between else _mean_over_networks(np.diag(shares), draws)
    null = votes[np.arange(k), orders_of(k)].sum(1) / (k * pairs)
    missing = int(sum(np.isnan(similarities[a, b]).sum() for a, b in zip(*np.nonzero(~np.isnan(shares)), strict=True)))
    note = "; ".join(filter(None, (few_note(n), f"{missing} cells have no score" if missing else "")))
    return Statistic(float(np.nanmean(shares)), resamples, null, n, 1 / k, note=note)


def _mean_over_networks(values: Array, draws: Array) -> Array:
    """The mean over the networks that were drawn, each as often as it was; NaN if none of them has a value."""
    known = ~np.isnan(values)
    return _divide(draws @ np.where(known, values, 0), draws @ known)


def _mean_over_pairs(values: Array, draws: Array) -> Array:
    """The mean over pairs of distinct networks that were drawn; NaN if there is none."""
    known = ~np.isnan(values)
    return _divide(((draws @ np.where(known, values, 0)) * draws).sum(1), ((draws @ known) * draws).sum(1))


def _divide(above: Array, below: Array) -> Array:
    return np.divide(above, below, out=np.full_like(above, math.nan), where=below > 0)


# ---- rank correlations


def correlation(x: Array, y: Array, which: str) -> tuple[float, float]:
    """Kendall's τ-b or Spearman's ρ with SciPy's p-value; 0 if y is constant, NaN if x is.

    >>> correlation(np.array([1.0, 2.0, 3.0]), np.array([1.0, 3.0, 2.0]), "kendall")[0]
    0.333...
    """
    known = ~(np.isnan(x) | np.isnan(y))
    x, y = x[known], y[known]
    if len(x) < 3 or np.ptp(x) == 0:
        return math.nan, math.nan
    return kendall(x, y) if which == KENDALL else spearman(x, y)


def correlations(x: Array, y: Array, weights: Array) -> dict[str, Array]:
    """τ-b and ρ for each row of weights: a point of weight 2 counts as two points, one of weight 0 is left out.

    `x` may have a row for each row of weights. A point that is NaN is left out; a constant gives 0.
    """
    weights = np.where(np.isnan(x) | np.isnan(y), 0.0, weights)
    x, y = np.nan_to_num(x), np.nan_to_num(y)
    signs_y = np.sign(y[:, None] - y)
    step = max(1, _NUMBERS // len(y) ** 2)
    parts = []
    for start in range(0, len(weights), step):
        own = x[start : start + step] if x.ndim == 2 else x
        parts.append(_correlations(np.sign(own[..., :, None] - own[..., None, :]), signs_y, weights[start:][:step]))
    tau, rho = np.concatenate(parts, axis=1) if parts else np.zeros((2, 0))
    return {KENDALL: tau, SPEARMAN: rho}


def _correlations(signs_x: Array, signs_y: Array, weights: Array) -> Array:
    """Both correlations from the order of every two points. Ranks are, but for a constant, sums over these orders."""
    column = weights[..., None]

    def total(signs: Array) -> Array:
        return np.asarray(((signs @ column)[..., 0] * weights).sum(-1))

    tau = _ratio(total(signs_x * signs_y), total(signs_x * signs_x), total(signs_y * signs_y))
    rank_x, rank_y = (signs_x @ column)[..., 0], (signs_y @ column)[..., 0]
    square_x, square_y = ((weights * rank * rank).sum(-1) for rank in (rank_x, rank_y))
    return np.stack([tau, _ratio((weights * rank_x * rank_y).sum(-1), square_x, square_y)])


def _ratio(above: Array, first: Array, second: Array) -> Array:
    below = np.sqrt(first * second)
    return np.divide(above, below, out=np.zeros_like(below), where=below > 0)


def sensitivity(networks: Sequence[Mapping[str, Points]]) -> dict[str, Statistic]:
    """The correlation of the loss of accuracy with the distance over ranks: its mean over cuts, then over networks.

    The losses are permuted over ranks, alike in every network and at every cut.
    """
    ranks = sorted({rank for cuts in networks for points in cuts.values() for rank in points})
    orders, n = orders_of(len(ranks)), len(networks)
    draws, statistics = draws_of_networks(n), {}
    values: dict[str, list[float]] = {KENDALL: [], SPEARMAN: []}
    nulls: dict[str, list[Array]] = {KENDALL: [], SPEARMAN: []}
    for cuts in networks:
        curves = [curve for points in cuts.values() if (curve := _curve(points)) is not None]
        permuted = [
            correlations(x[_order_within(ranks, own, orders)], y, np.ones((len(orders), len(x))))
            for own, x, y in curves
        ]
        for which in (KENDALL, SPEARMAN):
            at_cuts = [correlation(x, y, which)[0] for _, x, y in curves]
            values[which].append(float(np.mean(at_cuts)) if at_cuts else math.nan)
            nulls[which].append(np.mean([null[which] for null in permuted], axis=0) if permuted else np.zeros(0))
    for which, means in values.items():
        known = [null for null in nulls[which] if len(null)]
        null = np.mean(known, axis=0) if known else np.zeros(0)
        mean = float(np.nanmean(means)) if known else math.nan
        resamples = _mean_over_networks(np.array(means), draws)
        statistics[which] = Statistic(mean, resamples, null, n, note=few_note(n), range=CORRELATION)
    return statistics


def _curve(points: Points) -> tuple[list[int], Array, Array] | None:
    """Ranks, losses and distances; None where the losses say nothing: they are too few, or all the same."""
    known = {rank: pair for rank, pair in sorted(points.items()) if not any(map(math.isnan, pair))}
    x, y = (np.array([pair[side] for pair in known.values()], dtype=float) for side in (0, 1))
    return (list(known), x, y) if len(known) >= 3 and np.ptp(x) > 0 else None


def _order_within(ranks: Sequence[int], some: Sequence[int], orders: Orders) -> Orders:
    """Orders of all ranks as orders of some of them, so that cuts with other ranks are permuted as alike as can be.

    >>> _order_within([1, 2, 4], [1, 4], np.array([[2, 1, 0]])).tolist()
    [[1, 0]]
    """
    place = np.array([some.index(rank) if rank in some else -1 for rank in ranks])[orders]
    return place[place >= 0].reshape(len(orders), len(some))


def specificity(accuracies: Array, choosing: Array, distances: Array) -> dict[str, Statistic]:
    """The correlation, over all layers of all networks, of |F(A) − F(B)| with d(A, B).

    `accuracies` and `choosing` have the axes network and layer; `distances` network, layer, network, layer. The
    reference A is the layer that is best by `choosing`, which comes from other samples than `accuracies`; a resample
    has a reference of its own. Layers are permuted alike in every network.
    """
    n, k = accuracies.shape
    draws = draws_of_networks(n)
    best = np.nan_to_num(choosing, nan=-math.inf).argmax(1)
    levels = np.nan_to_num(choosing, nan=-math.inf).max(1)
    a = int(levels.argmax())
    x, y = _from_reference(accuracies, distances, (a, int(best[a])))
    null = _permuted_layers(x, y, a, int(best[a]))
    references = np.where(draws > 0, levels, -math.inf).argmax(1)
    resamples = {which: np.full(len(draws), math.nan) for which in (KENDALL, SPEARMAN)}
    for b in np.unique(references):
        rows, pair = references == b, _from_reference(accuracies, distances, (int(b), int(best[b])))
        values_here = correlations(pair[0].ravel(), pair[1].ravel(), np.repeat(draws[rows], k, axis=1))
        for which, values in values_here.items():
            resamples[which][rows] = values
    missing = int(np.isnan(y).sum()) - 1
    note = "; ".join(filter(None, (few_note(n), f"{missing} layers have no distance" if missing else "")))
    both = {which: correlation(x.ravel(), y.ravel(), which)[0] for which in (KENDALL, SPEARMAN)}
    return {
        which: Statistic(value, resamples[which], null[which], n, note=note, range=CORRELATION)
        for which, value in both.items()
    }


def _from_reference(accuracies: Array, distances: Array, reference: tuple[int, int]) -> tuple[Array, Array]:
    """|F(A) − F(B)| and d(A, B) for each layer of each network; the reference itself is no pair."""
    x = np.abs(accuracies - accuracies[reference])
    y = distances[reference].copy()
    y[reference] = math.nan
    return x, y


def _permuted_layers(x: Array, y: Array, a: int, i: int) -> dict[str, Array]:
    """The correlations if the layers of all networks changed places alike."""
    orders = orders_of(x.shape[1])
    permuted = np.swapaxes(x[:, orders], 0, 1).copy()
    # Wherever the reference's own difference, which is 0 by definition, comes to stand, it is left out.
    permuted[:, a][orders == i] = math.nan
    rows = permuted.reshape(len(orders), -1)
    return correlations(rows, y.ravel(), np.ones_like(rows))


def ding(
    groups: Sequence[tuple[Array, Array]], networks: int, *, note: str = ""
) -> dict[str, tuple[Statistic, float | None]]:
    """The statistic of Ding et al. 2021: correlations pooled over networks, and SciPy's p, averaged over groups.

    Each group is a layer: differences in accuracy, and distances. The p-values take pairs for independent, which they
    are not.
    """
    results = {}
    for which in (KENDALL, SPEARMAN):
        pairs = [correlation(x, y, which) for x, y in groups]
        known = [pair for pair in pairs if not math.isnan(pair[0])]
        value, p = (float(np.mean([pair[side] for pair in known])) if known else math.nan for side in (0, 1))
        statistic = Statistic(value, np.zeros(0), np.zeros(0), networks, note=note, range=CORRELATION)
        results[which] = statistic, None if math.isnan(p) else p
    return results


# ---- separating two kinds


@dataclass(frozen=True, eq=False)
class PairScores:
    """Scores of pairs of networks: sender, receiver and cut of each, by number; what each network uses, and its family.

    The arrays `senders`, `receivers`, `cuts` and `values` have one entry per pair and cut.
    """

    senders: Orders
    receivers: Orders
    cuts: Orders
    values: Array
    information: Orders
    families: Orders

    def mean_auroc(self, same: NDArray[np.bool_], weights: Array) -> Array:
        """The mean over cuts of the AUROC, for each row of `same` and `weights`; NaN if no cut has one."""
        at_cuts = []
        for cut in np.unique(self.cuts):
            here = (self.cuts == cut) & ~np.isnan(self.values)
            labels, counts = same[:, here], weights[:, here]
            at_cuts.append(weighted_aurocs(self.values[here], ~labels * counts, labels * counts))
        whole = np.array(at_cuts)
        known = ~np.isnan(whole)
        return _divide(np.where(known, whole, 0).sum(0), known.sum(0).astype(float))


def separation(scores: PairScores) -> Statistic:
    """How well scores tell pairs that use the same information from those that do not: the mean over cuts of the AUROC.

    Networks are resampled within their families. What a sender uses is permuted over senders, each with all its pairs.
    """
    ones = np.ones((1, len(scores.values)))
    same = (scores.information[scores.senders] == scores.information[scores.receivers])[None]
    sizes = np.bincount(scores.families)
    value = float(scores.mean_auroc(same, ones)[0])
    resamples = np.zeros(0)
    if sizes.min() >= FEWEST:
        draws = _draws_within(scores.families)
        weights = draws[:, scores.senders] * draws[:, scores.receivers]
        resamples = scores.mean_auroc(np.repeat(same, len(weights), axis=0), weights)
    senders, place = np.unique(scores.senders, return_inverse=True)
    permuted = scores.information[senders][orders_of(len(senders))][:, place] == scores.information[scores.receivers]
    null = scores.mean_auroc(permuted, np.repeat(ones, len(permuted), axis=0))
    n = len(scores.families)
    return Statistic(value, resamples, null, n, 0.5, f"networks of {len(sizes)} families", few_note(int(sizes.min())))


def _draws_within(families: Orders) -> Array:
    """How often each network is drawn if as many networks are drawn of each family as it has."""
    draws = np.zeros((RESAMPLES, len(families)))
    for family in np.unique(families):
        members = np.flatnonzero(families == family)
        draws[:, members] = draws_of_networks(len(members), seed=int(family))
    return draws
