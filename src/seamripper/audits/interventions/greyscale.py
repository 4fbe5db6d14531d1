"""The intervention `greyscale`: colour is taken away."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from seamripper.audits.interventions.base import Intervention
from seamripper.audits.interventions.inputs import images
from seamripper.data.samples import Inputs, Samples

LUMA = (0.299, 0.587, 0.114)
"""What each channel counts (ITU-R BT.601)."""


@dataclass(frozen=True)
class Greyscale(Intervention):
    """Every channel becomes 0.299 R + 0.587 G + 0.114 B; shapes stay.

    >>> red = Samples("red", torch.tensor([1.0, 0, 0]).view(1, 3, 1, 1), torch.tensor([0]), torch.tensor([0]), 1)
    >>> Greyscale().change(red, seed=0).flatten()
    tensor([0.2990, 0.2990, 0.2990])
    """

    name = "greyscale"
    about = "colour taken away"
    kind = "image"

    def change(self, samples: Samples, *, seed: int) -> Inputs:
        """The images in grey."""
        pixels = images(samples, self.name, channels=(3,))
        grey = torch.einsum("nchw,c->nhw", pixels, torch.tensor(LUMA).to(pixels))
        return grey[:, None].expand(-1, 3, -1, -1).contiguous()
