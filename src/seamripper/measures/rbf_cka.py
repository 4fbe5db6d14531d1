"""RBF CKA: how alike two centred Gaussian kernels are."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from seamripper.errors import MeasureError
from seamripper.measures.base import Claims, Measure
from seamripper.measures.distances import both, chords, square
from seamripper.measures.hsic import alignment_claims, unit_centred
from seamripper.measures.memo import recall
from seamripper.measures.pair import Pair, Side


@dataclass(frozen=True, kw_only=True)
class RBFCKA(Measure):
    """Centred kernel alignment with Gaussian kernels (Kornblith 2019).

    m is the median of all n² squared distances, those of rows to themselves included, as in the authors' notebook; so
    the bandwidth is `sigma` times a median distance, for each side its own. The notebook has σ = 0.5, the paper's table
    0.2, 0.4 and 0.8. This is the biased HSIC. With a large σ it tends to `linear_cka`. With a small one every row is
    alone, K tends to the identity, and any two representations come out alike; so they do where distances hardly
    differ, as in many dimensions.

    `debiased` centres without the diagonal instead (the HSIC of Song et al. 2012), and can be negative.

    >>> x = torch.tensor([[0.0], [1.0], [2.0], [3.0]])
    >>> round(RBFCKA().value(Pair.of(x, x**2)), 6)
    0.890816
    """

    name = "rbf_cka"
    paper = "Kornblith, Norouzi, Lee, Hinton 2019"
    formula = "⟨K', L'⟩ / (‖K'‖ ‖L'‖),  K' = H K H,  Kᵢⱼ = exp(−|xᵢ − xⱼ|² / (2 σ² m)),  H = 1 − 11ᵀ/n"
    sigma: float = 0.5
    debiased: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.sigma < math.inf:
            raise MeasureError(f"Expected sigma of the measure {self.name!r} to be above 0, but got {self.sigma!r}.")

    @property
    def claims(self) -> Claims:
        """Symmetric, between 0 and 1; below 0 as well if debiased."""
        return alignment_claims(debiased=self.debiased)

    def of(self, pair: Pair) -> float:
        x, y = both(pair, self._kernel)
        return float((x * y).sum())

    def _kernel(self, side: Side, who: str) -> Tensor:
        key = (self.name, self.sigma, self.debiased)
        return recall(side, key, lambda: unit_centred(_gaussian(side, self.sigma, who), who, debiased=self.debiased))


def _gaussian(side: Side, sigma: float, who: str) -> Tensor:
    squares = square(chords(side, "euclidean", who).square(), side.n)
    # Of an even number, torch takes the lower of the two in the middle, and the median lies between them.
    median = (squares.median() - (-squares).median()) / 2
    if bool(median <= 0):
        raise MeasureError(f"There is no bandwidth: half of the {who}'s pairs of rows are the same row twice.")
    return torch.exp(squares / (-2 * sigma**2 * median))
