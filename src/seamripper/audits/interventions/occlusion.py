"""The intervention `occlusion`: a part of the image is covered."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from seamripper.audits.interventions._tools import require_between, uniforms
from seamripper.audits.interventions.base import Intervention, Kind, images, limits
from seamripper.data.samples import Inputs, Samples


@dataclass(frozen=True)
class Occlusion(Intervention):
    """A mid-grey square covers `share` of the area, in each image at another place (DeVries & Taylor 2017).

    An image that is not square is covered by a rectangle of its proportions.

    >>> pixels = torch.zeros(1, 1, 4, 4, dtype=torch.uint8)
    >>> black = Samples("black", pixels, torch.tensor([0]), torch.tensor([0]), classes=1)
    >>> Occlusion().change(black, seed=0)[0, 0]
    tensor([[0.0000, 0.0000, 0.0000, 0.0000],
            [0.0000, 0.0000, 0.5000, 0.5000],
            [0.0000, 0.0000, 0.5000, 0.5000],
            [0.0000, 0.0000, 0.0000, 0.0000]])
    """

    name: ClassVar[str] = "occlusion"
    about: ClassVar[str] = "a part of the image covered"
    kind: ClassVar[Kind] = "image"

    share: float = 0.25

    def __post_init__(self) -> None:
        super().__post_init__()
        require_between(self, "share", above=0, below=1)

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
    """Which of `size` pixels are covered (n, size): a run of them, from a start that `places` in [0, 1) set."""
    run = max(1, round(size * share))
    start = (places * (size - run + 1)).long()[:, None]
    pixel = torch.arange(size)
    return (pixel >= start) & (pixel < start + run)
