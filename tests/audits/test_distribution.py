"""The audit `distribution`: its rule, its options, and what it is put to."""

from __future__ import annotations

import json
import math
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
import torch
from planted_activations import case, changes, receiver, samples, sender
from torch import Tensor

from seamripper.audits import Evidence, audits
from seamripper.audits.detectors.base import StitchedReader
from seamripper.audits.detectors.fast import FastDetector
from seamripper.audits.distribution import Distribution
from seamripper.controls import Counterpart, Outcome
from seamripper.errors import AuditError, DataError, InapplicableError
from seamripper.estimate import Estimate
from seamripper.stitches import Layer


def estimate(value: float, reach: float = 0.02) -> Estimate:
    return Estimate(value, value - reach, value + reach, 1000)


# ---- options


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"detector": "energie"}, "Expected detector of the audit 'distribution' to be 'fast' or 'energy'"),
        ({"n": 19}, "Expected n of the audit 'distribution' to be a whole number of at least 20, but got 19"),
        ({"reference": 5}, "Expected reference .* of at least 20, or None, but got 5"),
        ({"folds": 1}, "Expected folds .* of at least 2, but got 1"),
        ({"k": 0}, "Expected k .* of at least 1, but got 0"),
        ({"epochs": 0}, "Expected epochs .* of at least 1, or None, but got 0"),
        ({"tune_epochs": 0}, "Expected tune_epochs .* of at least 1, or None, but got 0"),
        ({"seed": -1}, "Expected seed .* of at least 0, but got -1"),
        ({"l2": 0.0}, "Expected l2 of the audit 'distribution' to be a number above 0, but got 0.0"),
        ({"width": -1.0}, "Expected width .* above 0, but got -1.0"),
        ({"lr": math.nan}, "Expected lr .* a finite number, but got nan"),
        ({"margin": 0.0}, "Expected margin .* to be a number above 0 and below 0.5, but got 0.0"),
        ({"margin": 0.5}, "Expected margin .* to be a number above 0 and below 0.5, but got 0.5"),
        ({"margin": math.nan}, "Expected margin .* a finite number, but got nan"),
        ({"m_in": -7.0}, "Expected m_in .* to be below m_out, .* but got -7.0 and -7.0"),
        ({"outliers": "none"}, "Expected outliers .* to be 'inputs' or 'both', but got 'none'"),
        ({"auxiliary": 3}, "Expected auxiliary .* to be Samples or a string or None, but got 3"),
    ],
)
def test_a_wrong_option_is_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(AuditError, match=said):
        Distribution(**options)


def test_every_option_can_be_given_as_text() -> None:
    found = audits.make("distribution?detector=energy&epochs=3&margin=0.1&auxiliary=cifar10&peers=true")
    assert found == Distribution(detector="energy", epochs=3, margin=0.1, auxiliary="cifar10", peers=True)
    assert all(hasattr(Distribution, field.name) for field in fields(Distribution))


def test_the_papers_sizes() -> None:
    paper = Distribution.published("cifar10")
    assert (paper.detector, paper.outliers, paper.auxiliary) == ("energy", "inputs", "cifar10")
    assert (paper.epochs, paper.tune_epochs, paper.width, paper.reference) == (100, 20, 1.0, None)
    assert (paper.m_in, paper.m_out) == (-25.0, -7.0)


# ---- the rule


@pytest.mark.parametrize(
    ("observed", "effect", "answer", "said"),
    [
        (estimate(0.95), estimate(0.4), "yes", "not what the receiver produces itself"),
        (estimate(0.50), estimate(0.0), "no", "like the receiver's own, within a margin of 0.05"),
        (
            estimate(0.95),
            estimate(0.0),
            "no",
            "distinguishable, but no more than for a control with the same information",
        ),
        # Above the control for certain, but by less than matters.
        (estimate(0.95), Estimate(0.02, 0.01, 0.04, 3), "no", "distinguishable, but no more than"),
        (
            estimate(0.95),
            Estimate(0.04, -0.01, 0.09, 3),
            "unknown",
            "difference 0.040 [-0.010, 0.090] is not decisive",
        ),
        (estimate(0.56), estimate(0.06), "unknown", "is not decisive"),
        (estimate(0.60), estimate(-0.30), "no", "distinguishable, but no more than"),
        (estimate(0.20), estimate(-0.30), "unknown", "look more usual than the native ones"),
        # The control does the same.
        (estimate(0.20), estimate(0.0), "no", "like the receiver's own"),
    ],
)
def test_the_rule(observed: Estimate, effect: Estimate, answer: str, said: str) -> None:
    audit = Distribution()
    found = audit.answer(observed, effect, "")
    assert found == answer
    assert said in audit.meaning(found, observed, effect)
    # A detector that may have missed something does not say that there is nothing.
    assert audit.answer(observed, effect, "It was not trained.") == ("unknown" if answer == "no" else answer)


def test_a_wider_margin_turns_a_yes_into_a_no() -> None:
    observed, effect = estimate(0.62), estimate(0.12)
    assert Distribution().answer(observed, effect, "") == "yes"
    assert Distribution(margin=0.2).answer(observed, effect, "") == "no"


# ---- controls


def counterpart(name: str, seed: int, change: str | None) -> Counterpart:
    sent = receiver("nd") if change is None else sender("nd", changes("nd")[change])
    return Counterpart(name, seed, sent, samples("nd", 200), samples("nd", 200, first_id=5000))


def test_the_control_that_is_told_best_is_the_measure(given_control: Any) -> None:
    changed = case("nd", sender("nd", changes("nd")["shifted"]), seeds=(0, 1))
    usual = given_control("self", "same", [counterpart("usual", seed, None) for seed in (0, 1)])
    strange = given_control("other", "same", [counterpart("strange", 0, "shifted")])
    nothing = given_control("noise", "nothing", [counterpart("noise", 0, "noise")])
    found = Distribution().put(Evidence(changed, controls=(usual, nothing)))
    assert (found.answer, found.figures["against"], len(found.controls["self"])) == ("yes", "self", 2)
    assert list(found.controls) == ["self"]
    assert found.effect.value == pytest.approx(found.observed.value - 0.5)
    found = Distribution().put(Evidence(changed, controls=(usual, strange)))
    assert (found.answer, found.figures["against"], found.effect.value) == ("no", "other", 0.0)
    assert list(found.controls) == ["self", "other"]
    assert "those of the control 'other' with" in found.sentence
    assert "distinguishable, but no more than for a control with the same information" in found.sentence


@pytest.mark.parametrize(("change", "answer"), [("noise", "yes"), (None, "no")])
def test_without_a_control_chance_is_the_measure(change: str | None, answer: str) -> None:
    sent = receiver("nd") if change is None else sender("nd", changes("nd")[change])
    found = Distribution().put(Evidence(case("nd", sent), controls=()))
    assert (found.answer, found.controls, found.figures["against"]) == (answer, {}, None)
    assert found.effect.value == pytest.approx(found.observed.value - 0.5)
    assert "and no control was run to compare" in found.sentence


# ---- a case as it comes


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["vectors", "maps"])
def test_a_trained_stitch_is_scored_seed_by_seed(make: Any, kind: Any) -> None:
    evidence = Evidence(make.case(kind, seeds=(0, 1, 2)), controls=("self",))
    before = torch.get_rng_state()
    found, again = (Distribution(n=100).put(evidence) for _ in range(2))
    assert torch.equal(torch.get_rng_state(), before)
    assert found.as_record() == again.as_record()
    assert (found.observed.unit, len(found.controls["self"])) == ("samples × 3 stitch seeds", 3)
    assert found.observed.n == found.figures["n"] == 100
    for told in found.figures["scores"].values():
        assert list(told) == ["classifier", "mahalanobis", "knn"]
        assert all(0 <= one["aupr"] <= 1 and 0 <= one["fpr95"] <= 1 for one in told.values())
    assert found.observed == found.figures["scores"]["sender"]["classifier"]["auroc"]
    # A stitch trained from a random start shows, the receiver's own front behind it or not.
    assert found.observed.value > 0.9
    assert found.controls["self"][0].value > 0.9
    assert found.p is not None
    assert 0 < found.p < 0.01
    json.dumps(found.as_record(), allow_nan=False)
    assert str(found).startswith("distribution: A two-sample classifier tells stitched from native activations with")


def test_scores_are_of_the_very_activations(make: Any) -> None:
    whole = make.case("vectors", seeds=(3,))
    outcome = whole.sender_outcome(3)
    detector = FastDetector(Distribution(), whole.receiver, whole.fit.receiver)
    reading = StitchedReader(whole.receiver, detector, whole.test, seed=0).read([outcome])[0]
    assert outcome.match is not None
    with torch.no_grad():
        native = whole.receiver.head(whole.test.receiver.inputs)
        stitched = outcome.match.layer(whole.sender.head(whole.test.receiver.inputs))
    told = reading.scores["mahalanobis"]
    assert reading.seed == 3
    assert np.allclose(told.native, detector.reference.mahalanobis(native.double()), atol=1e-4)
    assert np.allclose(told.stitched, detector.reference.mahalanobis(stitched.double()), atol=1e-4)


def test_a_receiver_that_adapts_has_the_same_native_activations(make: Any) -> None:
    whole = make.case("maps", freeze="weights", seeds=(0,))
    found = whole.sender_outcome(0).match
    assert found is not None
    assert found.receiver.fingerprint != whole.receiver.fingerprint
    with torch.no_grad():
        assert torch.equal(
            found.receiver.head(whole.test.receiver.inputs), whole.receiver.head(whole.test.receiver.inputs)
        )


def test_samples_that_are_tested_make_no_detector(make: Any) -> None:
    whole = make.case("vectors", test=make.samples("vectors", 100, first_id=200))
    test, others = Distribution(n=50).split_samples(whole)
    assert (len(test), len(others), int(others.ids.max())) == (50, 200, 199)
    # Ids of another data set say nothing.
    foreign = replace(whole.test.receiver, name="others")
    assert len(Distribution().split_samples(replace(whole, test=foreign))[1]) == 240
    assert len(Distribution(reference=30).split_samples(whole)[1]) == 30
    assert len(Distribution(reference=None).split_samples(whole)[1]) == 200


def test_too_few_samples(make: Any) -> None:
    with pytest.raises(InapplicableError, match="needs 20 test samples or more, but clouds has 19"):
        Distribution().split_samples(make.case(test=make.samples("vectors", 19, first_id=5000)))
    with pytest.raises(InapplicableError, match="needs 60 test samples or more, but clouds has 59"):
        Distribution(folds=30, n=59).split_samples(make.case())
    with pytest.raises(
        InapplicableError, match="needs 20 samples or more that are not used for testing, but clouds has 10"
    ):
        Distribution().split_samples(make.case(test=make.samples("vectors", 230, first_id=10)))


def test_without_a_stitch_there_is_nothing_to_look_at(planted: Any) -> None:
    with pytest.raises(InapplicableError, match="There is no stitch here"):
        Distribution().put(planted([0.9, 0.9], self=[0.9]))


class _Infinite(Layer):
    """A stitch that breaks down."""

    def forward(self, activations: Tensor) -> Tensor:
        return activations / 0


def test_activations_that_are_not_finite_are_refused(make: Any) -> None:
    whole = make.case(seeds=(0,))
    found = whole.sender_outcome(0)
    assert found.match is not None
    broken = Outcome("sender", "sender", 0, found.result, replace(found.match, layer=_Infinite()))
    evidence = Evidence(whole, controls=(), outcomes={"sender": (broken,)})
    with pytest.raises(DataError, match="hold NaN or Inf, first for the sample with id 5"):
        Distribution().put(evidence)
