"""Magnitude difference: how far from the origin the representations are."""

from __future__ import annotations

import math
from dataclasses import dataclass

from seamripper.measures.base import Claims, SideDifference
from seamripper.measures.pair import Side


@dataclass(frozen=True)
class MagnitudeDifference(SideDifference):
    """The difference in magnitude, which is the length of the mean row (Wang et al. 2022).

    In the units of the activations. It is the length of the mean, not the mean of the lengths, as in ReSi (Klabunde
    et al. 2025).

    >>> import torch
    >>> from seamripper.measures.pair import Pair
    >>> x = torch.tensor([[3.0, 5.0], [3.0, 3.0], [3.0, 4.0], [3.0, 4.0]])
    >>> pair = Pair.of(x, x[:, :1])
    >>> MagnitudeDifference().sides(pair), MagnitudeDifference().value(pair)
    ((5.0, 3.0), 2.0)
    """

    name = "magnitude_difference"
    paper = "Wang, Rao, Guo, Wang, Liu, Guan 2022"
    formula = "| |x̄| − |ȳ| |"
    claims = Claims(
        "distance",
        symmetric=True,
        range=(0.0, math.inf),
        self_score=0.0,
        invariant_to=frozenset({"orthogonal", "permutation"}),
        varying=False,
        paired=False,
    )

    def figure(self, side: Side, *, name: str) -> float:
        return math.sqrt(float(side.mean @ side.mean))
