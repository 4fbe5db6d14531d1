"""Tokens to map: from a transformer into a convolutional network."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from seamripper.cut.place import Cut
from seamripper.stitches.base import LinearLayer, Stitch
from seamripper.stitches.linear import PositionwiseLayer
from seamripper.stitches.positions import Policy, not_square, resize_map, to_map


@dataclass(frozen=True, kw_only=True)
class TokensToMap(Stitch):
    """The tokens, laid on their square and resized (bilinear) to the receiver's grid; then y = W x + b.

    The resizing comes before the map; the two commute, up to rounding. `cls` says what becomes of the
    sender's CLS token:

    - `drop` (default): it is left out.
    - `keep`: it is set beside the features of every position, so W has twice as many columns: the token's,
      then CLS.
    - `pool`: every position's token is averaged with it, (token + CLS) / 2.
    - `learn` never fits: the receiver has no CLS token to learn.

    >>> import torch
    >>> layer = TokensToMap().build(Cut("a", (5, 1), "ntd"), Cut("b", (1, 2, 2), "nchw"))
    >>> layer.install(torch.tensor([[2.0]]), torch.tensor([1.0]))
    >>> layer(torch.tensor([[[9.0], [0.0], [1.0], [2.0], [3.0]]])).detach()
    tensor([[[[1., 3.], [5., 7.]]]])
    """

    name = "tokens_to_map"
    formula = "y = W · resize(x) + b"
    source_layouts, target_layouts = ("ntd",), ("nchw",)
    cls: Policy = "drop"

    def misfit(self, source: Cut, target: Cut) -> str | None:
        """Square tokens and a map are needed, and a CLS token to keep or pool."""
        why = super().misfit(source, target) or not_square(source, "sender")
        if why is None and self.cls == "learn":
            return "cls='learn' expects a CLS token to make but a map has none; use 'drop', 'keep' or 'pool'"
        if why is None and self.cls != "drop" and source.prefix == 0:
            return f"cls={self.cls!r} expects a CLS token but the sender has none; use cls='drop'"
        return why

    def layer(self, source: Cut, target: Cut) -> LinearLayer:
        """Torch's default start."""
        prepare = partial(_map, square=source.grid, grid=target.grid, cls=self.cls)
        return PositionwiseLayer(prepare, source, target, inputs=source.width * (2 if self.cls == "keep" else 1))


def _map(x: Tensor, *, square: tuple[int, int], grid: tuple[int, int], cls: Policy) -> Tensor:
    tokens = x[:, -square[0] * square[1] :]
    if cls == "keep":
        tokens = torch.cat([tokens, x[:, :1].expand_as(tokens)], 2)
    elif cls == "pool":
        tokens = (tokens + x[:, :1]) / 2
    return resize_map(to_map(tokens, square), grid)
