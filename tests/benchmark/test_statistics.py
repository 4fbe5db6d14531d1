"""Statistics on planted worlds: perfect, random and inverted measures are told apart, and p-values keep their level."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from seamripper._ranks import auroc, weighted_aurocs
from seamripper.benchmark.statistics import (
    KENDALL,
    SPEARMAN,
    PairScores,
    Statistic,
    correlation,
    correlations,
    ding,
    draws_of_networks,
    holm,
    identification,
    mean_statistic,
    orders_of,
    sensitivity,
    separation,
    specificity,
)

# ---- the pieces


def test_holm_is_that_of_statsmodels() -> None:
    """The ten p-values of statsmodels' own test of `multipletests`, with the results of R's multtest beside them."""
    given = [0.838541367553, 0.642193923795, 0.680845947633, 0.967833824309, 0.71626938238, 0.177096952723]
    given += [5.23656777208e-05, 0.0202732688798, 0.00028140506198, 0.0149877310796]
    adjusted = holm(given)
    assert adjusted[6:] == pytest.approx([5.23656777208e-04, 0.1419128821586, 2.53264555782e-03, 0.1199018486368])
    assert adjusted[:6] == [1.0] * 6
    assert holm([0.01, 0.02, 0.03, 0.04, 0.05]) == pytest.approx([0.05, 0.08, 0.09, 0.09, 0.09])
    assert holm([]) == []


@pytest.mark.parametrize("ties", [False, True])
def test_correlations_are_those_of_scipy_and_weights_are_repetitions(ties: bool) -> None:
    generator = np.random.default_rng(3)
    x, y = generator.normal(size=(2, 9))
    if ties:
        x, y = np.round(x), np.round(y)
    weights = generator.integers(0, 3, (20, 9)).astype(float)
    values = correlations(x, y, weights)
    for row, tau, rho in zip(weights.astype(int), values[KENDALL], values[SPEARMAN], strict=True):
        many_x, many_y = np.repeat(x, row), np.repeat(y, row)
        assert tau == pytest.approx(stats.kendalltau(many_x, many_y).statistic)
        assert rho == pytest.approx(stats.spearmanr(many_x, many_y).statistic)


def test_correlations_with_a_row_of_x_each_leave_out_what_is_missing() -> None:
    generator = np.random.default_rng(4)
    x, y = generator.normal(size=(7, 8)), generator.normal(size=8)
    x[:, 2] = np.nan
    values = correlations(x, y, np.ones_like(x))
    known = np.arange(8) != 2
    for row, tau in zip(x, values[KENDALL], strict=True):
        assert tau == pytest.approx(stats.kendalltau(row[known], y[known]).statistic)


def test_a_constant_measure_has_no_correlation_and_constant_accuracies_give_none() -> None:
    x = np.arange(4.0)
    assert correlation(x, np.ones(4), KENDALL) == (0.0, 1.0)
    assert math.isnan(correlation(np.ones(4), x, SPEARMAN)[0])


def test_orders_are_all_there_are_of_few_and_random_of_many() -> None:
    few = orders_of(4)
    assert len(few) == 23
    assert [0, 1, 2, 3] not in few.tolist()
    assert {tuple(sorted(order)) for order in orders_of(9)[:20].tolist()} == {tuple(range(9))}


def test_auroc_counts_ties_half() -> None:
    assert auroc([0.0, -1.0], [1.0, 2.0]) == 1.0
    assert auroc([1.0, 2.0], [0.0]) == 0.0
    assert auroc([1.0, 1.0], [1.0]) == 0.5


def test_weights_of_aurocs_are_repetitions() -> None:
    generator = np.random.default_rng(5)
    values = np.round(generator.normal(size=12), 1)
    low, high = generator.integers(0, 3, (2, 30, 12))
    for value, few, many in zip(weighted_aurocs(values, low, high), low, high, strict=True):
        assert value == auroc(np.repeat(values, few), np.repeat(values, many))
    assert np.isnan(weighted_aurocs(values, low, 0 * high)).all()
    assert np.isnan(weighted_aurocs(values[:0], low[:, :0], high[:, :0])).all()


def test_p_is_of_permutations_and_none_without_any() -> None:
    assert Statistic(1.0, np.zeros(0), np.zeros(19), 3).p == 0.05
    assert Statistic(0.0, np.zeros(0), np.zeros(19), 3).p == 1.0
    assert Statistic(1.0, np.zeros(0), np.zeros(0), 3).p is None


def test_fewer_than_three_networks_have_no_interval_and_are_told() -> None:
    assert len(draws_of_networks(2)) == 0
    statistic = identification(_grids(2, 4, noise=0.1, seed=0), between=True)
    assert not statistic.estimate.has_interval
    assert statistic.note == "no interval: 2 training seeds, and it takes 3"
    assert identification(_grids(3, 4, noise=0.1, seed=0), between=True).estimate.has_interval


def test_the_mean_over_families_resamples_each_by_itself() -> None:
    draws = np.random.default_rng(0).normal(size=2000)
    one = Statistic(0.4, draws, np.zeros(23), 5, 0.25)
    both = mean_statistic([one, one], "networks of 2 families")
    assert (both.value, both.networks, both.chance) == (0.4, 10, 0.25)
    # Two of one size that were drawn alike would have the spread of one.
    assert np.std(both.resamples) == pytest.approx(np.std(draws) / math.sqrt(2), rel=0.1)
    # 1 of 24 × 24 combinations is as good.
    assert both.p is not None
    assert both.p < 0.01


# ---- identification


def _grids(n: int, k: int, *, noise: float, seed: int, sign: float = 1.0) -> Any:
    """Similarities in which corresponding layers stand out by 1."""
    generator = np.random.default_rng(seed)
    return sign * np.eye(k) + noise * generator.normal(size=(n, n, k, k))


def test_a_perfect_measure_identifies_every_layer() -> None:
    statistic = identification(_grids(4, 5, noise=0.01, seed=0), between=True)
    assert str(statistic.estimate) == "1.000 [1.000, 1.000]"
    assert (statistic.chance, statistic.networks, statistic.p) == (0.2, 4, 1 / 120)


def test_an_inverted_measure_identifies_none_and_ties_count_against_it() -> None:
    statistic = identification(_grids(4, 5, noise=0.01, seed=0, sign=-1.0), between=True)
    assert (statistic.value, statistic.p) == (0.0, 1.0)
    assert identification(np.ones((3, 3, 4, 4)), between=True).value == 0.0


def test_within_and_between_read_different_pairs() -> None:
    grids = np.zeros((3, 3, 4, 4))
    grids[:] = np.roll(np.eye(4), 1, axis=1)
    for a in range(3):
        grids[a, a] = np.eye(4)
    assert identification(grids, between=False).value == 1.0
    assert identification(grids, between=True).value == 0.0


def test_a_pair_that_is_missing_is_left_out_and_cells_are_counted() -> None:
    grids = _grids(3, 4, noise=0.01, seed=0)
    grids[0, 1] = np.nan
    grids[1, 2, 0, 3] = np.nan
    statistic = identification(grids, between=True)
    assert (statistic.value, statistic.note) == (1.0, "1 cells have no score")
    assert math.isnan(identification(np.full((2, 2, 3, 3), np.nan), between=True).value)


def test_networks_do_not_count_as_independent() -> None:
    """Ten networks that all confuse the layers alike are no more evidence than one."""
    alike = np.tile(np.eye(3)[[0, 2, 1]], (10, 10, 1, 1))
    statistic = identification(alike, between=True)
    assert statistic.value == pytest.approx(1 / 3)
    assert statistic.p == pytest.approx(4 / 6)


# ---- sensitivity


def _points(losses: Any, distances: Any) -> dict[str, Any]:
    ranks = [2**i for i in range(len(losses))]
    return {"cut": dict(zip(ranks, zip(losses, distances, strict=True), strict=True))}


@pytest.mark.parametrize(("sign", "value"), [(1.0, 1.0), (-1.0, -1.0)])
def test_a_distance_that_follows_the_loss_is_perfect_or_inverted(sign: float, value: float) -> None:
    losses = np.array([0.5, 0.3, 0.2, 0.1, 0.05])
    both = sensitivity([_points(losses + 0.01 * i, sign * losses**2) for i in range(4)])
    for name in (KENDALL, SPEARMAN):
        assert both[name].value == pytest.approx(value)
        assert both[name].p == (1 / 120 if sign > 0 else 1.0)


def test_cuts_are_averaged_before_networks_and_constant_losses_are_left_out() -> None:
    up, down, flat = (_points(losses, [4, 3, 2, 1])["cut"] for losses in ([4, 3, 2, 1], [1, 2, 3, 4], [1, 1, 1, 1]))
    first = {"a": up, "b": up, "c": up, "flat": flat}
    both = sensitivity([first, {"a": up, "b": down}, {"a": down}])
    assert both[KENDALL].value == pytest.approx((1 + 0 - 1) / 3)
    assert math.isnan(sensitivity([{"flat": flat}])[KENDALL].value)


def test_ding_pools_networks_and_averages_the_p_values_of_scipy() -> None:
    generator = np.random.default_rng(0)
    groups = [(generator.normal(size=8), generator.normal(size=8)) for _ in range(2)]
    expected = [stats.kendalltau(x, y) for x, y in groups]
    statistic, p = ding(groups, 3)[KENDALL]
    assert statistic.value == pytest.approx(np.mean([e.statistic for e in expected]))
    assert p == pytest.approx(np.mean([e.pvalue for e in expected]))


# ---- specificity


def _layers(n: int, k: int, *, seed: int, noise: float = 0.002) -> tuple[Any, Any]:
    """Probing accuracies that grow by layer, on two sets of samples."""
    generator = np.random.default_rng(seed)
    accuracies = np.linspace(0.3, 0.9, k) + noise * generator.normal(size=(2, n, k))
    return accuracies[0], accuracies[1]


def _distances(positions: Any, n: int) -> Any:
    """|position of one layer − position of the other|, the same in all networks."""
    gaps = np.abs(positions[:, None] - positions)
    return np.tile(gaps[None, :, None, :], (n, 1, n, 1))


@pytest.mark.parametrize(("sign", "low", "high"), [(1.0, 0.8, 1.0), (-1.0, -1.0, -0.8)])
def test_a_distance_that_follows_function_is_specific_or_inverted(sign: float, low: float, high: float) -> None:
    report, choose = _layers(5, 6, seed=1)
    distances = sign * _distances(np.linspace(0.3, 0.9, 6), 5)
    distances = distances + 1e-4 * np.random.default_rng(0).normal(size=distances.shape)
    both = specificity(report, choose, distances)
    assert low <= both[SPEARMAN].value <= high
    assert both[SPEARMAN].estimate.low <= both[SPEARMAN].value <= both[SPEARMAN].estimate.high
    assert ((both[KENDALL].p or 0.0) < 0.01) == (sign > 0)


def test_a_distance_that_sees_seeds_alone_is_at_chance() -> None:
    report, choose = _layers(6, 5, seed=2)
    seeds = np.random.default_rng(1).uniform(size=(6, 6))
    distances = np.tile(seeds[:, None, :, None], (1, 5, 1, 5)) + 0.0
    statistic = specificity(report, choose, distances)[SPEARMAN]
    assert abs(statistic.value) < 0.3
    assert statistic.p is not None
    assert statistic.p > 0.05


def test_the_reference_is_chosen_by_the_other_samples() -> None:
    report = np.array([[0.2, 0.5, 0.8]] * 3)
    choose = report[:, ::-1]
    distances = np.zeros((3, 3, 3, 3))
    # Only from the first layer, which is the reference by `choose`, does the distance follow the difference.
    distances[:, 0] = np.array([0.0, 0.3, 0.6]) + 1e-3 * np.arange(3)[None, :, None]
    assert specificity(report, choose, distances)[SPEARMAN].value > 0.9
    assert specificity(report, report, distances)[SPEARMAN].value == 0.0


# ---- separation


def _pairs(n: int, score: Any, *, cuts: int = 2) -> PairScores:
    """Two families that use different information, n seeds each: all pairs of different networks."""
    nets = 2 * n
    pairs = [(a, b, c) for a, b in itertools.permutations(range(nets), 2) for c in range(cuts)]
    senders, receivers, places = (np.array(column) for column in zip(*pairs, strict=True))
    information = np.repeat([0, 1], n)
    same = information[senders] == information[receivers]
    return PairScores(senders, receivers, places, score(same, places), information, information)


def test_separation_is_perfect_inverted_or_at_chance() -> None:
    perfect = separation(_pairs(4, lambda same, cut: same + 10.0 * cut))
    assert str(perfect.estimate) == "1.000 [1.000, 1.000]"
    assert perfect.p is not None
    assert perfect.p < 0.05
    assert (perfect.estimate.n, perfect.unit, perfect.chance) == (8, "networks of 2 families", 0.5)
    inverted = separation(_pairs(4, lambda same, cut: 1.0 - same))
    assert (inverted.value, inverted.p) == (0.0, 1.0)
    assert separation(_pairs(4, lambda same, cut: np.ones(len(same)))).value == 0.5


def test_cuts_are_averaged_and_what_is_missing_is_left_out() -> None:
    def score(same: Any, cut: Any) -> Any:
        values = np.where(cut == 0, same, ~same).astype(float)
        values[0] = np.nan
        return values

    assert separation(_pairs(3, score)).value == pytest.approx(0.5)


# ---- p-values and intervals over many worlds


def _null_identification(generator: Any) -> float | None:
    shared = generator.normal(size=(5, 5))
    return identification(shared + 0.3 * generator.normal(size=(3, 3, 5, 5)), between=True).p


def _null_sensitivity(generator: Any) -> float | None:
    losses, distances = generator.normal(size=(2, 5))
    networks = [_points(losses + 0.2 * generator.normal(size=5), distances) for _ in range(3)]
    return sensitivity(networks)[KENDALL].p


def _null_specificity(generator: Any) -> float | None:
    levels, distances = generator.normal(size=5), generator.normal(size=(5, 5))
    report, choose = levels + 0.1 * generator.normal(size=(2, 3, 5))
    whole = np.tile(distances[None, :, None, :], (3, 1, 3, 1)) + 0.3 * generator.normal(size=(3, 5, 3, 5))
    return specificity(report, choose, whole)[SPEARMAN].p


def _null_separation(generator: Any) -> float | None:
    networks = generator.normal(size=8)

    def score(same: Any, cut: Any) -> Any:
        pairs = np.array(list(itertools.permutations(range(8), 2)))
        own = networks[pairs[:, 0]] + 0.3 * generator.normal(size=len(pairs))
        return np.repeat(own, 2)

    return separation(_pairs(4, score)).p


@pytest.mark.parametrize(
    "world", [_null_identification, _null_sensitivity, _null_specificity, _null_separation], ids=lambda f: f.__name__
)
def test_under_the_null_about_five_in_a_hundred_are_called(world: Any) -> None:
    """Whatever networks share: a p-value that took them for independent would call far more."""
    generator = np.random.default_rng(7)
    ps = np.array([world(generator) for _ in range(300)])
    # Twice the standard error of 300 draws is 0.025; few permutations make p-values coarse, so less is no mistake.
    assert (ps <= 0.05).mean() < 0.08
    assert 0.35 < (ps <= 0.5).mean() < 0.6


def test_p_values_that_take_networks_for_independent_would_be_caught() -> None:
    """The planted failure: SciPy's own p on the pooled pairs of the same worlds."""
    generator, called = np.random.default_rng(7), 0
    for _ in range(100):
        losses, distances = generator.normal(size=(2, 5))
        x = np.concatenate([losses + 0.2 * generator.normal(size=5) for _ in range(8)])
        called += correlation(x, np.tile(distances, 8), KENDALL)[1] <= 0.05
    assert called > 30


@pytest.mark.slow
def test_intervals_cover_the_truth_about_as_often_as_they_say() -> None:
    """Correlations of ten networks that differ in how noisy they are; the truth is that of very many."""
    generator = np.random.default_rng(11)

    def networks(n: int) -> list[Any]:
        losses = np.linspace(1, 0, 6)
        noises = generator.uniform(0.05, 0.6, n)
        return [_points(losses, losses + noise * generator.normal(size=6)) for noise in noises]

    many = networks(3000)
    truth = float(np.mean([correlation(*_columns(network), KENDALL)[0] for network in many]))
    covered = [
        estimate.low <= truth <= estimate.high
        for estimate in (sensitivity(networks(10))[KENDALL].estimate for _ in range(150))
    ]
    # A percentile bootstrap of ten is a little too narrow: 0.95 · √(9/10) or so.
    assert 0.85 < np.mean(covered) <= 0.99


def _columns(network: Any) -> tuple[Any, Any]:
    pairs = np.array(list(network["cut"].values()))
    return pairs[:, 0], pairs[:, 1]
