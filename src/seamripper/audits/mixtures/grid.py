"""The mixture `grid`: cells of the other image, drawn at random."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from seamripper.audits.interventions.draws import uniforms
from seamripper.audits.mixtures.base import Mixture, require_tensors
from seamripper.data.samples import Inputs


@dataclass(frozen=True)
class GridCells(Mixture):
    """Half of the cells of a grid of `cells` × `cells` from the other image, drawn for each pair.

    >>> a, b = torch.zeros(1, 1, 4, 4), torch.ones(1, 1, 4, 4)
    >>> GridCells(cells=2).mix(a, b, torch.tensor([0]), strength=1.0, seed=0)[0, 0].int().tolist()
    [[1, 1, 0, 0], [1, 1, 0, 0], [1, 1, 0, 0], [1, 1, 0, 0]]
    """

    name = "grid"
    about = "half of the cells of a grid"
    forms = ("image",)
    strengths = (1.0, 0.6, 0.3)
    least = {"cells": 2}

    cells: int = 7

    def mix(self, a: Inputs, b: Inputs, ids: Tensor, *, strength: float, seed: int) -> Inputs:
        """The images, each with cells of another."""
        a, b = require_tensors(a, b, self.name, dims=(4,))
        count = max(1, round(strength * self.cells**2 / 2))
        ranks = uniforms(ids, self.cells**2, seed=seed).argsort(1).argsort(1)
        chosen = (ranks < count).view(-1, self.cells, self.cells)
        rows, columns = (torch.arange(size) * self.cells // size for size in a.shape[-2:])
        return torch.where(chosen[:, rows][:, :, columns][:, None], b, a)
