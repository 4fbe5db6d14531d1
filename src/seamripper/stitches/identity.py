"""Identity: no stitch at all."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from seamripper.cut.place import Cut
from seamripper.stitches.base import Layer, Stitch


class IdentityLayer(Layer):
    """Hands its input on."""

    with_padding = "each"

    def forward(self, x: Tensor) -> Tensor:
        """The very tensor that came."""
        return x


@dataclass(frozen=True, kw_only=True)
class Identity(Stitch):
    """The input itself, not a copy, so a model stitched to itself gives its own output bit for bit.

    It has nothing to learn, and joins cuts of one shape only. Hernandez et al. 2022 use it as a check of
    the stitching.

    >>> import torch
    >>> cut = Cut("layer1", (2, 4, 4), "nchw")
    >>> x = torch.ones(1, 2, 4, 4)
    >>> Identity().build(cut, cut)(x) is x
    True
    """

    name = "identity"
    paper = "Hernandez, Dangovski, Lu, Soljačić 2022"
    formula = "y = x"
    same_positions = True

    def misfit(self, source: Cut, target: Cut) -> str | None:
        """The same layout and the same shape are needed."""
        why = super().misfit(source, target)
        if why is None and source.width != target.width:
            return f"expected the same width on both sides but got {source.width}, {target.width}; use 'affine'"
        return why

    def layer(self, source: Cut, target: Cut) -> Layer:
        """A layer without parameters."""
        return IdentityLayer()
