"""Greyscale."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from PIL import Image

from seamripper.audits.interventions.greyscale import Greyscale


def test_it_is_the_grey_of_another_library(make: Any) -> None:
    samples = make.bytes()
    grey = (Greyscale().change(samples, seed=0) * 0.5 + 0.5) * 255
    assert torch.equal(grey[:, 0], grey[:, 1])
    assert torch.equal(grey[:, 0], grey[:, 2])
    for row, pixels in enumerate(samples.inputs):
        theirs = np.asarray(Image.fromarray(pixels.permute(1, 2, 0).numpy()).convert("L"), dtype=np.float32)
        # Theirs is rounded to a whole byte.
        assert np.abs(grey[row, 0].numpy() - theirs).max() <= 0.51


def test_grey_stays_as_it_is(make: Any) -> None:
    samples = make.grey()
    torch.testing.assert_close(Greyscale().change(samples, seed=0), samples.batch(slice(None)), rtol=0, atol=1e-5)


def test_twice_is_once(make: Any) -> None:
    once = Greyscale().apply(make.bytes())
    torch.testing.assert_close(Greyscale().change(once, seed=0), once.batch(slice(None)), rtol=0, atol=1e-6)


def test_the_result_owns_its_memory(make: Any) -> None:
    grey = Greyscale().change(make.bytes(), seed=0)
    grey[:, 0] = 7
    assert not (grey[:, 1] == 7).any()
