"""The energy detector on activations that are known to be the receiver's own, or known not to be."""

from __future__ import annotations

import functools
from typing import Any

import pytest
from planted_activations import CHANGES, LAYOUTS, case, changes, other_images, receiver, sender

from seamripper.audits import Evidence, Verdict
from seamripper.audits.detectors.energy import EnergyDetector
from seamripper.audits.distribution import Distribution
from seamripper.controls import Case
from seamripper.cut.place import Layout

TRAINED: dict[Layout, dict[str, Any]] = {
    "nd": {"epochs": 20, "tune_epochs": 120},
    "ntd": {"epochs": 10, "tune_epochs": 60, "lr": 3e-3},
    "nchw": {"epochs": 2, "tune_epochs": 7, "width": 0.05, "lr": 3e-3},
}
"""Enough for activations as small as those that are planted."""


@functools.cache
def trained(layout: Layout, outliers: Any) -> EnergyDetector:
    whole = case(layout, receiver(layout))
    detector = Distribution(detector="energy", outliers=outliers, **TRAINED[layout]).make_detector(
        whole, whole.fit.receiver
    )
    assert isinstance(detector, EnergyDetector)
    return detector


def verdict(layout: Layout, of: Case, monkeypatch: pytest.MonkeyPatch, outliers: Any = "both") -> Verdict:
    """By a detector that was trained once for all tests: it never sees what is stitched."""
    detector = trained(layout, outliers)
    monkeypatch.setattr(Distribution, "make_detector", lambda *_: detector)
    return Distribution(detector="energy").put(Evidence(of, controls=("self",)))


@pytest.mark.slow
def test_native_energies_go_down_and_auxiliary_ones_up() -> None:
    told = trained("nd", "both").about["in_training"]
    assert told["native"] < -15
    assert told["auxiliary"] > told["native"] + 5
    assert told["auroc"] > 0.8
    assert trained("nd", "both").doubt == ""


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
def test_an_identity_is_the_receivers_own(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    found = verdict(layout, case(layout, receiver(layout)), monkeypatch)
    assert (found.observed.value, found.answer, found.p, found.effect.value) == (0.5, "no", 1.0, 0.0)


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
def test_activations_of_other_images_are_the_receivers_own(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    found = verdict(layout, case(layout, receiver(layout), test=other_images(layout, 600)), monkeypatch)
    # The standard error is 0.017.
    assert abs(found.observed.value - 0.5) < 0.06, found.sentence
    assert found.answer != "yes", found.sentence
    assert found.p is not None
    assert found.p > 0.01


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_seen(layout: Layout, change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = verdict(layout, case(layout, sender(layout, changes(layout)[change]), n=100), monkeypatch)
    assert found.answer == "yes", found.sentence
    assert found.observed.value > 0.8, found.figures
    assert found.p is not None
    assert found.p < 0.001


# ---- with the paper's outliers, which are of auxiliary inputs alone


@pytest.mark.slow
@pytest.mark.parametrize("change", [change for change in CHANGES if change != "scaled"])
def test_maps_are_seen_as_in_the_paper(change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = verdict("nchw", case("nchw", sender("nchw", changes("nchw")[change]), n=100), monkeypatch, "inputs")
    assert found.answer == "yes", found.sentence
    assert found.observed.value > 0.6


@pytest.mark.slow
def test_vectors_made_larger_are_taken_for_usual_and_not_called_so(monkeypatch: pytest.MonkeyPatch) -> None:
    found = verdict("nd", case("nd", sender("nd", changes("nd")["scaled"])), monkeypatch, "inputs")
    assert found.observed.value < 0.2
    assert found.answer == "unknown"
    assert "look more usual than the native ones, which this score cannot judge" in found.sentence
