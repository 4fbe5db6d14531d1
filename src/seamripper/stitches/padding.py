"""How a layer is given activations of which some tokens are padding."""

from __future__ import annotations

from torch import Tensor

from seamripper.stitches._linear import PositionwiseLayer
from seamripper.stitches.base import Layer, LinearLayer


def carried(layer: Layer, x: Tensor, mask: Tensor | None) -> Tensor:
    """What the layer makes of x; it is told which tokens count (n, tokens) if it looks at more than one at a time."""
    out: Tensor = layer(x) if mask is None or layer.with_padding != "masked" else layer(x, mask)
    return out


def paired_rows(layer: LinearLayer, x: Tensor, y: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
    """The layer's rows of x and its targets of y, but for those of tokens that do not count.

    >>> import torch
    >>> from seamripper.cut.place import Cut
    >>> from seamripper.stitches.affine import Affine
    >>> tokens, cut = torch.tensor([[[1.0], [2.0], [9.0]]]), Cut("a", (3, 1), "ntd")
    >>> paired_rows(Affine().build(cut, cut), tokens, -tokens, torch.tensor([[True, True, False]]))[1]
    tensor([[-1.],
            [-2.]])
    """
    if mask is None:
        return layer.rows(x), layer.targets(y)
    if layer.with_padding == "masked":
        assert isinstance(layer, PositionwiseLayer)
        return layer.rows(x, mask), layer.targets(y)
    counted = mask.flatten()
    return layer.rows(x)[counted], layer.targets(y)[counted]
