"""Eigenspace overlap: how much of the wider of two subspaces the other shares."""

from __future__ import annotations

from dataclasses import dataclass

from seamripper.measures.alignment import SUBSPACES
from seamripper.measures.base import Measure
from seamripper.measures.pair import Pair


@dataclass(frozen=True)
class EigenspaceOverlap(Measure):
    """The eigenspace overlap score, with U the left singular vectors (May et al. 2019).

    The rows are centred here, which the paper does not do: uncentred, the mean that two representations after a ReLU
    have in common would count as a direction that they share. ‖Uxᵀ Uy‖² is then Σ ρᵢ², and the score differs from
    `cca_mean_square` by its divisor: one that is only a part of the other does not score 1.

    >>> import torch
    >>> x = torch.tensor([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0], [0.0, 0.0]])
    >>> round(EigenspaceOverlap().value(Pair.of(x, x[:, :1])), 6)
    0.5
    """

    name = "eigenspace_overlap"
    paper = "May, Zhang, Dao, Ré 2019"
    formula = "‖Uxᵀ Uy‖² / max(rank x, rank y)"
    claims = SUBSPACES

    def of(self, pair: Pair) -> float:
        return float(pair.canonical[1].square().sum()) / max(pair.x.rank, pair.y.rank)
