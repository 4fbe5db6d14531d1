"""Rank similarity: whether shared neighbours come in the same order."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from seamripper.measures.neighbours import OfNeighbours
from seamripper.measures.pair import Pair


@dataclass(frozen=True, kw_only=True)
class RankSimilarity(OfNeighbours):
    """Rank similarity: do the neighbours that a sample has on both sides come in the same order (Wang et al. 2020)?

    j runs over the neighbours N ∩ M that a sample has on both sides, of ranks rⱼ in x and sⱼ in y (1 is the nearest); 0
    if there are none in common; then the mean over samples (in the form of Klabunde et al. 2023). It is divided by what
    c common neighbours could reach, and not k: a single one that is the nearest in both counts as much as all of them
    in order. Read it beside `knn_jaccard`.

    `k` neighbours, the sample left out, by `metric`: `cosine`, as in the survey's own code, or `euclidean`. Ties go to
    the sample that comes first.

    >>> x = torch.tensor([[0.0], [1.0], [3.0], [7.0], [12.0]])
    >>> y = torch.tensor([[0.0], [1.0], [3.0], [7.0], [2.5]])
    >>> round(RankSimilarity(k=2, metric="euclidean").value(Pair.of(x, y)), 6)
    0.733333
    """

    name = "rank_similarity"
    paper = "Wang, Rong, Zhuo, Chen 2020"
    formula = "meanᵢ [ Σⱼ 2 / ((1 + |rⱼ − sⱼ|) (rⱼ + sⱼ)) / (1 + 1/2 + … + 1/|Nᵢ ∩ Mᵢ|) ]"

    def of(self, pair: Pair) -> float:
        x, y = self.ranks(pair)
        sample, other = ((x > 0) & (y > 0)).nonzero(as_tuple=True)
        r, s = x[sample, other].double(), y[sample, other].double()
        scores = torch.zeros(pair.n, dtype=torch.float64, device=r.device)
        scores.index_add_(0, sample, 2 / ((1 + (r - s).abs()) * (r + s)))
        most = (1 / torch.arange(1, self.k + 1, dtype=torch.float64, device=r.device)).cumsum(0)
        common = torch.bincount(sample, minlength=pair.n)
        # A sample with no neighbours in common has the score 0, whatever it is divided by.
        return float((scores / most[(common - 1).clamp(min=0)]).mean())
