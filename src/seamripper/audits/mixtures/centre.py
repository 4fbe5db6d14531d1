"""The mixture `centre`: the middle of the other image."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from seamripper.audits.mixtures.base import Mixture, require_tensors
from seamripper.audits.mixtures.masks import stretches
from seamripper.data.samples import Inputs


@dataclass(frozen=True)
class Centre(Mixture):
    """The middle of the other image, with the surround of this one: `area` is its share of the image.

    >>> a, b = torch.zeros(1, 1, 1, 6), torch.ones(1, 1, 1, 6)
    >>> Centre(area=0.25).mix(a, b, torch.tensor([0]), strength=1.0, seed=0).flatten()
    tensor([0., 0., 1., 1., 1., 0.])
    """

    name = "centre"
    about = "the centre"
    forms = ("image",)
    strengths = (1.0, 0.6, 0.3)
    between = {"area": (0, 1)}

    area: float = 0.6

    def mix(self, a: Inputs, b: Inputs, ids: Tensor, *, strength: float, seed: int) -> Inputs:
        """The images, each with the middle of another."""
        a, b = require_tensors(a, b, self.name, dims=(4,))
        rows, columns = (_middle(size, (strength * self.area) ** 0.5) for size in a.shape[-2:])
        return torch.where(rows[:, None] & columns, b, a)


def _middle(length: int, share: float) -> Tensor:
    size = min(length, max(1, round(share * length)))
    return stretches(torch.tensor([(length - size + 1) // 2]), torch.tensor([size]), length)[0]
