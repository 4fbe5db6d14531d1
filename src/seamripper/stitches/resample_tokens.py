"""Resample tokens: between transformers with different numbers of tokens."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from seamripper.cut.place import Cut
from seamripper.stitches.base import LinearLayer, Stitch
from seamripper.stitches.linear import PositionwiseLayer
from seamripper.stitches.positions import Policy, not_square, resize_map, to_map, to_tokens, with_prefix


@dataclass(frozen=True, kw_only=True)
class ResampleTokens(Stitch):
    """The square of tokens, resized (bilinear) to the receiver's square; then y = W x + b at every token.

    `cls` says how the receiver's CLS token is made. Where neither side has one it has no effect; where only
    the sender has one, `learn`, `pool` and `drop` all leave it out.

    - `keep` (default): the sender's, through the same W and b. It does not fit where only one side has one.
    - `learn`: a free vector, the same for every input. A row has one more column, 1 at the CLS token and 0
      elsewhere, so W has it as its last column. The sender's is left out, as it is below.
    - `pool`: the mean over the resized square, through the same W and b.
    - `drop`: b alone; its row is zeros.

    >>> import torch
    >>> layer = ResampleTokens().build(Cut("a", (2, 1), "ntd"), Cut("b", (5, 1), "ntd"))
    >>> layer.install(torch.tensor([[2.0]]), torch.tensor([1.0]))
    >>> layer(torch.tensor([[[2.0], [3.0]]])).detach()
    tensor([[[5.], [7.], [7.], [7.], [7.]]])
    """

    name = "resample_tokens"
    formula = "y = W · resize(x) + b"
    source_layouts = target_layouts = ("ntd",)
    cls: Policy = "keep"

    def misfit(self, source: Cut, target: Cut) -> str | None:
        """Square tokens are needed on both sides, and CLS tokens on both or neither if they are kept."""
        why = super().misfit(source, target) or not_square(source, "sender") or not_square(target, "receiver")
        if why is None and self.cls == "keep" and source.prefix < target.prefix:
            return "cls='keep' expects a CLS token but the sender has none; use cls='learn', 'pool' or 'drop'"
        if why is None and self.cls == "keep" and source.prefix > target.prefix:
            return "cls='keep' expects a CLS token on both sides but the receiver has none; use cls='drop'"
        return why

    def layer(self, source: Cut, target: Cut) -> LinearLayer:
        """Torch's default start."""
        how = self.cls if target.prefix else None
        prepare = partial(_resample, square=source.grid, grid=target.grid, how=how)
        return PositionwiseLayer(prepare, source, target, inputs=source.width + (how == "learn"))


def _resample(x: Tensor, *, square: tuple[int, int], grid: tuple[int, int], how: Policy | None) -> Tensor:
    tokens = to_tokens(resize_map(to_map(x[:, -square[0] * square[1] :], square), grid))
    if how is None:
        return tokens
    return torch.cat([x[:, :1], tokens], 1) if how == "keep" else with_prefix(tokens, how)
