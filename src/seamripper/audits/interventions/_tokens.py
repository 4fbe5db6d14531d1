"""The tokens of a text that an intervention may touch."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from seamripper.data.samples import Inputs, Samples
from seamripper.errors import InapplicableError


def tokens(samples: Samples, what: str) -> tuple[Tensor, Tensor]:
    """The tokens (n, t), and which of them are words (n, t); an error if the samples are no texts.

    Words are those that the attention mask leaves, without the first and the last of them: these are CLS and SEP.

    >>> inputs = {"input_ids": torch.tensor([[1, 5, 6, 2, 0]]), "attention_mask": torch.tensor([[1, 1, 1, 1, 0]])}
    >>> tokens(Samples("text", inputs, torch.tensor([0]), torch.tensor([0]), classes=1), "word_shuffle")[1].tolist()
    [[False, True, True, False, False]]
    """
    inputs = samples.inputs if isinstance(samples.inputs, Mapping) else {}
    found = inputs.get("input_ids")
    if found is None or found.dim() != 2 or found.is_floating_point():
        raise InapplicableError(
            f"{what} is for texts, named inputs with whole numbers `input_ids` (n, t), but {samples.name} has "
            f"{_described(samples.inputs)}."
        )
    mask = inputs.get("attention_mask", torch.ones_like(found))
    if mask.shape != found.shape:
        raise InapplicableError(
            f"{what} wants an `attention_mask` of the shape of `input_ids`, {tuple(found.shape)}, "
            f"but that of {samples.name} has {tuple(mask.shape)}."
        )
    left = mask.bool()
    before, after = left.cumsum(1), left.flip(1).cumsum(1).flip(1)
    return found, left & (before > 1) & (after > 1)


def with_tokens(samples: Samples, changed: Tensor) -> Inputs:
    """The samples' inputs with other tokens; what else they have is as it was."""
    assert isinstance(samples.inputs, Mapping)
    return {**samples.inputs, "input_ids": changed}


def _described(inputs: Inputs) -> str:
    if isinstance(inputs, Tensor):
        return f"inputs of shape {tuple(inputs.shape[1:])}"
    return ", ".join(f"{name} of shape {tuple(value.shape[1:])} in {value.dtype}" for name, value in inputs.items())
