"""kNN Jaccard: how much of two neighbourhoods is shared."""

from __future__ import annotations

from dataclasses import dataclass

from seamripper.measures.neighbours import OfNeighbours
from seamripper.measures.pair import Pair


@dataclass(frozen=True, kw_only=True)
class KNNJaccard(OfNeighbours):
    """Jaccard similarity of neighbourhoods, the mean over samples (Klabunde et al. 2023).

    N and M are the `k` nearest neighbours of a sample in x and in y, itself left out, by `metric`: `cosine`, as in the
    survey's own code, or `euclidean`. Ties go to the sample that comes first.

    >>> import torch
    >>> x = torch.tensor([[0.0], [1.0], [3.0], [7.0], [12.0]])
    >>> y = torch.tensor([[0.0], [1.0], [3.0], [7.0], [2.5]])
    >>> round(KNNJaccard(k=2, metric="euclidean").value(Pair.of(x, y)), 6)
    0.466667
    """

    name = "knn_jaccard"
    paper = "Klabunde, Schumacher, Strohmaier, Lemmerich 2023"
    formula = "meanᵢ |Nᵢ ∩ Mᵢ| / |Nᵢ ∪ Mᵢ|"

    def of(self, pair: Pair) -> float:
        x, y = self.ranks(pair)
        common = ((x > 0) & (y > 0)).sum(1).double()
        return float((common / (2 * self.k - common)).mean())
