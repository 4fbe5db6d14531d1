"""BN affine: a linear map between two batch normalisations."""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn

from seamripper.cut.place import Cut
from seamripper.stitches.base import Layer, Stitch
from seamripper.stitches.linear import NormedLayer


@dataclass(frozen=True, kw_only=True)
class BnAffine(Stitch):
    """BN – 1×1 convolution – BN on maps, BN – linear – BN on tokens and vectors.

    The stitch of Bansal et al. 2021 and Smith et al. 2025. Its statistics are those of each channel, over
    samples and positions (the CLS token counts as a position). While it is being trained its BN is in train mode,
    and a batch's output depends on the whole batch; in eval mode it is affine, with the running statistics.
    So it is no `LinearLayer`: no closed form finds it.

    >>> import torch
    >>> layer = BnAffine().build(Cut("a", (2, 4, 4), "nchw"), Cut("b", (3, 4, 4), "nchw"))
    >>> y = layer(torch.rand(8, 2, 4, 4))
    >>> y.mean((0, 2, 3)).abs().max().item() < 1e-5, tuple(y.shape)
    (True, (8, 3, 4, 4))
    """

    name = "bn_affine"
    paper = "Bansal, Nakkiran, Barak 2021"
    formula = "y = BN(W · BN(x))"
    same_positions = True

    def layer(self, source: Cut, target: Cut) -> Layer:
        """Torch's default start for all three."""
        # No bias: the second BN would take it away again.
        middle: nn.Module = nn.Linear(source.width, target.width, bias=False)
        if source.layout == "nchw":
            middle = nn.Conv2d(source.width, target.width, 1, bias=False)
        return NormedLayer(middle, source, target)
