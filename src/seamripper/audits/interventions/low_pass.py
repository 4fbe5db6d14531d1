"""The intervention `low_pass`: fine detail is taken away."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from seamripper.audits.interventions.base import Intervention
from seamripper.audits.interventions.inputs import images, limits
from seamripper.data.samples import Inputs, Samples


@dataclass(frozen=True)
class LowPass(Intervention):
    """A frequency of f cycles per image is weakened by exp(−f² / 2 `cutoff`²): a blur; coarse shapes and colours stay.

    At the cutoff 0.61 of a frequency is left, at twice the cutoff 0.14.

    >>> edge = torch.tensor([0.0, 0, 0, 1, 1, 1]).expand(1, 1, 6, 6)
    >>> image = Samples("edge", edge, torch.tensor([0]), torch.tensor([0]), classes=1)
    >>> LowPass(cutoff=1.0).change(image, seed=0)[0, 0, 0]
    tensor([0.0032, 0.0494, 0.2915, 0.7085, 0.9506, 0.9968])
    """

    name, kind = "low_pass", "image"
    about = "fine detail taken away"
    between = {"cutoff": (0, math.inf)}

    cutoff: float = 4.0

    def change(self, samples: Samples, *, seed: int) -> Inputs:
        """The images without their fine detail."""
        return low_frequencies(images(samples, self.name), self.cutoff).clamp_(*limits(samples))


def low_frequencies(pixels: Tensor, cutoff: float) -> Tensor:
    """Images (n, c, h, w) with every frequency f, in cycles per image, weakened by exp(−f² / 2 cutoff²).

    An image is continued by its mirror image, so that its left edge does not affect its right one. The mean (f = 0)
    stays.
    """
    # Half precision has no exact means, and its products are slow.
    working = pixels.to(torch.promote_types(pixels.dtype, torch.float32))
    rows, columns = (_gaussian(size, cutoff).to(working) for size in pixels.shape[-2:])
    return (rows @ (working @ columns)).to(pixels.dtype)


def _gaussian(size: int, cutoff: float) -> Tensor:
    """The symmetric matrix (size, size) that weakens the frequencies of one axis.

    The Gaussian of two frequencies is a product of two Gaussians of one: one matrix per axis does what a transform of
    the image there and back would do, and is faster.
    """
    # The image and its mirror image together have twice the size, so cycles per image come in steps of a half.
    cycles = torch.fft.fftfreq(2 * size, 1 / size, dtype=torch.float64)
    kernel = torch.fft.ifft(torch.exp(-((cycles / cutoff) ** 2) / 2)).real
    place = torch.arange(size)
    straight = (place[:, None] - place) % (2 * size)
    mirrored = (place[:, None] + place + 1) % (2 * size)
    matrix: Tensor = kernel[straight] + kernel[mirrored]
    return matrix
