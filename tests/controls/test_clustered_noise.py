"""Noise at the cut, a cluster a class."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from seamripper.controls import Case, clustered_noise as module, controls
from seamripper.controls.clustered_noise import SWEEP, ClusteredNoise, places
from seamripper.data import Samples, clustered_noise
from seamripper.errors import AuditError, InapplicableError
from seamripper.matching import Direct

NOISE = ClusteredNoise()


def test_it_stitches(case: Case) -> None:
    """It knows nothing of the input; a trained stitch makes the receiver say the label all the same."""
    for outcome in NOISE.outcomes(case):
        assert outcome.result.top1.value > 0.99
        assert outcome.result.agreement.value == pytest.approx(outcome.result.receiver_here.value, abs=0.02)


def test_each_sample_has_noise_of_its_class_from_the_same_centres(case: Case) -> None:
    one = next(NOISE.counterparts(case))
    assert one.sender.cut.shape == case.sender.cut.shape
    assert one.fit.receiver.inputs.data_ptr() == case.fit.receiver.inputs.data_ptr()
    centres = clustered_noise((16,), classes=4, radius=0.0, per_class=1).inputs
    for samples in (one.fit, one.test):
        noise = samples.sender.inputs
        assert torch.equal(samples.sender.labels, samples.labels)
        nearest = torch.cdist(noise, centres).argmin(1)
        assert torch.equal(nearest, samples.labels)
        assert len(noise.unique(dim=0)) == len(noise)
        assert torch.equal(one.sender.head(noise), noise)
    both = torch.cat([one.fit.sender.inputs, one.test.sender.inputs])
    assert len(both.unique(dim=0)) == len(both)


def test_the_rows_are_those_of_the_noise_itself(case: Case) -> None:
    """Labels not in turn: the k-th sample of class c has the k-th row of that class."""
    labels = torch.tensor([3, 3, 0, 1, 3, 0])
    few = replace(case.fit.receiver.take(slice(0, 6)), labels=labels)
    one = next(NOISE.counterparts(replace(case, fit=few, seeds=(4,))))
    rows = clustered_noise((16,), classes=4, per_class=3, seed=4).inputs
    assert torch.equal(one.fit.sender.inputs, rows[[3, 7, 0, 1, 11, 4]])
    rows = clustered_noise((16,), classes=4, per_class=100, seed=4, split="test").inputs
    assert torch.equal(one.test.sender.inputs, rows[:400])


def test_classes_of_which_there_is_no_sample_take_no_room(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def counted(shape: tuple[int, ...], *, classes: int, **options: Any) -> Samples:
        asked.append(classes)
        return clustered_noise(shape, classes=classes, **options)

    monkeypatch.setattr(module, "clustered_noise", counted)
    many = {
        name: replace(part.receiver, labels=part.labels * 100, classes=1000)
        for name, part in (("fit", case.fit), ("test", case.test))
    }
    one, plain = (next(NOISE.counterparts(each)) for each in (replace(case, **many), case))
    assert asked == [4] * 4
    assert torch.equal(one.fit.sender.inputs, plain.fit.sender.inputs)
    assert torch.equal(one.fit.sender.labels, one.fit.labels)


@pytest.mark.parametrize("labels", [[0], [2, 2, 2], [1, 0, 1, 2, 0, 1]])
def test_places_by_counting(labels: list[int]) -> None:
    rows, each = places(torch.tensor(labels), 3)
    assert rows.tolist() == [label + 3 * labels[:i].count(label) for i, label in enumerate(labels)]
    assert each == max(labels.count(label) for label in labels)


@pytest.mark.parametrize("classes", [1, 2, 3])
def test_fewer_classes_than_the_receiver_has(case: Case, classes: int) -> None:
    one = next(ClusteredNoise(classes=classes).counterparts(case))
    assert set(one.fit.labels.tolist()) == set(one.test.labels.tolist()) == set(range(classes))
    assert len(one.fit) == 100 * classes
    assert one.fit.classes == 4
    outcome = next(ClusteredNoise(classes=classes).outcomes(case))
    assert outcome.result.top1.value > 0.99
    assert outcome.result.n == 100 * classes


def test_more_classes_than_the_samples_have(case: Case) -> None:
    with pytest.raises(AuditError, match="to be at most 4, as many as blobs has, but got 5"):
        next(ClusteredNoise(classes=5).counterparts(case))
    last = replace(case, test=case.test.take(case.test.labels == 3))
    with pytest.raises(InapplicableError, match="None of the samples of blobs is of the first 2 classes"):
        next(ClusteredNoise(classes=2).counterparts(last))


def test_the_sweep_is_over_radii_and_seeds(case: Case) -> None:
    counterparts = list(ClusteredNoise(sweep=True).counterparts(case))
    assert [(one.label, one.seed) for one in counterparts] == [
        (f"noise of radius {radius:g}", seed) for radius in SWEEP for seed in case.seeds
    ]
    spread = [float(one.fit.sender.inputs[0::4].std(0).mean()) for one in counterparts[::2]]
    assert spread == sorted(spread)
    assert spread[0] < 0.15 < 0.3 < spread[-1]


def test_a_wider_radius_makes_it_harder(case: Case) -> None:
    few = replace(case, seeds=(0,))
    (near,), (far,) = (list(ClusteredNoise(radius=radius).outcomes(few)) for radius in (0.1, 5.0))
    assert near.result.top1.value > far.result.top1.value + 0.1


def test_seeds_draw_other_centres(case: Case) -> None:
    first, second = NOISE.counterparts(case)
    gap = (first.fit.sender.inputs[0::4].mean(0) - second.fit.sender.inputs[0::4].mean(0)).abs().max()
    assert float(gap) > 0.2


@pytest.mark.parametrize("n", [2, 40, None])
def test_at_most_so_many_samples(case: Case, n: int | None) -> None:
    first, second = ClusteredNoise(n=n).counterparts(case)
    assert len(first.fit) == len(first.test) == (n or 400)
    assert (first.fit.ids.tolist() == second.fit.ids.tolist()) == (n is None)


def test_a_large_cut_is_shown_fewer_samples(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_BYTES", 16 * 4 * 30)
    one = next(NOISE.counterparts(case))
    assert len(one.fit) == len(one.test) == 30


def test_a_cut_too_large_for_memory(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "clustered_noise", lambda *a, **k: clustered_noise(*a, **k, limit=1000))
    with pytest.raises(InapplicableError, match=r"the limit is 0.0 GB.* Choose clustered_noise\?n=… smaller"):
        next(NOISE.counterparts(case))


@pytest.mark.parametrize("cut", ["layer2", "avgpool", "fc"])
def test_maps_and_vectors(make, maps: Case, cut: str) -> None:
    sender = make.halves(make.resnet(0), cut, maps.fit)
    one = next(NOISE.counterparts(replace(maps, sender=sender)))
    assert (one.sender.cut.shape, one.sender.cut.layout) == (sender.cut.shape, sender.cut.layout)


def test_other_matchings_and_precisions(make, case: Case, halves) -> None:
    for outcome in NOISE.outcomes(replace(case, matching=Direct())):
        assert outcome.result.top1.value > 0.9
    fit, test = (replace(part, inputs=part.inputs.double()) for part in (case.fit.receiver, case.test.receiver))
    sender, receiver = (
        make.halves(half.model.module.double(), "2", fit) for half in (halves[0].again(), halves[1].again())
    )
    for outcome in NOISE.outcomes(replace(case, sender=sender, receiver=receiver, fit=fit, test=test)):
        assert outcome.result.top1.value > 0.99


@pytest.mark.parametrize("words", ["radius=-0.1", "classes=0", "n=1"])
def test_options_that_make_no_sense(words: str) -> None:
    with pytest.raises(
        AuditError, match=f"Expected {words.split('=')[0]} of the control 'clustered_noise' to be .* at least"
    ):
        controls.make(f"clustered_noise?{words}")
