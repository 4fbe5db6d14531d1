"""What the measures of canonical correlations share."""

from __future__ import annotations

from torch import Tensor

from seamripper.measures.pair import Side


def weights(side: Side, directions: Tensor) -> Tensor:
    """αᵢ = Σⱼ |⟨hᵢ, xⱼ⟩| over the centred columns xⱼ of a side, for each hᵢ = (its whitened rows) · directionᵢ.

    The whitened rows are C W, and Cᵀ C W = E √Λ with S = E Λ Eᵀ.
    """
    values, vectors = side.eigen
    columns = vectors[:, : side.rank] * values[: side.rank].sqrt()
    return (columns @ directions).abs().sum(0)
