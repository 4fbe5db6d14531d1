"""Uniformity difference: how evenly the rows are spread."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch

from seamripper.errors import MeasureError
from seamripper.measures.base import Claims, SideDifference, Transformation
from seamripper.measures.distances import blocks, directions, square_distances
from seamripper.measures.pair import Side

_LEAST = 1e-6
"""What part of the sum over all pairs must come from distinct rows, or it would be of n and not of the rows."""
_TURNS = frozenset[Transformation]({"orthogonal", "permutation"})


@dataclass(frozen=True)
class UniformityDifference(SideDifference):
    """The difference in uniformity u, a mean over pairs of rows (Wang & Isola 2020).

    u is 0 where all rows are one, and lower the more evenly they are spread. By default, as in that paper, rows are
    brought to unit length, pairs are of two distinct rows, and t = 2; rows of zeros have no direction and are left out.

    `rows="raw"` takes rows as they are, and `pairs="all"` counts each row with itself too; ReSi (Klabunde et al. 2025)
    does both. In that form u is −log n for any rows that are far apart, as a wide layer's are, and all of these would
    come out as the same; where it says hardly more than that, it is refused.

    >>> import torch
    >>> from seamripper.measures.pair import Pair
    >>> x = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
    >>> pair = Pair.of(x, torch.tensor([[1.0], [2.0], [3.0], [4.0]]))
    >>> [round(u, 6) for u in UniformityDifference().sides(pair)]  # log((2 exp(-4) + exp(-8)) / 3), and 0
    [-4.396349, 0.0]
    """

    name = "uniformity_difference"
    paper = "Wang, Isola 2020"
    formula = "|u(x) − u(y)|,  u(x) = log meanᵢⱼ exp(−t |xᵢ − xⱼ|²)"
    rows: Literal["unit", "raw"] = "unit"
    pairs: Literal["distinct", "all"] = "distinct"
    t: float = 2.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.t < math.inf:
            raise MeasureError(
                f"Expected option t of {self.name} to be a number above 0, such as 2, but got {self.t!r}."
            )

    @property
    def claims(self) -> Claims:
        """Symmetric, from 0 on; it sees shifts (of unit rows) or scale (of raw rows); from rows."""
        unit = self.rows == "unit"
        blind: frozenset[Transformation] = frozenset({"scaling" if unit else "translation"})
        return Claims(
            "distance",
            symmetric=True,
            range=(0.0, 4 * self.t if unit else math.inf),
            self_score=0.0,
            invariant_to=_TURNS | blind,
            needs="rows",
            varying=False,
            paired=False,
        )

    def figure(self, side: Side, *, name: str) -> float:
        rows = side.matrix
        if self.rows == "unit":
            units, some = directions(rows)
            rows = units[some]
        n = len(rows)
        if n < 2:
            raise MeasureError(
                f"{self.label} is not defined here: it needs two rows or more that are not zero, but {n} of the "
                f"{name}'s rows are not zero."
            )
        apart = self._apart(rows)
        if self.pairs == "distinct":
            return apart - math.log(n * (n - 1))
        if apart - math.log(n) < math.log(_LEAST):
            raise MeasureError(
                f"{self.label} says nothing here: the {name}'s rows are so far apart that its value is −log n whatever "
                "the rows are. Use rows='unit' or pairs='distinct'."
            )
        return float(np.logaddexp(apart, math.log(n))) - 2 * math.log(n)

    def _apart(self, rows: torch.Tensor) -> float:
        """log Σ exp(−t |xᵢ − xⱼ|²) over i ≠ j: in logarithms, as the terms may be too small for a number."""
        parts = []
        for block, squares in zip(blocks(len(rows)), square_distances(rows), strict=True):
            terms = squares.mul_(-self.t)
            terms[:, block].fill_diagonal_(-math.inf)
            parts.append(torch.logsumexp(terms.flatten(), 0))
        return float(torch.logsumexp(torch.stack(parts), 0))
