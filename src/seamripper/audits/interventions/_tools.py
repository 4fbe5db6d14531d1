"""What several interventions need: random draws, bounds of options, frequencies of images, tokens of texts."""

from __future__ import annotations

import abc
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from seamripper.audits.interventions.base import Intervention, Kind
from seamripper.data.samples import Inputs, Samples
from seamripper.errors import AuditError, InapplicableError

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
    mixed = _mixed(_mixed(ids.cpu().numpy().astype(np.uint64) + start)[:, None] + steps)
    # 53 bits are what a float64 holds.
    return torch.from_numpy((mixed >> np.uint64(11)).astype(np.float64) * 2.0**-53)


def permutations(ids: Tensor, size: int, *, seed: int) -> Tensor:
    """A permutation of 0 … size − 1 for each id (n, size).

    >>> permutations(torch.tensor([7, 8]), 4, seed=0).tolist()
    [[2, 3, 1, 0], [0, 3, 1, 2]]
    """
    return uniforms(ids, size, seed=seed).argsort(dim=1)


def partners(samples: Samples, *, seed: int) -> Tensor:
    """The row of another sample for each (n): of another label, or, where all have the same, of any other.

    Of one sample alone there is no other: it is its own.

    >>> four = Samples("four", torch.zeros(4, 1), torch.tensor([0, 0, 1, 1]), torch.arange(4), classes=2)
    >>> partners(four, seed=0).tolist()
    [3, 2, 0, 1]
    """
    n, labels = len(samples), samples.labels
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


def _mixed(
    words: np.ndarray[tuple[int, ...], np.dtype[np.uint64]],
) -> np.ndarray[tuple[int, ...], np.dtype[np.uint64]]:
    """The finaliser of splitmix64: neighbours have nothing in common."""
    for shift, factor in _FINALISER:
        words = (words ^ (words >> np.uint64(shift))) * np.uint64(factor)
    return words ^ (words >> np.uint64(31))


def require_between(choice: Intervention, option: str, *, above: float, below: float = math.inf) -> None:
    """Refuse an option that is not above one number and below another."""
    value = getattr(choice, option)
    # Not `value <= above or …`, or NaN would pass.
    if not above < value < below:
        upper = "" if below == math.inf else f" and below {below:g}"
        raise AuditError(
            f"Expected {option} of the intervention {choice.name!r} to be a number above {above:g}{upper}, "
            f"but got {value!r}."
        )


@dataclass(frozen=True)
class OfFrequencies(Intervention, abc.ABC):
    """An intervention that tells low frequencies from high ones at `cutoff`, in cycles per image."""

    kind: ClassVar[Kind] = "image"

    cutoff: float

    def __post_init__(self) -> None:
        super().__post_init__()
        require_between(self, "cutoff", above=0)


def low_frequencies(pixels: Tensor, cutoff: float) -> Tensor:
    """Images (n, c, h, w) with every frequency f, in cycles per image, weakened by exp(−f² / 2 cutoff²).

    An image is continued by its mirror image, so that its left edge has nothing to do with its right one. The mean
    (f = 0) stays; what is taken away is `pixels` minus this.

    >>> edge = torch.tensor([0.0, 0, 0, 1, 1, 1]).expand(1, 1, 6, 6)
    >>> low_frequencies(edge, 1.0)[0, 0, 0]
    tensor([0.0032, 0.0494, 0.2915, 0.7085, 0.9506, 0.9968])
    """
    # Half precision has no exact means, and its products are slow.
    working = pixels.to(torch.promote_types(pixels.dtype, torch.float32))
    rows, columns = (_gaussian(size, cutoff).to(working) for size in pixels.shape[-2:])
    return (rows @ (working @ columns)).to(pixels.dtype)


def _gaussian(size: int, cutoff: float) -> Tensor:
    """The symmetric matrix (size, size) that weakens the frequencies of one axis.

    The Gaussian of two frequencies is a product of two of one: a matrix a side does what a transform of the
    image there and back would, and faster.
    """
    # The image and its mirror image together have twice the size, so cycles per image come in steps of a half.
    cycles = torch.fft.fftfreq(2 * size, 1 / size, dtype=torch.float64)
    kernel = torch.fft.ifft(torch.exp(-((cycles / cutoff) ** 2) / 2)).real
    place = torch.arange(size)
    straight = (place[:, None] - place) % (2 * size)
    mirrored = (place[:, None] + place + 1) % (2 * size)
    matrix: Tensor = kernel[straight] + kernel[mirrored]
    return matrix


def tokens(samples: Samples, what: str) -> tuple[Tensor, Tensor]:
    """The tokens (n, t), and which of them are words (n, t); an error if the samples are no texts.

    Words are those that the attention mask leaves, without the first and the last of them: these are CLS and SEP.

    >>> inputs = {"input_ids": torch.tensor([[1, 5, 6, 2, 0]]), "attention_mask": torch.tensor([[1, 1, 1, 1, 0]])}
    >>> tokens(Samples("text", inputs, torch.tensor([0]), torch.tensor([0]), classes=1), "word_shuffle")[1].tolist()
    [[False, True, True, False, False]]
    """
    inputs = samples.inputs if isinstance(samples.inputs, Mapping) else {}
    ids = inputs.get("input_ids")
    if ids is None or ids.dim() != 2 or ids.is_floating_point():
        raise InapplicableError(
            f"{what} is for texts, named inputs with whole numbers `input_ids` (n, t), but {samples.name} has "
            f"{_described(samples.inputs)}."
        )
    mask = inputs.get("attention_mask", torch.ones_like(ids))
    if mask.shape != ids.shape:
        raise InapplicableError(
            f"{what} wants an `attention_mask` of the shape of `input_ids`, {tuple(ids.shape)}, "
            f"but that of {samples.name} has {tuple(mask.shape)}."
        )
    left = mask.bool()
    before, after = left.cumsum(1), left.flip(1).cumsum(1).flip(1)
    return ids, left & (before > 1) & (after > 1)


def with_tokens(samples: Samples, changed: Tensor) -> Inputs:
    """The samples' inputs with other tokens; what else they have is as it was."""
    assert isinstance(samples.inputs, Mapping)
    return {**samples.inputs, "input_ids": changed}


def _described(inputs: Inputs) -> str:
    if isinstance(inputs, Tensor):
        return f"inputs of shape {tuple(inputs.shape[1:])}"
    return ", ".join(f"{name} of shape {tuple(value.shape[1:])} in {value.dtype}" for name, value in inputs.items())
