"""Mean squared CCA: the mean of the squared canonical correlations."""

from __future__ import annotations

from dataclasses import dataclass

from seamripper.measures.alignment import SUBSPACES
from seamripper.measures.base import Measure
from seamripper.measures.pair import Pair


@dataclass(frozen=True)
class MeanSquareCCA(Measure):
    """The mean squared canonical correlation; R²_CCA of Kornblith 2019.

    It is the share of the smaller subspace that lies in the other. Ranks as in `cca_mean`.

    >>> import torch
    >>> x = torch.tensor([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0], [0.0, 0.0]])
    >>> y = torch.tensor([[2.0], [0.0], [0.0], [0.0], [-2.0]])
    >>> round(MeanSquareCCA().value(Pair.of(x, y)), 6)
    0.25
    """

    name = "cca_mean_square"
    paper = "Kornblith, Norouzi, Lee, Hinton 2019"
    formula = "Σ ρᵢ² / min(rank x, rank y)"
    claims = SUBSPACES

    def of(self, pair: Pair) -> float:
        return float(pair.canonical[1].square().mean())
