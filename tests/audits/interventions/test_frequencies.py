"""Low frequencies, and the interventions `low_pass` and `high_pass`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from scipy import fft, ndimage
from torch import Tensor

from seamripper.audits.interventions.high_pass import HighPass
from seamripper.audits.interventions.inputs import limits
from seamripper.audits.interventions.low_pass import LowPass, low_frequencies

SIZES = [(12, 12), (9, 14), (1, 5), (28, 28)]


def pixels(height: int, width: int) -> Tensor:
    return torch.rand(2, 3, height, width, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


@pytest.mark.parametrize(("height", "width"), SIZES)
@pytest.mark.parametrize("cutoff", [0.3, 1.0, 4.0, 100.0])
def test_they_are_those_of_a_cosine_transform(height: int, width: int, cutoff: float) -> None:
    image = pixels(height, width)
    # The cosine of number k has k half waves, so k / 2 cycles per image.
    down, across = (np.exp(-((np.arange(size) / 2 / cutoff) ** 2) / 2) for size in (height, width))
    theirs = fft.idctn(fft.dctn(image.numpy(), axes=(2, 3)) * down[:, None] * across, axes=(2, 3))
    np.testing.assert_allclose(low_frequencies(image, cutoff).numpy(), theirs, atol=1e-12)


@pytest.mark.parametrize(("cutoff", "k"), [(1.0, 1), (2.0, 4), (4.0, 9)])
def test_a_wave_is_weakened_as_the_formula_says(cutoff: float, k: int) -> None:
    wave = torch.cos(math.pi * k * (torch.arange(24, dtype=torch.float64) + 0.5) / 24).expand(1, 1, 6, 24)
    torch.testing.assert_close(low_frequencies(wave, cutoff), wave * math.exp(-((k / 2) ** 2) / (2 * cutoff**2)))


def test_they_are_a_gaussian_blur() -> None:
    image = pixels(40, 40)
    sigma = 40 / (2 * math.pi * 3.0)
    blurred = ndimage.gaussian_filter(image.numpy(), sigma, axes=(2, 3), mode="reflect", truncate=8)
    np.testing.assert_allclose(low_frequencies(image, 3.0).numpy(), blurred, atol=1e-4)


def test_one_edge_does_not_bleed_into_the_other() -> None:
    image = torch.zeros(1, 1, 4, 32)
    image[..., :16] = 1
    low = low_frequencies(image, 4.0)
    assert float(low[..., 0].min()) > 0.999
    assert float(low[..., -1].max()) < 0.001


def test_a_constant_image_has_low_frequencies_only(make: Any) -> None:
    flat = torch.tensor([20, 130, 240], dtype=torch.uint8).view(1, 3, 1, 1).expand(2, -1, 11, 8)
    samples = make.of(flat, mean=0.4, std=0.3)
    torch.testing.assert_close(LowPass().change(samples, seed=0), samples.batch(slice(None)), rtol=0, atol=1e-5)
    middle = sum(limits(samples)) / 2
    torch.testing.assert_close(HighPass().change(samples, seed=0), torch.full((2, 3, 11, 8), middle), rtol=0, atol=1e-5)


@pytest.mark.parametrize("cutoff", [0.5, 1.0, 4.0])
def test_low_and_high_together_are_the_image(cutoff: float, make: Any) -> None:
    # Of little contrast, so that nothing is clamped, and with an image of black and white that sets the range.
    faint = pixels(10, 13).float() * 0.2 + 0.3
    faint[0, 0, 0, 0], faint[0, 0, 0, 1] = 0.0, 1.0
    samples = make.of(faint)
    low, high = (cls(cutoff).change(samples, seed=0) for cls in (LowPass, HighPass))
    torch.testing.assert_close((low + high - 0.5)[1], faint[1], rtol=0, atol=1e-6)


def test_high_pass_forgets_the_colour_of_the_background(make: Any) -> None:
    # The same shape on red and on blue is the same where nothing is clamped.
    images = torch.zeros(4, 3, 16, 16)
    images[0], images[1] = 0.5, 0.5
    images[0, 0], images[1, 2] = 0.6, 0.6
    images[:2, :, 6:10, 6:10] += 0.1
    images[3] = 1
    red, blue = HighPass().change(make.of(images), seed=0)[:2]
    torch.testing.assert_close(red, blue, rtol=0, atol=1e-6)
    assert float(red.max() - red.min()) > 0.05


def test_more_is_taken_away_the_lower_the_cutoff(make: Any) -> None:
    samples = make.bytes()
    left = [float(LowPass(cutoff).change(samples, seed=0).var(dim=(2, 3)).mean()) for cutoff in (0.5, 1, 2, 4, 8)]
    assert left == sorted(left)
    assert left[0] < 0.05 * left[-1]
