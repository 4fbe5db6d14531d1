"""Embeddings: one row per document. Those of a .npy file stay on disk and are read in blocks."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from seamripper._arrays import open_array
from seamripper._doors import require, require_path
from seamripper._files import files_beside
from seamripper._progress import Watcher, nobody
from seamripper.activations import Activations, collect, rows_of
from seamripper.activations.activations import first_bad
from seamripper.comparing.pairing import require_same_samples
from seamripper.cut import Split
from seamripper.data.paired import Paired
from seamripper.data.samples import Samples
from seamripper.errors import DataError, FileError

_ENCODER = "encoder"
FEWEST = 50
"""Rows; of fewer, too few are left to fit on when those to choose and to test on are set apart."""
Given: TypeAlias = "str | os.PathLike[str] | NDArray[Any] | Tensor | Activations"
"""What a user has embeddings in: a file (.npy, or .safetensors of `seamripper activations`), an array, activations."""


@dataclass(frozen=True, eq=False)
class Embeddings:
    """The rows (n, d) and what messages call them."""

    rows: NDArray[Any]
    name: str
    made_from: Mapping[str, Any] = field(default_factory=dict)
    """The file (`source`) that they are in; or the encoder, with its `fingerprint`, its `cut`, and its `data`."""

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def width(self) -> int:
        """Numbers in a row."""
        return int(self.rows.shape[1])

    def take(self, index: Tensor | slice) -> Tensor:
        """The rows at `index`, in memory, in single precision unless they are in double; NaN and Inf are refused."""
        small = self.rows.dtype.kind == "f" and self.rows.dtype.itemsize <= 4
        chosen = self.rows[index if isinstance(index, slice) else index.numpy()]
        rows = torch.from_numpy(np.array(chosen, dtype="f4" if small else "f8"))
        bad = first_bad(rows)
        if bad is not None:
            row = (index.start or 0) + bad if isinstance(index, slice) else int(index[bad])
            raise DataError(
                f"Expected finite numbers, but {self.name} holds NaN or Inf in row {row}, counted from 0. Leave that "
                "document out of both files, or embed it again."
            )
        return rows

    def hasher(self) -> hashlib._Hash:
        """What their fingerprint begins with: shape and type, to be followed by the bytes of all rows."""
        return hashlib.sha256(f"{self.rows.dtype.str} {self.rows.shape}".encode())

    def bytes_of(self, index: slice) -> memoryview:
        """The bytes of these rows, as they are."""
        return np.ascontiguousarray(self.rows[index]).data.cast("B")

    def blocks(self, size: int) -> Iterator[slice]:
        """All rows in blocks of `size`."""
        return (slice(start, min(start + size, len(self))) for start in range(0, len(self), size))


def open_pair(old: Given, new: Given) -> tuple[Embeddings, Embeddings]:
    """The embeddings of the same documents by two encoders, in one order."""
    sides = _read(old, "old"), _read(new, "new")
    names = _name(old, "old"), _name(new, "new")
    if isinstance(sides[0], Activations) and isinstance(sides[1], Activations):
        require_same_samples(sides[0], sides[1], names)
    first, second = (
        replace(_embeddings(side, name), made_from=_made_from(given, side))
        for side, name, given in zip(sides, names, (old, new), strict=True)
    )
    if len(first) != len(second):
        raise DataError(
            f"Expected {names[0]} and {names[1]} to hold the same documents in one order, but they have {len(first):,} "
            f"and {len(second):,} rows. Embed the same documents with both encoders."
        )
    if len(first) < FEWEST:
        raise DataError(
            f"Expected at least {FEWEST} documents, to fit, choose and test on different ones, but got {len(first)}. "
            "Embed more of them with both encoders."
        )
    return first, second


def encode(half: Split, samples: Samples, watch: Watcher = nobody) -> Activations:
    """What an encoder makes of samples, with all that is needed to make it again."""
    made = collect(half, samples, watch=watch)
    known = {
        "source": half.model.source,
        "fingerprint": half.fingerprint,
        "cut": half.cut.as_record(),
        "data": Paired.of(samples).as_record(),
    }
    return replace(made, made_from={**made.made_from, _ENCODER: known})


def _made_from(given: Given, side: NDArray[Any] | Activations) -> dict[str, Any]:
    cut = {"cut": side.cut.as_record()} if isinstance(side, Activations) else {}
    if isinstance(given, (str, os.PathLike)):
        return {"source": os.fspath(given), **cut}
    return {**cut, **side.made_from.get(_ENCODER, {})} if isinstance(side, Activations) else {}


def _name(given: Given, role: str) -> str:
    if isinstance(given, Activations) and _ENCODER in given.made_from:
        return f"{given.made_from[_ENCODER]['source']}@{given.cut.name}"
    return str(given) if isinstance(given, (str, os.PathLike)) else role


def _read(given: Given, role: str) -> NDArray[Any] | Activations:
    require(given, (str, os.PathLike, np.ndarray, Tensor, Activations), role, error=DataError)
    if isinstance(given, Activations | np.ndarray):
        return given
    if isinstance(given, Tensor):
        return given.detach().cpu().numpy()
    path = Path(require_path(given, role, error=FileError))
    if path.suffix == ".safetensors":
        return Activations.load(path)
    if path.suffix != ".npy":
        raise FileError(
            f"Expected embeddings in a .npy file, or a .safetensors file of `seamripper activations`, but got {path}. "
            "numpy.save(FILE, array) writes the first; models are given as MODEL@CUT, together with --data."
        )
    if not path.is_file():
        raise FileError(f"There is no file {path}.{files_beside(path)}")
    return open_array(path, mapped=True)


def _embeddings(side: NDArray[Any] | Activations, name: str) -> Embeddings:
    if isinstance(side, Activations):
        # The mean over tokens or positions is what most encoders are used by.
        side = rows_of(side.values, side.cut.layout, "pool", side.mask).numpy()
    if side.ndim != 2 or 0 in side.shape or side.dtype.kind not in "fiub":
        raise DataError(
            f"Expected {name} to be one row of real numbers per document, (n, d), but got {side.dtype} of shape "
            f"{tuple(side.shape)}. Pool tokens or maps first, so that each document is one row."
        )
    return Embeddings(side, name)
