"""Map to tokens: from a convolutional network into a transformer."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from torch import Tensor

from seamripper.cut.place import Cut
from seamripper.stitches.base import LinearLayer, Stitch
from seamripper.stitches.linear import PositionwiseLayer
from seamripper.stitches.positions import Made, Policy, not_square, resize_map, to_tokens, with_prefix


@dataclass(frozen=True, kw_only=True)
class MapToTokens(Stitch):
    """The map, resized (bilinear) to the square of the receiver's tokens; then y = W x + b at every token.

    `cls` says how the receiver's CLS token is made; it has no effect on a receiver without one:

    - `learn` (default): a free vector, the same for every input. A row has one more column, 1 at the CLS
      token and 0 elsewhere, so W has it as its last column.
    - `pool`: the mean over the resized map, through the same W and b.
    - `drop`: b alone; its row is zeros.
    - `keep` never fits: a map has no CLS token to keep.

    >>> import torch
    >>> layer = MapToTokens(cls="pool").build(Cut("a", (1, 2, 2), "nchw"), Cut("b", (5, 1), "ntd"))
    >>> layer.install(torch.tensor([[2.0]]), torch.tensor([1.0]))
    >>> layer(torch.tensor([[[[0.0, 1.0], [2.0, 3.0]]]])).detach()
    tensor([[[4.], [1.], [3.], [5.], [7.]]])
    """

    name = "map_to_tokens"
    formula = "y = W · resize(x) + b"
    source_layouts, target_layouts = ("nchw",), ("ntd",)
    cls: Policy = "learn"

    def misfit(self, source: Cut, target: Cut) -> str | None:
        """A map and square tokens are needed."""
        why = super().misfit(source, target) or not_square(target, "receiver")
        if why is None and self.cls == "keep":
            return "cls='keep' expects a CLS token but a map has none; use cls='learn', 'pool' or 'drop'"
        return why

    def layer(self, source: Cut, target: Cut) -> LinearLayer:
        """Torch's default start."""
        assert self.cls != "keep"
        how = self.cls if target.prefix else None
        prepare = partial(_tokens, grid=target.grid, how=how)
        return PositionwiseLayer(prepare, source, target, inputs=source.width + (how == "learn"))


def _tokens(x: Tensor, *, grid: tuple[int, int], how: Made | None) -> Tensor:
    tokens = to_tokens(resize_map(x, grid))
    return tokens if how is None else with_prefix(tokens, how)
