"""Row forms: how the activations of each cut become rows, by one rule for all cuts of both models."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from torch import Tensor

from seamripper.activations.sampling import FLATTENED, mean_token
from seamripper.cut.place import Cut
from seamripper.errors import MeasureError
from seamripper.measures.score import Sampling
from seamripper.stitches.grids import Grid

_Reading = Literal["map", "tokens", "grid", "vector", "mean", "flat"]


@dataclass(frozen=True, eq=False)
class Batch:
    """What both models show of some samples of one fold, one tensor per cut.

    Where the samples are tokens of which some are padding, the `mask` (n, tokens) says which of them count.
    """

    sent: Sequence[Tensor]
    received: Sequence[Tensor]
    ids: Tensor
    fold: int
    mask: Tensor | None = None


@dataclass(frozen=True)
class RowForm:
    """A cut's activations as maps: `width` channels on a `grid`. A row is one position of the grid."""

    cut: Cut
    width: int
    grid: Grid
    reading: _Reading

    @property
    def size(self) -> int:
        """How many numbers the rows of one sample are."""
        return self.width * self.grid[0] * self.grid[1]

    @property
    def shown(self) -> int:
        """How many numbers one sample shows at the cut, before an average is taken."""
        return math.prod(self.cut.shape)

    def maps(self, values: Tensor, mask: Tensor | None = None) -> Tensor:
        """Activations (n, …) as (n, width, h, w); an average is over the tokens that the mask (n, tokens) leaves."""
        n = len(values)
        if self.reading == "flat":
            return values.reshape(n, -1, 1, 1)
        if self.reading == "mean":
            if self.cut.layout == "ntd":
                return mean_token(values, mask).reshape(n, -1, 1, 1)
            return (values if self.cut.layout == "nd" else values.mean((2, 3))).reshape(n, -1, 1, 1)
        if self.reading == "map":
            return values
        if self.reading == "vector":
            return values[:, :, None, None]
        # Tokens before the square of the others (CLS) have no place on a grid.
        places = values if self.reading == "tokens" else values[:, self.cut.prefix :]
        return places.transpose(1, 2).reshape(n, self.width, *self.grid)


def forms(
    a: Sequence[Cut], b: Sequence[Cut], sampling: Sampling, *, padded: int | None = None
) -> tuple[tuple[RowForm, ...], tuple[RowForm, ...]]:
    """The forms of two models' cuts.

    `pool` averages over the map or the tokens; `flatten` takes the map whole. By `positions` each position of a map, or
    each token, is a row, and the sender's map is resized to the receiver's: tokens are then read as the square grid
    that they come from, without a CLS token; only where every cut has the same number of tokens do all of them count.

    `padded` is how many tokens the samples have where some of them are padding: then tokens are a row each, whatever
    other cuts there are, and a map, or tokens that are not those of the samples, are refused.
    """
    cuts = (*a, *b)
    if padded is not None:
        _require_tokens(cuts, sampling, padded)
    counts = {cut.shape[0] for cut in cuts if cut.layout == "ntd"}
    alike = padded is not None or (len(counts) == 1 and all(cut.layout == "ntd" for cut in cuts))
    return tuple(_form(cut, sampling, alike) for cut in a), tuple(_form(cut, sampling, alike) for cut in b)


def _require_tokens(cuts: Sequence[Cut], sampling: Sampling, padded: int) -> None:
    """Refuse what cannot leave padding out."""
    if sampling == "flatten":
        raise MeasureError(FLATTENED)
    other = next((c for c in cuts if c.layout == "nchw" or (c.layout == "ntd" and c.shape[0] != padded)), None)
    if other is not None:
        raise MeasureError(
            f"Some of the {padded} tokens of the samples are padding, and {other} has other positions, so it is not "
            "known which of them count. Leave that cut out, or give samples without padding."
        )


def _form(cut: Cut, sampling: Sampling, alike: bool) -> RowForm:
    if sampling == "pool":
        return RowForm(cut, cut.width, (1, 1), "mean")
    if sampling == "flatten":
        return RowForm(cut, math.prod(cut.shape), (1, 1), "flat")
    if cut.layout == "nchw":
        return RowForm(cut, cut.width, cut.grid, "map")
    if cut.layout == "nd":
        return RowForm(cut, cut.width, (1, 1), "vector")
    if alike:
        return RowForm(cut, cut.width, (cut.shape[0], 1), "tokens")
    if cut.prefix > 5:
        raise MeasureError(
            f"The {cut.shape[0]} tokens of {cut.name!r} do not form a square grid, so they have no positions in common "
            "with the other cuts. Use the sampling 'pool'."
        )
    return RowForm(cut, cut.width, cut.grid, "grid")
