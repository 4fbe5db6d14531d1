"""Numerical rank: how many directions a representation uses, and how much two differ in that."""

from __future__ import annotations

import math
from dataclasses import dataclass

from seamripper.errors import MeasureError
from seamripper.measures.base import SHAPE, Claims, SideDifference, constant
from seamripper.measures.pair import Side

THRESHOLD = 1e-3
"""Which share of the largest singular value of the covariance a direction must have to count (Smith et al. 2025)."""


def numerical_rank(side: Side, *, threshold: float = THRESHOLD) -> int:
    """How many singular values of the covariance are above `threshold` times the largest; 0 for constant rows.

    At most n − 1, whatever the columns: where it comes near, it says more of the samples than of the representation.

    >>> import torch
    >>> numerical_rank(Side.of(torch.tensor([[1.0, 0.0, 2.0], [0.0, 1.0, 0.0], [-1.0, 0.0, -2.0], [0.0, -1.0, 0.0]])))
    2
    """
    if constant(side):
        return 0
    values, _ = (side if side.rows is None else side.compact).eigen
    return int((values > threshold * values[0]).sum())


@dataclass(frozen=True)
class NumericalRank(SideDifference):
    """The difference of the two numerical ranks; `sides` gives the ranks themselves.

    A rank is the number of singular values of the covariance above `threshold` times the largest (Smith et al. 2025).
    An invertible map leaves the rank as it is only if it spares the threshold.

    >>> import torch
    >>> from seamripper.measures.pair import Pair
    >>> x = torch.tensor([[9.0, 1.0], [9.0, -1.0], [-9.0, 1.0], [-9.0, -1.0]])
    >>> pair = Pair.of(x, x * torch.tensor([1.0, 0.1]))
    >>> NumericalRank().value(pair), NumericalRank().sides(pair)
    (1.0, (2.0, 1.0))
    """

    name = "numerical_rank"
    paper = "Smith, Mannering, Marcu 2025"
    formula = "|rank x − rank y|,  rank x = the number of i with λᵢ > threshold · λ₁"
    claims = Claims("distance", symmetric=True, range=(0.0, math.inf), self_score=0.0, invariant_to=SHAPE, paired=False)
    threshold: float = THRESHOLD

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.threshold < 1:
            raise MeasureError(f"Expected threshold of {self.name} to lie between 0 and 1, but got {self.threshold}.")

    def figure(self, side: Side, *, name: str) -> float:
        rank = numerical_rank(side, threshold=self.threshold)
        if rank >= side.n - 1:
            raise MeasureError(
                f"{self.label} found {rank} directions of the {name}, and {side.n} centred samples have no more: its "
                "rank may be higher. Give more samples, or use a sampling with fewer columns ('pool')."
            )
        return float(rank)
