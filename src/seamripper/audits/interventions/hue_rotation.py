"""The intervention `hue_rotation`: every hue turns into another by the same angle."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from seamripper.audits.interventions.base import Intervention
from seamripper.audits.interventions.inputs import images, limits
from seamripper.data.samples import Inputs, Samples


@dataclass(frozen=True)
class HueRotation(Intervention):
    """Colours are turned about the grey axis by `degrees`; shapes stay, and so does all that is grey.

    A turn by 120° or 240° is a swap of channels, which is an intervention of its own; a turn by 90° gives colours that
    no swap gives. Colours outside the range of pixels are clamped.

    >>> red = Samples("red", torch.tensor([1.0, 0, 0]).view(1, 3, 1, 1), torch.tensor([0]), torch.tensor([0]), 1)
    >>> HueRotation().change(red, seed=0).flatten()
    tensor([0.3333, 0.9107, 0.0000])
    """

    name = "hue_rotation"
    about = "colours turned about the grey axis"
    kind = "image"
    between = {"degrees": (0, 360)}

    degrees: float = 90.0

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
