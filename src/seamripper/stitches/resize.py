"""Resize: between maps of any two sizes, as Balogh and Jelasity do it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from torch import Tensor

from seamripper.cut.place import Cut
from seamripper.stitches.base import LinearLayer, Stitch
from seamripper.stitches.linear import PositionwiseLayer, apply_map
from seamripper.stitches.positions import resize_map


class ResizeLayer(PositionwiseLayer):
    """A map resized to the receiver's grid, then one linear map at every position.

    Both are linear, and the weights of the interpolation sum to one, so they commute: a map that grows is mapped first,
    while it is small.
    """

    def __init__(self, source: Cut, target: Cut) -> None:
        super().__init__(partial(resize_map, grid=target.grid), source, target)
        self.grid = target.grid
        self.enlarges = source.grid != target.grid and all(
            a <= b for a, b in zip(source.grid, target.grid, strict=True)
        )

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Resize and map, in the cheaper order."""
        if not self.enlarges:
            return super().forward(x, mask)
        return resize_map(apply_map(x, self.linear.weight, self.linear.bias, layout="nchw"), self.grid)


@dataclass(frozen=True, kw_only=True)
class Resize(Stitch):
    """Bilinear resizing to the receiver's grid, then a 1×1 convolution.

    Corners are not aligned and nothing is antialiased, so that a map which shrinks by more than two loses
    positions (Balogh and Jelasity 2025). Between equal grids this is `affine`.

    >>> import torch
    >>> layer = Resize().build(Cut("a", (1, 1, 2), "nchw"), Cut("b", (1, 1, 4), "nchw"))
    >>> layer.install(torch.tensor([[2.0]]), torch.tensor([1.0]))
    >>> layer(torch.tensor([[[[0.0, 4.0]]]])).detach()
    tensor([[[[1., 3., 7., 9.]]]])
    """

    name = "resize"
    paper = "Balogh, Jelasity 2025"
    formula = "y = W · resize(x) + b"
    source_layouts = target_layouts = ("nchw",)

    def layer(self, source: Cut, target: Cut) -> LinearLayer:
        """Torch's default start."""
        return ResizeLayer(source, target)
