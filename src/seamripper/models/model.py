"""Model: a network, where it came from, and what is known of it."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from seamripper._devices import MAIN_MEMORY, device_of, dtype_of, move
from seamripper._doors import require, require_whole
from seamripper._fingerprint import model_fingerprint
from seamripper._notebook import short
from seamripper.data.samples import Inputs, Samples
from seamripper.errors import DataError, ModelError
from seamripper.models.contract import InputContract, view_for

_TOKENS = 16
"""How many tokens an example has, for a model that takes any number of them."""


@dataclass(frozen=True, eq=False)
class Model:
    """A module, its source (how it was asked for), the shape of one input, its classes, its training record.

    >>> model = Model(nn.Linear(4, 2), "memory", input=(4,), classes=2)
    >>> model
    Model(source='memory', input=(4,), classes=2)
    >>> model.example().shape
    torch.Size([2, 4])
    """

    module: nn.Module = field(repr=False)
    source: str
    input: tuple[int, ...] | None = None
    classes: int | None = None
    record: Mapping[str, Any] = field(default_factory=dict, repr=False)
    wants: InputContract | None = field(default=None, repr=False)
    """What its inputs must be; None if that is not known, and samples are then passed as they come."""

    def __post_init__(self) -> None:
        if isinstance(self.module, nn.Module):
            object.__setattr__(self, "module", unwrap(self.module))
        advice = "`load` makes a model of a word: load('zoo:resnet18')."
        require(self.module, nn.Module, "the module of a model", error=ModelError, advice=advice)
        require(self.source, str, "the source of a model", error=ModelError)
        if self.input is not None and not all(isinstance(size, int) and size >= 1 for size in self.input):
            raise ModelError(
                f"Expected `input` of {self.source} to be sizes of at least 1, for example (3, 32, 32), but got "
                f"{self.input!r}."
            )
        if self.classes is not None and not (isinstance(self.classes, int) and self.classes >= 1):
            raise ModelError(f"Expected {self.source} to have at least 1 class, but got classes = {self.classes!r}.")

    def __repr__(self) -> str:
        return f"Model(source={short(self.source, 120)!r}, input={self.input}, classes={self.classes})"

    def present(self, samples: Samples) -> Samples:
        """The samples as this model wants them; if they cannot be converted, the error names both sides."""
        dtype = None if self.dtype == torch.float32 else self.dtype
        device = None if self.device == MAIN_MEMORY else self.device
        shown = view_for(self.wants, samples, who=self.source, dtype=dtype, device=device)
        ids = None if isinstance(shown.inputs, Tensor) else shown.inputs.get("input_ids")
        vocabulary = _vocabulary(self.module)
        if ids is not None and vocabulary is not None and not 0 <= int(ids.min()) <= int(ids.max()) < vocabulary:
            raise DataError(
                f"{self.source} knows {vocabulary} tokens, 0 … {vocabulary - 1}, but those of {samples.name} go from "
                f"{int(ids.min())} to {int(ids.max())}. Tokenize the text as this model wants it."
            )
        return shown

    @property
    def device(self) -> torch.device:
        """Where the model computes: the device of its weights."""
        return device_of(self.module)

    @property
    def dtype(self) -> torch.dtype:
        """The precision that the model computes in: that of its weights, or float32 if it has none."""
        return dtype_of(self.module)

    def receive(self, inputs: Inputs) -> Inputs:
        """Inputs on the model's device, floats in its precision if that is not float32."""
        if isinstance(inputs, Tensor):
            cast = inputs.is_floating_point() and self.dtype != torch.float32
            return move(inputs.to(self.dtype) if cast else inputs, self.device)
        return {name: move(value, self.device) for name, value in inputs.items()}

    @property
    def fingerprint(self) -> str:
        """sha256 over every parameter and buffer, as they are now."""
        return model_fingerprint(self.module)

    def shown_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The shape that a sample of this shape has when it is shown to this model."""
        size = None if self.wants is None else self.wants.size
        return (shape[0], *size) if size is not None and len(shape) == 3 else tuple(shape)

    def example(self, n: int = 2, input: tuple[int, ...] | None = None) -> Inputs:
        """`n` random inputs, the same at every call: normal numbers, or tokens for a model that reads tokens.

        `input` is the shape of one of them; without it, the shape that the model is known to take.
        """
        vocabulary = _vocabulary(self.module)
        shape = input or self.input or (None if vocabulary is None else (_TOKENS,))
        if shape is None:
            raise ModelError(
                f"The shape of one input of {self.source} is not known, so no example can be made. Give it, for "
                "example input=(3, 32, 32)."
            )
        require_whole(n, "n", least=1, error=ModelError)
        for size in shape:
            require_whole(size, "every size in input", least=1, error=ModelError)
        generator = torch.Generator().manual_seed(0)
        if vocabulary is None:
            return move(torch.randn(n, *shape, generator=generator).to(self.dtype), self.device)
        tokens = move(torch.randint(vocabulary, (n, *shape), generator=generator), self.device)
        return {"input_ids": tokens, "attention_mask": torch.ones_like(tokens)}


def unwrap(module: nn.Module) -> nn.Module:
    """The network inside what `torch.compile`, DataParallel and DistributedDataParallel make of it, or of its parts.

    Its layers have their own names, and are computed layer by layer, as a cut needs them. Other wrappers (PEFT's) stay:
    they change what is computed. A network with a wrapped part is unwrapped as a copy that shares its weights.

    >>> unwrap(nn.DataParallel(nn.Linear(2, 1)))
    Linear(in_features=2, out_features=1, bias=True)
    >>> unwrap(nn.Sequential(nn.DataParallel(nn.Linear(2, 1))))
    Sequential(
      (0): Linear(in_features=2, out_features=1, bias=True)
    )
    """
    plain = _inside(module)
    return _with_plain_parts(plain, {}) if any(_inside(part) is not part for part in plain.modules()) else plain


def _inside(module: nn.Module) -> nn.Module:
    while True:
        if isinstance(module, nn.DataParallel | nn.parallel.DistributedDataParallel):
            module = module.module
        elif isinstance(inner := module._modules.get("_orig_mod"), nn.Module):
            module = inner
        else:
            return module


def _with_plain_parts(module: nn.Module, known: dict[int, nn.Module]) -> nn.Module:
    """A copy of the network with its parts unwrapped, the same weights in it; a part under two names stays one part."""
    module = _inside(module)
    if id(module) not in known:
        twin = known[id(module)] = copy.copy(module)
        vars(twin)["_modules"] = {
            name: None if part is None else _with_plain_parts(part, known) for name, part in module._modules.items()
        }
    return known[id(module)]


def _vocabulary(module: nn.Module) -> int | None:
    """How many tokens a Hugging Face text model knows; None for any other model."""
    if getattr(module, "main_input_name", None) != "input_ids":
        return None
    embeddings = module.get_input_embeddings()  # type: ignore[operator]
    weight: Tensor = embeddings.weight
    return weight.shape[0]
