"""Masks that several families share: stretches of an axis, frequencies, and the words that two texts have in common."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from seamripper.audits.interventions.inputs import words_in
from seamripper.data.samples import Inputs
from seamripper.errors import InapplicableError


def stretches(starts: Tensor, sizes: Tensor, length: int) -> Tensor:
    """Which places of an axis lie in the stretch of each row (n, length).

    >>> stretches(torch.tensor([0, 2]), torch.tensor([1, 2]), 4).int().tolist()
    [[1, 0, 0, 0], [0, 0, 1, 1]]
    """
    places = torch.arange(length)
    return (places >= starts[:, None]) & (places < (starts + sizes)[:, None])


def drawn_stretches(sizes: Tensor, draws: Tensor, length: int) -> Tensor:
    """A stretch of each size, at least one place and at most all, where the draws in [0, 1) put it (n, length).

    >>> drawn_stretches(torch.tensor([0.0, 2.2]), torch.tensor([0.9, 0.5]), 4).int().tolist()
    [[0, 0, 0, 1], [0, 1, 1, 0]]
    """
    whole = sizes.round().long().clamp(1, length)
    return stretches((draws * (length - whole + 1)).long(), whole, length)


def frequencies(shape: tuple[int, ...]) -> Tensor:
    """Cycles per pixel, or per step of time, of what `torch.fft.rfftn` gives for these axes.

    >>> frequencies((4, 4)).round(decimals=2).tolist()[0]
    [0.0, 0.25, 0.5]
    """
    axes = [torch.fft.fftfreq(size) for size in shape[:-1]] + [torch.fft.rfftfreq(shape[-1])]
    return torch.stack(torch.meshgrid(*axes, indexing="ij")).square().sum(0).sqrt()


def spectrum(inputs: Tensor, axes: tuple[int, ...]) -> Tensor:
    """The transform of inputs over these axes; half precision, which has none, is widened."""
    values: Tensor = torch.fft.rfftn(inputs.to(torch.promote_types(inputs.dtype, torch.float32)), dim=axes)
    return values


def from_spectrum(values: Tensor, like: Tensor, axes: tuple[int, ...]) -> Tensor:
    """The inputs that have this spectrum, in the shape and the precision of `like`."""
    inputs: Tensor = torch.fft.irfftn(values, s=[like.shape[axis] for axis in axes], dim=axes)
    return inputs.to(like.dtype)


def shared_words(a: Inputs, b: Inputs, what: str) -> tuple[Tensor, Tensor, Tensor]:
    """The tokens of both texts (n, t), and the places at which both have a word: neither CLS, SEP nor padding."""
    if not (isinstance(a, Mapping) and isinstance(b, Mapping) and "input_ids" in a):
        raise InapplicableError(f"The mixture {what!r} is for texts, named inputs with `input_ids`.")
    masks = [text.get("attention_mask", torch.ones_like(text["input_ids"])) for text in (a, b)]
    if masks[0].shape != a["input_ids"].shape:
        raise InapplicableError(f"The mixture {what!r} needs an `attention_mask` of the shape of `input_ids`.")
    return a["input_ids"], b["input_ids"], words_in(masks[0]) & words_in(masks[1])


def share_of(count: Tensor, share: float) -> Tensor:
    """A share of each count in whole numbers, at least 1 where there is anything.

    >>> share_of(torch.tensor([0, 1, 9]), 0.5).tolist()
    [0, 1, 4]
    """
    return torch.minimum(count, (count * share).round().long().clamp(min=1))
