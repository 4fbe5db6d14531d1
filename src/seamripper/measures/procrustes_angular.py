"""Angular Procrustes: the angle between two shapes."""

from __future__ import annotations

import math
from dataclasses import dataclass

from seamripper.measures.alignment import gap
from seamripper.measures.base import SHAPE, Claims, Measure
from seamripper.measures.pair import Pair


@dataclass(frozen=True)
class ProcrustesAngular(Measure):
    """The angular shape metric of centred X and Y, in radians (Williams et al. 2021).

    The angle between X Q and Y for the best orthogonal Q, 0 for the same shape and π/2 for representations that share
    nothing. It obeys the triangle inequality. Widths may differ: columns of zeros that would make them equal add
    nothing to either norm. An angle below 2e-7 is rounding and comes out as 0.

    >>> import torch
    >>> x = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
    >>> round(ProcrustesAngular().value(Pair.of(x, x[:, :1])), 6)  # pi / 4
    0.785398
    """

    name = "procrustes_angular"
    paper = "Williams, Kunz, Kornblith, Linderman 2021"
    formula = "arccos(‖Sxy‖_* / (‖X‖ ‖Y‖))"
    claims = Claims("distance", symmetric=True, range=(0.0, math.pi / 2), self_score=0.0, invariant_to=SHAPE)

    def of(self, pair: Pair) -> float:
        width = gap(pair, pair.nuclear)
        # arccos(1 − g) by the half angle: it loses no digits where g is small.
        return 2 * math.atan2(math.sqrt(width), math.sqrt(2 - width))
