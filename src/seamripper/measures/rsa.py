"""RSA: whether two representations find the same pairs of samples alike."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Literal

import torch
from scipy.stats import kendalltau, rankdata
from torch import Tensor

from seamripper.errors import MeasureError
from seamripper.measures.base import Claims, Measure
from seamripper.measures.distances import INVARIANT, both, chords, distances, grades
from seamripper.measures.memo import recall
from seamripper.measures.pair import Pair, Side

_RDMS: tuple[Literal["correlation", "euclidean", "cosine"], ...] = ("correlation", "euclidean", "cosine")
_COMPARES: tuple[Literal["spearman", "pearson", "kendall"], ...] = ("spearman", "pearson", "kendall")


@dataclass(frozen=True, kw_only=True)
class RSA(Measure):
    """Representational similarity analysis: the correlation of two dissimilarity matrices (Kriegeskorte 2008).

    `rdm` is how two samples differ within one representation: `correlation`, 1 − Pearson's r of the two rows;
    `euclidean`, |xᵢ − xⱼ|; `cosine`, 1 − cos. `compare` is how the n (n − 1) / 2 entries above the diagonals are
    compared: `spearman`, `pearson`, or `kendall` (τ_b). Distances that differ by less than 10⁻¹² of the largest are
    tied, and tied ranks are averaged.

    rsatoolbox squares the Euclidean distance and divides it by the width. That is another value for `pearson`, and the
    same for `spearman` and `kendall`.

    >>> x = torch.tensor([[0.0], [1.0], [3.0], [7.0]])
    >>> round(RSA(rdm="euclidean", compare="pearson").value(Pair.of(x, x**2)), 6)
    0.93989
    >>> round(RSA(rdm="euclidean").value(Pair.of(x, x**2)), 6)
    1.0
    """

    name = "rsa"
    paper = "Kriegeskorte, Mur, Bandettini 2008"
    formula = "corr(d(xᵢ, xⱼ), d(yᵢ, yⱼ)) over all pairs i < j"
    rdm: Literal["correlation", "euclidean", "cosine"] = "correlation"
    compare: Literal["pearson", "spearman", "kendall"] = "spearman"

    @classmethod
    def variants(cls) -> tuple[Measure, ...]:
        """All nine."""
        return tuple(cls(rdm=rdm, compare=compare) for rdm, compare in itertools.product(_RDMS, _COMPARES))

    @property
    def claims(self) -> Claims:
        """Symmetric, between −1 and 1; what it does not see depends on the `rdm`."""
        return Claims(
            "similarity",
            symmetric=True,
            range=(-1.0, 1.0),
            self_score=1.0,
            invariant_to=INVARIANT[self.rdm],
            needs="rows",
        )

    def of(self, pair: Pair) -> float:
        x, y = both(pair, self._triangle)
        if self.compare == "kendall":
            return float(kendalltau(x.cpu().numpy(), y.cpu().numpy()).statistic)
        return float(torch.corrcoef(torch.stack([x.double(), y.double()]))[0, 1])

    def _triangle(self, side: Side, who: str) -> Tensor:
        between = chords(side, self.rdm, who)
        if bool(between.max() - between.min() <= 8 * side.grain * between.max()):
            raise MeasureError(
                f"{self.label} is not defined here: the {who}'s rows are all equally far from one another."
            )
        if self.compare == "pearson":
            return distances(side, self.rdm, who)
        return recall(side, ("ranks", self.rdm), lambda: _twice_ranks(between))


def _twice_ranks(values: Tensor) -> Tensor:
    """Twice the average ranks: whole numbers, in half the bytes."""
    ranks = torch.from_numpy(rankdata(grades(values).cpu().numpy()))
    return (2 * ranks).to(values.device, torch.int32)
