"""Orthogonal: a rotation (or a projection, or an embedding) and a shift."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrizations

from seamripper.cut.place import Cut
from seamripper.stitches.base import LinearLayer, Stitch
from seamripper.stitches.linear import apply_map, map_of, require_map
from seamripper.stitches.positions import to_rows


class OrthogonalLayer(LinearLayer):
    """x → W x + b at every position, with W Wᵀ = I or Wᵀ W = I."""

    constraint = "orthogonal"
    pointwise = True
    with_padding = "each"

    def __init__(self, source: Cut, target: Cut) -> None:
        super().__init__()
        self.layout = target.layout
        self.linear = nn.Linear(source.width, target.width)
        # Not torch's default for oblong matrices (householder): it keeps signs in the parameter, and
        # truncates them to zero, W and all, after one step of weight decay. Nor the one for squares
        # (matrix_exp): at a width of 512 a step takes five times as long.
        parametrizations.orthogonal(self.linear, orthogonal_map="cayley")

    def forward(self, x: Tensor) -> Tensor:
        """The map, with W computed anew from its parameter."""
        return apply_map(x, self.linear.weight, self.linear.bias, layout=self.layout)

    def rows(self, x: Tensor) -> Tensor:
        """The sender's activations, one row per position."""
        return to_rows(x, self.layout)

    @torch.no_grad()
    def install(self, weight: Tensor, bias: Tensor) -> None:
        """Take the orthogonal matrix nearest to this one, its polar factor."""
        now = self.linear.weight
        require_map(weight, bias, shape=(now.shape[0], now.shape[1]))
        u, _, vh = torch.linalg.svd(weight, full_matrices=False)
        self.linear.weight = (u @ vh).to(now)
        self.linear.bias.copy_(bias)

    def map(self) -> tuple[Tensor, Tensor]:
        """The map that is installed."""
        return map_of(self.linear)


@dataclass(frozen=True, kw_only=True)
class Orthogonal(Stitch):
    """A rotation at every position: W has orthonormal rows or, if q > p, orthonormal columns.

    It turns and shifts but cannot stretch, which is what Procrustes distance allows. It is trained through
    Cayley's map, W = B (I − A/2)⁻¹ (I + A/2), with A skew-symmetric and B the matrix that it started from or
    that was installed last; weight decay pulls W towards B. An installed matrix U S Vᵀ becomes its polar
    factor U Vᵀ, the nearest orthogonal one (Schönemann 1966). If q < p, all this holds of Wᵀ.

    >>> layer = Orthogonal().build(Cut("a", (2,), "nd"), Cut("b", (2,), "nd"))
    >>> layer.install(torch.tensor([[0.0, 5.0], [-3.0, 0.0]]), torch.tensor([0.0, 1.0]))
    >>> layer(torch.tensor([[1.0, 2.0]])).detach()
    tensor([[2., 0.]])
    """

    name = "orthogonal"
    paper = "Schönemann 1966"
    formula = "y = W x + b,  W Wᵀ = I  (Wᵀ W = I if q > p)"
    same_positions = True

    def layer(self, source: Cut, target: Cut) -> LinearLayer:
        """The orthogonal factor (QR) of torch's default start."""
        return OrthogonalLayer(source, target)
