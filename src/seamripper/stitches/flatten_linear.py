"""Flatten linear: every number of the sender into a vector."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import torch

from seamripper.cut.place import Cut
from seamripper.stitches.base import LinearLayer, Stitch
from seamripper.stitches.linear import PositionwiseLayer


@dataclass(frozen=True, kw_only=True)
class FlattenLinear(Stitch):
    """A linear map from all numbers of a map, tokens or a vector into a vector.

    Hernandez et al. 2022. W has as many columns as the sender has numbers (64×7×7 → 3136), so a closed form
    needs more samples than that; `pool_linear` is the small one.

    >>> layer = FlattenLinear().build(Cut("a", (1, 2, 2), "nchw"), Cut("b", (1,), "nd"))
    >>> layer.install(torch.tensor([[1.0, 10.0, 100.0, 1000.0]]), torch.tensor([0.0]))
    >>> layer(torch.tensor([[[[1.0, 2.0], [3.0, 4.0]]]])).detach()
    tensor([[4321.]])
    """

    name = "flatten_linear"
    paper = "Hernandez, Dangovski, Lu, Soljačić 2022"
    formula = "y = W · flatten(x) + b"
    target_layouts = ("nd",)

    def layer(self, source: Cut, target: Cut) -> LinearLayer:
        """Torch's default start."""
        return PositionwiseLayer(partial(torch.flatten, start_dim=1), source, target, inputs=math.prod(source.shape))
