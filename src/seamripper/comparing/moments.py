"""Moments of all cuts of two models and of all their pairs, accumulated in one pass, fold by fold, in float64.

Sums are about an origin, the mean of the first batch, so that a large mean takes no digits from the spread. Two halves
of the data accumulated apart and merged are the same as one pass, and memory does not grow with the number of samples.

Products may be made in float32, twice as fast: a few thousand rows at a time, each such part added up in float64.
They may also be made in float64 throughout; the tests hold the fast way to that.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from seamripper._devices import MAIN_MEMORY, float64_home, in_float64, move
from seamripper.comparing.forms import Batch, RowForm
from seamripper.comparing.shelf import Shelf
from seamripper.errors import MeasureError
from seamripper.measures.pair import FoldMoments, Pair, Side, grain_of
from seamripper.stitches.grids import Grid, adjoint, resize, resized_and_back, shares

_BLOCK = 128
"""Symmetric products are made in blocks of this many columns, those below the diagonal left out."""

_ROWS = 4096
"""So many rows are multiplied in float32 before they are added up in float64."""

_FEW_ROWS = 512
"""Fewer rows wait for more, whatever the batch: averages, say, of which a sample has one."""

_PART = 1024
"""Products are added up, and folds change places, so many rows of a sum at a time."""

_EPS = torch.finfo(torch.float32).eps


class CutMoments:
    """The moments of the senders' cuts and the receivers': add batches, merge, and read off any `pair`.

    For a pair, the sender's map is resized to the receiver's, and each position is a row. Products of maps of different
    size are made on the smaller one: with a larger sender after resizing it, with a larger receiver by the adjoint.
    """

    def __init__(
        self,
        senders: Sequence[RowForm],
        receivers: Sequence[RowForm],
        *,
        folds: int,
        batch: int = 128,
        products: torch.dtype = torch.float64,
        known: CutMoments | None = None,
        shelf: Shelf | None = None,
    ) -> None:
        """Moments to be added up; or those of `known` ones, with the receivers' samples in another order.

        As no sample has moved to another fold, the sides stay as they are, and only products of two sides are added up.
        On a `shelf`, the sums of a fold take memory only while they are added to: give the folds one after another.
        """
        self.senders, self.receivers = tuple(senders), tuple(receivers)
        self.folds, self.products = folds, products
        self.counts = [0] * folds
        """Samples in each fold."""
        self.left_out = [0] * folds
        """Tokens in each fold that are padding, and so make no row."""
        self.origins: dict[tuple[str, int], Tensor] = {} if known is None else known.origins
        self._known, self._shelf = known, shelf
        self.grains = {"x": 0.0, "y": 0.0}
        grids = sorted({form.grid for form in (*senders, *receivers)})
        zeros = _zeros if shelf is None else shelf.zeros
        self._grids = {grid: _GridSums(grid, self.senders, self.receivers, folds, zeros) for grid in grids}
        if known is not None:
            for sums_here in self._grids.values():
                sums_here.own.clear()
        self._xs = _Buffers(self.senders, {g: m.xs for g, m in self._grids.items()}, resize, batch, products)
        self._ys = _Buffers(self.receivers, {g: m.ys for g, m in self._grids.items()}, adjoint, batch, products)
        self._fold, self._home = 0, MAIN_MEMORY
        self._sides: dict[tuple[str, int, Grid], Side] = {}

    def add(self, batch: Batch) -> None:
        """Add the maps (n, width, h, w) of every sender and of every receiver, on the same samples.

        They are multiplied when a batch of one fold is full: the more rows at once, the less a product costs. Where a
        map is a line of tokens (n, width, tokens, 1), the mask (n, tokens) tells which of them count: the others are
        put at the origin, where they add nothing to any sum, and are not counted as rows.
        """
        sent, received, fold, mask = batch.sent, batch.received, batch.fold, batch.mask
        self._sides.clear()
        self._settle_on(sent[0].device)
        if not self.origins:
            self.origins = {("x", i): _mean(maps, mask) for i, maps in enumerate(sent)}
            self.origins |= {("y", j): _mean(maps, mask) for j, maps in enumerate(received)}
        self._coarsen({"x": grain_of(sent), "y": grain_of(received)})
        n = len(sent[0])
        if fold != self._fold:
            self._multiply()
            self._let_go()
        self._fold = fold
        self.counts[fold] += n
        self.left_out[fold] += 0 if mask is None else int((~mask).sum())
        self._multiply(room_for=n)
        self._xs.put(sent, [self.origins["x", i] for i in range(len(sent))], mask)
        self._ys.put(received, [self.origins["y", j] for j in range(len(received))], mask)
        self._multiply(room_for=1)

    def _coarsen(self, grains: Mapping[str, float]) -> None:
        """What is added to coarse numbers leaves them coarse."""
        self.grains = {side: max(grain, grains[side]) for side, grain in self.grains.items()}

    def _settle_on(self, device: torch.device) -> None:
        """Have the sums where the activations are, or in main memory beside a device that has no float64."""
        home = float64_home(device)
        if home == self._home:
            return
        self._home = home
        for sums_here in self._grids.values():
            sums_here.move(home)
        self.origins = {key: move(origin, home) for key, origin in self.origins.items()}

    def settle(self) -> None:
        """Multiply all that is waiting, and bring the sums to main memory, where the measures are computed."""
        self._multiply()
        for waiting in (self._xs, self._ys):
            waiting.room.clear()
        self._settle_on(MAIN_MEMORY)

    def _let_go(self, *, freed: bool = True) -> None:
        if self._shelf is not None:
            self._shelf.let_go(freed=freed)

    def _multiply(self, *, room_for: int | None = None) -> None:
        """Multiply what is waiting, and add it up; or only what would leave no room for so many samples more."""
        for grid, sums_here in self._grids.items():
            if self._xs.used[grid] and (room_for is None or not self._xs.fits(grid, room_for)):
                sums_here.add(self._xs.take(grid), self._ys.take(grid), self._fold)

    def merge(self, other: CutMoments) -> None:
        """Take in what was accumulated elsewhere, by the same rule."""
        rules = [(m.senders, m.receivers, m.folds, m.products) for m in (self, other)]
        if rules[0] != rules[1]:
            raise MeasureError(
                "Moments can be merged only if they have the same cuts, the same rule and the same number of folds."
            )
        self.settle()
        other.settle()
        if not other.origins:
            return
        if self.origins:
            # Moved to the other's origins and not the other way round, as the other is not ours to change.
            self._move({key: origin - other.origins[key] for key, origin in self.origins.items()})
        self.origins = other.origins
        self._coarsen(other.grains)
        self._sides.clear()
        self.counts = [a + b for a, b in zip(self.counts, other.counts, strict=True)]
        self.left_out = [a + b for a, b in zip(self.left_out, other.left_out, strict=True)]
        for grid, sums_here in self._grids.items():
            for mine, theirs in zip(sums_here.sums(), other._grids[grid].sums(), strict=True):
                mine += theirs

    def rotate_folds(self, by: int) -> None:
        """Call fold k fold k + `by` from now on: samples that were dealt in turn, counted from another number."""
        self._multiply()
        self._sides.clear()
        at = -by % self.folds
        self.counts = self.counts[at:] + self.counts[:at]
        self.left_out = self.left_out[at:] + self.left_out[:at]
        for total in self._sums():
            for part in torch.split(total, _PART, dim=1):
                part.copy_(part.roll(by, 0))

    def as_tensors(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """The sums, their origins and counts, to be kept and taken up again."""
        self.settle()
        tensors = {f"origin.{side}.{k}": origin for (side, k), origin in self.origins.items()}
        tensors |= {f"sum.{k}": total for k, total in enumerate(self._sums())}
        return tensors, {"counts": list(self.counts), "left_out": list(self.left_out), "grains": dict(self.grains)}

    def take_tensors(self, tensors: Mapping[str, Tensor], record: Mapping[str, Any]) -> None:
        """Take up what `as_tensors` wrote down, in the place of what is here."""
        self.counts, self.left_out = list(record["counts"]), list(record["left_out"])
        self.grains = dict(record["grains"])
        names = [name for name in tensors if name.startswith("origin.")]
        self.origins = {(name.split(".")[1], int(name.split(".")[2])): tensors[name] for name in names}
        for k, total in enumerate(self._sums()):
            total.copy_(tensors[f"sum.{k}"])
        self._sides.clear()

    def _sums(self) -> Iterator[Tensor]:
        """Every accumulator, in a fixed order."""
        return itertools.chain.from_iterable(sums_here.sums() for sums_here in self._grids.values())

    def _move(self, by: Mapping[tuple[str, int], Tensor]) -> None:
        """Sums of x + d and y + e in place of those of x and y."""
        for (i, sender), (j, receiver) in itertools.product(enumerate(self.senders), enumerate(self.receivers)):
            d, e, (x, _), (y, _) = (
                by["x", i],
                by["y", j],
                self._own("x", i, receiver.grid),
                self._own("y", j, receiver.grid),
            )
            small = _where(sender.grid, receiver.grid)
            _shift(self._grids[small].cross_of(i, j), x, y, d, e, self._rows(receiver.grid))
        for sums_here in self._grids.values():
            for (which, k, grid), (total, gram) in sums_here.own.items():
                rows, d = self._rows(grid), by[which, k]
                _shift(gram, total, total, d, d, rows)
                total += rows[:, None] * d

    def _rows(self, grid: Grid) -> Tensor:
        return torch.tensor([self._rows_in(fold, grid) for fold in range(self.folds)], dtype=torch.float64)

    def _rows_in(self, fold: int, grid: Grid) -> int:
        """How many rows of a fold there are on a grid; of a vector all, whatever tokens are padding."""
        places = _places(grid)
        return self.counts[fold] * places - (self.left_out[fold] if places > 1 else 0)

    def _own(self, which: str, k: int, grid: Grid) -> tuple[Tensor, Tensor]:
        form = (self.senders if which == "x" else self.receivers)[k]
        return self._grids[_where(form.grid, grid)].own[which, k, grid]

    def pair(self, i: int, j: int) -> Pair:
        """Sender i and receiver j."""
        self.settle()
        target = self.receivers[j].grid
        x, y = self.side("x", i, target), self.side("y", j, target)
        cross = self._grids[_where(self.senders[i].grid, target)].cross_of(i, j)
        means = [b.mean - self.origins["x", i] for b in x.blocks], [c.mean - self.origins["y", j] for c in y.blocks]
        filled = [k for k, n in enumerate(self.counts) if n]
        crosses = tuple(
            cross[k] - block.n * torch.outer(mean, other)
            for k, block, mean, other in zip(filled, x.blocks, *means, strict=True)
        )
        # Pair by pair, all sums of all folds would come to be in memory.
        self._let_go(freed=False)
        return Pair(x, y, crosses)

    def side(self, which: str, k: int, grid: Grid) -> Side:
        """Sender ("x") or receiver ("y") k with its map resized to `grid`; made once, as many pairs ask for it."""
        if self._known is not None:
            return self._known.side(which, k, grid)
        self.settle()
        if (which, k, grid) not in self._sides:
            total, gram = self._own(which, k, grid)
            if not bool(torch.isfinite(gram).all()):
                name = (self.senders if which == "x" else self.receivers)[k].cut.name
                raise MeasureError(f"Sums at {name!r} overflowed: its activations are too large for {self.products}.")
            blocks = []
            for fold, n in enumerate(self.counts):
                if n:
                    rows = self._rows_in(fold, grid)
                    mean = total[fold] / rows
                    s = _mirror(gram[fold]) - rows * torch.outer(mean, mean)
                    blocks.append(FoldMoments(rows, mean + self.origins[which, k], s))
            self._sides[which, k, grid] = Side(
                self.grains[which], tuple(blocks), rounding=self._rounding(sum(b.n for b in blocks))
            )
        return self._sides[which, k, grid]

    def _rounding(self, rows: int) -> float:
        """What float32 products leave of rounding in any direction, as a share of tr S."""
        if self.products == torch.float64:
            return 0.0
        return _EPS / math.sqrt(max(1.0, rows / _ROWS))

    def forget(self, j: int) -> None:
        """Let go of every side but those on the grid of receiver j, and of the other receivers'."""
        grid = self.receivers[j].grid
        self._sides = {k: v for k, v in self._sides.items() if k[2] == grid and (k[0] == "x" or k[1] == j)}
        self._let_go()

    @property
    def bytes(self) -> int:
        """What the sums take in memory."""
        return sum(t.numel() * 8 for sums_here in self._grids.values() for t in sums_here.sums())


class _GridSums:
    """Everything that is multiplied on one grid.

    Here live some senders and receivers; larger senders come resized, larger receivers come through the adjoint. A
    sender that lives here also adds up its own moments as they are when it is resized to a larger receiver's grid.
    """

    def __init__(
        self,
        grid: Grid,
        senders: Sequence[RowForm],
        receivers: Sequence[RowForm],
        folds: int,
        zeros: Callable[..., Tensor],
    ) -> None:
        self.grid = grid
        here, there, shrunk, brought = _members(grid, senders, receivers)
        self.xs, self.ys = _Stack([*here, *shrunk], senders), _Stack([*there, *brought], receivers)
        self.here, self.there = _Stack(here, senders).width, _Stack(there, receivers).width
        self.cross = zeros(folds, self.xs.width, self.there)
        self.grown = zeros(folds, self.here, self.ys.width - self.there)
        self.larger = sorted({receivers[j].grid for j in brought})
        keys = [("x", i, grid) for i in self.xs.members if there] + [("x", i, g) for i in here for g in self.larger]
        keys += [("y", j, grid) for j in there]
        widths = {"x": [form.width for form in senders], "y": [form.width for form in receivers]}
        self.own = {
            (side, k, g): (zeros(folds, widths[side][k]), zeros(folds, widths[side][k], widths[side][k]))
            for side, k, g in keys
        }

    def sums(self) -> Iterator[Tensor]:
        """Every accumulator, in a fixed order."""
        return itertools.chain((self.cross, self.grown), *self.own.values())

    def move(self, device: torch.device) -> None:
        """Have every accumulator on this device."""
        self.cross, self.grown = move(self.cross, device), move(self.grown, device)
        self.own = {key: (move(total, device), move(gram, device)) for key, (total, gram) in self.own.items()}

    def cross_of(self, i: int, j: int) -> Tensor:
        """Σ x yᵀ of sender i and receiver j, fold by fold."""
        at = self.ys.slice(j)
        if at.start < self.there:
            return self.cross[:, self.xs.slice(i), at]
        return self.grown[:, self.xs.slice(i), at.start - self.there : at.stop - self.there]

    def add(self, xs: Tensor, ys: Tensor, fold: int) -> None:
        """Add a batch of stacked maps (width, n, h, w)."""
        x, y = xs.flatten(1), ys.flatten(1)
        _add(self.cross[fold], x, y[: self.there])
        _add(self.grown[fold], x[: self.here], y[self.there :])
        for (side, k, grid), (total, gram) in self.own.items():
            if grid == self.grid:
                rows = x[self.xs.slice(k)] if side == "x" else y[self.ys.slice(k)]
                total[fold] += _total(rows)
                _add_symmetric(gram[fold], rows, rows)
        for k in self.xs.members if self.larger else ():
            if ("x", k, self.larger[0]) in self.own:
                self._add_grown(k, xs[self.xs.slice(k)], fold)

    def _add_grown(self, k: int, maps: Tensor, fold: int) -> None:
        """A sender's own moments on the larger grids of some receivers, from its map as it is."""
        added = in_float64(maps.sum(1))
        for grid, other in zip(self.larger, resized_and_back(maps, *self.larger), strict=True):
            total, gram = self.own["x", k, grid]
            total[fold] += (added * move(shares(self.grid, grid), added.device)).sum((1, 2))
            _add_symmetric(gram[fold], maps.flatten(1), other.flatten(1))


def _members(
    grid: Grid, senders: Sequence[RowForm], receivers: Sequence[RowForm]
) -> tuple[list[int], list[int], list[int], list[int]]:
    """Who meets on a grid: senders and receivers that live here, larger senders, and larger receivers."""
    here = [i for i, form in enumerate(senders) if form.grid == grid]
    there = [j for j, form in enumerate(receivers) if form.grid == grid]
    shrunk = [i for i, form in enumerate(senders) if _shrinks(form.grid, grid)] if there else []
    brought = [j for j, form in enumerate(receivers) if _grows(grid, form.grid)] if here else []
    return here, there, shrunk, brought


def buffer_size(senders: Sequence[RowForm], receivers: Sequence[RowForm], *, batch: int, at_once: int) -> int:
    """How many numbers wait for being multiplied, at most, if samples come `at_once`."""
    numbers = 0
    for grid in {form.grid for form in (*senders, *receivers)}:
        here, there, shrunk, brought = _members(grid, senders, receivers)
        width = sum(senders[i].width for i in (*here, *shrunk)) + sum(receivers[j].width for j in (*there, *brought))
        numbers += width * max(at_once, _most_waiting(grid, batch)) * _places(grid)
    return numbers


def _most_waiting(grid: Grid, batch: int) -> int:
    """Enough samples for a product of `_ROWS` rows: fewer cost more each, and more would not stay in the cache.

    But no more than a batch, unless that has so few rows that adding up their product costs more than making it.
    """
    most, least = (-(-rows // _places(grid)) for rows in (_ROWS, _FEW_ROWS))
    return min(max(batch, least), most)


class _Stack:
    """Some cuts, their columns one below the other, so that one product serves them all."""

    def __init__(self, members: Sequence[int], forms: Sequence[RowForm]) -> None:
        self.members = tuple(members)
        ends = list(itertools.accumulate((forms[k].width for k in members), initial=0))
        self.width = ends[-1]
        self._slices = {k: slice(*ends[at : at + 2]) for at, k in enumerate(members)}

    def slice(self, k: int) -> slice:
        """Where the columns of cut k are."""
        return self._slices[k]


class _Buffers:
    """The stacks (width, n, h, w) of every grid: each map where it lives, and brought to where it is wanted."""

    def __init__(
        self,
        forms: Sequence[RowForm],
        stacks: Mapping[Grid, _Stack],
        bring: Callable[..., list[Tensor]],
        batch: int,
        dtype: torch.dtype,
    ) -> None:
        self.forms, self.stacks, self.bring, self.dtype = forms, stacks, bring, dtype
        self.sizes = {grid: _most_waiting(grid, batch) for grid in stacks}
        self.room: dict[Grid, Tensor] = {}
        self.used = dict.fromkeys(stacks, 0)

    def fits(self, grid: Grid, n: int) -> bool:
        """Whether there is room for n more samples; there always is for some."""
        return self.used[grid] == 0 or self.used[grid] + n <= self.sizes[grid]

    def put(self, maps: Sequence[Tensor], origins: Sequence[Tensor], mask: Tensor | None = None) -> None:
        """Put in the maps of some samples, about their origins; tokens that do not count are put at them."""
        n = len(maps[0])
        device = float64_home(maps[0].device) if self.dtype == torch.float64 else maps[0].device
        mask = None if mask is None else move(mask, device)
        for grid, stack in self.stacks.items():
            if grid not in self.room or n > self.sizes[grid] or self.room[grid].device != device:
                # Kept from batch to batch: to ask for so much memory anew costs as much as filling it.
                self.sizes[grid] = max(n, self.sizes[grid])
                self.room[grid] = torch.empty(stack.width, self.sizes[grid], *grid, dtype=self.dtype, device=device)
        for k, form in enumerate(self.forms):
            own = self._place(k, form.grid, n)
            origin = move(origins[k].to(self.dtype), device)
            torch.sub(move(maps[k], device).transpose(0, 1), origin[:, None, None, None], out=own)
            if mask is not None and _places(form.grid) > 1:
                own.masked_fill_(~mask[None, :, :, None], 0)
            wanted = [grid for grid, stack in self.stacks.items() if k in stack.members and grid != form.grid]
            for grid, other in zip(wanted, self.bring(own, *wanted), strict=True):
                self._place(k, grid, n).copy_(other)
        self.used = {grid: used + n for grid, used in self.used.items()}

    def _place(self, k: int, grid: Grid, n: int) -> Tensor:
        """Where the next n maps of cut k go on a grid."""
        return self.room[grid][self.stacks[grid].slice(k), self.used[grid] : self.used[grid] + n]

    def take(self, grid: Grid) -> Tensor:
        """What was put in on a grid, which lasts until more is."""
        rows = self.room[grid][:, : self.used[grid]]
        self.used[grid] = 0
        return rows


def _places(grid: Grid) -> int:
    return grid[0] * grid[1]


def _shrinks(sender: Grid, receiver: Grid) -> bool:
    """Whether a sender's map is resized outright: it has as many positions as the receiver's, or more."""
    return sender != receiver and _places(sender) >= _places(receiver)


def _grows(sender: Grid, receiver: Grid) -> bool:
    return _places(sender) < _places(receiver)


def _where(sender: Grid, receiver: Grid) -> Grid:
    """The grid on which a sender meets a receiver: the smaller one."""
    return sender if _grows(sender, receiver) else receiver


def _zeros(*shape: int) -> Tensor:
    return torch.zeros(shape, dtype=torch.float64)


def _mean(maps: Tensor, mask: Tensor | None = None) -> Tensor:
    """The mean of each channel, as the maps' own precision has it: subtracting it then makes no rounding of its own."""
    if mask is not None and maps.shape[2] > 1:
        mean = in_float64(maps[..., 0].mT[mask]).mean(0)
    else:
        mean = in_float64(maps).mean((0, 2, 3))
    return mean.to(maps.dtype).double()


def _shift(product: Tensor, x: Tensor, y: Tensor, d: Tensor, e: Tensor, rows: Tensor) -> None:
    """Σ (x + d)(y + e)ᵀ in place of Σ x yᵀ, fold by fold, given Σ x and Σ y."""
    product += d[:, None] * y[:, None] + x[:, :, None] * e + rows[:, None, None] * torch.outer(d, e)


def _total(x: Tensor) -> Tensor:
    """Σ x over the rows of columns (width, rows): parts in their own precision, added up in float64."""
    return in_float64(torch.stack([part.sum(1) for part in torch.split(x, _ROWS, dim=1)])).sum(0)


def _add(total: Tensor, x: Tensor, y: Tensor) -> None:
    """Add x yᵀ, for columns (width, rows)."""
    if not total.numel():
        return
    if x.dtype == torch.float64:
        total.addmm_(x, y.T)
        return
    for start in range(0, x.shape[1], _ROWS):
        rows = slice(start, start + _ROWS)
        # A part of the product at a time: a whole one, and its float64 form, would be half as much as wide sums again.
        for part, columns in zip(torch.split(total, _PART), torch.split(x, _PART), strict=True):
            part += move(columns[:, rows] @ y[:, rows].T, total.device)


def _add_symmetric(total: Tensor, x: Tensor, y: Tensor) -> None:
    """Add x yᵀ, known to be symmetric: its upper blocks only."""
    for start in range(0, len(total), _BLOCK):
        rows = slice(start, start + _BLOCK)
        _add(total[rows, start:], x[rows], y[start:])


def _mirror(total: Tensor) -> Tensor:
    """The whole of a symmetric matrix whose upper blocks were added up."""
    whole = total.triu()
    return whole.add_(whole.triu(1).T)
