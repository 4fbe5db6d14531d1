"""A case: what it joins, what it observes; and controls as they are asked for by words."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import torch
from torch import nn

from seamripper.controls import Case, controls
from seamripper.controls.stand_in import AsTheyAre, stand_in
from seamripper.data.paired import Paired
from seamripper.errors import AuditError, InapplicableError
from seamripper.matching import Task, Training, evaluate, match


@pytest.mark.parametrize("seeds", [(), (1, 1)])
def test_seeds_are_units(case: Case, seeds: tuple[int, ...]) -> None:
    with pytest.raises(AuditError, match="Expected one or more different seeds, but got"):
        replace(case, seeds=seeds)


def test_observed_is_the_match_by_hand(case: Case) -> None:
    outcome = case.sender_outcome(1)
    found = match(case.sender, case.receiver, case.fit, matching=case.matching, seed=1)
    assert outcome.result == evaluate(found, case.test)
    assert (outcome.control, outcome.label, outcome.seed) == ("sender", "sender", 1)
    record = json.loads(json.dumps(outcome.as_record(), allow_nan=False))
    assert record["result"]["top1"]["n"] == len(case.test)
    assert record["seed"] == 1


def test_a_case_looks_unless_the_sender_is_shown_something_else(case: Case) -> None:
    assert case.looks
    assert not replace(case, fit=Paired(case.test.receiver, case.fit.receiver)).looks


def test_what_was_done_is_not_done_again(case: Case, halves) -> None:
    """Cases of other senders that share a memo share the receiver's controls, and only what is the same in all."""
    quick = replace(case, matching=Task(Training(epochs=1, batch=128)), seeds=(0,), memo={})
    (first,) = controls.make("self").outcomes(quick)
    (again,) = controls.make("self").outcomes(replace(quick, sender=halves[2]))
    assert again.match is first.match
    assert again.result is first.result
    others = [
        replace(quick, seeds=(1,)),
        replace(quick, stitch="bn_affine"),
        replace(quick, matching=Task(Training(epochs=2, batch=128))),
        replace(quick, freeze="weights"),
        replace(quick, fit=quick.fit.receiver.first(300)),
        replace(quick, test=quick.test.receiver.first(300)),
        replace(quick, receiver=halves[2]),
    ]
    found = [next(controls.make("self").outcomes(other)).match for other in others]
    assert len({id(one) for one in (first.match, *found)}) == 8
    shuffled = next(controls.make("shuffled").outcomes(replace(quick, sender=case.receiver)))
    assert shuffled.match is not first.match


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("clustered_nois", r"There is no control 'clustered_nois': did you mean 'clustered_noise'"),
        (
            "clustered_noise?radius=wide",
            r"Expected radius of the control 'clustered_noise' to be a number of at least 0, but got",
        ),
        ("clustered_noise?radii=0.5", r"The control 'clustered_noise' has no option 'radii': did you mean 'radius'"),
        ("shuffled?k=1", r"The control 'shuffled' has no option 'k': It has none"),
        ("shifted_labels?k=0", r"Expected k of the control 'shifted_labels' to be a whole number of at least 1"),
    ],
)
def test_words_that_mean_no_control(words: str, said: str) -> None:
    with pytest.raises(AuditError, match=said):
        controls.make(words)


def test_options_by_words() -> None:
    chosen = controls.make("clustered_noise?radius=0.5&classes=3&sweep=true&n=none")
    assert chosen.as_record() == {
        "name": "clustered_noise",
        "known": "nothing",
        "radius": 0.5,
        "classes": 3,
        "sweep": True,
        "n": None,
    }


@pytest.mark.parametrize(("shape", "layout"), [((6,), "nd"), ((5, 6), "ntd"), ((6, 3, 3), "nchw")])
def test_a_given_sender_sends_what_it_is_given(shape: tuple[int, ...], layout: str) -> None:
    rows = torch.randn(4, *shape)
    sender = stand_in(AsTheyAre(), rows[:2], "noise")
    assert (sender.cut.shape, sender.cut.layout) == (shape, layout)
    assert torch.equal(sender.head(rows), rows)
    doubled = stand_in(nn.Upsample(scale_factor=2), torch.zeros(2, 1, 3, 3), "larger")
    assert doubled.cut.shape == (1, 6, 6)


def test_a_stitch_for_the_sender_may_not_fit_another(make, case: Case, maps: Case) -> None:
    assert case.misfit(case.receiver.cut) is None
    assert replace(case, stitch="affine").misfit(maps.sender.cut) is not None
    assert replace(case, stitch="identity").misfit(case.others[0].cut) is None
    with pytest.raises(InapplicableError, match=r"'input' uses the stitch of the comparison. The stitch 'affine' .*"):
        controls.make("input").require_fit(replace(case, stitch="affine"), maps.sender.cut)
