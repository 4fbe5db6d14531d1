"""The mixture `mean`: the mean colour of the other image."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from seamripper.audits.mixtures.base import Mixture, require_tensors
from seamripper.data.samples import Inputs


@dataclass(frozen=True)
class Mean(Mixture):
    """The mean of each channel from the other image; every difference between pixels stays.

    >>> import torch
    >>> a, b = torch.tensor([[[[1.0, 3.0]]]]), torch.tensor([[[[5.0, 5.0]]]])
    >>> Mean().mix(a, b, torch.tensor([0]), strength=1.0, seed=0).flatten()
    tensor([4., 6.])
    """

    name = "mean"
    about = "the mean of each channel"
    forms = ("image",)

    def mix(self, a: Inputs, b: Inputs, ids: Tensor, *, strength: float, seed: int) -> Inputs:
        """The images, each with the mean colour of another."""
        a, b = require_tensors(a, b, self.name, dims=(4,))
        return a + (b - a).mean((-2, -1), keepdim=True)
