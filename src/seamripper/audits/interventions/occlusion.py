"""The intervention `occlusion`: a part of the image is covered."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from seamripper.audits.interventions.base import Intervention
from seamripper.audits.interventions.draws import uniforms
from seamripper.audits.interventions.inputs import images, limits
from seamripper.data.samples import Inputs, Samples


@dataclass(frozen=True)
class Occlusion(Intervention):
    """A mid-grey square covers `share` of the area, at a different place in each image (DeVries & Taylor 2017).

    An image that is not square is covered by a rectangle of its proportions.

    >>> pixels = torch.zeros(1, 1, 4, 4, dtype=torch.uint8)
    >>> black = Samples("black", pixels, torch.tensor([0]), torch.tensor([0]), classes=1)
    >>> Occlusion().change(black, seed=0)[0, 0]
    tensor([[0.0000, 0.0000, 0.0000, 0.0000],
            [0.0000, 0.0000, 0.5000, 0.5000],
            [0.0000, 0.0000, 0.5000, 0.5000],
            [0.0000, 0.0000, 0.0000, 0.0000]])
    """

    name = "occlusion"
    about = "a part of the image covered"
    kind = "image"
    between = {"share": (0, 1)}

    share: float = 0.25

    def change(self, samples: Samples, *, seed: int) -> Inputs:
        """The images with a part of each covered."""
        pixels = images(samples, self.name)
        places = uniforms(samples.ids, 2, seed=seed)
        rows, columns = (
            _cover(size, math.sqrt(self.share), places[:, axis]) for axis, size in enumerate(pixels.shape[-2:])
        )
        covered = rows[:, None, :, None] & columns[:, None, None, :]
        return pixels.masked_fill_(covered, sum(limits(samples)) / 2)


def _cover(size: int, share: float, places: Tensor) -> Tensor:
    """Which of `size` pixels are covered (n, size): a run of them whose start is set by `places`, in [0, 1)."""
    run = max(1, round(size * share))
    start = (places * (size - run + 1)).long()[:, None]
    pixel = torch.arange(size)
    return (pixel >= start) & (pixel < start + run)
