"""Channel swap."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from seamripper.audits.interventions.channel_swap import ChannelSwap


@pytest.mark.parametrize("order", ["gbr", "brg", "bgr"])
def test_each_channel_is_the_one_that_the_order_names(order: Any, make: Any) -> None:
    samples = make.bytes()
    pixels, swapped = samples.batch(slice(None)), ChannelSwap(order).change(samples, seed=0)
    for place, letter in enumerate(order):
        assert torch.equal(swapped[:, place], pixels[:, {"r": 0, "g": 1, "b": 2}[letter]])


def test_no_channel_stays_when_they_go_round(make: Any) -> None:
    samples = make.bytes()
    for order in ("gbr", "brg"):
        moved = ChannelSwap(order).change(samples, seed=0)
        assert all(not torch.equal(moved[:, c], samples.batch(slice(None))[:, c]) for c in range(3))


def test_there_and_back(make: Any) -> None:
    samples = make.floats()
    back = ChannelSwap("brg").change(ChannelSwap("gbr").apply(samples), seed=0)
    assert torch.equal(back, samples.inputs)
    assert torch.equal(ChannelSwap("bgr").change(ChannelSwap("bgr").apply(samples), seed=0), samples.inputs)


def test_grey_stays_as_it_is(make: Any) -> None:
    samples = make.grey()
    assert torch.equal(ChannelSwap().change(samples, seed=0), samples.batch(slice(None)))
