"""The audit `stability`, on outcomes with planted accuracies, and on matchings that no seed can change."""

from __future__ import annotations

import json
import statistics

import numpy as np
import pytest
import scipy.stats

from seamripper.audits.stability import Stability, spread_of
from seamripper.errors import InapplicableError
from seamripper.estimate import Estimate
from seamripper.matching import Direct


def test_a_spread_within_the_effect(planted) -> None:
    found = Stability().put(
        planted([0.90, 0.93, 0.92], agreements=[0.8, 0.7, 0.75], random_sender=[0.4, 0.5], input=[0.6])
    )
    assert found.answer == "yes"
    assert found.figures["accuracy"]["range"] == pytest.approx(0.03)
    assert found.figures["agreement"]["range"] == pytest.approx(0.1)
    assert (found.figures["agreement"]["least"], found.figures["agreement"]["most"]) == (0.7, 0.8)
    # The effect is the mean over the mean of all that knows nothing, not of the best of them.
    assert found.effect.value == pytest.approx((0.90 + 0.93 + 0.92) / 3 - 0.5)
    assert "the spread is no wider than the effect" in found.sentence
    assert found.observed.value == pytest.approx((0.90 + 0.93 + 0.92) / 3)
    assert list(found.controls) == ["random_sender", "input"]
    assert found.p is None


def test_a_spread_wider_than_the_effect_is_said(planted) -> None:
    found = Stability().put(planted([0.45, 0.52, 0.49], random_sender=[0.44, 0.45, 0.46]))
    assert found.figures["accuracy"]["range"] > found.effect.value > 0
    assert found.answer == "no"
    assert "a spread of 0.070" in found.sentence
    assert "the spread is wider than the effect, so another seed may give another answer" in found.sentence


@pytest.mark.parametrize(("noise", "answer"), [([1.0, 1.0, 1.0], "yes"), ([0.93, 0.92, 0.93], "no")])
def test_an_effect_below_0_counts_by_its_size(planted, noise: list[float], answer: str) -> None:
    found = Stability().put(planted([0.90, 0.93, 0.92], clustered_noise=noise))
    assert found.effect.value < 0
    assert found.answer == answer


def test_without_controls_the_effect_is_the_penalty(planted) -> None:
    found = Stability().put(planted([0.70, 0.72], receiver=0.95, self=[0.9, 0.9], shuffled=[0.3, 0.3]))
    assert found.effect.value == pytest.approx(0.95 - 0.71)
    assert found.figures["effect_is"] == "stitching penalty"
    assert found.answer == "yes"
    assert Stability().put(planted([0.93, 0.96], receiver=0.95)).answer == "no"


def test_one_seed_shows_no_spread(planted) -> None:
    with pytest.raises(InapplicableError, match=r"One stitch seed shows no spread. Give two or more"):
        Stability().put(planted([0.9], random_sender=[0.4]))


def test_the_interval_of_a_standard_deviation() -> None:
    values = [0.90, 0.95, 0.91, 0.97]
    sd = spread_of([Estimate(v, 0, 1, 10) for v in values])["sd"]
    assert sd.value == pytest.approx(statistics.stdev(values))
    bounds = [sd.value * np.sqrt(3 / scipy.stats.chi2.ppf(q, 3)) for q in (0.975, 0.025)]
    assert [sd.low, sd.high] == pytest.approx(bounds)


# ---- matchings that no seed changes


def test_a_solved_stitch_is_said_to_be_so(case, evidence) -> None:
    found = Stability().put(evidence(case(matching=Direct(), seeds=(0, 1, 2)), controls=()))
    assert found.figures["accuracy"]["range"] > 0
    assert "By construction seeds change little: the matching 'direct' is solved: a seed only chooses" in found.sentence


def test_a_solved_stitch_on_the_same_samples_has_a_spread_of_0(case, evidence, make) -> None:
    """Of fewer than ten samples none is held out, so every seed fits on all of them."""
    found = Stability().put(evidence(case(matching=Direct(), fit=make.samples("vectors", 9)), controls=()))
    assert found.figures["accuracy"]["range"] == 0
    assert "The spread is 0 by construction: the matching 'direct' is solved on the same samples" in found.sentence


def test_a_stitch_without_parameters_has_a_spread_of_0(case, evidence) -> None:
    found = Stability().put(evidence(case(stitch="identity"), controls=()))
    assert "The spread is 0 by construction: the stitch has no parameters" in found.sentence


def test_a_trained_stitch_is_not(case, evidence) -> None:
    found = Stability().put(evidence(case(), controls=()))
    assert "construction" not in found.sentence
    assert json.dumps(found.as_record(), allow_nan=False)
