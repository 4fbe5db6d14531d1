"""NBS: normalised Bures similarity."""

from __future__ import annotations

import math
from dataclasses import dataclass

from seamripper.measures.base import SHAPE, Claims, Measure
from seamripper.measures.pair import Pair


@dataclass(frozen=True)
class NBS(Measure):
    """Normalised Bures similarity, with the nuclear norm ‖·‖_* (Tang et al. 2020).

    For the Gram matrices K, L of the centred rows this is tr (K^½ L K^½)^½ / √(tr K · tr L), the fidelity of two
    states. Its arc cosine is the angular Procrustes distance.

    >>> import torch
    >>> x = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
    >>> round(NBS().value(Pair.of(x, x[:, :1])), 6)
    0.707107
    """

    name = "nbs"
    paper = "Tang, Maddox, Dickens, Diethe, Damianou 2020"
    formula = "‖Sxy‖_* / √(tr Sxx · tr Syy)"
    claims = Claims("similarity", symmetric=True, range=(0.0, 1.0), self_score=1.0, invariant_to=SHAPE)

    def of(self, pair: Pair) -> float:
        # Rounding can lift two equal sides above 1.
        return min(1.0, pair.nuclear / math.sqrt(pair.x.total * pair.y.total))
