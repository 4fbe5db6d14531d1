"""Random draws for interventions: a hash of seed and sample id, so that neither order nor batch matters."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from seamripper.data.samples import Samples

_STEP = 0x9E3779B97F4A7C15
_FINALISER = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))
_WORD = 1 << 64


def uniforms(ids: Tensor, count: int, *, seed: int) -> Tensor:
    """`count` numbers in [0, 1) for each id (n, count), float64: a hash of seed, id and place (Steele et al. 2014).

    The first numbers of an id are the same however many are asked for.

    >>> uniforms(torch.tensor([7, 8]), 3, seed=0).round(decimals=3).tolist()
    [[0.722, 0.65, 0.549], [0.267, 0.53, 0.54]]
    """
    start = np.uint64((seed + 1) * _STEP % _WORD)
    steps = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(_STEP)
    hashes = _scramble(_scramble(ids.cpu().numpy().astype(np.uint64) + start)[:, None] + steps)
    # 53 bits are what a float64 holds.
    return torch.from_numpy((hashes >> np.uint64(11)).astype(np.float64) * 2.0**-53)


def permutations(ids: Tensor, size: int, *, seed: int) -> Tensor:
    """A permutation of 0 … size − 1 for each id (n, size).

    >>> permutations(torch.tensor([7, 8]), 4, seed=0).tolist()
    [[2, 3, 1, 0], [0, 3, 1, 2]]
    """
    return uniforms(ids, size, seed=seed).argsort(dim=1)


def partners(samples: Samples, *, seed: int) -> Tensor:
    """For each sample, the row of another one (n): of another label, or any where all have the same one or none.

    A sample that is alone is its own partner.

    >>> four = Samples("four", torch.zeros(4, 1), torch.tensor([0, 0, 1, 1]), torch.arange(4), classes=2)
    >>> partners(four, seed=0).tolist()
    [3, 2, 0, 1]
    """
    n, labels = len(samples), samples.labels_by_sample.clamp(min=0)
    # By label and id, so that the order in which samples come does not matter.
    order = torch.from_numpy(np.lexsort((samples.ids.numpy(), labels.numpy())))
    rank = torch.empty_like(order).scatter_(0, order, torch.arange(n))
    sizes = torch.bincount(labels)
    # Samples of a label stand side by side in that order: draw from what is left without them, and step over them.
    alone = n == int(sizes.max())
    first = rank if alone else (sizes.cumsum(0) - sizes)[labels]
    size = torch.ones_like(rank) if alone else sizes[labels]
    drawn = (uniforms(samples.ids, 1, seed=seed)[:, 0] * (n - size)).long()
    return order[torch.where(drawn < first, drawn, drawn + size).clamp(max=n - 1)]


def _scramble(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of splitmix64: neighbouring words become unrelated ones."""
    for shift, factor in _FINALISER:
        words = (words ^ (words >> np.uint64(shift))) * np.uint64(factor)
    return words ^ (words >> np.uint64(31))
