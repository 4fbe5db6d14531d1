"""Networks trained as the receiver was, from other seeds."""

from __future__ import annotations

from dataclasses import replace

import pytest

from seamripper.controls import Case, controls
from seamripper.data.paired import Paired
from seamripper.errors import AuditError, InapplicableError
from seamripper.matching import evaluate, match

OTHER = controls.make("other_seed")


def test_one_outcome_for_each_with_the_first_seed(case: Case) -> None:
    both = replace(case, sender=case.others[0], others=(case.others[0], case.sender), seeds=(5, 6, 7))
    with pytest.raises(AuditError, match="a sender cannot be its own control"):
        list(OTHER.outcomes(both))
    # As a sender of its own, so that both of the others are others.
    untrained = next(iter(controls.make("random_sender").counterparts(case))).sender
    both = replace(both, sender=untrained)
    outcomes = list(OTHER.outcomes(both))
    assert [(outcome.label, outcome.seed) for outcome in outcomes] == [
        ("other seed 1: Sequential", 5),
        ("other seed 2: Sequential", 5),
    ]
    for outcome, other in zip(outcomes, both.others, strict=True):
        by_hand = evaluate(match(other, case.receiver, case.fit, matching=case.matching, seed=5), case.test)
        assert outcome.result == by_hand
        assert outcome.result.top1.value >= outcome.result.receiver_here.value - 0.03


def test_it_looks_at_the_inputs_where_the_sender_does_not(make, case: Case) -> None:
    blind = replace(case, fit=Paired(make.blobs(400, seed=77), case.fit.receiver))
    (one,) = OTHER.counterparts(blind)
    assert one.fit.fingerprint == case.fit.fingerprint


def test_without_others(case: Case) -> None:
    with pytest.raises(InapplicableError, match="No network trained like the receiver from another seed was given"):
        list(OTHER.outcomes(replace(case, others=())))


def test_the_receiver_is_no_other(case: Case) -> None:
    with pytest.raises(
        AuditError, match="Sequential has the receiver's own weights, which the control 'self' is for"
    ) as e:
        list(OTHER.outcomes(replace(case, others=(case.receiver.again(),))))
    assert not isinstance(e.value, InapplicableError)


def test_a_stitch_that_does_not_fit_the_other(make, case: Case, halves) -> None:
    wide = make.halves(make.net(2), "5", case.fit)
    with pytest.raises(InapplicableError, match=r"The stitch 'identity' cannot join 5 \(4, nd\) to 2 \(16, nd\)"):
        list(OTHER.outcomes(replace(case, others=(wide,), stitch="identity")))
