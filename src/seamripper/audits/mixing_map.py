"""Where a network listens: how often it follows the other input, by the place that comes from there."""

from __future__ import annotations

import numpy as np
import torch
from torch.nn import functional as F

from seamripper.audits.departure import Floats
from seamripper.audits.mixing_reading import InputPairs
from seamripper.audits.mixtures.base import Mixture

_CELLS, _STRETCHES = 7, 14
"""A map of an image has at most so many rows and columns, and one of a sound or a vector at most so many stretches."""


def coverage(mixture: Mixture, pairs: InputPairs, *, strength: float, seed: int) -> Floats:
    """How much of each cell of a map comes from the other input (pairs, rows, columns); 1 is all of it."""
    shape = pairs.a.shape
    nothing = torch.zeros(len(pairs), *((1, *shape[1:]) if len(shape) == 3 else shape))
    # The mask itself: the part that is taken from ones, in zeros.
    mask = mixture.mix(nothing, torch.ones_like(nothing), pairs.a.ids, strength=strength, seed=seed)
    assert isinstance(mask, torch.Tensor)
    if len(shape) == 3:
        cells = F.adaptive_avg_pool2d(mask, (min(_CELLS, shape[1]), min(_CELLS, shape[2])))[:, 0]
    else:
        flat = (
            mask.mean(2, keepdim=True).transpose(1, 2) if len(shape) == 2 and shape[0] > 1 else mask.flatten(1)[:, None]
        )
        cells = F.adaptive_avg_pool1d(flat, min(_STRETCHES, flat.shape[-1]))
    return np.asarray(cells.double().numpy())


def listening(leaning: Floats, covered: Floats) -> list[list[float]]:
    """How much a network leans to the other input, weighted by how much of each cell comes from there.

    >>> covered = np.array([[[1.0, 0.0]], [[1.0, 0.0]], [[0.0, 1.0]]])
    >>> listening(np.array([1.0, 0.0, 0.0]), covered)
    [[0.5, 0.0]]
    """
    every, other = (np.einsum("n,nij->ij", weights, covered) for weights in (np.ones_like(leaning), leaning))
    shares: list[list[float]] = np.where(every > 0, other / np.maximum(every, 1e-9), np.nan).tolist()
    return shares


def maps(
    mixture: Mixture, pairs: InputPairs, networks: dict[str, Floats], *, strength: float, seed: int
) -> dict[str, object]:
    """The map of each network, by name, from the mixtures of one family."""
    covered = coverage(mixture, pairs, strength=strength, seed=seed)
    return {"mixture": mixture.label, **{name: listening(leaning, covered) for name, leaning in networks.items()}}
