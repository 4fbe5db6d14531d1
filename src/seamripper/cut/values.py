"""What goes into a model and comes out: one tensor, or several in a tuple, a mapping or a dataclass."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor

from seamripper.data.samples import Inputs, first_input
from seamripper.errors import CutError


def first_tensor(value: Any) -> Tensor | None:
    """The value itself if it is a tensor, else the first tensor directly inside the tuple, mapping or dataclass."""
    if isinstance(value, Tensor):
        return value
    return next((part for part in _parts(value) if isinstance(part, Tensor)), None)


def _parts(value: Any) -> list[Any]:
    """What a tuple, a list, a mapping or a dataclass holds, in order; nothing of any other value."""
    if isinstance(value, Mapping):
        return list(value.values())
    if isinstance(value, list | tuple):
        return list(value)
    return list(_fields(value).values())


def _fields(value: Any) -> dict[str, Any]:
    """The fields of a dataclass that can be made again from them; nothing of any other value."""
    if not dataclasses.is_dataclass(value) or isinstance(value, type | Mapping):
        return {}
    return {field.name: getattr(value, field.name) for field in dataclasses.fields(value) if field.init}


def first_argument(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Tensor | None:
    """The first tensor that a call is given, by its place or else by its name."""
    tensor = first_tensor(args)
    return first_tensor(kwargs) if tensor is None else tensor


def with_first(value: Any, new: Tensor) -> Any:
    """The same tuple or mapping with its first tensor replaced by `new`."""
    if isinstance(value, Tensor):
        return new
    if isinstance(value, Mapping):
        key = next(k for k, v in value.items() if isinstance(v, Tensor))
        return type(value)(**{**value, key: new})
    if fields := _fields(value):
        key = next(k for k, v in fields.items() if isinstance(v, Tensor))
        return dataclasses.replace(value, **{key: new})
    at = next(i for i, v in enumerate(value) if isinstance(v, Tensor))
    parts = [*value[:at], new, *value[at + 1 :]]
    return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)


def tensors_in(value: Any) -> Iterator[Tensor]:
    """Every tensor inside tuples, lists, mappings and dataclasses, in order."""
    if isinstance(value, Tensor):
        yield value
    for part in () if isinstance(value, Tensor) else _parts(value):
        yield from tensors_in(part)


def map_tensors(value: Any, change: Any) -> Any:
    """`change` applied to every tensor inside tuples, lists, mappings and dataclasses; anything else stays."""
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, Mapping):
        entries = {key: map_tensors(part, change) for key, part in value.items()}
        return entries if type(value) is dict else type(value)(**entries)
    if isinstance(value, list | tuple):
        parts = [map_tensors(part, change) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    if fields := _fields(value):
        return dataclasses.replace(value, **{name: map_tensors(part, change) for name, part in fields.items()})
    return value


def version_of(tensor: Tensor) -> int:
    """How often the tensor was written to in place. Of inference tensors torch does not keep count: always 0."""
    return 0 if tensor.is_inference() else tensor._version


def integer_names(inputs: Inputs) -> list[str]:
    """The names of the inputs that are integers: token ids, masks."""
    return [] if isinstance(inputs, Tensor) else [k for k, v in inputs.items() if not v.is_floating_point()]


def batch_of(inputs: Inputs) -> int:
    """How many samples these inputs hold."""
    return len(first_input(inputs))


def length_of(inputs: Inputs) -> int:
    """The common length of named inputs with two axes and integers in them (token ids, masks); 0 without any."""
    if isinstance(inputs, Tensor):
        return 0
    lengths = {value.shape[1] for value in inputs.values() if value.dim() == 2 and not value.is_floating_point()}
    return lengths.pop() if len(lengths) == 1 else 0


def first_of(inputs: Inputs, n: int) -> Inputs:
    """The first n samples of these inputs."""
    return inputs[:n] if isinstance(inputs, Tensor) else {key: value[:n] for key, value in inputs.items()}


def probes(example: Inputs) -> tuple[Inputs, Inputs]:
    """Two batches of different size and content, made from an example of any size.

    They hold 2 and 3 samples; token sequences are one token shorter in the second. What scales with neither is
    no function of the batch.
    """
    if batch_of(example) < 1:
        raise CutError("Expected an example with at least one sample, but it is empty.")
    return _probe(example, 2, 0), _probe(example, 3, 1)


def _probe(example: Inputs, n: int, turn: int) -> Inputs:
    if isinstance(example, Tensor):
        return _rows(example, n, turn)
    length = length_of(example)
    shorter = length - turn if length > 2 else length
    return {
        k: _rows(v[:, :shorter] if v.dim() == 2 and v.shape[1] == length else v, n, turn) for k, v in example.items()
    }


def _rows(tensor: Tensor, n: int, turn: int) -> Tensor:
    index = (torch.arange(n, device=tensor.device) + turn) % len(tensor)
    rows = tensor.detach()[index].clone()
    if not rows.is_floating_point():
        return rows
    # Scaled, so that repeated samples differ and a constant cannot pass for something computed.
    scale = 1 + 0.1 * (torch.arange(n, device=rows.device) + n * turn).to(rows.dtype)
    return rows * scale.reshape(-1, *[1] * (rows.dim() - 1))
