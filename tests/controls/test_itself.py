"""The receiver into itself is the receiver, but for what the stitch costs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from seamripper.controls import Case, controls
from seamripper.data.paired import Paired
from seamripper.matching import Direct

SELF = controls.make("self")


def test_a_trained_stitch_costs_little(case: Case) -> None:
    outcomes = list(SELF.outcomes(case))
    assert [outcome.seed for outcome in outcomes] == [0, 1]
    for outcome in outcomes:
        assert outcome.result.top1.value >= outcome.result.receiver_here.value - 0.02
        assert outcome.result.agreement.value > 0.97


def test_a_direct_stitch_costs_nothing(case: Case) -> None:
    for outcome in SELF.outcomes(replace(case, matching=Direct())):
        assert outcome.result.agreement.value == 1.0
        assert outcome.match.figures["residual_held_out"] == pytest.approx(0, abs=1e-9)


def test_it_is_shown_the_inputs_where_the_sender_is_shown_something_else(make, case: Case) -> None:
    other = make.blobs(400, seed=77)
    blind = replace(case, fit=Paired(other, case.fit.receiver), test=Paired(other, case.test.receiver))
    for one, plain in zip(SELF.counterparts(blind), SELF.counterparts(case), strict=True):
        assert one.sender is case.receiver
        assert one.fit.fingerprint == plain.fit.fingerprint == case.fit.fingerprint
        assert one.test.fingerprint == case.test.fingerprint
