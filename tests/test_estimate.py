"""Intervals, against the literature, scipy and a plain bootstrap."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binomtest

from seamripper.estimate import CORRELATION, Estimate, fold_interval, mean_over, over_seeds, proportion
from seamripper.paired_estimate import paired_estimate


@pytest.mark.parametrize(
    ("hits", "n", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_against_newcombe(hits: int, n: int, low: float, high: float) -> None:
    """Newcombe 1998, table I, method 3 (the score method of Wilson without continuity correction)."""
    found = proportion(hits, n)
    assert (found.low, found.high) == (pytest.approx(low, abs=5e-5), pytest.approx(high, abs=5e-5))
    assert found.value == hits / n


@pytest.mark.parametrize("n", [1, 2, 7, 100, 10_000])
def test_wilson_against_scipy(n: int) -> None:
    for hits in {0, 1, n // 3, n // 2, n - 1, n}:
        found, known = proportion(hits, n), binomtest(hits, n).proportion_ci(method="wilson")
        assert (found.low, found.high) == (pytest.approx(known.low, abs=1e-12), pytest.approx(known.high, abs=1e-12))
        assert 0 <= found.low <= found.value <= found.high <= 1


def answers(rng: np.random.Generator, n: int, both: float, a: float, b: float) -> tuple[np.ndarray, np.ndarray]:
    """Two networks on n samples: both right, a alone, b alone, or neither, with these chances."""
    kind = rng.choice(4, size=n, p=[both, a, b, 1 - both - a - b])
    return (kind == 0) | (kind == 1), (kind == 0) | (kind == 2)


FIGURES = {"penalty": lambda x, y: y - x, "relative": lambda x, y: x / y}


@pytest.mark.parametrize("name", FIGURES)
def test_paired_matches_a_plain_bootstrap(name: str) -> None:
    rng = np.random.default_rng(1)
    a, b = answers(rng, 400, 0.7, 0.1, 0.05)
    figure = FIGURES[name]
    rows = rng.integers(0, 400, size=(20_000, 400))
    spread = figure(a[rows].mean(1), b[rows].mean(1))
    low, high = np.quantile(spread, [0.025, 0.975])
    found = paired_estimate(a, b, figure)
    assert found.value == pytest.approx(figure(a.mean(), b.mean()))
    assert (found.low, found.high) == (pytest.approx(low, abs=0.006), pytest.approx(high, abs=0.006))
    assert found.n == 400


@pytest.mark.slow
@pytest.mark.parametrize("name", FIGURES)
def test_paired_covers_the_truth(name: str) -> None:
    rng = np.random.default_rng(2)
    figure = FIGURES[name]
    truth = figure(0.7 + 0.1, 0.7 + 0.05)
    found = [paired_estimate(*answers(rng, 300, 0.7, 0.1, 0.05), figure) for _ in range(400)]
    covered = np.mean([e.low <= truth <= e.high for e in found])
    assert 0.92 <= covered <= 0.98


def test_pairing_narrows() -> None:
    """What both networks find hard widens neither: the same two accuracies, independent, are told apart worse."""
    rng = np.random.default_rng(3)
    together = paired_estimate(*answers(rng, 2000, 0.7, 0.1, 0.05), FIGURES["penalty"])
    apart = paired_estimate(rng.random(2000) < 0.8, rng.random(2000) < 0.75, FIGURES["penalty"])
    assert together.high - together.low < 0.7 * (apart.high - apart.low)


def test_paired_is_the_same_every_time() -> None:
    a, b = answers(np.random.default_rng(0), 100, 0.5, 0.2, 0.1)
    assert paired_estimate(a, b, FIGURES["penalty"]) == paired_estimate(a, b, FIGURES["penalty"])
    assert paired_estimate(a, b, FIGURES["penalty"]) != paired_estimate(a, b, FIGURES["penalty"], seed=1)
    before = np.random.get_state()[1].copy()
    paired_estimate(a, b, FIGURES["penalty"])
    assert np.array_equal(np.random.get_state()[1], before)


def test_a_figure_that_is_none() -> None:
    never = np.zeros(10, dtype=bool)
    found = paired_estimate(~never, never, FIGURES["relative"])
    assert np.isnan([found.value, found.low, found.high]).all()
    assert found.as_record() == {"value": None, "interval": None, "n": 10, "unit": "samples"}


def test_in_words() -> None:
    assert str(Estimate(0.5, 0.4, 0.6, 10)) == "0.500 [0.400, 0.600]"
    assert Estimate(0.5, 0.4, 0.6, 10).as_record() == {"value": 0.5, "interval": [0.4, 0.6], "n": 10}


@pytest.mark.parametrize(
    "estimate",
    [
        Estimate(0.5, 0.4, 0.6, 9, "samples", note="one seed", lower_bound=True),
        Estimate(0.5, 0.4, 0.6, 9, "rows", rule={"measure": "linear_cka", "sampling": "rows", "sides": (1.0, 2.0)}),
        Estimate(0.5, n=3),
    ],
)
def test_an_estimate_is_read_back_as_it_was(estimate: Estimate) -> None:
    assert repr(Estimate.from_record(json.loads(json.dumps(estimate.as_record())))) == repr(estimate)


def test_an_estimate_of_nothing() -> None:
    assert Estimate.from_record(None).describe() == "no value"
    empty = {"value": None, "interval": [None, None], "n": 7}
    assert Estimate.from_record(empty, unit="samples", note="why").describe() == "no value, n = 7 samples (why)"


def test_a_mean_over_stitch_seeds_counts_samples_and_names_the_seeds() -> None:
    mean = mean_over([proportion(90, 100), proportion(80, 100)])
    assert mean.describe(note=False).endswith("n = 100 samples × 2 stitch seeds")
    assert mean.as_share.high == 1
    assert mean_over([proportion(90, 100)]) == proportion(90, 100)


def test_the_ends_of_a_correlation_are_cut_to_its_range_and_not_to_that_of_a_share() -> None:
    plain = over_seeds([0.9, 0.1, 0.2], "networks")
    rho = replace(plain, range=CORRELATION)
    assert plain.low < 0
    assert plain.high > 1
    assert (rho.as_share.low, rho.as_share.high) == (plain.low, 1)
    assert replace(over_seeds([-0.9, 0.1, -0.2]), range=CORRELATION).as_share.low == -1
    assert replace(Estimate(0.5), range=CORRELATION).as_share.as_row()["low"] is None
    assert "range" not in repr(plain)


def test_fold_intervals_against_the_plain_formulas() -> None:
    parts = [0.4, 0.5, 0.45, 0.6]
    half = 3.182446305284263 * np.std(parts, ddof=1) / 2  # t of 3 degrees of freedom
    assert fold_interval(0.5, parts, left_out=False, within=(-9, 9)) == pytest.approx((0.5 - half, 0.5 + half))
    # The jackknife's error of a mean is its standard error: leaving out fold k gives (Σ − xₖ) / (g − 1).
    without = [(sum(parts) - part) / 3 for part in parts]
    assert fold_interval(0.5, without, left_out=True, within=(-9, 9)) == pytest.approx((0.5 - half, 0.5 + half))
    assert fold_interval(0.5, parts, left_out=False, within=(0.45, 0.55)) == (0.45, 0.55)
