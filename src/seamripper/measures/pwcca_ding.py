"""PWCCA in the form of Ding et al.: a distance, weighted by the sender's columns."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from seamripper.measures.alignment import UNITS, projection_weights
from seamripper.measures.base import TRANSFORMATIONS, Claims, Measure
from seamripper.measures.pair import Pair, Side


@dataclass(frozen=True)
class DingPWCCA(Measure):
    """Projection-weighted CCA as a distance (Ding et al. 2021).

    ρᵢ are the canonical correlations, hᵢ the canonical variates of x (columns of C (Sxx)^-½ U, of unit length and
    orthogonal), xⱼ the centred columns of x: always the first network's, here the sender's. i runs over the min(rank x,
    rank y) directions that have a correlation. Their code, where x has more columns than y, puts the weights of the
    remaining directions into the divisor as well; the basis of those is arbitrary, and so is its result.

    So a representation is at distance 0 from any low-rank approximation of it, whose every direction it has. With
    `remainder`, directions of x without a counterpart count with correlation 0, as in their code, and the basis of them
    is the principal one of what the canonical variates leave of x.

    Not the measure of Google's repository (`pwcca_google`), which weighs other directions. Correlations that tie leave
    the weights among them open.

    >>> x = torch.tensor([[4.0, 1.0], [2.0, -1.0], [-2.0, 1.0], [-4.0, -1.0], [0.0, 0.0]])
    >>> y = x + torch.tensor([[0.0, 1.0], [0.0, 1.0], [0.0, 1.0], [0.0, 1.0], [0.0, -4.0]])
    >>> round(DingPWCCA().value(Pair.of(x, y)), 6)
    0.130593
    """

    name = "pwcca_ding"
    paper = "Ding, Denain, Steinhardt 2021"
    formula = "1 − Σ αᵢ ρᵢ / Σ αᵢ,  αᵢ = Σⱼ |⟨hᵢ, xⱼ⟩|"
    claims = Claims(
        "distance",
        symmetric=False,
        range=(0.0, 1.0),
        self_score=0.0,
        invariant_to=UNITS,
        receiver_invariant_to=frozenset(TRANSFORMATIONS),
        spans=True,
    )

    remainder: bool = False

    def of(self, pair: Pair) -> float:
        u, rho, _ = pair.canonical
        alpha = projection_weights(pair.x, u)
        rest = _remaining_weights(pair.x, u) if self.remainder else 0.0
        return float(((alpha * (1 - rho)).sum() + rest) / (alpha.sum() + rest))


def _remaining_weights(side: Side, directions: Tensor) -> float:
    """Σ α over the principal directions of what these directions (rank, k) leave of the side."""
    left = side.rank - directions.shape[1]
    if left == 0:
        return 0.0
    rest = side.loadings - side.loadings @ directions @ directions.T
    _, vectors = torch.linalg.eigh(rest.T @ rest)
    return float(projection_weights(side, vectors[:, -left:]).sum())
