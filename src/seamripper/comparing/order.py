"""Order and positions: in which order a pass takes the samples, and which position of each makes its single row.

Both follow from a hash of the samples' ids, as data may come sorted by class. Folds, minibatches and kept rows are all
parts of that order, the same on every machine. Samples of a stream are taken as they come, and `deal` gives each to the
fold that it has in memory.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from seamripper.data.ids import LARGEST, hash_ids
from seamripper.data.samples import Samples, join_samples
from seamripper.data.stream import Stream
from seamripper.stitches.grids import Grid

_SALT = 0x5EA3


def order_of(ids: Tensor, *, seed: int) -> Tensor:
    """The order of samples with these ids.

    >>> order_of(torch.arange(6), seed=0).tolist()
    [1, 2, 4, 5, 0, 3]
    """
    return torch.argsort(places(ids, seed=seed), stable=True)


def places(ids: Tensor, *, seed: int) -> Tensor:
    """A number for each sample, by its id: whichever order they come in, `order_of` is that of these numbers."""
    return hash_ids(ids, seed=seed ^ _SALT)


def draw_positions(ids: Tensor, grid: Grid, *, seed: int, mask: Tensor | None = None) -> Tensor:
    """A position of `grid` for each sample, by its id: the same whichever batch or machine it is in.

    Where a mask (n, positions) says which positions count, one of those.

    >>> draw_positions(torch.tensor([7, 8, 7]), (4, 4), seed=0).tolist()
    [9, 10, 9]
    >>> mask = torch.tensor([[True, False, True], [False, False, True]])
    >>> draw_positions(torch.tensor([7, 7]), (3, 1), seed=0, mask=mask)
    tensor([2, 2])
    """
    number = hash_ids(ids, seed=seed)
    if mask is None:
        return number % (grid[0] * grid[1])
    # The positions that count come first, in their order.
    positions = (~mask).to(torch.uint8).argsort(dim=1, stable=True)
    return positions.gather(1, (number % mask.sum(1))[:, None]).squeeze(1)


def deal(stream: Stream, *, batch: int, folds: int, seed: int) -> Iterator[tuple[Samples, int]]:
    """Batches of a stream, each of one fold: samples wait until their fold has a batch of them.

    If the number of samples is known, each is in the fold that it has in memory. If not, a fold is a range of `places`.

    >>> some = Stream("some", lambda: iter([(torch.zeros(8, 2), None)]), ids=torch.arange(8))
    >>> [(samples.ids.tolist(), fold) for samples, fold in deal(some, batch=2, folds=2, seed=0)]
    [([1, 2], 0), ([0, 3], 1), ([5, 7], 0), ([4, 6], 1)]
    """
    known = None if stream.ids is None else _folds_in_memory(stream.ids, batch=batch, folds=folds, seed=seed)
    waiting: list[list[Samples]] = [[] for _ in range(folds)]
    start = 0
    for chunk in stream.chunks(batch):
        stop = start + len(chunk)
        mine = places(chunk.ids, seed=seed) * folds // LARGEST if known is None else known[start:stop]
        start = stop
        for fold in sorted(set(mine.tolist())):
            waiting[fold].append(chunk.take(mine == fold))
            if sum(map(len, waiting[fold])) >= batch:
                whole = join_samples(waiting[fold])
                yield whole.first(batch), fold
                waiting[fold] = [whole.take(slice(batch, None))] if len(whole) > batch else []
    yield from ((join_samples(rest), fold) for fold, rest in enumerate(waiting) if rest)


def _folds_in_memory(ids: Tensor, *, batch: int, folds: int, seed: int) -> Tensor:
    """The fold of each sample when batches of `order_of` go to one fold after another."""
    numbers = (torch.arange(len(ids)) // batch % folds).to(torch.uint8 if folds < 256 else torch.int32)
    fold_of = torch.empty_like(numbers)
    fold_of[order_of(ids, seed=seed)] = numbers
    return fold_of
