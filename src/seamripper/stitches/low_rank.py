"""Low rank: an affine map through a bottleneck."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from seamripper.cut.place import Cut
from seamripper.stitches.base import LinearLayer, Stitch
from seamripper.stitches.linear import apply_map, require_map
from seamripper.stitches.positions import to_rows


class LowRankLayer(LinearLayer):
    """x → U V x + b at every position, with U (q, r) and V (r, p)."""

    constraint = "rank"
    pointwise = True
    with_padding = "each"

    def __init__(self, source: Cut, target: Cut, *, rank: int) -> None:
        super().__init__()
        self.rank = rank
        self.layout = target.layout
        self.out = nn.Parameter(nn.init.orthogonal_(torch.empty(target.width, rank)))
        self.into = nn.Parameter(nn.init.orthogonal_(torch.empty(rank, source.width)))
        self.bias = nn.Parameter(torch.zeros(target.width))

    def forward(self, x: Tensor) -> Tensor:
        """Into the bottleneck and out of it."""
        return apply_map(apply_map(x, self.into, None, layout=self.layout), self.out, self.bias, layout=self.layout)

    def rows(self, x: Tensor) -> Tensor:
        """The sender's activations, one row per position."""
        return to_rows(x, self.layout)

    @torch.no_grad()
    def install(self, weight: Tensor, bias: Tensor) -> None:
        """Take the best approximation of this map that has rank r: its r largest singular values."""
        require_map(weight, bias, shape=(self.out.shape[0], self.into.shape[1]))
        u, s, vh = torch.linalg.svd(weight, full_matrices=False)
        # The root on both sides keeps the two factors on one scale, so that one learning rate suits both.
        root = s[: self.rank].sqrt()
        self.out.copy_(u[:, : self.rank] * root)
        self.into.copy_(root[:, None] * vh[: self.rank])
        self.bias.copy_(bias)

    def map(self) -> tuple[Tensor, Tensor]:
        """The map that is installed: U V and b."""
        return (self.out @ self.into).detach(), self.bias.detach().clone()


@dataclass(frozen=True, kw_only=True)
class LowRank(Stitch):
    """A linear map at every position, W = U V, whose rank is r at most.

    `rank` is r. U and V start orthogonal and b zero (Csiszárik et al. 2021): W is then an isometry on r
    directions. An installed map is truncated to its r largest singular values, the nearest map of that rank
    (Eckart and Young 1936).

    >>> layer = LowRank(rank=1).build(Cut("a", (2,), "nd"), Cut("b", (2,), "nd"))
    >>> layer.install(torch.tensor([[4.0, 0.0], [0.0, 1.0]]), torch.tensor([0.0, 1.0]))
    >>> layer(torch.tensor([[1.0, 1.0]])).detach()
    tensor([[4., 1.]])
    """

    name = "low_rank"
    paper = "Csiszárik, Kőrösi-Szabó, Matszangosz, Papp, Varga 2021"
    formula = "y = U V x + b,  U (q, r),  V (r, p)"
    same_positions = True
    rank: int = 8

    def misfit(self, source: Cut, target: Cut) -> str | None:
        """The same positions are needed, and a rank that is a constraint."""
        why = super().misfit(source, target)
        most = min(source.width, target.width)
        if why is None and not 1 <= self.rank <= most:
            return (
                f"expected rank to lie in 1 … {most}, the smaller of the two widths, but got {self.rank}; "
                f"use rank={min(most, max(1, self.rank))}, or 'affine' for any rank"
            )
        return why

    def layer(self, source: Cut, target: Cut) -> LinearLayer:
        """Orthogonal factors."""
        return LowRankLayer(source, target, rank=self.rank)
