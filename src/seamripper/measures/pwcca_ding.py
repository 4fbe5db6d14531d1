"""PWCCA in the form of Ding et al.: a distance, weighted by the sender's columns."""

from __future__ import annotations

from dataclasses import dataclass

from seamripper.measures.alignment import UNITS, projection_weights
from seamripper.measures.base import TRANSFORMATIONS, Claims, Measure
from seamripper.measures.pair import Pair


@dataclass(frozen=True)
class DingPWCCA(Measure):
    """Projection-weighted CCA as a distance: 1 − Σ αᵢ ρᵢ / Σ αᵢ, with αᵢ = Σⱼ |⟨hᵢ, xⱼ⟩| (Ding et al. 2021).

    ρᵢ are the canonical correlations, hᵢ the canonical variates of x (columns of C (Sxx)^-½ U, of unit length and
    orthogonal), xⱼ the centred columns of x: always the first network's, here the sender's. i runs over the min(rank x,
    rank y) directions that have a correlation. Their code, where x has more columns than y, puts the weights of the
    remaining directions into the divisor as well; the basis of those is arbitrary, and so is its result.

    Not the measure of Google's repository (`pwcca_google`), which weighs other directions. Correlations that tie leave
    the weights among them open.

    >>> import torch
    >>> x = torch.tensor([[4.0, 1.0], [2.0, -1.0], [-2.0, 1.0], [-4.0, -1.0], [0.0, 0.0]])
    >>> y = x + torch.tensor([[0.0, 1.0], [0.0, 1.0], [0.0, 1.0], [0.0, 1.0], [0.0, -4.0]])
    >>> round(DingPWCCA().value(Pair.of(x, y)), 6)
    0.130593
    """

    name = "pwcca_ding"
    paper = "Ding, Denain, Steinhardt 2021"
    claims = Claims(
        "distance",
        symmetric=False,
        range=(0.0, 1.0),
        self_score=0.0,
        invariant_to=UNITS,
        receiver_invariant_to=frozenset(TRANSFORMATIONS),
        spans=True,
    )

    def of(self, pair: Pair) -> float:
        u, rho, _ = pair.canonical
        alpha = projection_weights(pair.x, u)
        return float((alpha * (1 - rho)).sum() / alpha.sum())
