"""Files with one row per sample: what `npy:FILE`, `parquet:FILE` and `text:FILE` have in common.

One row in five, by a hash of its number, is for the test; the id of a sample is the number of its row. Files are read
as they are passed over; `load` takes the samples into memory.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor

from seamripper._files import files_beside
from seamripper.data.base import DataSet, check_split
from seamripper.data.ids import hash_ids
from seamripper.data.samples import Inputs, Samples, first_input
from seamripper.data.stream import Rows, Stream
from seamripper.errors import DataError

_SALT = 0x7E57


@dataclass(frozen=True, eq=False)
class RowTable:
    """An opened file: how many rows it has, how to read all of them, and what is known of its samples."""

    n: int
    read: Callable[[], Iterator[Rows]]
    classes: int | None = None
    view: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class RowFile(DataSet):
    """A file with one row per sample. A leaf opens it as a `RowTable`."""

    takes: ClassVar[str] = "path"
    path: str

    @abc.abstractmethod
    def open(self, path: Path) -> RowTable:
        """The file as a table; nothing of it is held."""

    def load(self, split: str, *, n: int | None, seed: int) -> Samples:
        """The rows of a split in memory; of a set of fewer classes, all that are then chosen from."""
        return self._stream(split).load(n if self.classes is None else None, seed=seed)

    def stream(self, split: str, *, seed: int) -> Stream:
        """The rows of a split, read as they are passed over."""
        self.require_plain()
        return self._stream(split)

    def _stream(self, split: str) -> Stream:
        path = Path(self.path).expanduser()
        if not path.exists():
            raise DataError(f"There is no file {path}.{files_beside(path)}")
        table = self.open(path)
        tested = rows_held_out(table.n)
        mine = tested if check_split(split) == "test" else ~tested
        name = f"{self.name}:{self.path}"
        if not bool(mine.any()):
            raise DataError(f"{name} has no rows in its {split} split, of {table.n} rows in all. Give more rows.")
        ids = mine.nonzero().flatten()
        view = {**table.view, "source": name, **({"ready": True} if self.ready else {})}
        return Stream(name, lambda: _marked_rows(table.read(), mine), ids=ids, classes=table.classes, view=view)


def rows_held_out(n: int) -> Tensor:
    """Which of `n` rows are for the test (n): the same on every machine, and when rows are added.

    >>> rows_held_out(12).nonzero().flatten().tolist()
    [1, 2, 3, 5]
    """
    return hash_ids(torch.arange(n), seed=_SALT) % 5 == 0


def _marked_rows(parts: Iterator[Rows], mine: Tensor) -> Iterator[Rows]:
    """The rows that are marked (n) as mine."""
    start = 0
    for inputs, labels in parts:
        n = len(first_input(inputs))
        here = mine[start : start + n]
        start += n
        if bool(here.any()):
            rows: Inputs = inputs[here] if isinstance(inputs, Tensor) else {k: v[here] for k, v in inputs.items()}
            yield rows, None if labels is None else labels[here]
