"""Mutual kNN: the share of neighbours in common."""

from __future__ import annotations

from dataclasses import dataclass

from seamripper.measures.neighbours import OfNeighbours
from seamripper.measures.pair import Pair


@dataclass(frozen=True, kw_only=True)
class MutualKNN(OfNeighbours):
    """Mutual k-nearest-neighbour alignment, the mean over samples (Huh et al. 2024).

    N and M are the `k` nearest neighbours of a sample in x and in y, itself left out, by `metric`: `cosine` is the
    paper's inner product of rows at unit length. (Its experiments clip the largest activations first; this does not.)
    Unrelated representations have k / (n − 1). Ties go to the sample that comes first.

    >>> import torch
    >>> x = torch.tensor([[0.0], [1.0], [3.0], [7.0], [12.0]])
    >>> y = torch.tensor([[0.0], [1.0], [3.0], [7.0], [2.5]])
    >>> MutualKNN(k=2, metric="euclidean").value(Pair.of(x, y))
    0.6
    """

    name = "mutual_knn"
    paper = "Huh, Cheung, Wang, Isola 2024"
    formula = "meanᵢ |Nᵢ ∩ Mᵢ| / k"

    def of(self, pair: Pair) -> float:
        x, y = self.ranks(pair)
        common = ((x > 0) & (y > 0)).sum(1).double()
        return float(common.mean() / self.k)
