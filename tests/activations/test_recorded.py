"""recorded: activations that were computed before stand in for the head, and nothing else changes."""

from __future__ import annotations

import pytest
import torch

import seamripper as sr
from seamripper.activations import collect
from seamripper.activations.recorded import replay
from seamripper.errors import DataError
from seamripper.matching import Direct, Regression, Task
from seamripper.models import Architecture


@pytest.fixture(scope="module")
def halves() -> tuple[sr.Split, sr.Split]:
    example = torch.zeros(2, 3, 28, 28)
    nets = [Architecture.parse("R_1111?width=0.125").build(seed=seed).eval() for seed in (0, 1)]
    sender, receiver = (sr.split(net, "layer1", example) for net in nets)
    return sender, receiver


def test_the_head_is_not_run_and_the_model_is_the_same(halves: tuple[sr.Split, sr.Split]) -> None:
    sender, _ = halves
    fit = sr.load_data("digits/digit", "train", n=40)
    found = collect(sender, fit)
    same, pair = replay(sender, fit, found)
    assert same.fingerprint == sender.fingerprint
    assert same.cut == sender.cut
    assert torch.equal(pair.sender.batch(slice(0, 40)), found.values)
    assert torch.equal(pair.receiver.batch(slice(0, 40)), fit.batch(slice(0, 40)))
    handed = same.head(pair.sender.batch(slice(0, 3)))
    handed.zero_()
    assert not torch.equal(found.values[:3], handed), "a copy is handed on"


@pytest.mark.parametrize("matching", [Direct(), Task(sr.Training(epochs=2), init="direct"), Regression()])
def test_a_match_is_the_same(halves: tuple[sr.Split, sr.Split], matching: Direct) -> None:
    sender, receiver = halves
    fit, test = (sr.load_data("digits/digit", split, n=256) for split in ("train", "test"))
    plain = sr.match(sender, receiver, fit, matching=matching)
    first, fit_shown = replay(sender, fit, collect(sender, fit))
    _, test_shown = replay(sender, test, collect(sender, test))
    again = sr.match(first, receiver, fit_shown, matching=matching)
    for name, value in plain.layer.state_dict().items():
        assert torch.allclose(again.layer.state_dict()[name], value, atol=1e-5), name
    a, b = sr.evaluate(plain, test, batch=256), sr.evaluate(again, test_shown, batch=256)
    assert b.top1.value == pytest.approx(a.top1.value, abs=1 / 256 + 1e-9)
    assert b.receiver_here == a.receiver_here


def test_activations_of_other_samples_are_refused(halves: tuple[sr.Split, sr.Split]) -> None:
    sender, _ = halves
    fit, other = sr.load_data("digits/digit", "train", n=40), sr.load_data("digits/digit", "train", n=40, seed=1)
    with pytest.raises(DataError, match="Expected the activations at 'layer1' of the 40 samples of digits/digit"):
        replay(sender, fit, collect(sender, other))
