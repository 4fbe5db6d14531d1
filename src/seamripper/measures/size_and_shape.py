"""Size and shape: the Procrustes distance that sees scale."""

from __future__ import annotations

import math
from dataclasses import dataclass

from seamripper.measures.alignment import gap
from seamripper.measures.base import Claims, Measure
from seamripper.measures.pair import Pair


@dataclass(frozen=True)
class SizeAndShape(Measure):
    """Procrustes size-and-shape distance of centred X and Y, Frobenius norm.

    ‖·‖_* is the nuclear norm, and Sxy = Xᵀ Y. It is `procrustes` without the scaling to norm 1, so in the units of the
    activations, and growing with the root of n (the Euclidean metric of netrep, Williams et al. 2021). Widths may
    differ: columns of zeros that would make them equal add nothing to any of these norms.

    >>> import torch
    >>> x = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
    >>> round(SizeAndShape().value(Pair.of(x, x[:, :1])), 6)  # the second column is missed: sqrt(2)
    1.414214
    >>> round(SizeAndShape().value(Pair.of(x, 3 * x)), 6)  # 2 * norm of x
    4.0
    """

    name = "size_and_shape"
    paper = "Williams, Kunz, Kornblith, Linderman 2021"
    formula = "min over orthogonal Q of ‖X Q − Y‖ = √(‖X‖² + ‖Y‖² − 2 ‖Sxy‖_*)"
    claims = Claims(
        "distance",
        symmetric=True,
        range=(0.0, math.inf),
        self_score=0.0,
        invariant_to=frozenset({"translation", "orthogonal", "permutation"}),
    )

    def of(self, pair: Pair) -> float:
        # √(‖X‖² + ‖Y‖² − 2 ‖Sxy‖_*) in a form that keeps its digits where x and y are close.
        x, y = math.sqrt(pair.x.total), math.sqrt(pair.y.total)
        return math.sqrt((x - y) ** 2 + 2 * x * y * gap(pair, pair.nuclear))
