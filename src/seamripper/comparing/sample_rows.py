"""Sample rows: one row per sample, for what needs independent rows, or the rows themselves.

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

from seamripper._devices import to_memory
from seamripper.comparing.forms import Batch, RowForm
from seamripper.comparing.order import draw_positions, places
from seamripper.data.ids import LARGEST
from seamripper.errors import MeasureError
from seamripper.measures.hsic import FEWEST, centred_gram, hsic_of_grams
from seamripper.measures.pair import Batched, Pair, Side, grain_of
from seamripper.stitches.grids import Grid, at

_Key = tuple[str, int, Grid]
_SPARE = 32
"""Rows beyond those to be kept that wait for being dropped."""


class SampleRows:
    """One row per sample at every cut: `keep` are kept, and minibatch sums are made of all.

    Those kept are the first by `order_of`, whichever order the samples come in.
    """

    def __init__(
        self,
        senders: Sequence[RowForm],
        receivers: Sequence[RowForm],
        *,
        keep: int,
        folds: int,
        batch: int | None,
        seed: int = 0,
        known: tuple[SampleRows, Tensor] | None = None,
    ) -> None:
        """Rows to be taken; or those of `known` ones, with the receivers' samples in an order."""
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
        self._places: list[Tensor] = []
        """Where each kept row stands in the order, by which rows are dropped once there are too many."""
        self._last = LARGEST
        """Rows that come after this one are not kept."""
        self._sides: dict[_Key, Side] = {}
        self._known = known

    def add(self, batch: Batch) -> None:
        """Add maps (n, width, h, w) of the same samples. A minibatch is summed up when it is full, or its fold ends.

        Of a line of tokens (n, width, tokens, 1) one is drawn among those that the mask (n, tokens) leaves.
        """
        new = len(batch.ids)
        here = places(batch.ids, seed=self.seed)
        wanted = (here < self._last).nonzero().flatten() if self.keep else here[:0]
        if not len(wanted) and self.batch is None:
            return
        self._sides.clear()
        self._grains = {"x": grain_of(batch.sent), "y": grain_of(batch.received)}
        if batch.fold != self._fold or (self.batch is not None and self._waited + new > self.batch):
            self.settle()
        self._fold = batch.fold
        for key, rows in self._single_rows(batch):
            if self.batch is not None:
                self._waiting[key].append(rows)
            if len(wanted):
                # A copy, as every index with numbers: a slice would keep all the rows alive.
                self._rows[key].append(rows[wanted])
        self._waited += new
        if len(wanted):
            self._fold_of.append(torch.full((len(wanted),), batch.fold))
            self._places.append(here[wanted])
            self._drop()

    def _drop(self) -> None:
        """See which row is the last to be kept; drop those behind it, once they are so many that it is worth a copy."""
        here = torch.cat(self._places)
        if len(here) < self.keep:
            return
        self._last = int(here.kthvalue(self.keep).values)
        if len(here) >= self.keep + max(self.keep // 4, _SPARE):
            kept = self._rows_to_keep()
            self._rows = defaultdict(list, {key: [torch.cat(rows)[kept]] for key, rows in self._rows.items()})
            self._fold_of, self._places = [torch.cat(self._fold_of)[kept]], [here[kept]]

    def _rows_to_keep(self) -> Tensor:
        """Which of the rows that are there are kept, in their order."""
        return torch.cat(self._places).argsort(stable=True)[: self.keep]

    def _single_rows(self, batch: Batch) -> Iterator[tuple[_Key, Tensor]]:
        """The single rows of every sender on every grid, and of every receiver."""
        for grid in self.grids:
            mask = to_memory(batch.mask) if batch.mask is not None and grid[0] > 1 else None
            positions = draw_positions(batch.ids, grid, seed=self.seed, mask=mask)
            yield from ((("x", i, grid), to_memory(at(maps, grid, positions))) for i, maps in enumerate(batch.sent))
            for j, form in enumerate(self.receivers):
                if form.grid == grid:
                    yield ("y", j, grid), to_memory(at(batch.received[j], grid, positions))

    def settle(self) -> None:
        """Add the minibatch that waits to its fold's sums."""
        if self.batch is not None and self._waited >= FEWEST:
            self.counts[self._fold] += self._waited
            grams = {key: centred_gram(torch.cat(rows)) for key, rows in self._waiting.items()}
            for grid in self.grids:
                there = [j for j, form in enumerate(self.receivers) if form.grid == grid]
                x = torch.stack([grams["x", i, grid] for i in range(len(self.senders))])
                y = torch.stack([grams["y", j, grid] for j in there])
                sums = self.hsic[self._fold]
                sums[:, there, 0] += hsic_of_grams(x, x).diag()[:, None]
                sums[:, there, 1] += hsic_of_grams(x, y)
                sums[:, there, 2] += hsic_of_grams(y, y).diag()
        self._waiting.clear()
        self._waited = 0

    def merge(self, other: SampleRows) -> None:
        """Take in the rows that come after these, by the same rule."""
        rules = [(s.senders, s.receivers, s.keep, s.folds, s.batch, s.seed) for s in (self, other)]
        if rules[0] != rules[1]:
            raise MeasureError(
                "Rows can be merged only if they have the same cuts, the same rule and the same number of folds."
            )
        self.settle()
        other.settle()
        self._sides.clear()
        self.hsic += other.hsic
        self.counts = [a + b for a, b in zip(self.counts, other.counts, strict=True)]
        for key, parts in other._rows.items():
            self._rows[key] += parts
        self._fold_of += other._fold_of
        self._places += other._places
        self._grains = self._grains or other._grains
        if self._places:
            self._drop()

    def as_tensors(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """The minibatch sums and the kept rows, to be kept and taken up again."""
        self.settle()
        tensors = {"hsic": self.hsic}
        tensors |= {
            f"rows.{side}.{k}.{h}.{w}": torch.cat(rows) for (side, k, (h, w)), rows in self._rows.items() if rows
        }
        if self._fold_of:
            tensors |= {"fold_of": torch.cat(self._fold_of), "places": torch.cat(self._places)}
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
        self._places = [tensors["places"]] if "places" in tensors else []

    def forget(self, j: int) -> None:
        """Let go of the sides of every receiver but j, and of senders on grids that it does not have."""
        grid = self.receivers[j].grid
        self._sides = {k: v for k, v in self._sides.items() if k[2] == grid and (k[0] == "x" or k[1] == j)}

    def minibatch_pair(self, i: int, j: int) -> Pair:
        """The sums over minibatches of sender i and receiver j."""
        self.settle()
        filled = [k for k, n in enumerate(self.counts) if n]
        sums = tuple((float(a), float(b), float(c)) for a, b, c in self.hsic[filled, i, j])
        return Pair(Side(0.0), Side(0.0), batched=Batched(tuple(self.counts[k] for k in filled), sums))

    def pair(self, i: int, j: int) -> Pair:
        """The kept rows of sender i and receiver j."""
        grid = self.receivers[j].grid
        return Pair(self._side(("x", i, grid)), self._side(("y", j, grid)))

    def _side(self, key: _Key) -> Side:
        if self._known is not None:
            known, order = self._known
            if key[0] == "x":
                return known._side(key)
            if key not in self._sides and key[2] == (1, 1) and len(order) <= self.keep:
                # Without positions, and with all of them kept, they are the known rows in another order. The order is
                # that of the pass, which sums on disk take fold by fold.
                kept = known._rows_to_keep()
                self._sides[key] = known._side(key).in_order(kept.argsort()[order[kept]])
        if key not in self._sides:
            if not self._rows[key]:
                raise MeasureError("This measure needs rows, and none were kept: `keep` was 0.")
            kept = self._rows_to_keep()
            rows, fold_of = torch.cat(self._rows[key])[kept], torch.cat(self._fold_of)[kept]
            self._sides[key] = Side.of(rows, fold_of=fold_of, grain=self._grains[key[0]])
        return self._sides[key]
