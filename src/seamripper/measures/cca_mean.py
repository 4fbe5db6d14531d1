"""Mean CCA: the mean canonical correlation."""

from __future__ import annotations

from dataclasses import dataclass

from seamripper.measures.alignment import SUBSPACES
from seamripper.measures.base import Measure
from seamripper.measures.pair import Pair


@dataclass(frozen=True)
class MeanCCA(Measure):
    """The mean canonical correlation; ρ̄_CCA of Kornblith 2019.

    ρ are the singular values of (Sxx)^-½ Sxy (Syy)^-½ on the directions that vary by more than rounding. A rank is
    used where the paper has the number of columns, so a duplicated or dead column changes nothing. With few samples
    for the columns it is too high: of rank x + rank y directions in n − 1, whatever is too many agrees by force.

    >>> import torch
    >>> x = torch.tensor([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0], [0.0, 0.0]])
    >>> y = torch.tensor([[2.0], [0.0], [0.0], [0.0], [-2.0]])
    >>> round(MeanCCA().value(Pair.of(x, y)), 6), round(MeanCCA().value(Pair.of(x, x * 3 + 1)), 6)
    (0.5, 1.0)
    """

    name = "cca_mean"
    paper = "Kornblith, Norouzi, Lee, Hinton 2019"
    formula = "Σ ρᵢ / min(rank x, rank y)"
    claims = SUBSPACES

    def of(self, pair: Pair) -> float:
        return float(pair.canonical[1].mean())
