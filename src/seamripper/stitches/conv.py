"""Conv: a k×k convolution, which also sees a position's neighbours."""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn

from seamripper.cut.place import Cut
from seamripper.stitches.base import Layer, Stitch
from seamripper.stitches.linear import NormedLayer, PatchLayer


@dataclass(frozen=True, kw_only=True)
class Conv(Stitch):
    """A convolution over a k×k patch around each position of a map.

    `kernel` is k, an odd number; stride 1, zeros around the map, so the grid stays. With `norm=True` it is
    BN – k×k – BN, a variant of Bansal et al. 2021 (k = 3), and no `LinearLayer`. Its rows are patches,
    (n·h·w, c·k·k): k² times as large as the activations.

    >>> import torch
    >>> cut = Cut("a", (1, 3, 3), "nchw")
    >>> layer = Conv(kernel=3).build(cut, cut)
    >>> layer.install(torch.ones(1, 9), torch.zeros(1))
    >>> layer(torch.ones(1, 1, 3, 3)).detach()
    tensor([[[[4., 6., 4.], [6., 9., 6.], [4., 6., 4.]]]])
    """

    name = "conv"
    paper = "Bansal, Nakkiran, Barak 2021"
    formula = "y(i, j) = Σ W(a, b) x(i + a, j + b) + bias"
    source_layouts = target_layouts = ("nchw",)
    same_positions = True
    kernel: int = 3
    norm: bool = False

    def misfit(self, source: Cut, target: Cut) -> str | None:
        """Two maps on the same grid are needed, and an odd kernel."""
        if self.kernel < 1 or self.kernel % 2 == 0:
            return f"expected kernel to be an odd number of 1 or more but got {self.kernel}; use 1, 3 or 5"
        return super().misfit(source, target)

    def layer(self, source: Cut, target: Cut) -> Layer:
        """Torch's default start."""
        if self.norm:
            # No bias: the second BN would take it away again.
            middle = nn.Conv2d(source.width, target.width, self.kernel, padding=self.kernel // 2, bias=False)
            return NormedLayer(middle, source, target)
        kernel, padding = (self.kernel, self.kernel), (self.kernel // 2, self.kernel // 2)
        return PatchLayer(source, target, kernel=kernel, stride=(1, 1), padding=padding)
