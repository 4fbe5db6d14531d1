"""Singles: one row a sample, for what needs independent rows, or the rows themselves.

Positions of one image are not independent of each other, so HSIC's unbiased estimator, neighbours and ranks are taken
over single rows: at each sample one position of the receiver's map, drawn by the sample's id, and the sender's
(resized) map at that place. By `pool` and `flatten` a sample is one row anyway.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import torch
from torch import Tensor

from seamripper.errors import MeasureError
from seamripper.measures._forms import Form
from seamripper.measures._grids import Grid, at
from seamripper.measures.pair import Batched, Pair, Side

_Key = tuple[str, int, Grid]
_FEWEST = 4
"""Rows below which the unbiased HSIC is not defined; a last minibatch that is smaller is left out."""


class Singles:
    """Single rows of all cuts of two models: the first `keep` are kept, minibatch sums are made of all."""

    def __init__(
        self, senders: Sequence[Form], receivers: Sequence[Form], *, keep: int, folds: int, batches: bool, seed: int = 0
    ) -> None:
        self.senders, self.receivers = tuple(senders), tuple(receivers)
        self.keep, self.folds, self.batches, self.seed = keep, folds, batches, seed
        self.grids = sorted({form.grid for form in receivers})
        self.hsic = torch.zeros(folds, len(senders), len(receivers), 3, dtype=torch.float64)
        """Sums over minibatches of HSIC₁(x, x), (x, y) and (y, y), fold by fold, for every pair."""
        self.counts = [0] * folds
        """Rows in each fold's minibatch sums."""
        self._rows: dict[_Key, list[Tensor]] = defaultdict(list)
        self._fold_of: list[Tensor] = []
        self._sides: dict[_Key, Side] = {}

    def add(self, sent: Sequence[Tensor], received: Sequence[Tensor], ids: Tensor, *, fold: int) -> None:
        """Add a batch of maps (n, width, h, w)."""
        room = self.keep - sum(len(part) for part in self._fold_of)
        if room <= 0 and not (self.batches and len(ids) >= _FEWEST):
            return
        self._sides.clear()
        self.counts[fold] += len(ids) if self.batches and len(ids) >= _FEWEST else 0
        for grid in self.grids:
            places = drawn(ids, grid, seed=self.seed)
            x = [at(maps, grid, places) for maps in sent]
            there = [j for j, form in enumerate(self.receivers) if form.grid == grid]
            y = [at(received[j], grid, places) for j in there]
            if self.batches and len(ids) >= _FEWEST:
                self._add_hsic(x, y, there, fold)
            for i, rows in enumerate(x):
                self._keep(("x", i, grid), rows, room)
            for j, rows in zip(there, y, strict=True):
                self._keep(("y", j, grid), rows, room)
        if room > 0:
            self._fold_of.append(torch.full((min(room, len(ids)),), fold))

    def _keep(self, key: _Key, rows: Tensor, room: int) -> None:
        if room > 0:
            # A copy: a slice would keep the whole batch of maps alive.
            self._rows[key].append(rows[:room].clone())

    def _add_hsic(self, x: list[Tensor], y: list[Tensor], there: list[int], fold: int) -> None:
        grams_x, grams_y = _grams(x), _grams(y)
        sums = self.hsic[fold]
        sums[:, there, 0] += _hsic(grams_x, grams_x).diag()[:, None]
        sums[:, there, 1] += _hsic(grams_x, grams_y)
        sums[:, there, 2] += _hsic(grams_y, grams_y).diag()

    def merge(self, other: Singles) -> None:
        """Take in the rows that come after these, by the same rule."""
        if (self.senders, self.receivers, self.keep, self.folds) != (
            other.senders, other.receivers, other.keep, other.folds,
        ):  # fmt: skip
            raise MeasureError("Rows merge only if they are of the same cuts, by one rule, in as many folds.")
        self._sides.clear()
        self.hsic += other.hsic
        self.counts = [a + b for a, b in zip(self.counts, other.counts, strict=True)]
        for key, parts in other._rows.items():
            self._rows[key] += parts
        self._fold_of += other._fold_of

    def batched(self, i: int, j: int) -> Pair:
        """The sums over minibatches of sender i and receiver j."""
        filled = [k for k, n in enumerate(self.counts) if n]
        sums = tuple((float(a), float(b), float(c)) for a, b, c in self.hsic[filled, i, j])
        return Pair(Side(0.0), Side(0.0), batched=Batched(tuple(self.counts[k] for k in filled), sums))

    def pair(self, i: int, j: int) -> Pair:
        """The kept rows of sender i and receiver j."""
        grid = self.receivers[j].grid
        return Pair(self._side(("x", i, grid)), self._side(("y", j, grid)))

    def _side(self, key: _Key) -> Side:
        if key not in self._sides:
            if not self._rows[key]:
                raise MeasureError("This measure needs rows, and none were kept: ask for them before the pass.")
            rows, fold_of = torch.cat(self._rows[key])[: self.keep], torch.cat(self._fold_of)[: self.keep]
            side = Side.of(rows, fold_of=fold_of)
            self._sides[key] = side
        return self._sides[key]


def drawn(ids: Tensor, grid: Grid, *, seed: int) -> Tensor:
    """A position of `grid` for each sample, by its id: the same whichever batch or machine it is in.

    >>> drawn(torch.tensor([7, 8, 7]), (4, 4), seed=0).tolist()
    [9, 10, 9]
    """
    # The finaliser of splitmix32 (Steele, Lea & Flood 2014): ids that follow each other land far apart.
    mixed = (ids + 0x9E3779B9 * (seed + 1)) & 0xFFFFFFFF
    for shift, factor in ((16, 0x21F0AAAD), (15, 0x735A2D97)):
        mixed = ((mixed ^ (mixed >> shift)) * factor) & 0xFFFFFFFF
    return (mixed ^ (mixed >> 15)) % (grid[0] * grid[1])


def _grams(rows: list[Tensor]) -> Tensor:
    """The centred Gram matrices of several sets of n rows, (sets, n, n)."""
    centred = [r.double() - r.double().mean(0) for r in rows]
    return torch.stack([r @ r.T for r in centred])


def _hsic(k: Tensor, l: Tensor) -> Tensor:  # noqa: E741  (K and L are what they are called)
    """HSIC₁ of every Gram matrix in `k` (a, n, n) with every one in `l` (b, n, n): (a, b). See `_hsic.hsic`."""
    n = k.shape[1]
    own_k, own_l = k.diagonal(dim1=1, dim2=2), l.diagonal(dim1=1, dim2=2)
    quartic = own_k @ own_l.T
    totals = torch.outer(own_k.sum(1), own_l.sum(1)) / ((n - 1) * (n - 2))
    return (k.flatten(1) @ l.flatten(1).T - quartic + totals - 2 * quartic / (n - 2)) / (n * (n - 3))
