"""The mixture `chrominance`: the colours of the other image, with the brightness of this one."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from seamripper.audits.interventions.greyscale import LUMA
from seamripper.audits.mixtures.base import Mixture, require_tensors
from seamripper.data.samples import Inputs
from seamripper.errors import InapplicableError


@dataclass(frozen=True)
class Chrominance(Mixture):
    """The difference of each channel from the brightness, 0.299 R + 0.587 G + 0.114 B, from the other image.

    >>> red, white = torch.tensor([1.0, 0, 0]).view(1, 3, 1, 1), torch.ones(1, 3, 1, 1)
    >>> Chrominance().mix(white, red, torch.tensor([0]), strength=1.0, seed=0).flatten()
    tensor([1.7010, 0.7010, 0.7010])
    """

    name = "chrominance"
    about = "the colours without the brightness"
    forms = ("image",)

    def mix(self, a: Inputs, b: Inputs, ids: Tensor, *, strength: float, seed: int) -> Inputs:
        """The images, each in the colours of another."""
        a, b = require_tensors(a, b, self.name, dims=(4,))
        if a.shape[1] != 3:
            raise InapplicableError(f"The mixture {self.name!r} is for images with 3 channels, not {a.shape[1]}.")
        weights = torch.tensor(LUMA).to(a).view(3, 1, 1)
        return b + (weights * (a - b)).sum(1, keepdim=True)
