"""The order in which a pass takes samples: by a hash of their ids, as data may come sorted by class.

Folds, minibatches and kept rows are all parts of that order, the same on every machine.
"""

from __future__ import annotations

import torch
from torch import Tensor

_SALT = 0x5EA3


def order_of(ids: Tensor, *, seed: int) -> Tensor:
    """The order of samples with these ids.

    >>> order_of(torch.arange(6), seed=0).tolist()
    [1, 2, 4, 5, 0, 3]
    """
    return torch.argsort(mixed(ids, seed=seed ^ _SALT), stable=True)


def mixed(ids: Tensor, *, seed: int) -> Tensor:
    """A number below 2³² for each id; those of ids that follow each other are far apart."""
    # The finaliser of splitmix32 (Steele, Lea & Flood 2014).
    found = (ids + 0x9E3779B9 * (seed + 1)) & 0xFFFFFFFF
    for shift, factor in ((16, 0x21F0AAAD), (15, 0x735A2D97)):
        found = ((found ^ (found >> shift)) * factor) & 0xFFFFFFFF
    return found ^ (found >> 15)
