"""Other labels for the same samples: labels drawn anew, and images turned and labelled by their turn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray

from seamripper.data.samples import Samples
from seamripper.errors import DataError

TURNS = 4
"""Quarter turns that leave an image on its grid, none among them."""


def with_label_noise(samples: Samples, share: float, *, seed: int) -> Samples:
    """The samples with about this share of the labels drawn anew: every class is as likely, the right one included.

    A sample has the same label however many others there are.

    >>> zeros = Samples("toy", torch.zeros(1000, 1), torch.zeros(1000).long(), torch.arange(1000), classes=10)
    >>> int((with_label_noise(zeros, 0.5, seed=0).labels != 0).sum())  # About 0.5 · 9/10 of them are wrong.
    475
    """
    samples.require_one_label("drawing labels anew")
    drawn = _draws(samples.ids, seed=seed, stream=0) < share
    labels = (_draws(samples.ids, seed=seed, stream=1) * samples.classes).astype(np.int64)
    noisy = torch.where(torch.from_numpy(drawn), torch.from_numpy(labels), samples.labels)
    return replace(samples, labels=noisy, source=f"{samples.source}; {share:g} of the labels drawn with seed {seed}")


def rotate(samples: Samples, *, seed: int) -> Samples:
    """The images, each turned by 0 to 3 quarter turns, which are its label (Gidaris, Singh & Komodakis 2018).

    It is a task without labels: a network that tells the turn has to know what the images show.

    >>> square = torch.tensor([[[[1, 2], [3, 4]]]]).byte()
    >>> toy = rotate(Samples("toy", square, torch.tensor([7]), torch.tensor([3]), classes=10), seed=0)
    >>> toy.inputs.tolist(), toy.labels.tolist(), toy.classes
    ([[[[4, 3], [2, 1]]]], [2], 4)
    """
    inputs = samples.inputs
    if not isinstance(inputs, torch.Tensor) or inputs.ndim != 4 or inputs.shape[-1] != inputs.shape[-2]:
        raise DataError(
            f"Expected {samples.name} to be square images, as only they can be turned, but a sample has the shape "
            f"{samples.shape}. Leave out rotate, or give a size."
        )
    turns = torch.from_numpy((_draws(samples.ids, seed=seed, stream=2) * TURNS).astype(np.int64))
    turned = inputs.clone()
    for turn in range(1, TURNS):
        turned[turns == turn] = torch.rot90(inputs[turns == turn], turn, (2, 3))
    source = f"{samples.source}; turned with seed {seed}"
    return replace(samples, inputs=turned, labels=turns, classes=TURNS, source=source)


def _draws(ids: torch.Tensor, *, seed: int, stream: int) -> NDArray[np.float64]:
    """A number of 0 up to 1 for each id, by the id, the seed and the stream alone (SplitMix64, Steele et al. 2014)."""
    start = _mix(np.array([4 * seed + stream], np.uint64))
    return (_mix(_mix(ids.numpy().astype(np.uint64) + start)) >> np.uint64(11)).astype(np.float64) / 2.0**53


def _mix(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """One step of SplitMix64; numbers wrap around at 2^64."""
    z = state + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
