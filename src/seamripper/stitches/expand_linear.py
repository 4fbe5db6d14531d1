"""Expand linear: a vector into every number of the receiver."""

from __future__ import annotations

import math
from dataclasses import dataclass

from torch import Tensor, nn

from seamripper.cut.place import Cut
from seamripper.stitches.base import LinearLayer, Stitch
from seamripper.stitches.linear import install_map, map_of
from seamripper.stitches.positions import wrong_layouts


class ExpandLayer(LinearLayer):
    """A linear map whose output is a whole map or all tokens; a row is a sample."""

    def __init__(self, inputs: int, shape: tuple[int, ...]) -> None:
        super().__init__()
        self.shape = shape
        self.linear = nn.Linear(inputs, math.prod(shape))

    def forward(self, x: Tensor) -> Tensor:
        """The map, in the receiver's shape."""
        out: Tensor = self.linear(x)
        return out.reshape(-1, *self.shape)

    def rows(self, x: Tensor) -> Tensor:
        """The vectors themselves."""
        return x

    def targets(self, y: Tensor) -> Tensor:
        """All numbers of a sample in a row."""
        return y.flatten(1)

    def install(self, weight: Tensor, bias: Tensor) -> None:
        """Take this map."""
        install_map(self.linear, weight, bias)

    def map(self) -> tuple[Tensor, Tensor]:
        """The map that is installed."""
        return map_of(self.linear)


@dataclass(frozen=True, kw_only=True)
class ExpandLinear(Stitch):
    """y = reshape(W x + b): a linear map from a vector to all numbers of a map or of tokens.

    It is large: W has a row for every number of the receiver (512 → 64×7×7 is 1.6 million weights), and each
    position its own map, so it can paint any picture onto the receiver. Read its scores with their controls.

    >>> import torch
    >>> layer = ExpandLinear().build(Cut("a", (1,), "nd"), Cut("b", (1, 2, 2), "nchw"))
    >>> layer.install(torch.tensor([[1.0], [2.0], [3.0], [4.0]]), torch.zeros(4))
    >>> layer(torch.tensor([[10.0]])).detach()
    tensor([[[[10., 20.], [30., 40.]]]])
    """

    name = "expand_linear"

    def misfit(self, source: Cut, target: Cut) -> str | None:
        """A vector, and a map or tokens, are needed."""
        return wrong_layouts(source, target, takes=["nd"], gives=["nchw", "ntd"])

    def layer(self, source: Cut, target: Cut) -> LinearLayer:
        """Torch's default start."""
        return ExpandLayer(source.width, target.shape)
