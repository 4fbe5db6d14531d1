"""Affine: one linear map with a bias at every position, the plainest stitch."""

from __future__ import annotations

from dataclasses import dataclass

from seamripper.cut.place import Cut
from seamripper.stitches.base import LinearLayer, Stitch
from seamripper.stitches.linear import PositionwiseLayer, as_is


@dataclass(frozen=True, kw_only=True)
class Affine(Stitch):
    """A linear map at every position: a 1×1 convolution on maps, a linear map on tokens and on vectors.

    The grid, or the number of tokens, is the same on both sides; the widths are free. With `bias=False`, b
    = 0. Csiszárik et al. 2021; token-wise for ViT as in Bansal et al. 2021.

    >>> import torch
    >>> layer = Affine().build(Cut("a", (2, 4, 4), "nchw"), Cut("b", (3, 4, 4), "nchw"))
    >>> layer.install(torch.tensor([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]]), torch.tensor([0.0, 0.0, 0.5]))
    >>> layer(torch.ones(1, 2, 4, 4))[0, :, 0, 0]
    tensor([1.0000, 2.0000, 2.5000], grad_fn=<SelectBackward0>)
    """

    name = "affine"
    paper = "Csiszárik, Kőrösi-Szabó, Matszangosz, Papp, Varga 2021"
    formula = "y = W x + b"
    same_positions = True
    bias: bool = True

    def layer(self, source: Cut, target: Cut) -> LinearLayer:
        """Torch's default start: uniform in ±1/√p."""
        return PositionwiseLayer(as_is, source, target, bias=self.bias)
