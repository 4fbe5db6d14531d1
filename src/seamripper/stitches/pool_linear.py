"""Pool linear: the mean over positions, or the CLS token, into a vector."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Literal

import torch
from torch import Tensor

from seamripper.activations.sampling import mean_token
from seamripper.cut.place import Cut
from seamripper.stitches.base import LinearLayer, Stitch
from seamripper.stitches.linear import PositionwiseLayer


@dataclass(frozen=True, kw_only=True)
class PoolLinear(Stitch):
    """A linear map of pooled activations: a map or tokens into a vector, as Bansal et al. 2021 stitch after pooling.

    `pool` is `mean` (default: over the grid of a map, or over all tokens, CLS included) or `cls` (the first
    token). Tokens that are padding enter no mean, and are never the first.

    >>> layer = PoolLinear().build(Cut("a", (1, 2, 2), "nchw"), Cut("b", (1,), "nd"))
    >>> layer.install(torch.tensor([[2.0]]), torch.tensor([1.0]))
    >>> layer(torch.tensor([[[[0.0, 1.0], [2.0, 3.0]]]])).detach()
    tensor([[4.]])
    """

    name = "pool_linear"
    paper = "Bansal, Nakkiran, Barak 2021"
    formula = "y = W · pool(x) + b"
    source_layouts, target_layouts = ("nchw", "ntd"), ("nd",)
    pool: Literal["mean", "cls"] = "mean"

    def misfit(self, source: Cut, target: Cut) -> str | None:
        """A map or tokens, and a vector, are needed; and a CLS token to pool it."""
        why = super().misfit(source, target)
        if why is None and self.pool == "cls" and source.prefix == 0:
            return "pool='cls' expects a CLS token but the sender has none; use pool='mean'"
        return why

    def layer(self, source: Cut, target: Cut) -> LinearLayer:
        """Torch's default start."""
        if source.layout == "nchw":
            return PositionwiseLayer(partial(torch.mean, dim=(2, 3)), source, target)
        pool = _first if self.pool == "cls" else mean_token
        return PositionwiseLayer(pool, source, target, with_padding="masked")


def _first(tokens: Tensor, mask: Tensor | None = None) -> Tensor:
    if mask is None:
        return tokens[:, 0]
    # Texts may be padded on the left.
    return tokens[torch.arange(len(tokens), device=tokens.device), mask.long().argmax(1)]
