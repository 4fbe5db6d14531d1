"""Alignment: columns of one representation matched with columns of the other, by rotation or one to one."""

from __future__ import annotations

import math

import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from seamripper.measures.base import TRANSFORMATIONS, Claims, Transformation
from seamripper.measures.memo import recall
from seamripper.measures.pair import Pair, Side

SUBSPACES = Claims(
    "similarity",
    symmetric=True,
    range=(0.0, 1.0),
    self_score=1.0,
    invariant_to=frozenset(TRANSFORMATIONS),
    spans=True,
)
"""What a similarity of the subspaces that two sides span claims: it is blind to any invertible map."""

UNITS = frozenset[Transformation]({"translation", "scaling", "permutation"})
"""What a measure of single units does not see; a rotation mixes them, and it does see that."""

_ROUNDS = 64
"""How often potentials are improved; good ones are as exact as perfect ones, only slower to solve from."""

ROUNDING = 64 * torch.finfo(torch.float64).eps
"""What part of a sum of squares its rounding may be."""


def projection_weights(side: Side, directions: Tensor) -> Tensor:
    """αᵢ = Σⱼ |⟨hᵢ, xⱼ⟩| over the centred columns xⱼ of a side, for each hᵢ = (its whitened rows) · directionᵢ.

    The whitened rows are C W, and Cᵀ C W = E √Λ with S = E Λ Eᵀ.
    """
    weights: Tensor = torch.linalg.vector_norm(side.loadings @ directions, ord=1, dim=0)
    return weights


def gap(pair: Pair, overlap: float) -> float:
    """1 − overlap / (‖X‖ ‖Y‖) for centred X, Y: 0 if one is the other, aligned and scaled; 2 if it is its negative.

    `overlap` is the greatest ⟨X Q, Y⟩ over the maps Q that are allowed: ‖Sxy‖_* for rotations. A gap that the
    rounding of these sums can make is no gap: distances are its roots, and would show 1e-16 as 1e-8.

    >>> pair = Pair.of(torch.tensor([[1.0], [0.0], [-1.0], [0.0]]), torch.tensor([[0.0], [2.0], [0.0], [-2.0]]))
    >>> gap(pair, pair.nuclear), gap(pair, -4.0)
    (1.0, 2.0)
    """
    width = 1 - overlap / math.sqrt(pair.x.total * pair.y.total)
    return 0.0 if width <= max(_rounding(pair.x), _rounding(pair.y)) else min(width, 2.0)


def _rounding(side: Side) -> float:
    """What part of ‖X‖² its sums may be off by. Moments were summed about zero, so a large mean costs them digits."""
    if side.rows is not None:
        return ROUNDING
    return ROUNDING * (1 + side.n * float(side.mean @ side.mean) / side.total)


def correlations(pair: Pair) -> Tensor:
    """The correlation of every column of x with every column of y, Sxy / √(Sxx Syy), (p, q).

    A dead column (constant, up to rounding) has no correlation; here it is 0.

    >>> x = torch.tensor([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0]])
    >>> correlations(Pair.of(x, -x[:, :1])).round(decimals=6)
    tensor([[-1.],
            [ 0.]], dtype=torch.float64)
    """
    return recall(pair, "correlations", lambda: _correlations(pair))


def _correlations(pair: Pair) -> Tensor:
    ratios = pair.sxy / _squares(pair.x).sqrt()[:, None]
    ratios /= _squares(pair.y).sqrt()
    # A correlation beyond 1 is rounding.
    return ratios.clamp_(-1.0, 1.0)


def _squares(side: Side) -> Tensor:
    """Sii for each column, and infinity for a dead one, so that what is divided by it is 0."""
    squares = torch.diagonal(side.s)
    # Moments were summed about zero: what a constant column leaves is then the rounding of its mean's square.
    least = 4 * side.grain**2 if side.rows is not None else max(4 * side.grain**2, ROUNDING)
    dead = squares <= least * (squares + side.n * side.mean**2)
    return squares.masked_fill(dead, torch.inf)


def best_assignment(scores: Tensor, hints: dict[str, Tensor] | None = None, key: str = "") -> Tensor:
    """The scores of the one-to-one assignment of rows to columns whose sum is greatest; the shorter side is used up.

    The first square problem with a key leaves its potentials among the `hints`; one that is much like it, such as the
    same pair without a fold, is then solved in a sixth of the time.

    >>> best_assignment(torch.tensor([[0.9, 0.8, 0.0], [0.8, 0.1, 0.0]]))
    tensor([0.8000, 0.8000])
    """
    costs = -scores.detach().cpu().double()
    hints = hints if hints is not None and costs.shape[0] == costs.shape[1] else None
    size = costs.norm()
    if hints is not None and key in hints:
        # What is taken from every entry of a row, or of a column, moves the sum of every assignment alike.
        u, v = hints[key] * size
        rows, columns = linear_sum_assignment((costs - u[:, None] - v).numpy())
    else:
        rows, columns = linear_sum_assignment(costs.numpy())
        if hints is not None and bool(size > 0):
            hints[key] = _potentials(costs, torch.from_numpy(columns)) / size
    return scores[torch.from_numpy(rows), torch.from_numpy(columns)]


def _potentials(costs: Tensor, columns: Tensor) -> Tensor:
    """u and v, (2, n), with u + v at most the cost everywhere and equal to it on the best assignment (Bellman–Ford)."""
    # To give the partner of row i another column costs this much more.
    steps = torch.empty_like(costs)
    steps[columns] = costs - costs.gather(1, columns[:, None])
    v = torch.zeros_like(costs[0])
    for _ in range(_ROUNDS):
        shorter = torch.minimum(v, (v[:, None] + steps).amin(0))
        if torch.equal(shorter, v):
            break
        v = shorter
    return torch.stack([(costs - v).amin(1), v])
