"""Soft correlation match: each unit with its best partner."""

from __future__ import annotations

from dataclasses import dataclass

from seamripper.measures.alignment import UNITS, correlations
from seamripper.measures.base import Claims, Measure
from seamripper.measures.pair import Pair


@dataclass(frozen=True)
class SoftCorrelationMatch(Measure):
    """The mean correlation of each unit with its best partner, which several units may share.

    The semi-matching of Li et al. 2015, which goes one way. Here, as in ReSi (Klabunde et al. 2025), it is made
    symmetric: the mean over the units of x and the mean over the units of y, averaged. Correlations keep their
    sign: a unit and its negative do not match. A dead unit (constant on these samples) has no correlation and counts as
    0, so a side with dead units does not reach 1 even with itself. At equal widths it is never less than
    `hard_correlation_match`.

    >>> import torch
    >>> x = torch.tensor([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    >>> y = x[:, :1]
    >>> SoftCorrelationMatch().value(Pair.of(x, y))  # from x: (1 + 0) / 2, from y: 1
    0.75
    """

    name = "soft_correlation_match"
    paper = "Li, Yosinski, Clune, Lipson, Hopcroft 2015"
    formula = "½ (meanᵢ maxⱼ corr(xᵢ, yⱼ) + meanⱼ maxᵢ corr(xᵢ, yⱼ))"
    claims = Claims("similarity", symmetric=True, range=(-1.0, 1.0), self_score=1.0, invariant_to=UNITS)

    def of(self, pair: Pair) -> float:
        matrix = correlations(pair)
        return float(matrix.amax(1).mean() + matrix.amax(0).mean()) / 2
