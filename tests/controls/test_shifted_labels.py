"""The receiver's own front, shown a sample of another class."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from seamripper.controls import Case, controls
from seamripper.controls.shifted_labels import ShiftedLabels, shift_classes
from seamripper.data.paired import Paired
from seamripper.errors import AuditError, InapplicableError
from seamripper.matching import Direct, Task, evaluate, match


@pytest.mark.parametrize("k", [1, 3])
def test_it_works_with_a_trained_stitch(case: Case, k: int) -> None:
    outcomes = list(ShiftedLabels(k=k).outcomes(case))
    assert [outcome.seed for outcome in outcomes] == [0, 1]
    for outcome in outcomes:
        assert outcome.result.top1.value > 0.95
        # What the front says of what it is shown is another class: the receiver's own back would be wrong.
        shown = next(ShiftedLabels(k=k).counterparts(case)).test.sender
        unstitched = case.receiver.answer(shown.batch(slice(None))).argmax(1)
        assert float((unstitched == case.test.labels).float().mean()) < 0.05


def test_it_works_with_direct_matching_as_the_targets_are_of_the_shifted_class(case: Case) -> None:
    for outcome in ShiftedLabels().outcomes(replace(case, matching=Direct())):
        assert outcome.result.top1.value > 0.9


def test_it_is_a_label_map_by_other_means(case: Case) -> None:
    """Task matching with shifted labels (Smith's own way) reaches the same."""
    one = replace(case, seeds=(0,))
    (outcome,) = ShiftedLabels().outcomes(one)
    mapped = Task(case.matching.training, label_map=(1, 2, 3, 0))
    theirs = evaluate(match(case.receiver, case.receiver, case.fit, matching=mapped), case.test)
    assert outcome.result.top1.value == pytest.approx(theirs.top1.value, abs=0.03)


@pytest.mark.parametrize("k", [1, 2, 7])
def test_the_pairs(case: Case, k: int) -> None:
    one = next(ShiftedLabels(k=k).counterparts(case))
    assert one.sender is case.receiver
    for samples, whole in ((one.fit, case.fit), (one.test, case.test)):
        assert torch.equal((samples.sender.labels + k) % 4, samples.labels)
        # Classes of one size: each sample is shown once, and none of the other set.
        assert sorted(samples.sender.ids.tolist()) == whole.ids.tolist()
        assert torch.equal(samples.receiver.inputs, whole.receiver.inputs)


def test_only_classes_that_occur_count(case: Case) -> None:
    fit = case.fit.take(case.fit.labels != 1)
    test = case.test.take(case.test.labels != 2)
    one = next(ShiftedLabels().counterparts(replace(case, fit=fit, test=test)))
    pairs = set(zip(one.fit.labels.tolist(), one.fit.sender.labels.tolist(), strict=True))
    assert pairs == {(0, 3), (3, 0)}
    assert pairs == set(zip(one.test.labels.tolist(), one.test.sender.labels.tolist(), strict=True))


def test_a_class_with_fewer_samples_is_shown_again(case: Case) -> None:
    labels = torch.tensor([0] * 7 + [1] * 3)
    ten = replace(case.fit.receiver.take(slice(0, 10)), labels=labels)
    moved = shift_classes(ten, torch.tensor([0, 1]), k=1, seed=0)
    assert moved.sender.labels.tolist() == [1] * 7 + [0] * 3
    counts = moved.sender.ids[:7].bincount(minlength=10)[7:]
    assert sorted(counts.tolist()) == [2, 2, 3]
    assert len(set(moved.sender.ids[7:].tolist())) == 3


def test_seeds_draw_other_pairs(case: Case) -> None:
    first, second = ShiftedLabels().counterparts(case)
    assert first.fit.sender.ids.tolist() != second.fit.sender.ids.tolist()


def test_it_is_shown_the_inputs_where_the_sender_is_shown_something_else(make, case: Case) -> None:
    blind = replace(case, fit=Paired(make.blobs(400, seed=77), case.fit.receiver))
    one, plain = (next(ShiftedLabels().counterparts(each)) for each in (blind, case))
    assert one.fit.fingerprint == plain.fit.fingerprint


def test_a_shift_that_changes_nothing(case: Case) -> None:
    with pytest.raises(InapplicableError, match="have 4 classes in common, among which a shift by 8 changes nothing"):
        next(ShiftedLabels(k=8).counterparts(case))
    alone = case.fit.take(case.fit.labels == 0)
    with pytest.raises(InapplicableError, match="have 1 classes in common"):
        next(ShiftedLabels().counterparts(replace(case, fit=alone)))


def test_a_stitch_that_does_not_fit_the_receivers_own_front(make, case: Case, halves) -> None:
    sender = make.halves(halves[0].model, "5", case.fit.receiver)
    one = replace(case, sender=sender, stitch="expand_linear")
    with pytest.raises(InapplicableError, match="'shifted_labels' uses the stitch of the comparison"):
        next(ShiftedLabels().counterparts(one))


def test_no_shift_is_refused() -> None:
    with pytest.raises(
        AuditError, match="Expected k of the control 'shifted_labels' to be a whole number of at least 1"
    ):
        controls.make("shifted_labels?k=0")
