"""The edges of what can be matched: few samples, activations that are not finite, answers without classes."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from seamripper.cut import split
from seamripper.data import Samples
from seamripper.errors import DataError
from seamripper.matching import Direct, Matching, Regression, Task, Training, match

WAYS = [Task(Training(epochs=1, batch=16)), Direct(batch=16), Regression(Training(epochs=1, batch=16))]
every_way = pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)


# ---- data ----


@every_way
def test_one_sample(make, pair, way: Matching) -> None:
    with pytest.raises(DataError, match="at least 2 samples to fit a stitch on, but blobs has 1"):
        match(*pair, make.blobs(1), matching=way)


@every_way
@pytest.mark.parametrize("n", [2, 3, 17])
def test_few_samples_are_enough(make, pair, way: Matching, n: int) -> None:
    """Also 17 in batches of 16, whose last would be a batch of one."""
    found = match(*pair, make.blobs(n), matching=way, stitch="affine")
    assert torch.isfinite(found(make.blobs(5).inputs)).all()


# ---- activations ----


class Root(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.sqrt()


@every_way
@pytest.mark.parametrize("role", ["sender", "receiver"])
def test_activations_that_are_not_finite(make, role: str, way: Matching) -> None:
    """Finite inputs and weights, and yet: the layer and the first sample are named. Batches of 16, sample 40."""
    drawn = make.samples((4,), 60, first_id=100)
    inputs = drawn.inputs.abs() + 1
    inputs[[40, 50]] = -1.0
    fit = Samples("half roots", inputs, drawn.labels, drawn.ids, classes=3)
    with make.seeded(0):
        rooted = nn.Sequential(Root(), nn.Linear(4, 4), nn.Linear(4, 3))
        plain = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 3))
    halves = {
        "sender": split(rooted if role == "sender" else plain, "1", inputs[:2]),
        "receiver": split(rooted if role == "receiver" else plain, "1", inputs[:2]),
    }
    # Held out: other samples, so that all of these are fitted on.
    other = make.samples((4,), 20, first_id=9000)
    other = Samples("half roots", other.inputs.abs() + 1, other.labels, other.ids, classes=3)
    if role == "receiver" and isinstance(way, Task):
        assert match(*halves.values(), fit, matching=way).status == "ok"  # its front never runs
        return
    with pytest.raises(DataError, match="activations at '1' hold NaN or Inf, first for the sample with id 140"):
        match(*halves.values(), fit, matching=way, held_out=other)


def test_activations_that_are_not_finite_when_the_head_runs_each_step(make) -> None:
    fit = make.images(20)
    inputs = fit.batch(slice(None)) + 1.0
    inputs[7] = -3.0
    fit = Samples("half roots", inputs, fit.labels, fit.ids + 50, classes=3)
    with make.seeded(0):
        net = nn.Sequential(Root(), nn.Conv2d(3, 2, 1), nn.Flatten(), nn.Linear(512, 3))
    halves = split(net, "1", inputs[:2])
    with pytest.raises(DataError, match="activations at '1' hold NaN or Inf, first for the sample with id 57"):
        match(halves, halves, fit, matching=Task(Training(epochs=1), augment="flip_crop"))


# ---- stitches ----


def test_an_answer_without_classes(make) -> None:
    class Picture(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x.reshape(-1, 2, 4)

    with make.seeded(0):
        net = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8), Picture())
    halves = make.halves(net, "1", make.blobs(2))
    with pytest.raises(DataError, match=r"a score for each class, but its answer has shape \(2, 4\) per sample"):
        match(halves, halves, make.blobs(50))
    assert match(halves, halves, make.blobs(50), matching=Direct()).status == "ok"


def test_nothing_is_written_into_the_callers_samples(make, pair) -> None:
    fit = make.blobs(60)
    before = fit.fingerprint
    for way in WAYS:
        match(*pair, fit, matching=way)
    assert Samples(fit.name, fit.inputs, fit.labels, fit.ids, classes=3).fingerprint == before
