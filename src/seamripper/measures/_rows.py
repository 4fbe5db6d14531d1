"""Rows against rows, a block of them at a time, so that memory grows with n and not with n²."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

_CELLS = 1 << 22
"""Entries of an n × n matrix that are held at once: 32 MB in float64."""


def blocks(n: int) -> Iterator[slice]:
    """The rows of an n × n matrix in blocks.

    >>> list(blocks(5))
    [slice(0, 5, None)]
    """
    step = max(1, _CELLS // max(n, 1))
    return (slice(start, min(start + step, n)) for start in range(0, n, step))


def gram(rows: Tensor) -> Iterator[Tensor]:
    """⟨xᵢ, xⱼ⟩, block by block.

    >>> torch.cat(list(gram(torch.tensor([[1.0, 1.0], [2.0, 0.0]]))))
    tensor([[2., 2.],
            [2., 4.]])
    """
    return (rows[block] @ rows.T for block in blocks(len(rows)))


def square_distances(rows: Tensor) -> Iterator[Tensor]:
    """|xᵢ − xⱼ|², block by block.

    >>> torch.cat(list(square_distances(torch.tensor([[1.0, 1.0], [2.0, 0.0]]))))
    tensor([[0., 2.],
            [2., 0.]])
    """
    rows = rows - rows.mean(0)
    squares = (rows**2).sum(1)
    for block in blocks(len(rows)):
        found = (squares[block, None] + squares - 2 * rows[block] @ rows.T).clamp_(min=0)
        # Rounding leaves a row at a small distance from itself, and a root makes that a large one.
        found[:, block].fill_diagonal_(0)
        yield found


def directions(rows: Tensor) -> tuple[Tensor, Tensor]:
    """The rows at unit length, and which of them have a direction at all; those that are zero stay so.

    >>> directions(torch.tensor([[3.0, 4.0], [0.0, 0.0]]))
    (tensor([[0.6000, 0.8000],
            [0.0000, 0.0000]]), tensor([ True, False]))
    """
    squares = (rows**2).sum(1)
    # Turning rows into their span (Side.turned) makes of a zero row one as long as the rounding of all of them.
    found = squares > 16 * torch.finfo(torch.float64).eps * squares.sum()
    lengths = squares.masked_fill(~found, 1.0).sqrt()
    return torch.where(found[:, None], rows / lengths[:, None], 0.0), found
