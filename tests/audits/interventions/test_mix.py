"""Mix."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from seamripper.audits.interventions.draws import partners
from seamripper.audits.interventions.low_pass import low_frequencies
from seamripper.audits.interventions.mix import Mix
from seamripper.data import Samples
from seamripper.errors import InapplicableError


def test_an_image_mixed_with_itself_is_itself(make: Any) -> None:
    samples = make.bytes()
    same = make.of(samples.inputs[:1].expand(6, -1, -1, -1), mean=0.5, std=0.5)
    torch.testing.assert_close(Mix().change(same, seed=0), same.batch(slice(None)), rtol=0, atol=1e-5)


@pytest.mark.parametrize("cutoff", [1.0, 3.0])
def test_it_is_the_low_of_another_and_the_high_of_this(cutoff: float, make: Any) -> None:
    # Of little contrast, so that nothing is clamped; black and white set the range.
    faint = make.bytes().batch(slice(None)) * 0.1
    faint[0, 0, 0, 0], faint[0, 0, 0, 1] = -1, 1
    samples = make.of(faint)
    mixed = Mix(cutoff).change(samples, seed=0)
    others = partners(samples, seed=0)
    assert (samples.labels[others] != samples.labels).all()
    rows = [row for row in range(6) if row and int(others[row])]
    assert rows
    for row in rows:
        low = low_frequencies(mixed[row : row + 1], 1e-6)
        torch.testing.assert_close(low, low_frequencies(faint[others[row : row + 1]], 1e-6), rtol=0, atol=1e-6)
        expected = faint[row] + low_frequencies((faint[others[row]] - faint[row])[None], cutoff)[0]
        torch.testing.assert_close(mixed[row], expected, rtol=0, atol=1e-6)


def test_the_outline_stays_and_the_background_is_that_of_another_class() -> None:
    # White squares at other places on red and on blue: place and colour tell the same.
    images = torch.zeros(2, 3, 28, 28, dtype=torch.uint8)
    images[0, 0], images[1, 2] = 200, 200
    images[0, :, 4:10, 4:10], images[1, :, 18:24, 18:24] = 255, 255
    mixed = Mix().change(Samples("two", images, torch.arange(2), torch.arange(2), classes=2), seed=0)
    red, _, blue = mixed[0].mean(dim=(1, 2)).tolist()
    assert blue > red + 0.3, "the background is that of the other"
    green = mixed[0, 1]
    assert float((green[4] - green[3])[4:10].mean()) > 0.5, "the outline of this one is seen"
    assert float((green[18] - green[17])[18:24].mean()) < 0.1, "that of the other is not"


def test_one_image_alone_cannot_be_mixed(make: Any) -> None:
    with pytest.raises(InapplicableError, match="mix needs two images or more to mix, but bytes has one"):
        Mix().apply(make.bytes(1))


def test_images_of_one_class_are_mixed_with_each_other(make: Any) -> None:
    samples = make.bytes(classes=1)
    changed = (Mix().change(samples, seed=0) - samples.batch(slice(None))).abs().flatten(1).amax(1)
    assert (changed > 0.01).all()
