"""Effective rank: over how many directions a representation spreads, and how much two differ in that."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from seamripper.errors import MeasureError
from seamripper.measures.base import SHAPE, Claims, SideDifference, constant
from seamripper.measures.pair import Side


def effective_rank(side: Side) -> float:
    """exp of the entropy of σᵢ / Σσ, σ the singular values of the centred rows (Roy & Vetterli 2007).

    As in the paper they are those of the data, the roots of the covariance's eigenvalues; taken from the eigenvalues
    themselves it would be smaller. It lies between 1 and the rank, and the rank is at most n − 1.

    >>> import torch
    >>> x = torch.tensor([[3.0, 1.0], [3.0, -1.0], [-3.0, 1.0], [-3.0, -1.0]])
    >>> round(effective_rank(Side.of(x)), 6)
    1.754765
    """
    if constant(side):
        raise MeasureError("The effective rank of constant rows is not defined.")
    side = side if side.rows is None else side.compact
    # What is below rounding is no direction, and the root would make much of it.
    sigma = side.eigen[0][: side.rank].sqrt()
    return math.exp(float(torch.special.entr(sigma / sigma.sum()).sum()))


@dataclass(frozen=True)
class EffectiveRank(SideDifference):
    """The difference of the two effective ranks; `sides` gives the figures themselves.

    σ are the singular values of the centred rows (Roy & Vetterli 2007). With fewer samples than columns both come out
    too low, as no more than n − 1 directions can show.

    >>> import torch
    >>> from seamripper.measures.pair import Pair
    >>> x = torch.tensor([[3.0, 1.0], [3.0, -1.0], [-3.0, 1.0], [-3.0, -1.0]])
    >>> round(EffectiveRank().value(Pair.of(x, x * torch.tensor([1.0, 3.0]))), 6)
    0.245235
    """

    name = "effective_rank"
    paper = "Roy, Vetterli 2007"
    formula = "|erank x − erank y|,  erank = exp(−Σ pᵢ log pᵢ),  pᵢ = σᵢ / Σσ"
    claims = Claims("distance", symmetric=True, range=(0.0, math.inf), self_score=0.0, invariant_to=SHAPE, paired=False)

    def figure(self, side: Side, *, name: str) -> float:
        return effective_rank(side)
