"""Weights of a TensorFlow.js model: a `model.json` that lists names and shapes, and files of bare numbers.

Nothing in it can run: the list is JSON and the numbers are bytes. Of the network itself, which the JSON describes too,
nothing is taken: the architecture is ours.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from seamripper.errors import CheckpointError

LIST = "model.json"
_BYTES = 4


def read_tfjs(read: Callable[[str], bytes]) -> dict[str, Tensor]:
    """Every weight by its name, in TensorFlow's layout; `read` gives the bytes of `model.json` and of a file it names.

    >>> listed = {"name": "fc/bias", "shape": [2], "dtype": "float32"}
    >>> files = {
    ...     "model.json": json.dumps({"weightsManifest": [{"paths": ["a.bin"], "weights": [listed]}]}).encode(),
    ...     "a.bin": np.array([0.5, -1], "<f4").tobytes(),
    ... }
    >>> read_tfjs(files.__getitem__)
    {'fc/bias': tensor([ 0.5000, -1.0000])}
    """
    try:
        groups = json.loads(read(LIST))["weightsManifest"]
        found: dict[str, Tensor] = {}
        for group in groups:
            # Files of a group are one row of bytes: a weight may begin in one and end in the next.
            payload = b"".join(read(path) for path in group["paths"])
            found |= _tensors(payload, group["weights"])
    except (ValueError, KeyError, TypeError) as e:
        raise CheckpointError(
            f"Expected {LIST} to list files and weights, as TensorFlow.js writes it, but it does not "
            f"({type(e).__name__}: {e}). Fetch it again."
        ) from e
    return found


def _tensors(payload: bytes, listed: list[Mapping[str, Any]]) -> dict[str, Tensor]:
    """Cut a row of bytes into the weights that are listed; every byte belongs to one."""
    sizes = [math.prod(_shape(weight)) for weight in listed]
    if _BYTES * sum(sizes) != len(payload):
        raise CheckpointError(
            f"Expected {_BYTES * sum(sizes):,} bytes for the {len(listed)} weights that {LIST} lists, "
            f"but got {len(payload):,}. Fetch the files again."
        )
    found, start = {}, 0
    for weight, size in zip(listed, sizes, strict=True):
        # Copied: the bytes are read-only, and PyTorch's tensors are not.
        numbers = np.frombuffer(payload, "<f4", count=size, offset=start).astype(np.float32)
        found[str(weight["name"])] = torch.from_numpy(numbers.reshape(_shape(weight)))
        start += _BYTES * size
    return found


def _shape(weight: Mapping[str, Any]) -> tuple[int, ...]:
    """The shape of a weight that is plain float32; others (integers, quantised) none of ours has."""
    if weight["dtype"] != "float32" or "quantization" in weight:
        raise CheckpointError(
            f"Expected {weight['name']} to be float32, but it is {weight['dtype']}"
            f"{', quantised' if 'quantization' in weight else ''}: such weights cannot be read here."
        )
    shape = tuple(weight["shape"])
    if not all(type(size) is int and size > 0 for size in shape):
        raise CheckpointError(f"Expected the shape of {weight['name']} to be whole numbers above 0, but got {shape}.")
    return shape
