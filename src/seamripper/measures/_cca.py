"""What the measures of canonical correlations share."""

from __future__ import annotations

from torch import Tensor

from seamripper.measures.base import TRANSFORMATIONS, Claims
from seamripper.measures.pair import Side

SUBSPACES = Claims(
    "similarity",
    symmetric=True,
    range=(0.0, 1.0),
    self_score=1.0,
    invariant_to=frozenset(TRANSFORMATIONS),
    spans=True,
)
"""What a similarity of the subspaces that two sides span claims: it is blind to any invertible map."""


def weights(side: Side, directions: Tensor) -> Tensor:
    """αᵢ = Σⱼ |⟨hᵢ, xⱼ⟩| over the centred columns xⱼ of a side, for each hᵢ = (its whitened rows) · directionᵢ.

    The whitened rows are C W, and Cᵀ C W = E √Λ with S = E Λ Eᵀ.
    """
    values, vectors = side.eigen
    columns = vectors[:, : side.rank] * values[: side.rank].sqrt()
    return (columns @ directions).abs().sum(0)
