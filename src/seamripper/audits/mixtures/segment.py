"""The mixture `segment`: a stretch of the other sound, or of the other vector's columns."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from seamripper.audits.interventions.draws import uniforms
from seamripper.audits.mixtures.base import Mixture, require_tensors
from seamripper.audits.mixtures.masks import drawn_stretches
from seamripper.data.samples import Inputs


@dataclass(frozen=True)
class Segment(Mixture):
    """A stretch of time, of columns or of tokens from the other input; its place is drawn for each pair.

    `share` is how much of the whole it is.

    >>> a, b = torch.zeros(1, 4), torch.ones(1, 4)
    >>> Segment().mix(a, b, torch.tensor([0]), strength=1.0, seed=0).tolist()
    [[0.0, 1.0, 1.0, 0.0]]
    """

    name = "segment"
    about = "a stretch of time or of neighbouring columns"
    forms = ("wave", "vector", "sequence")
    local = True
    strengths = (1.0, 0.6, 0.3)
    between = {"share": (0, 1)}

    share: float = 0.5

    def mix(self, a: Inputs, b: Inputs, ids: Tensor, *, strength: float, seed: int) -> Inputs:
        """The inputs, each with a stretch of another."""
        a, b = require_tensors(a, b, self.name, dims=(2, 3))
        sound = a.dim() == 3 and a.shape[1] == 1
        length = a.shape[-1] if sound or a.dim() == 2 else a.shape[1]
        sizes = torch.full((len(a),), strength * self.share * length)
        chosen = drawn_stretches(sizes, uniforms(ids, 1, seed=seed)[:, 0], length)
        if a.dim() == 3:
            chosen = chosen[:, None] if sound else chosen[:, :, None]
        return torch.where(chosen, b, a)
