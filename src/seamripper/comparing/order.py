"""Order and positions: in which order a pass takes the samples, and which position of each makes its single row.

Both follow from a hash of the samples' ids, as data may come sorted by class. Folds, minibatches and kept rows are all
parts of that order, the same on every machine.
"""

from __future__ import annotations

import torch
from torch import Tensor

from seamripper.stitches.grids import Grid

_SALT = 0x5EA3


def order_of(ids: Tensor, *, seed: int) -> Tensor:
    """The order of samples with these ids.

    >>> order_of(torch.arange(6), seed=0).tolist()
    [1, 2, 4, 5, 0, 3]
    """
    return torch.argsort(hash_ids(ids, seed=seed ^ _SALT), stable=True)


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


def hash_ids(ids: Tensor, *, seed: int) -> Tensor:
    """A number below 2³² for each id; those of ids that follow each other are far apart."""
    # The finaliser of splitmix32 (Steele, Lea & Flood 2014).
    mixed = (ids + 0x9E3779B9 * (seed + 1)) & 0xFFFFFFFF
    for shift, factor in ((16, 0x21F0AAAD), (15, 0x735A2D97)):
        mixed = ((mixed ^ (mixed >> shift)) * factor) & 0xFFFFFFFF
    return mixed ^ (mixed >> 15)
