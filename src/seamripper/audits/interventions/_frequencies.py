"""Low frequencies of images, by a Gaussian in the Fourier domain, and what the interventions on them share."""

from __future__ import annotations

import abc
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from seamripper.audits.interventions._bounds import require_between
from seamripper.audits.interventions.base import Intervention, Kind


@dataclass(frozen=True)
class OfFrequencies(Intervention, abc.ABC):
    """An intervention that tells low frequencies from high ones at `cutoff`, in cycles per image."""

    kind: ClassVar[Kind] = "image"

    cutoff: float

    def __post_init__(self) -> None:
        super().__post_init__()
        require_between(self, "cutoff", above=0)


def low_frequencies(pixels: Tensor, cutoff: float) -> Tensor:
    """Images (n, c, h, w) with every frequency f, in cycles per image, weakened by exp(−f² / 2 cutoff²).

    An image is continued by its mirror image, so that its left edge has nothing to do with its right one. The mean
    (f = 0) stays; what is taken away is `pixels` minus this.

    >>> edge = torch.tensor([0.0, 0, 0, 1, 1, 1]).expand(1, 1, 6, 6)
    >>> low_frequencies(edge, 1.0)[0, 0, 0]
    tensor([0.0032, 0.0494, 0.2915, 0.7085, 0.9506, 0.9968])
    """
    # Half precision has no exact means, and its products are slow.
    working = pixels.to(torch.promote_types(pixels.dtype, torch.float32))
    rows, columns = (_gaussian(size, cutoff).to(working) for size in pixels.shape[-2:])
    return (rows @ (working @ columns)).to(pixels.dtype)


def _gaussian(size: int, cutoff: float) -> Tensor:
    """The symmetric matrix (size, size) that weakens the frequencies of one axis.

    The Gaussian of two frequencies is a product of two of one: a matrix a side does what a transform of the
    image there and back would, and faster.
    """
    # The image and its mirror image together have twice the size, so cycles per image come in steps of a half.
    cycles = torch.fft.fftfreq(2 * size, 1 / size, dtype=torch.float64)
    kernel = torch.fft.ifft(torch.exp(-((cycles / cutoff) ** 2) / 2)).real
    place = torch.arange(size)
    straight = (place[:, None] - place) % (2 * size)
    mirrored = (place[:, None] + place + 1) % (2 * size)
    matrix: Tensor = kernel[straight] + kernel[mirrored]
    return matrix
