"""Singles: one row a sample, for what needs independent rows, or the rows themselves.

Positions of one image are not independent of each other, so HSIC's unbiased estimator, neighbours and ranks are taken
over single rows: at each sample one position of the receiver's map, drawn by the sample's id, and the sender's
(resized) map at that place. By `pool` and `flatten` a sample is one row anyway.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from seamripper.errors import MeasureError
from seamripper.measures._forms import Form
from seamripper.measures._grids import Grid, at
from seamripper.measures._order import mixed
from seamripper.measures.pair import Batched, Pair, Side, grain_of

_Key = tuple[str, int, Grid]
_FEWEST = 4
"""Rows below which the unbiased HSIC is not defined; a last minibatch that is smaller is left out."""


class Singles:
    """Single rows of all cuts of two models: the first `keep` are kept, minibatch sums are made of all."""

    def __init__(
        self,
        senders: Sequence[Form],
        receivers: Sequence[Form],
        *,
        keep: int,
        folds: int,
        batch: int | None,
        seed: int = 0,
    ) -> None:
        self.senders, self.receivers = tuple(senders), tuple(receivers)
        self.keep, self.folds, self.batch, self.seed = keep, folds, batch, seed
        self.grids = sorted({form.grid for form in receivers})
        self.hsic = torch.zeros(folds, len(senders), len(receivers), 3, dtype=torch.float64)
        """Sums over minibatches of HSIC₁(x, x), (x, y) and (y, y), fold by fold, for every pair."""
        self.counts = [0] * folds
        """Rows in each fold's minibatch sums."""
        self._waiting: dict[_Key, list[Tensor]] = defaultdict(list)
        self._waited, self._fold = 0, 0
        self._rows: dict[_Key, list[Tensor]] = defaultdict(list)
        self._grains: dict[str, float] = {}
        self._fold_of: list[Tensor] = []
        self._sides: dict[_Key, Side] = {}

    def add(
        self,
        sent: Sequence[Tensor],
        received: Sequence[Tensor],
        ids: Tensor,
        *,
        fold: int,
        mask: Tensor | None = None,
    ) -> None:
        """Add maps (n, width, h, w) of the same samples. A minibatch is summed up when it is full, or its fold ends.

        Of a line of tokens (n, width, tokens, 1) one is drawn among those that the mask (n, tokens) leaves.
        """
        room = self.keep - sum(len(part) for part in self._fold_of)
        if room <= 0 and self.batch is None:
            return
        self._sides.clear()
        self._grains = {"x": grain_of(sent), "y": grain_of(received)}
        if fold != self._fold or (self.batch is not None and self._waited + len(ids) > self.batch):
            self._sum_up()
        self._fold = fold
        for key, rows in self._taken(sent, received, ids, mask):
            if self.batch is not None:
                self._waiting[key].append(rows)
            if room > 0:
                # A copy: a slice would keep all the rows alive.
                self._rows[key].append(rows[:room].clone())
        self._waited += len(ids)
        if room > 0:
            self._fold_of.append(torch.full((min(room, len(ids)),), fold))

    def _taken(
        self, sent: Sequence[Tensor], received: Sequence[Tensor], ids: Tensor, mask: Tensor | None
    ) -> Iterator[tuple[_Key, Tensor]]:
        """The single rows of every sender on every grid, and of every receiver."""
        for grid in self.grids:
            places = drawn(ids, grid, seed=self.seed, mask=mask if grid[0] > 1 else None)
            yield from ((("x", i, grid), at(maps, grid, places)) for i, maps in enumerate(sent))
            for j, form in enumerate(self.receivers):
                if form.grid == grid:
                    yield ("y", j, grid), at(received[j], grid, places)

    def settle(self) -> None:
        """Sum up the minibatch that waits."""
        self._sum_up()

    def _sum_up(self) -> None:
        """Add the minibatch that waits to its fold's sums."""
        if self.batch is not None and self._waited >= _FEWEST:
            self.counts[self._fold] += self._waited
            grams = {key: _gram(torch.cat(rows)) for key, rows in self._waiting.items()}
            for grid in self.grids:
                there = [j for j, form in enumerate(self.receivers) if form.grid == grid]
                x = torch.stack([grams["x", i, grid] for i in range(len(self.senders))])
                y = torch.stack([grams["y", j, grid] for j in there])
                sums = self.hsic[self._fold]
                sums[:, there, 0] += _hsic(x, x).diag()[:, None]
                sums[:, there, 1] += _hsic(x, y)
                sums[:, there, 2] += _hsic(y, y).diag()
        self._waiting.clear()
        self._waited = 0

    def merge(self, other: Singles) -> None:
        """Take in the rows that come after these, by the same rule."""
        rules = [(s.senders, s.receivers, s.keep, s.folds, s.batch, s.seed) for s in (self, other)]
        if rules[0] != rules[1]:
            raise MeasureError("Rows merge only if they are of the same cuts, by one rule, in as many folds.")
        self._sum_up()
        other._sum_up()
        self._sides.clear()
        self.hsic += other.hsic
        self.counts = [a + b for a, b in zip(self.counts, other.counts, strict=True)]
        for key, parts in other._rows.items():
            self._rows[key] += parts
        self._fold_of += other._fold_of
        self._grains = self._grains or other._grains

    def as_tensors(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """The minibatch sums and the kept rows, to be kept and taken up again."""
        self._sum_up()
        tensors = {"hsic": self.hsic}
        tensors |= {
            f"rows.{side}.{k}.{h}.{w}": torch.cat(rows) for (side, k, (h, w)), rows in self._rows.items() if rows
        }
        if self._fold_of:
            tensors["fold_of"] = torch.cat(self._fold_of)
        return tensors, {"minibatched": list(self.counts), "row_grains": dict(self._grains)}

    def take_tensors(self, tensors: Mapping[str, Tensor], record: Mapping[str, Any]) -> None:
        """Take up what `as_tensors` wrote down, in the place of what is here."""
        self.hsic.copy_(tensors["hsic"])
        self.counts, self._grains = list(record["minibatched"]), dict(record["row_grains"])
        self._rows.clear()
        self._sides.clear()
        for name in tensors:
            if name.startswith("rows."):
                side, k, high, wide = name.split(".")[1:]
                self._rows[side, int(k), (int(high), int(wide))] = [tensors[name]]
        self._fold_of = [tensors["fold_of"]] if "fold_of" in tensors else []

    def forget(self, j: int) -> None:
        """Let go of the sides of every receiver but j, and of senders on grids that it does not have."""
        kept = self.receivers[j].grid
        self._sides = {k: v for k, v in self._sides.items() if k[2] == kept and (k[0] == "x" or k[1] == j)}

    def batched(self, i: int, j: int) -> Pair:
        """The sums over minibatches of sender i and receiver j."""
        self._sum_up()
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
                raise MeasureError("This measure needs rows, and none were kept: `keep` was 0.")
            rows, fold_of = torch.cat(self._rows[key])[: self.keep], torch.cat(self._fold_of)[: self.keep]
            self._sides[key] = Side.of(rows, fold_of=fold_of, grain=self._grains[key[0]])
        return self._sides[key]


def drawn(ids: Tensor, grid: Grid, *, seed: int, mask: Tensor | None = None) -> Tensor:
    """A position of `grid` for each sample, by its id: the same whichever batch or machine it is in.

    Of positions that do not all count, one of those that the mask (n, positions) leaves.

    >>> drawn(torch.tensor([7, 8, 7]), (4, 4), seed=0).tolist()
    [9, 10, 9]
    >>> drawn(torch.tensor([7, 7]), (3, 1), seed=0, mask=torch.tensor([[True, False, True], [False, False, True]]))
    tensor([2, 2])
    """
    number = mixed(ids, seed=seed)
    if mask is None:
        return number % (grid[0] * grid[1])
    # The places that count come first, in their order.
    places = (~mask).to(torch.uint8).argsort(dim=1, stable=True)
    return places.gather(1, (number % mask.sum(1))[:, None]).squeeze(1)


def _gram(rows: Tensor) -> Tensor:
    """The Gram matrix of the centred rows."""
    centred = rows.double() - rows.double().mean(0)
    return centred @ centred.T


def _hsic(k: Tensor, l: Tensor) -> Tensor:  # noqa: E741  (K and L are what they are called)
    """HSIC₁ of every Gram matrix in `k` (a, n, n) with every one in `l` (b, n, n): (a, b). See `_hsic.hsic`."""
    n = k.shape[1]
    own_k, own_l = k.diagonal(dim1=1, dim2=2), l.diagonal(dim1=1, dim2=2)
    quartic = own_k @ own_l.T
    totals = torch.outer(own_k.sum(1), own_l.sum(1)) / ((n - 1) * (n - 2))
    return (k.flatten(1) @ l.flatten(1).T - quartic + totals - 2 * quartic / (n - 2)) / (n * (n - 3))
