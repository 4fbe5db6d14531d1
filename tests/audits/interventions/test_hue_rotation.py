"""Hue rotation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from scipy.spatial.transform import Rotation

from seamripper.audits.interventions.channel_swap import ChannelSwap
from seamripper.audits.interventions.hue_rotation import HueRotation, rotation


@pytest.mark.parametrize("degrees", [1.0, 90.0, 120.0, 200.0, 359.0])
def test_the_matrix_is_that_of_another_library(degrees: float) -> None:
    theirs = Rotation.from_rotvec(math.radians(degrees) / math.sqrt(3) * np.ones(3)).as_matrix()
    np.testing.assert_allclose(rotation(degrees).numpy(), theirs, atol=1e-12)


def test_grey_stays_as_it_is(make: Any) -> None:
    samples = make.grey()
    torch.testing.assert_close(HueRotation().change(samples, seed=0), samples.batch(slice(None)), rtol=0, atol=1e-5)


def test_120_degrees_are_a_swap_of_channels_and_90_are_none(make: Any) -> None:
    samples = make.bytes()
    turned = HueRotation(degrees=120).change(samples, seed=0)
    torch.testing.assert_close(turned, ChannelSwap("brg").change(samples, seed=0), rtol=0, atol=1e-5)
    for order in ("gbr", "brg", "bgr"):
        assert (HueRotation().change(samples, seed=0) - ChannelSwap(order).change(samples, seed=0)).abs().mean() > 0.1


def test_colours_that_stay_within_the_range_are_turned_exactly(make: Any) -> None:
    # Near grey nothing leaves the range, so there the turn can be undone.
    samples = make.bytes()
    near = make.of(
        torch.cat([samples.batch(slice(None)) * 0.1, 2 * torch.ones(1, 3, 12, 12), -2 * torch.ones(1, 3, 12, 12)])
    )
    there = HueRotation(degrees=50).apply(near)
    assert (there.inputs - near.inputs).abs().max() > 0.05
    back = HueRotation(degrees=310).change(there, seed=0)
    torch.testing.assert_close(back, near.inputs, rtol=0, atol=1e-5)


def test_what_leaves_the_range_is_clamped(make: Any) -> None:
    pixels = torch.zeros(1, 3, 2, 2, dtype=torch.uint8)
    pixels[:, 0] = 255
    turned = HueRotation().change(make.of(pixels, mean=0.5, std=0.5), seed=0)[0, :, 0, 0]
    # (1/3, 1/3 + 1/√3, 1/3 − 1/√3) of white, the last below black.
    expected = torch.tensor([1 / 3, 1 / 3 + 1 / math.sqrt(3), 0.0]) * 2 - 1
    torch.testing.assert_close(turned, expected, rtol=0, atol=1e-6)
