"""A detector at one cut: it reads what the audit reads, and says of itself how far it is to be believed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from seamripper.audits import Distribution
from seamripper.audits.detectors import StitchedReader
from seamripper.data import Samples
from seamripper.errors import InapplicableError

ENERGY = Distribution(detector="energy", n=120, reference=150, epochs=30, tune_epochs=30)


@pytest.mark.parametrize("audit", [Distribution(n=120, reference=150), ENERGY], ids=["fast", "energy"])
def test_it_reads_what_the_audit_reads(audit: Distribution, make: Any) -> None:
    whole = make.case("vectors", seeds=(0,))
    outcome = whole.sender_outcome(0)
    assert outcome.match is not None
    test, reference = audit.split_samples(whole)
    reader = StitchedReader(whole.receiver, audit.make_detector(whole, reference), test, seed=audit.seed)
    theirs = reader.read([outcome])[0].scores[reader.detector.headline]
    at_cut = audit.at_cut(whole.receiver, whole.fit.receiver, whole.test.receiver)
    ours = at_cut.scores(outcome.match, test)
    assert np.array_equal(ours.native, theirs.native)
    assert np.array_equal(ours.stitched, theirs.stitched)
    assert at_cut.about == reader.detector.about


@pytest.mark.parametrize("audit", [Distribution(n=150, reference=150), ENERGY], ids=["fast", "energy"])
def test_what_it_is_worth_is_measured_on_samples_that_it_does_not_know(audit: Distribution, make: Any) -> None:
    whole = make.case("vectors", seeds=(0,))
    at_cut = audit.at_cut(whole.receiver, whole.fit.receiver, whole.test.receiver)
    assert at_cut.native.n == len(at_cut.test) // 2
    assert at_cut.native.low <= 0.5 <= at_cut.native.high
    assert at_cut.auxiliary is not None
    assert at_cut.auxiliary.n == len(at_cut.test)
    assert not torch.isin(at_cut.test.ids, whole.fit.ids).any()


def test_an_energy_detector_tells_auxiliary_inputs_that_it_was_not_made_from(make: Any) -> None:
    """Also where they are a set that was given as it is: then there are no others, and nothing is said."""
    whole = make.case("vectors", seeds=(0,))
    at_cut = ENERGY.at_cut(whole.receiver, whole.fit.receiver, whole.test.receiver)
    assert at_cut.auxiliary.low > 0.5
    fit: Samples = whole.fit.receiver
    given = fit.with_inputs(3 * fit.batch(slice(None)), name="three times as large")
    options = {"n": 120, "reference": 150, "epochs": 3, "tune_epochs": 3}
    known = Distribution(detector="energy", auxiliary=given, **options).at_cut(whole.receiver, fit, whole.test.receiver)
    assert known.auxiliary is None
    assert known.histograms([])["auxiliary"] is None


def test_all_energies_are_counted_in_common_bins(make: Any) -> None:
    whole = make.case("vectors", seeds=(0,))
    outcome = whole.sender_outcome(0)
    at_cut = ENERGY.at_cut(whole.receiver, whole.fit.receiver, whole.test.receiver)
    test, _ = ENERGY.split_samples(whole)
    scores = at_cut.scores(outcome.match, test)
    bins = at_cut.histograms([scores, scores])
    assert len(bins["edges"]) == 41
    n = len(at_cut.test)
    assert [sum(bins["native"]), sum(bins["auxiliary"]), *map(sum, bins["stitched"])] == [n] * 4
    edges = np.array(bins["edges"])
    assert bins["native"] == np.histogram(np.clip(scores.native, edges[0], edges[-1]), edges)[0].tolist()
    assert bins["stitched"][0] == bins["stitched"][1]


def test_too_few_samples_are_told(make: Any) -> None:
    whole = make.case("vectors", seeds=(0,))
    with pytest.raises(InapplicableError, match="needs 20 test samples or more"):
        Distribution().at_cut(whole.receiver, whole.fit.receiver, whole.test.receiver.first(19))
