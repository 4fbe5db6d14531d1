"""Expand linear: a vector into every number of the receiver."""

from __future__ import annotations

from dataclasses import dataclass

from seamripper.cut.place import Cut
from seamripper.stitches.base import LinearLayer, Stitch
from seamripper.stitches.linear import PositionwiseLayer, as_is


@dataclass(frozen=True, kw_only=True)
class ExpandLinear(Stitch):
    """A linear map from a vector to all numbers of a map or of tokens.

    It is large: W has a row for every number of the receiver (512 → 64×7×7 is 1.6 million weights), and each
    position its own map, so it can paint any picture onto the receiver. Read its scores with their controls.

    >>> import torch
    >>> layer = ExpandLinear().build(Cut("a", (1,), "nd"), Cut("b", (1, 2, 2), "nchw"))
    >>> layer.install(torch.tensor([[1.0], [2.0], [3.0], [4.0]]), torch.zeros(4))
    >>> layer(torch.tensor([[10.0]])).detach()
    tensor([[[[10., 20.], [30., 40.]]]])
    """

    name = "expand_linear"
    formula = "y = reshape(W x + b)"
    source_layouts, target_layouts = ("nd",), ("nchw", "ntd")

    def layer(self, source: Cut, target: Cut) -> LinearLayer:
        """Torch's default start."""
        return PositionwiseLayer(as_is, source, target, expand=True)
