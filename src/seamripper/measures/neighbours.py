"""Neighbours: the k rows that lie nearest to each row of one side, and what measures of them have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from seamripper._options import require_options
from seamripper.errors import MeasureError
from seamripper.measures.base import Claims, Measure
from seamripper.measures.distances import INVARIANT, Metric, both, chords, grades, square
from seamripper.measures.memo import recall
from seamripper.measures.pair import Pair, Side


@dataclass(frozen=True)
class _Nearest(Measure):
    """A measure of the `k` nearest neighbours of each row."""

    k: int = 10

    def __post_init__(self) -> None:
        require_options(self, f"the measure {self.name!r}", error=MeasureError, k=1)


@dataclass(frozen=True, kw_only=True)
class OfNeighbours(_Nearest):
    """A measure of the `k` nearest neighbours of each row, by the cosine of the rows or by Euclidean distance.

    It asks for k + 2 samples: of k + 1, all would be neighbours of all, in any representation.

    Rows that are as near as each other, up to rounding, come in the order of the samples, on both sides. So
    representations that put many samples on one point look more alike than they are.
    """

    metric: Literal["cosine", "euclidean"] = "cosine"

    @property
    def claims(self) -> Claims:
        """Symmetric, between 0 and 1; with the cosine it sees a translation."""
        return Claims(
            "similarity",
            symmetric=True,
            range=(0.0, 1.0),
            self_score=1.0,
            invariant_to=INVARIANT[self.metric],
            needs="rows",
            fewest=max(4, self.k + 2),
        )

    def ranks(self, pair: Pair) -> tuple[Tensor, Tensor]:
        """The ranks of both sides' neighbours (see `ranks`)."""
        return both(pair, lambda side, who: ranks(side, self.k, self.metric, who))


@dataclass(frozen=True)
class OfCosines(_Nearest):
    """A measure of the cosines of each row with its `k` nearest neighbours. It asks for k + 1 samples."""

    @property
    def claims(self) -> Claims:
        """Symmetric, between −1 and 1; it sees a translation."""
        return Claims(
            "similarity",
            symmetric=True,
            range=(-1.0, 1.0),
            self_score=1.0,
            invariant_to=INVARIANT["cosine"],
            needs="rows",
            fewest=max(4, self.k + 1),
        )


def neighbours(side: Side, k: int, metric: Metric, who: str) -> Tensor:
    """The k nearest rows of each row, nearest first, (n, k); of those that are as near, the first in order.

    >>> neighbours(Side.of(torch.tensor([[0.0], [1.0], [3.0], [-1.0]])), 2, "euclidean", "sender")
    tensor([[1, 3],
            [0, 2],
            [1, 0],
            [0, 1]])
    """
    return recall(side, ("neighbours", k, metric), lambda: _neighbours(chords(side, metric, who), side.n, k))


def _neighbours(values: Tensor, n: int, k: int) -> Tensor:
    # With a row's place as the last digits no two are tied, and topk has no choice.
    order = square(grades(values) * n, n) + torch.arange(n, device=values.device)
    order.fill_diagonal_(torch.iinfo(torch.int64).max)
    return order.topk(k, dim=1, largest=False, sorted=True).indices


def ranks(side: Side, k: int, metric: Metric, who: str) -> Tensor:
    """Which neighbour j is of i, as 1 … k, and 0 if it is none, (n, n).

    >>> ranks(Side.of(torch.tensor([[0.0], [1.0], [3.0], [-1.0]])), 2, "euclidean", "sender")
    tensor([[0, 1, 0, 2],
            [1, 0, 2, 0],
            [2, 1, 0, 0],
            [1, 2, 0, 0]])
    """
    nearest = neighbours(side, k, metric, who)
    places = torch.arange(1, k + 1, device=nearest.device).expand_as(nearest)
    return nearest.new_zeros(side.n, side.n).scatter_(1, nearest, places)
