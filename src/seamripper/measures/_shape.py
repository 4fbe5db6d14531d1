"""Shape: how far the best alignment of two representations is from a perfect one."""

from __future__ import annotations

import math

import torch

from seamripper.measures.pair import Pair, Side

ROUNDING = 64 * torch.finfo(torch.float64).eps
"""What part of a sum of squares its rounding may be."""


def gap(pair: Pair, overlap: float) -> float:
    """1 − overlap / (‖X‖ ‖Y‖) for centred X, Y: 0 if one is the other, aligned and scaled; 2 if it is its negative.

    `overlap` is the greatest ⟨X Q, Y⟩ over the maps Q that are allowed: ‖Sxy‖_* for rotations. A gap that the
    rounding of these sums can make is no gap: distances are its roots, and would show 1e-16 as 1e-8.

    >>> pair = Pair.of(torch.tensor([[1.0], [0.0], [-1.0], [0.0]]), torch.tensor([[0.0], [2.0], [0.0], [-2.0]]))
    >>> gap(pair, pair.nuclear), gap(pair, -4.0)
    (1.0, 2.0)
    """
    found = 1 - overlap / math.sqrt(pair.x.total * pair.y.total)
    return 0.0 if found <= max(_rounding(pair.x), _rounding(pair.y)) else min(found, 2.0)


def _rounding(side: Side) -> float:
    """What part of ‖X‖² its sums may be off by. Moments were summed about zero, so a large mean costs them digits."""
    if side.rows is not None:
        return ROUNDING
    return ROUNDING * (1 + side.n * float(side.mean @ side.mean) / side.total)
