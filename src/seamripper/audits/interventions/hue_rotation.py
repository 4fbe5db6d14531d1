"""The intervention `hue_rotation`: every hue turns into another by the same angle."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from seamripper.audits.interventions._tools import require_between
from seamripper.audits.interventions.base import Intervention, Kind, images, limits
from seamripper.data.samples import Inputs, Samples


@dataclass(frozen=True)
class HueRotation(Intervention):
    """Colours are turned about the grey axis by `degrees`; shapes stay, and so does all that is grey.

    A turn of 120° or 240° is a swap of channels, which has its own intervention. 90° leads to colours that no swap
    leads to. Colours that leave the range of pixels are clamped to it.

    >>> red = Samples("red", torch.tensor([1.0, 0, 0]).view(1, 3, 1, 1), torch.tensor([0]), torch.tensor([0]), 1)
    >>> HueRotation().change(red, seed=0).flatten()
    tensor([0.3333, 0.9107, 0.0000])
    """

    name: ClassVar[str] = "hue_rotation"
    about: ClassVar[str] = "colours turned about the grey axis"
    kind: ClassVar[Kind] = "image"

    degrees: float = 90.0

    def __post_init__(self) -> None:
        super().__post_init__()
        require_between(self, "degrees", above=0, below=360)

    def change(self, samples: Samples, *, seed: int) -> Inputs:
        """The images in turned colours."""
        pixels = images(samples, self.name, channels=(3,))
        turned = rotation(self.degrees).to(pixels) @ pixels.flatten(2)
        return turned.view_as(pixels).clamp_(*limits(samples))


def rotation(degrees: float) -> Tensor:
    """The rotation of (r, g, b) about (1, 1, 1): cos θ I + (1 − cos θ) J / 3 + sin θ K / √3 (Rodrigues), float64.

    J is all ones and K the cross product with (1, 1, 1). Rows sum to 1, so it may be applied to normalised pixels.

    >>> rotation(120).round().abs().tolist()
    [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """
    cos, sin = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    cross = torch.tensor([[0, -1, 1], [1, 0, -1], [-1, 1, 0]], dtype=torch.float64)
    return cos * torch.eye(3, dtype=torch.float64) + (1 - cos) / 3 + sin / math.sqrt(3) * cross
