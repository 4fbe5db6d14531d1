"""What interventions are applied to: images, sound and texts, read from samples or refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import torch
from torch import Tensor

from seamripper.data.samples import Inputs, Samples
from seamripper.errors import InapplicableError

Kind = Literal["image", "text", "audio"]


def kind_of(samples: Samples) -> Kind:
    """What the inputs are: tokens are text, (n, c, h, w) images, (n, t) and (n, 1, t) sound.

    Spectrograms are (n, c, h, w) as well: name the interventions for sound to have them applied.
    """
    if isinstance(samples.inputs, Mapping):
        if "input_ids" in samples.inputs:
            return "text"
        raise InapplicableError(f"{samples.name} has named inputs without `input_ids`: no intervention is for those.")
    dims = samples.inputs.dim()
    if dims == 4:
        return "image"
    if dims == 2 or (dims == 3 and samples.inputs.shape[1] == 1):
        return "audio"
    raise InapplicableError(
        f"{samples.name} has inputs of shape {samples.shape}, for which no intervention is known. Give a conflict set."
    )


def images(samples: Samples, what: str, *, channels: tuple[int, ...] = (1, 3)) -> Tensor:
    """The samples' images (n, c, h, w) as a model takes them, copied; an error if there are none."""
    inputs = samples.batch(slice(None))
    if isinstance(inputs, Tensor) and inputs.dim() == 4 and inputs.shape[1] in channels and inputs.is_floating_point():
        return inputs.clone()
    kinds = " or ".join(map(str, channels))
    raise InapplicableError(f"{what} is for images with {kinds} channels, but {samples.name} has {_form(inputs)}.")


def limits(samples: Samples) -> tuple[float, float]:
    """The smallest and the largest value of a pixel: black and white for pictures, else the extremes that occur."""
    assert isinstance(samples.inputs, Tensor)
    if samples.pictures:
        mean, std = (torch.tensor(value).reshape(-1) for value in (samples.mean, samples.std))
        return float((-mean / std).min()), float(((1 - mean) / std).max())
    return float(samples.inputs.min()), float(samples.inputs.max())


def sound(samples: Samples, what: str) -> Tensor:
    """The samples' waveforms or spectrograms (n, …) as a model takes them; an error if they cannot be sound."""
    inputs = samples.batch(slice(None))
    if isinstance(inputs, Tensor) and inputs.dim() >= 2 and inputs.is_floating_point():
        return inputs
    raise InapplicableError(
        f"{what} is for sound in floating point, (n, t) or (n, 1, t), but {samples.name} has {_form(inputs)}."
    )


def axis_of(inputs: Tensor, axis: int, samples: Samples, what: str) -> int:
    """The axis, counted from the front; an error if the samples do not have it."""
    dims = inputs.dim()
    # Axis 0 counts the samples, which must not change places.
    if not (1 <= axis < dims or -dims < axis < 0):
        raise InapplicableError(
            f"{what} along axis {axis} is not possible for {samples.name}: an axis of one sample is "
            f"1 … {dims - 1}, or −1 … −{dims - 1} from the end."
        )
    return axis % dims


def tokens(samples: Samples, what: str) -> tuple[Tensor, Tensor]:
    """The tokens (n, t), and which of them are words (n, t); an error if the samples are not texts.

    Words are the tokens that the attention mask leaves, except for the first and the last of them: CLS and SEP.

    >>> inputs = {"input_ids": torch.tensor([[1, 5, 6, 2, 0]]), "attention_mask": torch.tensor([[1, 1, 1, 1, 0]])}
    >>> tokens(Samples("text", inputs, torch.tensor([0]), torch.tensor([0]), classes=1), "word_shuffle")[1].tolist()
    [[False, True, True, False, False]]
    """
    inputs = samples.inputs if isinstance(samples.inputs, Mapping) else {}
    ids = inputs.get("input_ids")
    if ids is None or ids.dim() != 2 or ids.is_floating_point():
        raise InapplicableError(
            f"{what} is for texts, named inputs whose `input_ids` (n, t) are whole numbers, but {samples.name} has "
            f"{_form(samples.inputs)}."
        )
    mask = inputs.get("attention_mask", torch.ones_like(ids))
    if mask.shape != ids.shape:
        raise InapplicableError(
            f"{what} needs an `attention_mask` of the shape of `input_ids`, {tuple(ids.shape)}, "
            f"but that of {samples.name} has {tuple(mask.shape)}."
        )
    return ids, words_in(mask)


def words_in(mask: Tensor) -> Tensor:
    """Which tokens are words (n, t): those that an attention mask leaves, except for the first and the last of them."""
    left = mask.bool()
    before, after = left.cumsum(1), left.flip(1).cumsum(1).flip(1)
    return left & (before > 1) & (after > 1)


def with_tokens(samples: Samples, changed: Tensor) -> Inputs:
    """The samples' inputs with other tokens, and everything else unchanged."""
    assert isinstance(samples.inputs, Mapping)
    return {**samples.inputs, "input_ids": changed}


def _form(inputs: Inputs) -> str:
    """Names, shapes and types of inputs, for a message."""
    named = {"inputs": inputs} if isinstance(inputs, Tensor) else inputs
    return ", ".join(f"{name} of shape {tuple(value.shape[1:])} in {value.dtype}" for name, value in named.items())
