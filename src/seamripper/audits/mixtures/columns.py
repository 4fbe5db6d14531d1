"""The mixture `columns`: columns of the other vector, drawn at random."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from seamripper.audits.interventions.draws import uniforms
from seamripper.audits.mixtures.base import Mixture, require_tensors
from seamripper.data.samples import Inputs


@dataclass(frozen=True)
class Columns(Mixture):
    """Columns of vectors, or features of all tokens, from the other input; which ones is drawn for each pair.

    `share` is how many of them it is.

    >>> a, b = torch.zeros(1, 6), torch.ones(1, 6)
    >>> Columns().mix(a, b, torch.tensor([0]), strength=1.0, seed=0).tolist()
    [[1.0, 0.0, 1.0, 0.0, 0.0, 1.0]]
    """

    name = "columns"
    about = "columns drawn at random"
    forms = ("vector", "sequence")
    strengths = (1.0, 0.6, 0.3)
    between = {"share": (0, 1)}

    share: float = 0.5

    def mix(self, a: Inputs, b: Inputs, ids: Tensor, *, strength: float, seed: int) -> Inputs:
        """The inputs, each with columns of another."""
        a, b = require_tensors(a, b, self.name, dims=(2, 3))
        count = max(1, round(strength * self.share * a.shape[-1]))
        chosen = uniforms(ids, a.shape[-1], seed=seed).argsort(1).argsort(1) < count
        return torch.where(chosen if a.dim() == 2 else chosen[:, None], b, a)
