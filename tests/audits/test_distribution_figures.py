"""AUROC, AUPR and FPR95, their intervals and p: closed forms, and references that others wrote."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import kstest
from sklearn.metrics import average_precision_score, roc_auc_score, roc_curve

from seamripper.audits.detectors.fast import import_peers
from seamripper.audits.detectors.scores import Scores, aupr, auroc, combined_p, flip_p, fpr95
from seamripper.errors import AuditError


def two_kinds(seed: int, *, m: int = 57, n: int = 43, ties: bool = False) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    native, stitched = rng.normal(size=m), rng.normal(0.7, 1.3, size=n)
    return (native.round(1), stitched.round(1)) if ties else (native, stitched)


# ---- closed forms


def test_perfect_separation() -> None:
    native, stitched = np.arange(5.0), np.arange(5.0) + 10
    assert (auroc(native, stitched), aupr(native, stitched), fpr95(native, stitched)) == (1.0, 1.0, 0.0)


def test_perfect_separation_the_wrong_way_round() -> None:
    native, stitched = np.arange(4.0) + 10, np.arange(4.0)
    assert (auroc(native, stitched), fpr95(native, stitched)) == (0.0, 1.0)
    # Native ones come fifth to eighth: precisions 1/5, 2/6, 3/7, 4/8.
    assert aupr(native, stitched) == pytest.approx((1 / 5 + 2 / 6 + 3 / 7 + 4 / 8) / 4)


def test_all_scores_are_tied() -> None:
    native, stitched = np.zeros(3), np.zeros(5)
    assert (auroc(native, stitched), fpr95(native, stitched)) == (0.5, 1.0)
    assert aupr(native, stitched) == pytest.approx(3 / 8)


def test_fpr95_counts_native_scores_in_whole_numbers() -> None:
    # Of 20 native scores 19 are enough. Had rounding asked for all 20, the one stitched score below 19 would pass.
    assert fpr95(np.arange(20.0), np.array([18.5, 30.0])) == 0.0
    assert fpr95(np.arange(20.0), np.array([17.5, 30.0])) == 0.5
    # Of 10, all: nine are but 90 %.
    assert fpr95(np.arange(10.0), np.array([8.5, 30.0])) == 0.5


@pytest.mark.parametrize("figure", [auroc, aupr, fpr95, flip_p])
def test_one_kind_alone_is_an_error(figure: Any) -> None:
    for native, stitched in ((np.zeros(0), np.zeros(3)), (np.zeros(3), np.zeros(0))):
        with pytest.raises(AuditError, match=r"with one kind only there is nothing to tell apart"):
            figure(native, stitched)


@pytest.mark.parametrize("figure", [auroc, aupr, fpr95])
def test_a_score_that_is_no_number_is_an_error(figure: Any) -> None:
    with pytest.raises(AuditError, match="but got NaN"):
        figure(np.array([0.0, np.nan]), np.zeros(2))


def test_scores_are_paired() -> None:
    with pytest.raises(AuditError, match="of each sample, but got 3 and 2"):
        Scores(np.zeros(3), np.zeros(2))


# ---- references


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_scikit_learn_says_the_same(seed: int, ties: bool) -> None:
    native, stitched = two_kinds(seed, ties=ties)
    both, strange = np.concatenate([native, stitched]), np.repeat([0, 1], [len(native), len(stitched)])
    assert auroc(native, stitched) == pytest.approx(roc_auc_score(strange, both), abs=1e-12)
    assert aupr(native, stitched) == pytest.approx(average_precision_score(1 - strange, -both), abs=1e-12)
    wrong, right, _ = roc_curve(1 - strange, -both, drop_intermediate=False)
    assert fpr95(native, stitched) == pytest.approx(wrong[np.argmax(right >= 0.95)], abs=1e-12)


@pytest.mark.parametrize("ties", [False, True])
def test_pytorch_ood_says_the_same(ties: bool) -> None:
    import_peers()
    from pytorch_ood.metrics import OODMetrics

    native, stitched = two_kinds(3, m=3000, n=2000, ties=ties)
    scores = torch.from_numpy(np.concatenate([native, stitched]))
    strange = torch.arange(5000) >= 3000
    theirs = OODMetrics().update(scores, torch.where(strange, -1, 0)).compute()
    assert auroc(native, stitched) == pytest.approx(theirs["AUROC"], abs=1e-12)
    # Theirs is a sum of trapezoids; with this many scores that is close to a sum of steps.
    assert aupr(native, stitched) == pytest.approx(theirs["AUPR-IN"], abs=2e-3 if not ties else 2e-2)
    # Their positives are the strange ones: with the roles exchanged it is Liu's FPR95, and ours.
    exchanged = OODMetrics().update(-scores, torch.where(strange, 0, -1)).compute()
    assert fpr95(native, stitched) == pytest.approx(exchanged["FPR95TPR"], abs=1e-12)


# ---- folds


def test_scores_are_compared_within_folds() -> None:
    # Two classifiers on scales of their own: pooled they would seem to err, each for itself is perfect.
    native, stitched = np.array([0.0, 0.1, 100.0, 100.1]), np.array([1.0, 1.1, 101.0, 101.1])
    told = Scores(native, stitched, (np.array([0, 1]), np.array([2, 3])))
    assert (told.auroc, told.aupr, told.fpr95) == (1.0, 1.0, 0.0)
    assert Scores(native, stitched).auroc == 0.75


# ---- intervals


@pytest.mark.parametrize("folds", [(), (np.arange(0, 30), np.arange(30, 60))])
def test_a_resample_is_the_auroc_of_the_samples_drawn(folds: Any) -> None:
    native, stitched = two_kinds(4, m=60, n=60, ties=True)
    spread = Scores(native, stitched, folds).resample(seed=7)
    counts = np.random.default_rng(7).multinomial(60, np.full(60, 1 / 60), size=1000)
    for drawn, found in list(zip(counts, spread, strict=True))[:20]:
        rows = [np.repeat(fold, drawn[fold]) for fold in (folds or (np.arange(60),))]
        assert found == pytest.approx(np.mean([auroc(native[row], stitched[row]) for row in rows]), abs=1e-12)


def test_resamples_in_blocks_are_those_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    told = Scores(*two_kinds(5, m=50, n=50))
    whole, p = told.resample(), told.p_values()
    monkeypatch.setattr("seamripper.audits.detectors.scores._AT_ONCE", 777)
    assert np.array_equal(told.resample(), whole)
    # Signs are drawn in blocks too: others, but as many.
    assert told.p_values() == pytest.approx(p, abs=0.01)


@pytest.mark.slow
def test_the_interval_holds_the_truth_as_often_as_it_says() -> None:
    # Paired normal scores with a shift: AUROC = Φ(shift / √2).
    rng, held = np.random.default_rng(0), 0
    for seed in range(120):
        common = rng.normal(size=80)
        native, stitched = common * 0.8 + 0.6 * rng.normal(size=80), common * 0.8 + 0.6 * rng.normal(size=80) + 0.5
        found = Scores(native, stitched).estimate(seed=seed)
        held += found.low <= 0.63816 <= found.high
    assert 106 <= held <= 120


# ---- p


def test_p_is_the_share_of_all_ways_to_exchange_pairs() -> None:
    native, stitched = two_kinds(6, m=9, n=9, ties=True)
    reached = 0
    for signs in itertools.product([False, True], repeat=9):
        a, b = np.where(signs, stitched, native), np.where(signs, native, stitched)
        reached += auroc(a, b) >= auroc(native, stitched) - 1e-12
    assert flip_p(native, stitched) == pytest.approx(reached / 2**9, abs=0.015)


def test_p_is_even_where_there_is_nothing_to_tell() -> None:
    rng = np.random.default_rng(1)
    found = []
    for seed in range(200):
        # Pairs that have much in common, and differ by chance alone.
        common = rng.normal(size=40)
        found.append(flip_p(common + 0.1 * rng.normal(size=40), common + 0.1 * rng.normal(size=40), seed=seed))
    assert kstest(found, "uniform").pvalue > 0.01


def test_pairs_show_what_two_heaps_would_not() -> None:
    # Each sample moves a little, all of them the same way: beside their spread that is nothing.
    native = np.random.default_rng(2).normal(size=50)
    assert auroc(native, native + 0.02) < 0.52
    assert flip_p(native, native + 0.02) < 0.001


def test_several_p_are_joined_whatever_their_dependence() -> None:
    # The worst case at 0.05: where one p is below, the other is what it lacks of 0.05. Both are even.
    first = np.linspace(0.0005, 0.9995, 1000)
    second = np.where(first <= 0.05, 0.05 - first, first)
    assert np.mean([combined_p([a, b]) <= 0.05 for a, b in zip(first, second, strict=True)]) <= 0.051
    assert combined_p([0.2, 0.2]) == pytest.approx(0.4)
