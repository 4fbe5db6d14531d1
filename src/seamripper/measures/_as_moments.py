"""A pair of rows as a pass over the same rows would have left it: by its moments, or by sums over minibatches."""

from __future__ import annotations

from torch import Tensor

from seamripper.measures._hsic import hsic_of_rows
from seamripper.measures.pair import Batched, Block, Pair, Shared, Side

_FEWEST = 4
"""HSIC₁ is defined for no fewer rows than this; a last minibatch that is smaller is left out."""


def as_moments(pair: Pair) -> Pair:
    """The same pair by its moments alone, fold by fold.

    >>> import torch
    >>> rows = torch.arange(12.0).reshape(6, 2) ** 2
    >>> pair = Pair.of(rows, rows[:, :1])
    >>> torch.allclose(as_moments(pair).sxy, pair.sxy), as_moments(pair).x.rows is None
    (True, True)
    """
    x, y, fold_of = pair.x.kept, pair.y.kept, pair.x.fold_of
    assert fold_of is not None
    folds = [(x[fold_of == number], y[fold_of == number]) for number in sorted(set(fold_of.tolist()))]
    sides = [Side(side.grain, tuple(_block(f[k]) for f in folds)) for k, side in enumerate((pair.x, pair.y))]
    return Pair(sides[0], sides[1], tuple(Shared((a - a.mean(0)).T @ (b - b.mean(0))) for a, b in folds))


def as_batches(pair: Pair, *, batch: int) -> Pair:
    """The same pair by its sums over minibatches of `batch` rows in their order, each of which is a fold.

    >>> import torch
    >>> pair = Pair.of(torch.eye(9), torch.eye(9))
    >>> as_batches(pair, batch=5).n, as_batches(pair, batch=5).folds
    (9, 2)
    """
    parts = [slice(start, start + batch) for start in range(0, pair.n - _FEWEST + 1, batch)]
    rows = [(pair.x.kept[part], pair.y.kept[part]) for part in parts]
    sums = Batched(tuple(len(x) for x, _ in rows), tuple(hsic_of_rows(x, y) for x, y in rows))
    return Pair(Side(pair.x.grain), Side(pair.y.grain), batched=sums)


def _block(rows: Tensor) -> Block:
    centred = rows - rows.mean(0)
    return Block(len(rows), rows.mean(0), centred.T @ centred)
