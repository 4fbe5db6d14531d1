"""Randomness from a seed that leaves the global generator as it was."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator

import torch


@contextlib.contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Within, PyTorch's random numbers come from `seed`; after, the global generator goes on where it was.

    >>> before = torch.get_rng_state()
    >>> with seeded(0):
    ...     torch.rand(1)
    tensor([0.4963])
    >>> bool((torch.get_rng_state() == before).all())
    True
    """
    with torch.random.fork_rng(devices=[]):
        # The CPU's generator alone: torch.manual_seed would also reseed every GPU, which is not forked here.
        torch.default_generator.manual_seed(seed)
        yield


def derived(*parts: int) -> int:
    """One seed made of several numbers, such that neighbours have nothing in common.

    >>> derived(0, 1) == derived(0, 1), derived(0, 1) == derived(1, 0)
    (True, False)
    """
    digest = hashlib.sha256(" ".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1
