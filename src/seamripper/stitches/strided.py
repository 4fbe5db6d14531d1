"""Strided: between grids whose sides divide one another, as Hernandez et al. do it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from torch.nn.functional import interpolate

from seamripper._words import shape_text
from seamripper.cut.place import Cut
from seamripper.stitches.base import LinearLayer, Stitch
from seamripper.stitches.linear import PatchLayer, PositionwiseLayer


@dataclass(frozen=True, kw_only=True)
class Strided(Stitch):
    """Down: a convolution with kernel = stride = ratio. Up: nearest upsampling by the ratio, then a 1×1 convolution.

    Hernandez et al. 2022. The ratio of the two grids is a whole number, for each axis its own, in one
    direction for both; with a ratio of 1 this is a 1×1 convolution. Downwards a row is a patch of ratio ×
    ratio positions, and every number of the sender is used.

    >>> import torch
    >>> small, large = Cut("a", (1, 1, 2), "nchw"), Cut("b", (1, 2, 4), "nchw")
    >>> up = Strided().build(small, large)
    >>> up.install(torch.ones(1, 1), torch.zeros(1))
    >>> up(torch.tensor([[[[1.0, 2.0]]]])).detach()
    tensor([[[[1., 1., 2., 2.], [1., 1., 2., 2.]]]])
    >>> down = Strided().build(large, small)
    >>> down.install(torch.ones(1, 4), torch.zeros(1))
    >>> down(up(torch.tensor([[[[1.0, 2.0]]]]))).detach()
    tensor([[[[4., 8.]]]])
    """

    name = "strided"
    paper = "Hernandez, Dangovski, Lu, Soljačić 2022"
    formula = "y = W · patches(x) + b downwards,  y = W · repeat(x) + b upwards"
    source_layouts = target_layouts = ("nchw",)

    def misfit(self, source: Cut, target: Cut) -> str | None:
        """Two maps are needed, and a whole ratio of their grids."""
        why = super().misfit(source, target)
        if why is None and not _divides(target.grid, source.grid) and not _divides(source.grid, target.grid):
            return (
                "expected one grid to be a whole multiple of the other in both axes but got "
                f"{shape_text(source.grid)} and {shape_text(target.grid)}; use 'resize'"
            )
        return why

    def layer(self, source: Cut, target: Cut) -> LinearLayer:
        """Torch's default start."""
        (h, w), (high, wide) = source.grid, target.grid
        if _divides(target.grid, source.grid):
            ratio = h // high, w // wide
            return PatchLayer(source, target, kernel=ratio, stride=ratio)
        return PositionwiseLayer(partial(interpolate, size=target.grid, mode="nearest"), source, target)


def _divides(small: tuple[int, int], large: tuple[int, int]) -> bool:
    return all(size % part == 0 for part, size in zip(small, large, strict=True))
