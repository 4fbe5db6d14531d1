"""Without labels: what needs none comes to what it comes to with them, and what needs some says so."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
import torch

from seamripper.audits import Audited, Evidence, audit
from seamripper.data import Samples
from seamripper.errors import DataError
from seamripper.matching import Direct, Match, evaluate, match

if TYPE_CHECKING:
    from conftest import Make


def bare(given: Samples) -> Samples:
    return replace(given, labels=torch.full_like(given.labels, -1), classes=0)


@pytest.fixture
def fit(make: Make) -> Samples:
    return make.samples("maps", 240)


@pytest.fixture
def test(make: Make) -> Samples:
    return make.samples("maps", 150, first_id=5000)


@pytest.fixture
def direct(make: Make, fit: Samples) -> Match:
    return match(make.halves("maps", 0), make.halves("maps", 1), fit, matching="direct")


@pytest.mark.parametrize("matching", ["direct", "downstream?epochs=1", "regression?epochs=1"])
def test_a_stitch_needs_no_labels(make: Make, fit: Samples, matching: str) -> None:
    halves = make.halves("maps", 0), make.halves("maps", 1)
    ours, theirs = (match(*halves, given, matching=matching) for given in (bare(fit), fit))
    assert ours.figures == theirs.figures
    for name, value in ours.layer.state_dict().items():
        assert torch.equal(value, theirs.layer.state_dict()[name])


def test_a_stitch_that_needs_labels_says_so(make: Make, fit: Samples) -> None:
    with pytest.raises(DataError, match="has no labels, and this matching needs them"):
        match(make.halves("maps", 0), make.halves("maps", 1), bare(fit), matching="task")


def test_agreement_needs_no_labels(direct: Match, test: Samples) -> None:
    ours, theirs = (evaluate(direct, given) for given in (bare(test), test))
    for name in ("agreement", "agreement_chance", "kl", "top5_overlap", "n"):
        assert getattr(ours, name) == getattr(theirs, name)
    for name in ("top1", "penalty", "relative_accuracy", "receiver_here"):
        assert math.isnan(getattr(ours, name).value)
        assert ours.as_record()[name]["value"] is None
    assert ours.unreadable == "stripes has no labels"
    assert "Accuracy is unreadable: stripes has no labels. What can be read is how often" in ours.in_words()
    assert theirs.unreadable is None


def audited(make: Make, fit: Samples, test: Samples, **more: Any) -> Audited:
    chosen = {"audits": ["mixing", "conflict", "margin", "distribution"], "mixtures": ["rectangle"], **more}
    halves = make.halves("maps", 0), make.halves("maps", 1)
    return audit(*halves, fit, test, matching="direct", seeds=(0,), interventions=["mix"], **chosen)


@pytest.mark.slow
def test_an_audit_goes_on_without_what_needs_labels(make: Make, fit: Samples, test: Samples) -> None:
    ours, theirs = audited(make, bare(fit), bare(test)), audited(make, fit, test)
    assert "has no labels" in ours.skipped["margin"]
    assert {"mixing", "conflict", "distribution"} <= ours.verdicts.keys()
    mixing, with_labels = ours.verdicts["mixing"], theirs.verdicts["mixing"]
    assert (mixing.answer, mixing.observed, mixing.p) == (with_labels.answer, with_labels.observed, with_labels.p)
    assert str(ours)
    assert ours.as_record()


@pytest.mark.parametrize(
    ("control", "why"),
    [
        ("clustered_noise", "stripes has no labels, and the control 'clustered_noise' needs them"),
        ("shifted_labels", "have 0 classes in common"),
        ("linear_probe", "has no labels"),
    ],
)
def test_controls_that_need_labels_are_left_out(
    make: Make, fit: Samples, test: Samples, control: str, why: str
) -> None:
    case = make.case("maps", fit=bare(fit), test=bare(test), matching=Direct(), seeds=(0,))
    evidence = Evidence(case, controls=[control, "shuffled"])
    assert evidence.of(control) == ()
    assert why in evidence.skipped[control]
    assert len(evidence.of("shuffled")) == 1


def test_what_is_not_samples_is_scored_as_it_is(direct: Match, test: Samples) -> None:
    expected = evaluate(direct, test).agreement
    assert evaluate(direct, iter(test.inputs)).agreement == expected  # type: ignore[arg-type]
    assert evaluate(direct, test.inputs).agreement == expected  # type: ignore[arg-type]
