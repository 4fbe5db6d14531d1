"""What cannot be matched, and the sentence that says so."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from seamripper.cut import split
from seamripper.data import Samples
from seamripper.errors import DataError, StitchError
from seamripper.matching import Direct, Matching, Regression, Task, Training, match

WAYS = [Task(Training(epochs=1, batch=16)), Direct(batch=16), Regression(Training(epochs=1, batch=16))]
every_way = pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)


# ---- data ----


def test_labels_outside_the_receivers_classes(make, pair) -> None:
    fit = make.samples((8,), 30, classes=5, name="five kinds")
    with pytest.raises(
        DataError, match=r"labels of five kinds go from 0 to 4, but the receiver has 3 classes \(0 … 2\)"
    ):
        match(*pair, fit)


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


def test_inputs_that_sender_and_receiver_do_not_share(make, pair) -> None:
    wide = split(make.mlp(3, inputs=9), "1", torch.zeros(2, 9))
    with pytest.raises(
        DataError, match=r"The sender \(Sequential\) was cut for inputs input 9 .*, but blobs has input 8"
    ):
        match(wide, pair[1], make.blobs(50))
    with pytest.raises(
        DataError, match=r"The receiver \(Sequential\) was cut for inputs input 9 .*, but blobs has input 8"
    ):
        match(pair[0], wide, make.blobs(50))


def test_named_inputs_for_a_model_that_takes_one(make, pair) -> None:
    tokens = Samples(
        "tokens", {"input_ids": torch.ones(4, 8, dtype=torch.int64)}, torch.arange(4) % 3, torch.arange(4), classes=3
    )
    with pytest.raises(DataError, match="but tokens has input_ids"):
        match(*pair, tokens)


def test_samples_that_are_fitted_and_held_out(make, pair) -> None:
    with pytest.raises(DataError, match="5 samples are both fitted and held out"):
        match(*pair, make.blobs(50), matching=Direct(), held_out=make.blobs(20, seed=1, first_id=45))


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


def test_a_stitch_that_does_not_fit(make, pair) -> None:
    narrow = make.halves(make.mlp(3, width=12), "1", make.blobs(2))
    with pytest.raises(StitchError, match=r"'identity' cannot join 1 .*12.* to 1 .*16.*: expected the same width"):
        match(narrow, pair[1], make.blobs(50), stitch="identity")
    with pytest.raises(StitchError, match="no stitch 'afine': did you mean 'affine'"):
        match(*pair, make.blobs(50), stitch="afine")


def test_an_answer_without_classes(make) -> None:
    class Picture(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x.reshape(-1, 2, 4)

    with make.seeded(0):
        net = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8), Picture())
    halves = make.halves(net, "1", make.blobs(2))
    with pytest.raises(DataError, match=r"a score for each class, but its answer has shape \(2, 4\) a sample"):
        match(halves, halves, make.blobs(50))
    assert match(halves, halves, make.blobs(50), matching=Direct()).status == "ok"


def test_nothing_is_written_into_the_callers_samples(make, pair) -> None:
    fit = make.blobs(60)
    before = fit.fingerprint
    for way in WAYS:
        match(*pair, fit, matching=way)
    assert Samples(fit.name, fit.inputs, fit.labels, fit.ids, classes=3).fingerprint == before


@pytest.mark.parametrize("seed", [-1, 2**32, 0.5])
def test_a_seed_that_is_none(make, pair, seed: float) -> None:
    with pytest.raises(DataError, match="Expected seed to be a whole number from 0 to 4294967295, but got"):
        match(*pair, make.blobs(60), seed=seed)
