"""Ids: the numbers by which samples are known, and the hash that draws by them, the same on every machine."""

from __future__ import annotations

from torch import Tensor

LARGEST = 1 << 32
"""Hashes are below this."""


def hash_ids(ids: Tensor, *, seed: int) -> Tensor:
    """A number below 2³² for each id; those of ids that follow each other are far apart."""
    # The finaliser of splitmix32 (Steele, Lea & Flood 2014).
    mixed = (ids + 0x9E3779B9 * (seed + 1)) & 0xFFFFFFFF
    for shift, factor in ((16, 0x21F0AAAD), (15, 0x735A2D97)):
        mixed = ((mixed ^ (mixed >> shift)) * factor) & 0xFFFFFFFF
    return mixed ^ (mixed >> 15)
