"""Fingerprints: a short name for exact bytes, by which two things are the same or are not."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

import torch
from torch import Tensor, nn


def tensor_fingerprint(tensor: Tensor) -> str:
    """sha256 over dtype, shape and bytes.

    >>> import torch
    >>> tensor_fingerprint(torch.zeros(2)) == tensor_fingerprint(torch.zeros(2))
    True
    >>> tensor_fingerprint(torch.zeros(2)) == tensor_fingerprint(torch.zeros(2, 1))
    False
    """
    digest = hashlib.sha256(f"{tensor.dtype}{tuple(tensor.shape)}".encode())
    plain = tensor.detach().cpu().contiguous()
    # Viewed as bytes because numpy knows no bfloat16; flattened because a scalar has no last axis to view.
    digest.update(plain.reshape(-1).view(torch.uint8).numpy().data if plain.numel() else b"")
    return digest.hexdigest()


def tensors_of(module: nn.Module) -> dict[str, Tensor]:
    """Every parameter and buffer by name, also buffers that a state dict leaves out."""
    return {**dict(module.named_parameters()), **dict(module.named_buffers())}


def fingerprints_of(module: nn.Module) -> dict[str, str]:
    """The fingerprint of every parameter and buffer."""
    return {name: tensor_fingerprint(t) for name, t in tensors_of(module).items()}


def joined(prints: Mapping[str, str] | Iterable[str]) -> str:
    """One fingerprint for many, in the order of their names."""
    items = sorted(prints.items()) if isinstance(prints, Mapping) else [("", p) for p in prints]
    text = "\n".join(f"{name} {value}" for name, value in items)
    return hashlib.sha256(text.encode()).hexdigest()


def model_fingerprint(module: nn.Module) -> str:
    """The fingerprint of a model's parameters and buffers together."""
    return joined(fingerprints_of(module))
