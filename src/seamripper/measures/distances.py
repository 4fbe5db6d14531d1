"""Rows against rows of one side: inner products and distances, Euclidean, of cosines or of correlations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal, TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor

from seamripper.errors import MeasureError
from seamripper.measures.base import SHAPE, Transformation
from seamripper.measures.memo import recall
from seamripper.measures.pair import Pair, Side

Metric = Literal["euclidean", "cosine", "correlation"]
T = TypeVar("T")

INVARIANT: dict[Metric, frozenset[Transformation]] = {
    "euclidean": SHAPE,
    "cosine": SHAPE - {"translation"},
    "correlation": SHAPE - {"translation", "orthogonal"},
}
"""What leaves the order of the distances, and their ratios, as they were.

Correlation centres each row over its columns, so it sees a rotation; the same number added to every column, which it
does not see, is not what `translation` means.
"""

_GRADES = 2**40

_CELLS = 1 << 22
"""Entries of an n × n matrix that are held at once: 32 MB in float64."""


def both(pair: Pair, of: Callable[[Side, str], T]) -> tuple[T, T]:
    """`of` for either side, with the name that an error gives it."""
    return of(pair.x, "sender"), of(pair.y, "receiver")


def chords(side: Side, metric: Metric, who: str) -> Tensor:
    """Euclidean distances between the rows, which are first brought to unit length for cosine and for correlation.

    Taken from differences and not from inner products, so that rows which are nearly the same keep their digits.

    >>> chords(Side.of(torch.tensor([[0.0, 1.0], [3.0, 5.0], [0.0, 2.0]])), "euclidean", "sender")
    tensor([5.0000, 1.0000, 4.2426], dtype=torch.float64)
    """
    if side.part_of is not None:
        whole, rows = side.part_of
        return recall(side, ("chords", metric), lambda: chords(whole, metric, who)[_above_diagonal(rows, whole.n)])
    return recall(side, ("chords", metric), lambda: _chords(side, metric, who))


def _above_diagonal(rows: Tensor, n: int) -> Tensor:
    """Where the pairs of these rows, among n, are in a list of all pairs as `pdist` has them."""
    pairs = rows[torch.triu_indices(len(rows), len(rows), 1, device=rows.device)]
    low, high = pairs.min(0).values, pairs.max(0).values
    return low * (2 * n - low - 1) // 2 + high - low - 1


def _chords(side: Side, metric: Metric, who: str) -> Tensor:
    if metric == "euclidean":
        return F.pdist(side.matrix)
    lengths = F.pdist(_unit_rows(side, metric, who))
    if bool(lengths.max() <= 8 * side.grain):
        raise MeasureError(f"The {metric} distance says nothing here: the {who}'s rows all point the same way.")
    return lengths


def _unit_rows(side: Side, metric: Metric, who: str) -> Tensor:
    rows = side.matrix
    if metric == "correlation":
        centred = rows - rows.mean(1, keepdim=True)
        # What rounding leaves of a row that is constant is no direction.
        flat = centred.norm(dim=1) <= 8 * side.grain * rows.norm(dim=1)
        rows = centred.masked_fill(flat[:, None], 0.0)
    unit, defined = directions(rows)
    if not bool(defined.all()):
        bad = (~defined).nonzero()[:, 0]
        kind = "constant" if metric == "correlation" else "zero"
        raise MeasureError(
            f"The {metric} distance is not defined for rows that are {kind}: the {who} has {len(bad)} of them, first "
            f"row {int(bad[0])}. Leave these samples out, or use a Euclidean measure."
        )
    return Side(side.grain, rows=unit).compact.matrix


def distances(side: Side, metric: Metric, who: str) -> Tensor:
    """The distances themselves: cosine and correlation are 1 − cos, which is half of the chord's square.

    >>> distances(Side.of(torch.tensor([[0.0, 1.0], [3.0, 4.0], [0.0, -2.0]])), "cosine", "sender")
    tensor([0.2000, 2.0000, 1.8000], dtype=torch.float64)
    """
    lengths = chords(side, metric, who)
    return lengths if metric == "euclidean" else lengths.square() / 2


def grades(values: Tensor) -> Tensor:
    """The values as whole numbers, 2⁴⁰ for the largest: what differs by rounding alone has one grade, and is tied.

    >>> grades(torch.tensor([0.3, 0.1 + 0.2, 0.6], dtype=torch.float64)) / 2**40
    tensor([0.5000, 0.5000, 1.0000])
    """
    return (values * (_GRADES / values.max())).round().long()


def square(values: Tensor, n: int, *, diagonal: float = 0.0) -> Tensor:
    """The symmetric (n, n) matrix of the pairs i < j.

    >>> square(torch.tensor([1.0, 2.0, 3.0]), 3)
    tensor([[0., 1., 2.],
            [1., 0., 3.],
            [2., 3., 0.]])
    """
    matrix = values.new_full((n, n), diagonal)
    i, j = torch.triu_indices(n, n, 1, device=values.device)
    matrix[i, j] = values
    matrix[j, i] = values
    return matrix


def cosines(side: Side, who: str) -> Tensor:
    """The cosine of every row with every other, (n, n).

    >>> cosines(Side.of(torch.tensor([[0.0, 1.0], [3.0, 4.0]])), "sender")
    tensor([[1.0000, 0.8000],
            [0.8000, 1.0000]], dtype=torch.float64)
    """
    return square(1 - distances(side, "cosine", who), side.n, diagonal=1.0)


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
        distances = (squares[block, None] + squares - 2 * rows[block] @ rows.T).clamp_(min=0)
        # Rounding leaves a row at a small distance from itself, and a root makes that a large one.
        distances[:, block].fill_diagonal_(0)
        yield distances


def directions(rows: Tensor) -> tuple[Tensor, Tensor]:
    """The rows at unit length, and which of them have a direction at all; those that are zero stay so.

    >>> directions(torch.tensor([[3.0, 4.0], [0.0, 0.0]]))
    (tensor([[0.6000, 0.8000],
            [0.0000, 0.0000]]), tensor([ True, False]))
    """
    squares = (rows**2).sum(1)
    # Turning rows into their span (Side.compact) makes of a zero row one as long as the rounding of all of them.
    defined = squares > 16 * torch.finfo(torch.float64).eps * squares.sum()
    lengths = squares.masked_fill(~defined, 1.0).sqrt()
    return torch.where(defined[:, None], rows / lengths[:, None], 0.0), defined
