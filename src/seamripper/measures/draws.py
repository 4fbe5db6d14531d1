"""Draws: generic data that the contract puts to a measure, what is done to them, and how a pass would leave them."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from seamripper.measures.base import Claims, Transformation
from seamripper.measures.hsic import FEWEST, hsic_of_rows
from seamripper.measures.pair import Batched, FoldMoments, Pair, Side

_SIZES = ((60, 6, 5), (90, 5, 7), (120, 6, 6))
"""Rows, columns of x and columns of y of each draw."""
_STRETCH = (3.0, 30.0, 1000.0)
"""How much more an invertible map stretches one direction than another, draw by draw."""


@dataclass(frozen=True, eq=False)
class Draw:
    """x; a y that has something in common with it; `near`, almost x; `far`, of x's width, that has nothing."""

    seed: int
    x: Tensor
    y: Tensor
    near: Tensor
    far: Tensor


def draws(claims: Claims) -> list[Draw]:
    """Three draws, always the same, of different sizes; of equal widths if the measure wants them."""
    sizes = [(max(n, claims.fewest), p, p if claims.same_width else q) for n, p, q in _SIZES]
    return [_draw(seed, *size) for seed, size in enumerate(sizes)]


def few_rows(claims: Claims) -> tuple[Tensor, Tensor]:
    """Unrelated x and y with fewer rows than columns."""
    n, more = max(10, claims.fewest), 0 if claims.same_width else 2
    g = torch.Generator().manual_seed(7)
    return _generic(n, n + 4, g), _uneven(n, n + 4 + more, g)


def transform(x: Tensor, how: Transformation, seed: int) -> Tensor:
    """x + c, a·x, x Q, x with its columns permuted, or x M."""
    g, p = torch.Generator().manual_seed(100 + seed), x.shape[1]
    if how == "translation":
        return x + 2 * _normal(1, p, g)
    if how == "scaling":
        return (2.5, 0.3, 7.0)[seed] * x
    if how == "orthogonal":
        return x @ _orthogonal(p, g)
    if how == "permutation":
        # Shifted in a circle, so that no column stays where it is.
        return x.roll(1 + seed % (p - 1), dims=1)
    stretch = torch.logspace(0, 1, p, base=_STRETCH[seed], dtype=torch.float64)
    return x @ (_orthogonal(p, g) * stretch) @ _orthogonal(p, g)


def _draw(seed: int, n: int, p: int, q: int) -> Draw:
    g = torch.Generator().manual_seed(seed)
    x = _generic(n, p, g)
    mixed = (x - x.mean(0)) @ _normal(p, q, g) + 1.5 * _normal(n, q, g)
    y = 1.5 * mixed + _normal(1, q, g) + 1
    return Draw(seed, x, y, near=x + 0.03 * _normal(n, p, g), far=_uneven(n, p, g))


def _generic(n: int, p: int, g: torch.Generator) -> Tensor:
    """Rows about a mean that is not zero, in columns of different spread that go together a little."""
    spread = torch.linspace(0.6, 1.6, p, dtype=torch.float64)
    return (_normal(n, p, g) * spread) @ (torch.eye(p) + 0.3 * _normal(p, p, g)) + _normal(1, p, g)


def _uneven(n: int, p: int, g: torch.Generator) -> Tensor:
    """Rows that lie far out, and along some directions much more than along others."""
    spread = torch.logspace(0.7, -1.5, p, dtype=torch.float64)
    return (_normal(n, p, g) * spread) @ _orthogonal(p, g) + 3 * _normal(1, p, g)


def _normal(n: int, p: int, g: torch.Generator) -> Tensor:
    return torch.randn(n, p, generator=g, dtype=torch.float64)


def _orthogonal(p: int, g: torch.Generator) -> Tensor:
    q: Tensor = torch.linalg.qr(_normal(p, p, g)).Q
    return q


def as_moments(pair: Pair) -> Pair:
    """The same pair by its moments alone, fold by fold.

    >>> import torch
    >>> rows = torch.arange(12.0).reshape(6, 2) ** 2
    >>> pair = Pair.of(rows, rows[:, :1])
    >>> torch.allclose(as_moments(pair).sxy, pair.sxy), as_moments(pair).x.rows is None
    (True, True)
    """
    x, y, fold_of = pair.x.matrix, pair.y.matrix, pair.x.fold_of
    assert fold_of is not None
    folds = [(x[fold_of == number], y[fold_of == number]) for number in sorted(set(fold_of.tolist()))]
    sides = [Side(side.grain, tuple(_block(f[k]) for f in folds)) for k, side in enumerate((pair.x, pair.y))]
    return Pair(sides[0], sides[1], tuple((a - a.mean(0)).T @ (b - b.mean(0)) for a, b in folds))


def as_batches(pair: Pair, *, batch: int) -> Pair:
    """The same pair by its sums over minibatches of `batch` rows in their order, each of which is a fold.

    >>> import torch
    >>> pair = Pair.of(torch.eye(9), torch.eye(9))
    >>> as_batches(pair, batch=5).n, as_batches(pair, batch=5).folds
    (9, 2)
    """
    parts = [slice(start, start + batch) for start in range(0, pair.n - FEWEST + 1, batch)]
    rows = [(pair.x.matrix[part], pair.y.matrix[part]) for part in parts]
    sums = Batched(tuple(len(x) for x, _ in rows), tuple(hsic_of_rows(x, y) for x, y in rows))
    return Pair(Side(pair.x.grain), Side(pair.y.grain), batched=sums)


def _block(rows: Tensor) -> FoldMoments:
    centred = rows - rows.mean(0)
    return FoldMoments(len(rows), rows.mean(0), centred.T @ centred)
