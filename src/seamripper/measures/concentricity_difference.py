"""Concentricity difference: how closely the rows gather round the direction of their mean."""

from __future__ import annotations

import math
from dataclasses import dataclass

from seamripper.errors import MeasureError
from seamripper.measures.alignment import ROUNDING
from seamripper.measures.base import Claims, SideDifference
from seamripper.measures.distances import directions
from seamripper.measures.pair import Side


@dataclass(frozen=True)
class ConcentricityDifference(SideDifference):
    """The difference in concentricity, which is the mean cosine of a row with the mean row (Wang et al. 2022).

    Not defined where the mean row is zero, as it is for centred rows. Rows of zeros have no cosine and are left out
    (ReSi counts them as 0).

    >>> import torch
    >>> from seamripper.measures.pair import Pair
    >>> x = torch.tensor([[1.0, 1.0], [1.0, -1.0], [1.0, 1.0], [1.0, -1.0]])
    >>> pair = Pair.of(x, x[:, :1])
    >>> [round(c, 6) for c in ConcentricityDifference().sides(pair)]  # 1 / sqrt(2), and 1
    [0.707107, 1.0]
    >>> round(ConcentricityDifference().value(pair), 6)
    0.292893
    """

    name = "concentricity_difference"
    paper = "Wang, Rao, Guo, Wang, Liu, Guan 2022"
    formula = "|c(x) − c(y)|,  c(x) = meanᵢ cos(xᵢ, x̄)"
    claims = Claims(
        "distance",
        symmetric=True,
        range=(0.0, 2.0),
        self_score=0.0,
        invariant_to=frozenset({"scaling", "orthogonal", "permutation"}),
        needs="rows",
        varying=False,
        paired=False,
    )

    def figure(self, side: Side, *, name: str) -> float:
        square = float(side.mean @ side.mean)
        # Turning rows into their span (Side.compact) leaves of a zero mean the rounding of their inner products.
        if side.n * square <= max(4 * side.noise, ROUNDING * side.total):
            raise MeasureError(
                f"{self.label} is not defined here: the mean of the {name}'s rows is zero, and so has no direction. "
                "Use rows that were not centred."
            )
        units, some = directions(side.matrix)
        return float((units[some] @ side.mean).mean()) / math.sqrt(square)
