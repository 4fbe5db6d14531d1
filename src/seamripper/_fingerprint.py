"""Fingerprints: a short name for exact bytes, by which two things are the same or are not."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from seamripper._devices import to_memory


def tensor_fingerprint(tensor: Tensor) -> str:
    """sha256 over dtype, shape and bytes.

    >>> import torch
    >>> tensor_fingerprint(torch.zeros(2)) == tensor_fingerprint(torch.zeros(2))
    True
    >>> tensor_fingerprint(torch.zeros(2)) == tensor_fingerprint(torch.zeros(2, 1))
    False
    """
    digest = hashlib.sha256(f"{tensor.dtype}{tuple(tensor.shape)}".encode())
    if tensor.is_quantized:
        # Its bytes alone do not say which numbers they stand for.
        return join_fingerprints(
            [digest.hexdigest(), *map(tensor_fingerprint, (tensor.int_repr(), tensor.dequantize()))]
        )
    digest.update(_bytes_of(tensor))
    return digest.hexdigest()


class RunningFingerprint:
    """The fingerprint of a tensor whose rows come in parts, none of which is held.

    If the number of rows is known beforehand, it is the `tensor_fingerprint` of the whole; if not, it is one of its own
    kind, because a sha256 begins with the shape.

    >>> running, whole = RunningFingerprint(3), torch.arange(6.0).reshape(3, 2)
    >>> running.add(whole[:1])
    >>> running.add(whole[1:])
    >>> running.value == tensor_fingerprint(whole)
    True
    """

    def __init__(self, rows: int | None) -> None:
        self._rows = rows
        self._added = 0
        self._digest: Any = None

    def add(self, rows: Tensor) -> None:
        """The rows that come next."""
        if self._digest is None:
            shape = ("?" if self._rows is None else self._rows, *rows.shape[1:])
            self._digest = hashlib.sha256(f"{rows.dtype}{shape}".encode())
        self._added += len(rows)
        self._digest.update(_bytes_of(rows))

    @property
    def value(self) -> str:
        """The fingerprint of all rows so far."""
        digest = self._digest.copy()
        if self._rows is None:
            digest.update(f"{self._added} rows".encode())
        text: str = digest.hexdigest()
        return text


def _bytes_of(tensor: Tensor) -> Any:
    plain = to_memory(tensor.detach()).contiguous()
    # Viewed as bytes because numpy knows no bfloat16; flattened because a scalar has no last axis to view.
    return plain.reshape(-1).view(torch.uint8).numpy().data if plain.numel() else b""


def tensors_of(module: nn.Module) -> dict[str, Tensor]:
    """Every parameter and buffer by name, those included that a state dict leaves out.

    Parameters that sit in a list or dict count too, although PyTorch does not register them, and so do the packed
    weights of quantised layers.

    >>> layer = nn.Linear(2, 1, bias=False)
    >>> layer.scales = [nn.Parameter(torch.ones(1))]
    >>> list(tensors_of(layer))
    ['weight', 'scales[0]']
    """
    hidden = {name: tensor for name, tensor in hidden_tensors(module) if isinstance(tensor, nn.Parameter)}
    return {**dict(module.named_parameters()), **dict(module.named_buffers()), **hidden, **_quantised_weights(module)}


def hidden_tensors(module: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """Tensors that are attributes of a module, or in its lists and dicts, and neither parameters nor buffers of it."""
    known = {id(tensor) for tensor in (*module.parameters(), *module.buffers())}
    for name, part in module.named_modules():
        for key, value in vars(part).items():
            if key in ("_parameters", "_buffers", "_modules"):
                continue
            for place, tensor in _tensors_in(f"{name}.{key}".removeprefix("."), value):
                if id(tensor) not in known:
                    yield place, tensor


def _tensors_in(name: str, value: Any, depth: int = 4) -> Iterator[tuple[str, Tensor]]:
    # Not deeper than this, as a list may hold itself.
    if isinstance(value, Tensor):
        yield name, value
    elif isinstance(value, Mapping | list | tuple) and depth:
        for key, item in value.items() if isinstance(value, Mapping) else enumerate(value):
            yield from _tensors_in(f"{name}[{key!r}]", item, depth - 1)


def _quantised_weights(module: nn.Module) -> dict[str, Tensor]:
    """The weights and biases of quantised layers, which are held in an object of the backend's own."""
    tensors = {}
    for name, part in module.named_modules():
        unpack = getattr(vars(part).get("_packed_params"), "unpack", None)
        for k, tensor in enumerate(unpack() if unpack is not None else ()):
            if isinstance(tensor, Tensor):
                tensors[f"{name}.unpacked[{k}]".removeprefix(".")] = tensor
    return tensors


def fingerprints_of(module: nn.Module) -> dict[str, str]:
    """The fingerprint of every parameter and buffer."""
    return {name: tensor_fingerprint(t) for name, t in tensors_of(module).items()}


def join_fingerprints(prints: Mapping[str, str] | Iterable[str]) -> str:
    """One fingerprint for many, in the order of their names."""
    items = sorted(prints.items()) if isinstance(prints, Mapping) else [("", p) for p in prints]
    text = "\n".join(f"{name} {value}" for name, value in items)
    return hashlib.sha256(text.encode()).hexdigest()


def model_fingerprint(module: nn.Module) -> str:
    """The fingerprint of a model's parameters and buffers together."""
    return join_fingerprints(fingerprints_of(module))
