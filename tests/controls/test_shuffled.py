"""The sender fitted on pairs at random must fail."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from scipy.stats import binom

from seamripper.controls import Case, controls
from seamripper.controls.shuffled import shuffle
from seamripper.data.paired import Paired
from seamripper.matching import Direct, Task, Training

SHUFFLED = controls.make("shuffled")


@pytest.mark.parametrize("matching", [Direct(), Task(Training(epochs=5, batch=64, lr=0.02))], ids=["direct", "task"])
def test_it_is_right_by_chance(case: Case, matching) -> None:
    """A class lies close together and is answered as one, so the units are classes and seeds, not samples."""
    seeds = tuple(range(12))
    outcomes = list(SHUFFLED.outcomes(replace(case, matching=matching, seeds=seeds)))
    accuracy = sum(outcome.result.top1.value for outcome in outcomes) / len(outcomes)
    units = len(seeds) * case.fit.classes
    low, high = binom.interval(0.999, units, 1 / case.fit.classes)
    assert low / units <= accuracy <= high / units
    assert outcomes[0].result.receiver_here.value > 0.95


def test_only_the_fit_is_shuffled(case: Case) -> None:
    first, second = SHUFFLED.counterparts(case)
    for one in (first, second):
        assert one.sender is case.sender
        assert one.test is case.test
        assert torch.equal(one.fit.receiver.inputs, case.fit.receiver.inputs)
        assert torch.equal(one.fit.labels, case.fit.labels)
        assert sorted(one.fit.sender.ids.tolist()) == case.fit.ids.tolist()
        same = float((one.fit.sender.labels == one.fit.labels).float().mean())
        assert 0.1 < same < 0.4
    assert first.fit.sender.ids.tolist() != second.fit.sender.ids.tolist()


def test_a_sender_that_is_shown_something_else(make, case: Case) -> None:
    other = make.blobs(400, seed=77, first_id=50_000)
    mixed = shuffle(Paired(other, case.fit.receiver), seed=0)
    assert sorted(mixed.sender.ids.tolist()) == other.ids.tolist()
    assert mixed.sender.ids.tolist() != other.ids.tolist()
    assert torch.equal(mixed.ids, case.fit.ids)
