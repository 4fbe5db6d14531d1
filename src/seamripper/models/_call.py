"""How a module is called with inputs of either kind, and its one tensor found among what it returns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

from seamripper.data.samples import Inputs
from seamripper.errors import ModelError


def answer_of(module: nn.Module, inputs: Inputs) -> Tensor:
    """The module's output on `inputs`: of several values the logits, if so named, or else the first.

    >>> import torch
    >>> answer_of(nn.Identity(), torch.tensor([1.0, 2.0]))
    tensor([1., 2.])
    """
    output: Any = module(inputs) if isinstance(inputs, Tensor) else module(**inputs)
    if isinstance(output, Mapping):
        output = output["logits"] if "logits" in output else next(iter(output.values()), None)
    elif isinstance(output, tuple | list) and output:
        output = output[0]
    if not isinstance(output, Tensor):
        raise ModelError(
            f"Expected {type(module).__name__} to return a tensor, or several with a tensor first, "
            f"but it returned {type(output).__name__}. Wrap it in a module that returns the one tensor."
        )
    return output
