"""Paired retrieval: how often a row of the sender, mapped into the receiver's space, finds its own sample there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch

from seamripper._options import require_options
from seamripper.errors import MeasureError
from seamripper.measures.base import TRANSFORMATIONS, Claims, Measure
from seamripper.measures.distances import INVARIANT
from seamripper.measures.held_out import fitted_map
from seamripper.measures.pair import Pair
from seamripper.measures.retrieval import nearness, own_nearness, rows_before


@dataclass(frozen=True, kw_only=True)
class PairedRetrieval(Measure):
    """Recall@k: the share of samples whose own row of y is among the `k` rows nearest to their x, mapped into y.

    The map y = W x + b is least squares on the other folds, so no row is mapped by what it was fitted on. All rows of y
    are searched, by cosine or Euclidean distance; unrelated representations have k / n. `seamripper map` does the same
    for a whole index, with other maps beside it.

    >>> x = torch.tensor([[0.0], [1.0], [3.0], [7.0], [12.0], [18.0]])
    >>> y = torch.cat([x, x.square() / 10], 1)
    >>> PairedRetrieval(metric="euclidean").value(Pair.of(x, y)), PairedRetrieval(k=2).value(Pair.of(x, y))
    (0.8333333333333334, 0.6666666666666666)
    """

    name = "paired_retrieval"
    paper = "Mikolov, Le, Sutskever 2013"
    formula = "meanᵢ [yᵢ is among the k rows of Y nearest to W xᵢ + b]"
    k: int = 1
    metric: Literal["cosine", "euclidean"] = "cosine"

    def __post_init__(self) -> None:
        require_options(self, f"the measure {self.name!r}", error=MeasureError, k=1)

    @property
    def claims(self) -> Claims:
        """Between 0 and 1; blind to any invertible map of the sender, and to the shape of the receiver."""
        return Claims(
            "similarity",
            symmetric=False,
            range=(0.0, 1.0),
            self_score=1.0,
            invariant_to=frozenset(TRANSFORMATIONS),
            receiver_invariant_to=INVARIANT[self.metric],
            needs="rows",
            fewest=max(4, self.k + 2),
        )

    def of(self, pair: Pair) -> float:
        parts = self._hits(pair)
        return sum(hits for hits, _ in parts) / sum(n for _, n in parts)

    def by_fold(self, pair: Pair) -> tuple[float, ...]:
        return tuple(hits / n for hits, n in self._hits(pair))

    def _hits(self, pair: Pair) -> list[tuple[int, int]]:
        """Of each fold: how many rows find their own, and how many there are."""
        if pair.folds < 2:
            raise MeasureError(f"{self.label} fits on some samples and scores on others: expected 2 folds or more.")
        parts = []
        for fold in range(pair.folds):
            others, here = pair.without(fold), pair.fold(fold)
            centre = others.y.mean
            mapped = (here.x.matrix - others.x.mean) @ fitted_map(others)
            # About a mean, distances keep their digits; a cosine is about the origin.
            shift = centre if self.metric == "euclidean" else torch.zeros_like(centre)
            queries, own, rows = mapped + centre - shift, here.y.matrix - shift, pair.y.matrix - shift
            before = rows_before(nearness(queries, rows, self.metric), *own_nearness(queries, own, self.metric))
            parts.append((int((before + 0.5 <= self.k).sum()), len(queries)))
        return parts
