"""Arrays in a `.npy` file, as `npy:FILE`: one row per sample, of pictures, tokens or numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch

from seamripper._arrays import open_array
from seamripper._words import shape_text
from seamripper.data.items import Reader
from seamripper.data.row_files import RowFile, RowTable
from seamripper.data.yours import blocks
from seamripper.errors import DataError


@dataclass(frozen=True)
class Npy(RowFile):
    """The rows of an array (n, …), and of another one for their `labels`, (n) or (n, tokens), if there is one.

    Bytes are pictures (channels, height, width), shown as (x / 255 − mean) / std. Floats are shown as they are, unless
    `black` and `white` give the ends of their range.
    """

    name: ClassVar[str] = "npy"
    about: ClassVar[str] = "your own array in a .npy file, one row per sample"

    labels: str | None = None
    mean: float = 0.0
    std: float = 1.0
    black: float | None = None
    white: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.std > 0 or not math.isfinite(self.mean):
            raise DataError(f"Expected mean to be finite and std above 0, but got mean {self.mean} and std {self.std}.")
        if (self.black is None) != (self.white is None):
            raise DataError("Expected both black and white, the ends of the range of pictures, or neither.")

    def open(self, path: Path) -> RowTable:
        """The array, which stays on disk."""
        array = open_array(path, mapped=True)
        if array.ndim < 2:
            raise DataError(f"Expected {path} to have one row per sample, but its shape is {shape_text(array.shape)}.")
        labels = None if self.labels is None else self._labels(len(array))
        reader = Reader(f"{self.name}:{self.path}")

        def read() -> Any:
            start = 0
            for inputs, _ in reader.rows_of_batches(blocks(array)):
                assert isinstance(inputs, torch.Tensor)
                stop = start + len(inputs)
                yield inputs, None if labels is None else labels[start:stop]
                start = stop

        ends = None if self.black is None or self.white is None else (self.black, self.white)
        view = {"mean": self.mean, "std": self.std, "range": ends}
        return RowTable(len(array), read, None if labels is None else int(labels.max()) + 1, view)

    def _labels(self, n: int) -> torch.Tensor:
        """The labels of all rows, which are few bytes each."""
        path = Path(str(self.labels)).expanduser()
        if not path.is_file():
            raise DataError(f"There is no file {path} of labels.")
        labels = open_array(path)
        if labels.ndim not in (1, 2) or len(labels) != n or labels.dtype.kind not in "iu":
            raise DataError(
                f"Expected {path} to hold {n} whole numbers, one label per row of {self.path}, or a row of labels for "
                "each, one per token, but it holds "
                f"{labels.dtype} of shape {shape_text(labels.shape)}."
            )
        return torch.from_numpy(labels.astype(np.int64))
