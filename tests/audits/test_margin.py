"""The audit `margin`, on outcomes with planted accuracies; intervals and p against scipy and against all orders."""

from __future__ import annotations

import itertools
import json
import statistics
from dataclasses import replace

import numpy as np
import pytest
import scipy.stats
import torch

from seamripper.audits.margin import Margin, chance, rank_p
from seamripper.errors import InapplicableError
from seamripper.estimate import Estimate, difference, mean_over, over_seeds, proportion
from seamripper.matching import Direct, Task

# ---- the answer


def test_a_sender_far_ahead_of_all_that_should_fail(planted) -> None:
    found = Margin().put(
        planted([0.90, 0.92, 0.91], random_sender=[0.50, 0.52, 0.49], input=[0.6, 0.6, 0.61], shuffled=[0.3, 0.4, 0.33])
    )
    assert found.answer == "yes"
    assert found.observed.value == pytest.approx(0.91)
    assert found.effect.value == pytest.approx(0.91 - (0.6 + 0.6 + 0.61) / 3)
    assert found.effect.low > 0
    assert {name: [e.value for e in each] for name, each in found.controls.items()} == {
        "random_sender": [0.50, 0.52, 0.49],
        "input": [0.6, 0.6, 0.61],
        "shuffled": [0.3, 0.4, 0.33],
    }
    # Three untrained networks; the input is one counterpart, however many stitches are fitted to it.
    assert found.p == pytest.approx(1 / 5)
    assert "p = 0.200; with 4 controls it cannot be below 1/5 = 0.200" in found.sentence
    assert found.figures["n"] == 4
    assert found.figures["best"] == "input"


def test_noise_that_does_as_well_makes_the_sender_no_evidence(planted) -> None:
    found = Margin().put(planted([0.99, 0.99, 0.98], clustered_noise=[0.99, 0.98, 0.99], random_sender=[0.4, 0.5, 0.4]))
    assert found.answer == "no"
    assert found.effect.low < 0 < found.effect.high
    # Of the six, one 0.98 of noise and the three random ones are below the sender's median of 0.99.
    assert found.p == pytest.approx((1 + 2) / 7)
    assert "a counterpart that knows nothing does as well, as far as can be told" in found.sentence


def test_on_few_samples_nothing_is_said_to_do_as_well(planted) -> None:
    found = Margin().put(planted([0.9], clustered_noise=[0.9], n=20))
    assert found.effect.high - found.effect.low > 0.1
    assert "as well, as far as can be told" not in found.sentence
    assert "a difference of 0.05 cannot be detected with so few samples" in found.sentence


def test_noise_that_does_better_is_said_to(planted) -> None:
    found = Margin().put(planted([0.80, 0.81, 0.82], clustered_noise=[1.0, 1.0, 1.0]))
    assert (found.answer, found.p) == ("no", 1.0)
    assert found.effect.high < 0
    assert "(clustered_noise) 1.000 [0.996, 1.000]: a counterpart that knows nothing does better" in found.sentence


def test_a_control_below_the_interval_whose_own_spread_reaches_it_decides_nothing(planted) -> None:
    found = Margin().put(planted([0.90, 0.90, 0.90], random_sender=[0.35, 0.95, 0.62]))
    assert found.figures["margins"]["random_sender"].low < 0
    assert found.answer == "unknown"
    assert "is not decisive" in found.sentence


def test_yes_is_against_every_control_and_not_the_best_mean_alone(planted) -> None:
    far = planted([0.90, 0.90, 0.90], input=[0.7, 0.7, 0.7])
    both = planted([0.90, 0.90, 0.90], input=[0.7, 0.7, 0.7], random_sender=[0.35, 0.95, 0.62])
    assert Margin().put(far).answer == "yes"
    assert Margin().put(both).answer == "unknown"
    assert Margin().put(both).figures["best"] == "input"


def test_counterparts_of_one_control_are_held_apart(make, planted) -> None:
    """Noise of a radius that stitches is not hidden by noise of one that does not."""
    evidence = planted([0.9, 0.9], clustered_noise=[0.95, 0.96, 0.2, 0.1])
    labels = ["radius 0.1", "radius 0.1", "radius 9", "radius 9"]
    pairs = zip(evidence.of("clustered_noise"), labels, (0, 1, 0, 1), strict=True)
    apart = [replace(outcome, label=label, seed=seed) for outcome, label, seed in pairs]
    found = Margin().put(make.replanted(evidence, "clustered_noise", apart))
    assert (found.answer, found.figures["best"]) == ("no", "clustered_noise, radius 0.1")
    assert found.effect.value == pytest.approx(0.9 - 0.955)
    # The radii of one seed share their centres: two draws, and the best of each is ahead of the sender.
    assert (found.p, found.figures["n"]) == (1.0, 2)


def test_one_seed_has_the_interval_over_samples(planted) -> None:
    found = Margin().put(planted([0.9], random_sender=[0.5], n=400))
    assert found.observed == proportion(360, 400)
    assert found.answer == "yes"
    a, b = proportion(360, 400), proportion(200, 400)
    assert found.effect.low == pytest.approx(0.4 - np.hypot(a.value - a.low, b.high - b.value))
    assert Margin().put(planted([0.53], random_sender=[0.5], n=400)).answer == "no"


def test_seeds_that_agree_by_luck_are_not_taken_for_certainty(planted) -> None:
    """Each seed says 0.52 and 0.51, on 100 samples: without the error over samples that would be a margin."""
    found = Margin().put(planted([0.52] * 3, random_sender=[0.51] * 3, n=100))
    assert found.effect.low < -0.1
    assert found.answer == "no"


# ---- broken pairings


def test_a_broken_pairing_above_chance_is_a_leak(planted) -> None:
    found = Margin().put(planted([0.9, 0.91], random_sender=[0.4, 0.4], shuffled=[0.88, 0.9]))
    assert found.answer == "unknown"
    assert (
        "with samples paired at random ('shuffled') the accuracy is 0.890, where chance is 0.333: the evaluation leaks"
        in (found.sentence)
    )
    assert found.sentence.endswith(found.figures["leaks"])
    assert found.figures["leaks"].startswith("But with samples paired at random")


def test_a_class_that_is_right_by_luck_is_no_leak(planted) -> None:
    """One class of three right in one of three seeds: far above chance for 1000 samples, and plain luck for classes."""
    assert proportion(667, 1000).low > 0.6
    found = Margin().put(planted([0.9] * 3, random_sender=[0.4] * 3, shuffled=[0.667, 0.333, 0.333]))
    assert found.answer == "yes"
    assert found.figures["leaks"] == ""
    assert "leaks" not in found.sentence


def test_shuffled_alone_tests_the_evaluation_and_not_the_sender(planted) -> None:
    found = Margin().put(planted([0.9, 0.91], shuffled=[0.33, 0.34]))
    assert (found.answer, found.p) == ("unknown", None)
    assert found.effect.value == pytest.approx(0.57)
    assert "tests the evaluation and not the sender" in found.sentence
    assert "p =" not in found.sentence


def test_without_controls_there_is_no_margin(planted) -> None:
    with pytest.raises(InapplicableError, match=r"No control that should fail was run.*'random_sender'"):
        Margin().put(planted([0.9, 0.91], self=[0.9, 0.9]))


def test_chance_is_the_share_of_the_most_frequent_class(case) -> None:
    test = case().test
    two = test.take((test.labels < 2) | (torch.arange(150) < 30))
    # 50 of class 0, 50 of class 1, 10 of class 2.
    assert chance(case(test=two)) == pytest.approx(50 / 110)
    assert chance(case(test=two, matching=Direct())) == pytest.approx(50 / 110)
    assert chance(case(test=two, matching=Task(label_map=(0, 2, 2)))) == pytest.approx(60 / 110)


# ---- p


@pytest.mark.parametrize("seeds", [1, 2, 3, 5])
@pytest.mark.parametrize("n", [1, 3, 4])
def test_p_is_honest_if_the_sender_is_one_of_them(seeds: int, n: int) -> None:
    """Every way to deal seeds + n ranks to the two groups is as likely: p ≤ 1/(n + 1) in no more than that share."""
    everyone = range(seeds + n)
    ps = []
    for ours in itertools.combinations(everyone, seeds):
        theirs = [value for value in everyone if value not in ours]
        ps.append(rank_p(statistics.median_low(ours), theirs))
    assert min(ps) == 1 / (n + 1)
    assert statistics.fmean(p == min(ps) for p in ps) <= 1 / (n + 1) + 1e-12
    if seeds == 1:
        # One outcome a side: exact, and uniform.
        assert sorted(ps) == [pytest.approx((k + 1) / (n + 1)) for k in range(n + 1)]


def test_the_sender_is_taken_by_its_median(planted) -> None:
    one_lucky = Margin().put(planted([0.2, 0.3, 0.99], random_sender=[0.5, 0.6, 0.7, 0.8]))
    assert one_lucky.p == 1.0


def test_a_tie_counts_against_the_sender() -> None:
    assert rank_p(0.5, [0.5, 0.4, 0.3]) == 0.5


# ---- differences


def seeds(values, first: int = 0, half: float = 0.0) -> list[tuple[int, Estimate]]:
    return [(first + k, Estimate(v, v - half, v + half, 1000)) for k, v in enumerate(values)]


A, B = [0.91, 0.95, 0.97, 0.90], [0.80, 0.86, 0.84, 0.81]


def test_the_same_seeds_are_paired() -> None:
    ours = difference(seeds(A), seeds(B))
    low, high = scipy.stats.ttest_rel(A, B).confidence_interval(0.95)
    assert (ours.value, ours.low, ours.high) == pytest.approx((np.mean(A) - np.mean(B), low, high))
    turned = difference(seeds(A)[::-1], seeds(B))
    assert (turned.low, turned.high) == pytest.approx((ours.low, ours.high))


@pytest.mark.parametrize("other", [seeds(B, first=9), seeds(B[:3]), seeds(B) + seeds(A)])
def test_other_seeds_are_not(other) -> None:
    ours = difference(seeds(A), other)
    values = [one.value for _, one in other]
    low, high = scipy.stats.ttest_ind(A, values, equal_var=False).confidence_interval(0.95)
    assert (ours.value, ours.low, ours.high) == pytest.approx((np.mean(A) - np.mean(values), low, high))


def test_the_interval_is_never_narrower_than_that_over_samples() -> None:
    wide = difference(seeds(A, half=0.2), seeds(B, half=0.3))
    reach = np.hypot(0.2, 0.3)
    assert (wide.low, wide.high) == pytest.approx((wide.value - reach, wide.value + reach))
    narrow = difference(seeds(A, half=1e-6), seeds(B, half=1e-6))
    assert narrow == difference(seeds(A), seeds(B))


def test_single_values_have_no_interval_unless_samples_give_one() -> None:
    nan = [(0, Estimate(5.0, np.nan, np.nan, 10))]
    alone = difference(nan, nan)
    assert alone.value == 0
    assert np.isnan([alone.low, alone.high]).all()
    against = difference([(k, Estimate(v, np.nan, np.nan, 10)) for k, v in enumerate((1.0, 2.0, 3.0))], nan)
    expected = over_seeds([-4.0, -3.0, -2.0])
    assert (against.value, against.low, against.high) == pytest.approx((expected.value, expected.low, expected.high))


def test_mean_over_seeds_holds_both_intervals() -> None:
    few = [proportion(hits, 1000) for hits in (500, 600, 700)]
    student = over_seeds([0.5, 0.6, 0.7])
    assert (mean_over(few).low, mean_over(few).high) == (student.low, student.high)
    one = proportion(90, 100)
    assert mean_over([one]) == one
    three = mean_over([one] * 3)
    assert (three.value, three.low, three.high) == pytest.approx((0.9, one.low, one.high))
    assert (three.n, three.unit) == (100, "samples × 3 stitch seeds")


# ---- as it is used


def test_noise_really_stitches_and_random_pairs_really_fail(case, evidence) -> None:
    found = Margin().put(evidence(case(), controls=("clustered_noise", "shuffled")))
    assert found.answer == "no"
    assert found.figures["best"].startswith("clustered_noise")
    assert min(e.value for e in found.controls["clustered_noise"]) > 0.97
    assert "leaks" not in found.sentence
    assert json.loads(json.dumps(found.as_record(), allow_nan=False))["p"] == found.p
    assert str(found) == f"margin: {found.sentence}"
