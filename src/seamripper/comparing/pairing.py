"""Pairing: stored activations of two models on the same samples, as the pairs that measures take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

import torch
from torch import Tensor

from seamripper._words import shape_text, word_list
from seamripper.activations import Activations, Sampling, rows_of
from seamripper.activations.sampling import counting
from seamripper.comparing.memory import available
from seamripper.comparing.order import draw_positions
from seamripper.errors import MeasureError
from seamripper.measures.base import Measure
from seamripper.measures.pair import FOLDS, Pair


@dataclass(frozen=True, eq=False)
class Pairing:
    """Two sets of activations as `every` row, and as a `single` row per sample; `sampling` says how they were made.

    Only by `positions` do the two differ. Positions of one image are not independent of each other, so what needs the
    rows themselves is taken over one position of each sample, drawn by its id (as in `compare`).
    """

    every: Pair
    single: Pair
    sampling: str

    def pair(self, measure: Measure) -> Pair:
        """The pair for this measure; refused if there is no room for what it would compute."""
        claims = measure.claims
        pair = self.every if claims.needs == "moments" else self.single
        sizes = [min(side.width, pair.n) if claims.turns else side.width for side in (pair.x, pair.y)]
        # Two matrices at a time are the least that the measures hold: covariances, or distances of rows.
        takes = 16 * max(max(sizes), pair.n if claims.needs == "rows" else 0) ** 2
        room = available()
        if room is not None and takes > room:
            raise MeasureError(
                f"{measure.label} would take {takes / 1e9:.1f} GB for {pair.n:,} rows of {pair.x.width:,} and "
                f"{pair.y.width:,} columns, but there is room for {room / 1e9:.1f} GB. Give fewer samples, or use the "
                "sampling 'pool'."
            )
        return pair


def pair_activations(
    x: Activations, y: Activations, *, sampling: Sampling | None = None, names: tuple[str, str] = ("x", "y")
) -> Pairing:
    """Pair two sets of activations, of the same samples in the same order; `names` are what messages call them.

    Vectors are rows, by any sampling. `positions` must be on the same grid. All rows of a sample are in one fold.
    Tokens that are padding make no row.

    >>> from seamripper.cut import Cut
    >>> maps = Activations(Cut("a", (3, 2, 2), "nchw"), torch.randn(10, 3, 2, 2), torch.zeros(10), torch.arange(10))
    >>> pairing = pair_activations(maps, maps, sampling="positions")
    >>> pairing.every.n, pairing.single.n, pairing.every.x.width, pairing.every.folds
    (40, 10, 3, 5)
    """
    require_same_samples(x, y, names)
    if x.cut.layout == y.cut.layout == "nd":
        pair = Pair.of(x.values, y.values)
        return Pairing(pair, pair, "rows")
    _require_sampling(x, y, names, sampling)
    assert sampling is not None
    if sampling != "positions":
        pair = Pair.of(*(rows_of(side.values, side.cut.layout, sampling, side.mask) for side in (x, y)))
        return Pairing(pair, pair, sampling)
    _require_same_positions(x, y, names)
    a, b = (rows_of(side.values, side.cut.layout, sampling) for side in (x, y))
    places = len(a) // len(x)
    mask = _mask(x, y)
    fold_of = (torch.arange(len(x)) % FOLDS).repeat_interleave(places)
    single = _drawn_rows(x.ids, places, mask)
    every = slice(None) if mask is None else mask.flatten()
    paired = Pair.of(a[every], b[every], fold_of=fold_of[every], places=places if mask is None else None)
    return Pairing(paired, Pair.of(a[single], b[single]), sampling)


def drawn_rows(activations: Activations) -> Tensor:
    """One row per sample, at a position of it that is drawn by its id."""
    rows = rows_of(activations.values, activations.cut.layout, "positions")
    return rows[_drawn_rows(activations.ids, len(rows) // len(activations), activations.counting_tokens())]


def _drawn_rows(ids: Tensor, places: int, mask: Tensor | None) -> Tensor:
    """Which rows are drawn, one of each sample, where a sample has so many places."""
    ids = ids if int(ids.min()) >= 0 else torch.arange(len(ids))
    return torch.arange(len(ids)) * places + draw_positions(ids, (places, 1), seed=0, mask=mask)


def _mask(x: Activations, y: Activations) -> Tensor | None:
    """Which tokens count on both sides; None if all do."""
    first, second = (counting(side.values, side.cut.layout, side.mask) for side in (x, y))
    return second if first is None else first if second is None else first & second


def require_same_samples(x: Activations, y: Activations, names: tuple[str, str]) -> None:
    """Refuse activations of other samples, or in another order; where ids are not known, only their number counts."""
    a, b = names
    if len(x) != len(y):
        raise MeasureError(f"Expected {a} and {b} to hold the same samples, but they have {len(x)} and {len(y)}.")
    if int(x.ids.min()) < 0 or int(y.ids.min()) < 0 or torch.equal(x.ids, y.ids):
        return
    first = int((x.ids != y.ids).nonzero()[0])
    what = "the same samples in another order" if set(x.ids.tolist()) == set(y.ids.tolist()) else "different samples"
    raise MeasureError(
        f"{a} and {b} hold {what}, first in sample {first}, counted from 0: it has the id {int(x.ids[first])} in {a} "
        f"and {int(y.ids[first])} in {b}. Make both from the same data, in one order."
    )


def _require_sampling(x: Activations, y: Activations, names: tuple[str, str], sampling: str | None) -> None:
    if sampling not in get_args(Sampling):
        name, some = (names[0], x) if x.cut.layout != "nd" else (names[1], y)
        what = "maps" if some.cut.layout == "nchw" else "tokens"
        raise MeasureError(
            f"{name} holds {what} of {shape_text(some.values.shape[1:])}: say how they become rows, with the sampling "
            f"{word_list(get_args(Sampling), last='or')}."
        )


def _require_same_positions(x: Activations, y: Activations, names: tuple[str, str]) -> None:
    grids = [_positions(side) for side in (x, y)]
    if grids[0] != grids[1]:
        raise MeasureError(
            f"Expected {names[0]} and {names[1]} to have the same positions, with one row at each, but they have "
            f"{grids[0]} and {grids[1]}. Use the sampling 'pool'."
        )


def _positions(side: Activations) -> str:
    shape = side.values.shape
    if side.cut.layout == "nd":
        return "none"
    return f"a grid of {shape_text(shape[2:])}" if side.cut.layout == "nchw" else f"{shape[1]} tokens"
