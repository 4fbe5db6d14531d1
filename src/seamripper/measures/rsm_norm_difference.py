"""RSM norm difference: how far apart two representational similarity matrices are, entry by entry."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from torch import Tensor

from seamripper.measures.base import Claims, Measure, Transformation
from seamripper.measures.distances import directions, gram, square_distances
from seamripper.measures.pair import Pair, Side

RSM = Literal["inner", "cosine", "euclidean"]
_ALSO: dict[RSM, frozenset[Transformation]] = {
    "inner": frozenset(),
    "cosine": frozenset({"scaling"}),
    "euclidean": frozenset({"translation"}),
}
"""What else each kind of matrix does not see; none sees rotations."""


@dataclass(frozen=True)
class RSMNormDifference(Measure):
    """The difference of the n × n matrices K of the rows' similarities to each other, Frobenius norm.

    The root mean square difference of their entries. `rsm` says what an entry is: the `inner` product ⟨xᵢ, xⱼ⟩ of rows
    that are not centred, where n times this value is the pairwise inner product loss of Yin & Shen 2018; the `cosine`
    of the rows (0 with a row of zeros); or their `euclidean` distance, which is ReSi's default (ReSi takes the spectral
    norm, and does not divide by n). But for the cosine it is in the units of the activations.

    >>> import torch
    >>> x = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
    >>> round(RSMNormDifference().value(Pair.of(x, 2 * x)), 6)  # 8 of 16 entries differ, each by 3
    2.12132
    >>> RSMNormDifference(rsm="cosine").value(Pair.of(x, 2 * x))
    0.0
    """

    name = "rsm_norm_difference"
    paper = "Yin, Shen 2018"
    formula = "‖Kx − Ky‖ / n"
    rsm: RSM = "inner"

    @property
    def claims(self) -> Claims:
        """Symmetric, from 0 on (2 at most for cosines); from rows."""
        return Claims(
            "distance",
            symmetric=True,
            range=(0.0, 2.0 if self.rsm == "cosine" else math.inf),
            self_score=0.0,
            invariant_to=frozenset[Transformation]({"orthogonal", "permutation"}) | _ALSO[self.rsm],
            needs="rows",
            varying=False,
        )

    def of(self, pair: Pair) -> float:
        blocks = zip(self._matrix(pair.x), self._matrix(pair.y), strict=True)
        return math.sqrt(math.fsum(float(((kx - ky) ** 2).sum()) for kx, ky in blocks)) / pair.n

    def _matrix(self, side: Side) -> Iterator[Tensor]:
        """K, block by block."""
        if self.rsm == "inner":
            return gram(side.matrix)
        if self.rsm == "cosine":
            return gram(directions(side.matrix)[0])
        return (squares.sqrt_() for squares in square_distances(side.matrix))
