"""The histogram of the audit `distribution`: counts of native and stitched scores between common edges."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from planted_activations import case, changes, receiver, samples, sender

from seamripper.audits import Evidence
from seamripper.audits.detectors.scores import Scores, histogram
from seamripper.audits.distribution import Distribution
from seamripper.controls import Counterpart

BINS = 40
ENDS = np.array([-np.inf, np.inf])


def drawn(n: int, *, seed: int, shift: float = 0.0) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.random.default_rng(seed).normal(shift, 1, n)


def overlap(found: dict[str, Any], kind: str = "stitched") -> float:
    """The share of native scores that lie in bins with scores of the other kind: 1 for equal counts, 0 for none."""
    return float(np.minimum(found["native"], found[kind]).sum() / sum(found["native"]))


# ---- counts


def test_every_score_is_counted_once() -> None:
    sender, other = Scores(drawn(500, seed=0), drawn(500, seed=1)), Scores(drawn(300, seed=2), drawn(300, seed=3))
    found = histogram({"sender": sender, "other": other})
    assert len(found["edges"]) == BINS + 1
    assert [len(found["native"]), len(found["stitched"]), len(found["controls"]["other"])] == [BINS] * 3
    assert [sum(found["native"]), sum(found["stitched"]), sum(found["controls"]["other"])] == [500, 500, 300]
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert all(type(n) is int for n in found["native"])


def test_numpy_counts_the_same() -> None:
    native, stitched = drawn(900, seed=4), drawn(900, seed=5, shift=1)
    found = histogram({"sender": Scores(native, stitched)})
    low, high = np.quantile(np.concatenate([native, stitched]), [0.005, 0.995])
    theirs = np.histogram(np.clip(native, low, high), BINS, (low, high))
    assert found["edges"] == pytest.approx(theirs[1].tolist())
    assert found["native"] == theirs[0].tolist()


def test_the_outermost_bins_take_what_lies_beyond() -> None:
    native = np.r_[np.linspace(0, 1, 998), -1e9, 1e9]
    found = histogram({"sender": Scores(native, np.linspace(0, 1, 1000))})
    assert found["edges"][0] > -0.1
    assert found["edges"][-1] < 1.1
    assert sum(found["native"]) == sum(found["stitched"]) == 1000
    middle = np.array(found["native"])[1:-1]
    assert middle.max() - middle.min() <= 1
    assert found["native"][0] > middle.max()
    infinite = histogram({"sender": Scores(native, np.linspace(0, 1, 1000)), "other": Scores(ENDS, ENDS)})
    assert infinite["controls"]["other"] == [1, *[0] * 38, 1]


@pytest.mark.slow
def test_only_the_first_seed_is_counted(make: Any) -> None:
    audit = Distribution(n=60, reference=60)
    one, two = (audit.put(Evidence(make.case(seeds=seeds), controls=("self",))) for seeds in ((0,), (0, 1)))
    assert one.figures["histogram"] == two.figures["histogram"]
    assert one.observed != two.observed


# ---- what is seen


def test_the_same_distribution_overlaps_and_separated_ones_do_not() -> None:
    same = histogram({"sender": Scores(drawn(2000, seed=0), drawn(2000, seed=1))})
    apart = histogram({"sender": Scores(drawn(2000, seed=0), drawn(2000, seed=1, shift=30))})
    assert overlap(same) > 0.9
    assert overlap(apart) == 0
    equal = histogram({"sender": Scores(drawn(200, seed=0), drawn(200, seed=0))})
    assert equal["native"] == equal["stitched"]


@pytest.mark.parametrize("value", [0.0, -3.0, 1e-9, 1e17, -2.5e300])
def test_scores_that_are_all_the_same(value: float) -> None:
    found = histogram({"sender": Scores(np.full(30, value), np.full(30, value))})
    assert (np.diff(found["edges"]) > 0).all()
    assert found["native"] == found["stitched"]
    assert max(found["native"]) == 30
    assert found["edges"][0] < value < found["edges"][-1]
    json.dumps(found, allow_nan=False)


def test_two_values_are_in_the_two_outermost_bins() -> None:
    found = histogram({"sender": Scores(np.zeros(30), np.ones(30))})
    assert (found["native"][0], found["stitched"][-1], overlap(found)) == (30, 30, 0)


# ---- folds


FOLDS = (np.arange(0, 100), np.arange(100, 200))


def test_folds_are_brought_to_one_scale() -> None:
    """Each by a classifier of its own: one with scores a thousand times as large, one with an offset."""
    native, stitched = drawn(200, seed=0), drawn(200, seed=1, shift=3)
    scale, offset = np.r_[np.full(100, 1000.0), np.ones(100)], np.r_[np.zeros(100), np.full(100, 50.0)]
    plain = histogram({"sender": Scores(native, stitched, FOLDS)})
    moved = histogram({"sender": Scores(native * scale + offset, stitched * scale + offset, FOLDS)})
    assert moved["edges"] == pytest.approx(plain["edges"])
    assert (moved["native"], moved["stitched"]) == (plain["native"], plain["stitched"])
    # Without folds they are not, and nothing could be seen.
    mixed = histogram({"sender": Scores(native * scale + offset, stitched * scale + offset)})
    assert overlap(moved) < 0.3 < overlap(mixed)


def test_a_fold_is_standardised_by_its_native_scores() -> None:
    native, stitched = Scores(drawn(200, seed=0, shift=9), drawn(200, seed=1, shift=11), FOLDS).on_one_scale()
    for fold in FOLDS:
        assert native[fold].mean() == pytest.approx(0, abs=1e-12)
        assert native[fold].std() == pytest.approx(1)
        assert stitched[fold].mean() == pytest.approx(2, abs=0.5)
    alone = Scores(drawn(9, seed=0), drawn(9, seed=1))
    assert alone.on_one_scale()[0] is alone.native


def test_a_fold_whose_native_scores_are_all_the_same() -> None:
    native, stitched = Scores(np.full(200, 0.1), np.full(200, 0.6), FOLDS).on_one_scale()
    assert native == pytest.approx(0)
    assert stitched == pytest.approx(0.5)
    found = histogram({"sender": Scores(np.zeros(200), np.zeros(200), FOLDS)})
    assert max(found["native"]) == sum(found["native"]) == 200


# ---- in the verdict


def counterpart(change: str | None) -> Counterpart:
    sent = receiver("nd") if change is None else sender("nd", changes("nd")[change])
    return Counterpart("usual", 0, sent, samples("nd", 200), samples("nd", 200, first_id=5000))


def test_a_verdict_has_it_for_the_sender_and_the_controls(given_control: Any) -> None:
    changed = case("nd", sender("nd", changes("nd")["shifted"]))
    usual = given_control("self", "same", [counterpart(None)])
    nothing = given_control("noise", "nothing", [counterpart("noise")])
    verdict = Distribution().put(Evidence(changed, controls=(usual, nothing)))
    found = verdict.figures["histogram"]
    assert (found["score"], list(found["controls"])) == ("classifier", ["self"])
    assert sum(found["native"]) == sum(found["stitched"]) == sum(found["controls"]["self"]) == 200
    assert overlap(found) < 0.1
    # The receiver's own activations, stitched by the identity, are native ones: among those, and nowhere else.
    assert not any(n for n, native in zip(found["controls"]["self"], found["native"], strict=True) if not native)
    assert verdict.as_record()["figures"]["histogram"] == found


def test_energies_are_counted_as_they_are(make: Any) -> None:
    audit = Distribution(detector="energy", n=60, reference=60, epochs=1, tune_epochs=1, width=0.05)
    verdict = audit.put(Evidence(make.case("vectors", seeds=(0,)), controls=("self",)))
    found = verdict.figures["histogram"]
    assert found["score"] == "energy"
    assert sum(found["native"]) == sum(found["stitched"]) == sum(found["controls"]["self"]) == 60
