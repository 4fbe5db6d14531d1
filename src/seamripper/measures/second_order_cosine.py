"""Second-order cosine: whether a sample is as similar to the samples around it in both."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from seamripper.errors import MeasureError
from seamripper.measures.distances import both, cosines
from seamripper.measures.neighbours import OfCosines, ranks
from seamripper.measures.pair import Pair, Side


@dataclass(frozen=True, kw_only=True)
class SecondOrderCosine(OfCosines):
    """Second-order cosine similarity, the mean over samples (Hamilton, Leskovec, Jurafsky 2016).

    s and t are the sample's cosines, in x and in y, with the samples of N ∪ M: its `k` nearest neighbours in x and
    those in y, by cosine, itself left out. Ties go to the sample that comes first. Cosines of one sign are alike
    whatever they stand for: activations after a ReLU have no others, and come out high.

    Hamilton et al. take 1 − cos(s, t), of words over time; this is the similarity, as in the survey of Klabunde et al.
    2023. (The survey's code has cosine *distances* in s and t, and with them other values.)

    >>> x = torch.tensor([[1.0, 0.0], [0.9, 0.5], [0.0, 1.0], [-0.5, 0.9]])
    >>> y = torch.tensor([[1.0, 0.1], [0.4, 0.9], [0.1, 1.0], [-0.9, 0.5]])
    >>> round(SecondOrderCosine(k=2).value(Pair.of(x, y)), 6)
    0.880955
    """

    name = "second_order_cosine"
    paper = "Hamilton, Leskovec, Jurafsky 2016"
    formula = "meanᵢ cos(sᵢ, tᵢ)"

    def of(self, pair: Pair) -> float:
        x, y = both(pair, lambda side, who: ranks(side, self.k, "cosine", who))
        around = (x > 0) | (y > 0)
        s, t = both(pair, lambda side, who: self._directions(side, around, who))
        return float((s * t).sum(1).mean())

    def _directions(self, side: Side, around: Tensor, who: str) -> Tensor:
        """Each sample's cosines with the samples around it, at unit length."""
        around_it = cosines(side, who) * around
        lengths: Tensor = torch.linalg.vector_norm(around_it, dim=1, keepdim=True)
        # Cosines that rounding makes point somewhere as well.
        nowhere = (lengths <= 8 * side.grain).nonzero()
        if len(nowhere):
            raise MeasureError(
                f"{self.label} is not defined here: the {who}'s row {int(nowhere[0, 0])} is at right angles to all "
                "samples around it."
            )
        return around_it / lengths
