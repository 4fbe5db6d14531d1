"""Activations that were stored: files of ours, and plain arrays of numbers."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from seamripper._doors import require_path
from seamripper._files import files_beside, load_tensors
from seamripper._words import shape_text
from seamripper.activations.collect import KIND, Activations, first_bad
from seamripper.cut.place import Cut, Layout
from seamripper.errors import DataError, FileError

_LAYOUTS: dict[int, Layout] = {2: "nd", 3: "ntd", 4: "nchw"}
_MAGIC = b"\x93NUMPY"


def load_activations(path: str | os.PathLike[str]) -> Activations:
    """Read activations: a file that `Activations.save` wrote, or a `.npy` file of numbers.

    An array of two axes is rows (n, d), one of three tokens (n, t, d), one of four maps (n, c, h, w). It does not say
    which samples it is of: their ids and labels are -1.
    """
    path = Path(require_path(path, "path", error=FileError))
    if path.suffix not in (".npy", ".safetensors"):
        raise FileError(f"Expected activations in a .npy or .safetensors file, but got {path}.")
    if not path.is_file():
        raise FileError(f"There is no file {path}.{files_beside(path)}")
    activations = _from_array(path) if path.suffix == ".npy" else _from_ours(path)
    bad = first_bad(activations.values)
    if bad is not None:
        known = f" (id {int(activations.ids[bad])})" if int(activations.ids[bad]) >= 0 else ""
        raise DataError(
            f"{path} holds NaN or Inf, first in sample {bad}{known}, counted from 0. "
            "Look at that sample and at the weights of the network before comparing."
        )
    return activations


def _from_ours(path: Path) -> Activations:
    tensors, record = load_tensors(path, kind=KIND)
    try:
        at: dict[str, Any] = record["cut"]
        cut = Cut(str(at["name"]), tuple(int(size) for size in at["shape"]), at["layout"])
        values, labels, ids = (tensors[key] for key in ("values", "labels", "ids"))
        context = {k.removeprefix("context."): v for k, v in tensors.items() if k.startswith("context.")}
        whole = _LAYOUTS[values.dim()] == cut.layout and values.is_floating_point()
        mask = tensors.get("mask")
        columns = (labels, ids, *context.values(), *(() if mask is None else (mask,)))
        if not whole or any(len(column) != len(values) for column in columns):
            raise FileError(f"{path} does not hold what its record says: make it again.")
        return Activations(cut, values, labels, ids, context, made_from=dict(record["made_from"]), mask=mask)
    except (KeyError, TypeError, ValueError) as e:
        raise FileError(f"{path} is a file of activations whose record cannot be read: make it again.") from e


def _from_array(path: Path) -> Activations:
    values = _numbers(path)
    if values.dim() not in _LAYOUTS or 0 in values.shape:
        raise FileError(
            f"Expected {path} to hold rows (n, d), tokens (n, t, d) or maps (n, c, h, w), but its shape is "
            f"{shape_text(values.shape)}."
        )
    unknown = torch.full((len(values),), -1)
    return Activations(Cut(path.stem, tuple(values.shape[1:]), _LAYOUTS[values.dim()]), values, unknown, unknown)


def _numbers(path: Path) -> Tensor:
    with path.open("rb") as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            raise FileError(f"{path} is not a .npy file. Write one with numpy.save(FILE, array).")
    try:
        array = np.load(path, allow_pickle=False)
    except (ValueError, EOFError, MemoryError) as e:
        if "allow_pickle" in str(e):
            raise FileError(
                f"{path} holds pickled Python objects. It was not opened, because opening it can run any code. "
                "Write numbers alone: numpy.save(FILE, array.astype('float32'))."
            ) from e
        raise FileError(f"{path} could not be read: {e}. Was it cut short? Make or copy it again.") from e
    if array.dtype.kind not in "fiub":
        raise FileError(f"Expected {path} to hold real numbers, but it holds {array.dtype}.")
    # Also brings numbers of another machine's byte order, which torch does not take, to this one's.
    small = array.dtype.kind == "f" and array.dtype.itemsize <= 4
    return torch.from_numpy(np.ascontiguousarray(array, dtype=f"f{array.dtype.itemsize}" if small else "f8"))
