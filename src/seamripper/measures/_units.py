"""Units: columns of one representation matched with columns of the other."""

from __future__ import annotations

import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from seamripper.measures._shape import ROUNDING
from seamripper.measures.base import Transformation
from seamripper.measures.pair import Pair, Side

UNITS = frozenset[Transformation]({"translation", "scaling", "permutation"})
"""What a measure of single units does not see; a rotation mixes them, and it does see that."""


def correlations(pair: Pair) -> Tensor:
    """The correlation of every column of x with every column of y, Sxy / √(Sxx Syy), (p, q).

    A dead column (constant, up to rounding) has no correlation; here it is 0.

    >>> x = torch.tensor([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0]])
    >>> correlations(Pair.of(x, -x[:, :1]))
    tensor([[-1.],
            [ 0.]], dtype=torch.float64)
    """
    found = pair.sxy / torch.outer(_squares(pair.x), _squares(pair.y)).sqrt()
    # A correlation beyond 1 is rounding.
    return found.clamp(-1.0, 1.0)


def _squares(side: Side) -> Tensor:
    """Sii for each column, and infinity for a dead one, so that what is divided by it is 0."""
    squares = torch.diagonal(side.s)
    # Moments were summed about zero: what a constant column leaves is then the rounding of its mean's square.
    least = 4 * side.grain**2 if side.rows is not None else max(4 * side.grain**2, ROUNDING)
    dead = squares <= least * (squares + side.n * side.mean**2)
    return squares.masked_fill(dead, torch.inf)


def assigned(scores: Tensor) -> Tensor:
    """The scores of the one-to-one assignment of rows to columns whose sum is greatest; the shorter side is used up.

    >>> assigned(torch.tensor([[0.9, 0.8, 0.0], [0.8, 0.1, 0.0]]))
    tensor([0.8000, 0.8000])
    """
    rows, columns = linear_sum_assignment(scores.detach().cpu().numpy(), maximize=True)
    return scores[torch.from_numpy(rows), torch.from_numpy(columns)]
