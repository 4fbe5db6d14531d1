"""Activations: what a head shows on given samples, and the files that hold it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from seamripper._arrays import open_array
from seamripper._doors import require_path
from seamripper._files import files_beside, load_tensors, save_tensors
from seamripper._notebook import short
from seamripper._words import shape_text
from seamripper.activations.sampling import counting
from seamripper.cut.halves import Context
from seamripper.cut.place import LAYOUTS, Cut
from seamripper.errors import DataError, FileError

_KIND = "set of activations"
"""What a file of activations says that it holds."""


@dataclass(frozen=True, eq=False)
class Activations:
    """Activations at one cut, one row per sample in the order of the samples, and the inputs that pass beside the cut.

    `made_from` says what is known about the model and the data. Labels and ids that are not known are -1. `mask` (n,
    tokens) says which tokens of the samples count; None if all do.
    """

    cut: Cut
    values: Tensor
    labels: Tensor
    ids: Tensor
    context: Context = field(default_factory=dict)
    kept: Literal["memory", "disk"] = "memory"
    made_from: Mapping[str, Any] = field(default_factory=dict)
    mask: Tensor | None = None

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        return f"Activations(at {short(str(self.cut), 120)!r}, n = {len(self)}, kept in {self.kept})"

    def beside(self, index: Tensor | slice) -> Context:
        """The context of the samples at `index`."""
        return {name: value[index] for name, value in self.context.items()}

    def take(self, index: Tensor) -> Activations:
        """The activations of the samples at `index`, in that order."""
        columns = {name: getattr(self, name)[index] for name in ("values", "labels", "ids")}
        mask = None if self.mask is None else self.mask[index]
        return replace(self, **columns, context=self.beside(index), kept="memory", mask=mask)

    def counting_tokens(self) -> Tensor | None:
        """The mask as one of the positions at the cut (n, tokens); None if all of them count."""
        return counting(self.values, self.cut.layout, self.mask, repr(self.cut.name))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write them to one safetensors file, which `Activations.load` reads."""
        tensors = {"values": self.values, "labels": self.labels, "ids": self.ids}
        tensors |= {f"context.{name}": value for name, value in self.context.items()}
        tensors |= {} if self.mask is None else {"mask": self.mask}
        save_tensors(path, tensors, self.as_record(), kind=_KIND)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Activations:
        """Read activations: a file that `save` wrote, or a `.npy` file of numbers.

        An array with two axes is read as rows (n, d), with three as tokens (n, t, d), with four as maps (n, c, h, w).
        It does not say which samples it belongs to, so their ids and labels are -1.
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

    def as_record(self) -> dict[str, Any]:
        """All that is not a tensor, as JSON has it."""
        return {"cut": self.cut.as_record(), "n": len(self), "made_from": dict(self.made_from)}


def first_bad(rows: Tensor) -> int | None:
    """The first sample with NaN or Inf, by its number; None if all are finite."""
    # A sum is finite only if all its terms are (or two infinities cancel to NaN), and costs one pass without a mask.
    if bool(torch.isfinite(rows.sum())):
        return None
    bad = (~torch.isfinite(rows).flatten(1).all(1)).nonzero()
    return int(bad[0, 0]) if len(bad) else None


def _from_ours(path: Path) -> Activations:
    tensors, record = load_tensors(path, kind=_KIND)
    try:
        at: dict[str, Any] = record["cut"]
        cut = Cut(str(at["name"]), tuple(int(size) for size in at["shape"]), at["layout"])
        values, labels, ids = (tensors[key] for key in ("values", "labels", "ids"))
        context = {k.removeprefix("context."): v for k, v in tensors.items() if k.startswith("context.")}
        fits = LAYOUTS[values.dim()] == cut.layout and values.is_floating_point()
        mask = tensors.get("mask")
        columns = (labels, ids, *context.values(), *(() if mask is None else (mask,)))
        if not fits or any(len(column) != len(values) for column in columns):
            raise FileError(f"{path} does not hold what its record says: make it again.")
        return Activations(cut, values, labels, ids, context, made_from=dict(record["made_from"]), mask=mask)
    except (KeyError, TypeError, ValueError) as e:
        raise FileError(f"{path} is a file of activations whose record cannot be read: make it again.") from e


def _from_array(path: Path) -> Activations:
    values = _numbers(path)
    if values.dim() not in LAYOUTS or 0 in values.shape:
        raise FileError(
            f"Expected {path} to hold rows (n, d), tokens (n, t, d) or maps (n, c, h, w), but its shape is "
            f"{shape_text(values.shape)}."
        )
    unknown = torch.full((len(values),), -1)
    return Activations(Cut(path.stem, tuple(values.shape[1:]), LAYOUTS[values.dim()]), values, unknown, unknown)


def _numbers(path: Path) -> Tensor:
    array = open_array(path)
    # Also brings numbers of another machine's byte order, which torch does not take, to this one's.
    small = array.dtype.kind == "f" and array.dtype.itemsize <= 4
    return torch.from_numpy(np.ascontiguousarray(array, dtype=f"f{array.dtype.itemsize}" if small else "f8"))
