"""Parquet files, as `parquet:PATH`: one file, or a folder of them; one row per sample."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import numpy as np

from seamripper._words import need, word_list
from seamripper.data.columns import LabelNumbers, label_column, require_column
from seamripper.data.items import Reader
from seamripper.data.row_files import RowFile, RowTable
from seamripper.data.stream import Rows
from seamripper.data.tokens import Tokenizer, classes_of
from seamripper.errors import DataError

_AT_ONCE = 256


@dataclass(frozen=True)
class Parquet(RowFile):
    """The rows of Parquet files, read some at a time.

    `column` holds the inputs: lists of numbers, pictures (files as bytes), or texts, which `tokenizer` makes `tokens`
    tokens of. Without it, numbers in columns of their own are one vector per sample. `labels` is the column of labels,
    by default `label` if there is one. Labels may be words: the classes of the tokenizer's model, by their names,
    or else numbered by the alphabet.
    """

    name: ClassVar[str] = "parquet"
    about: ClassVar[str] = "your own Parquet file, or a folder of them"
    least = {"tokens": 1}

    column: str | None = None
    labels: str | None = None
    tokenizer: str | None = None
    tokens: int = 128
    mean: float = 0.0
    std: float = 1.0

    def open(self, path: Path) -> RowTable:
        """The files, of which only the labels are read."""
        parquet = need("pyarrow.parquet", extra="tables", what="A Parquet file")
        who = f"{self.name}:{self.path}"
        files = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
        if not files:
            raise DataError(f"{path} has no files with the ending .parquet.")
        metadata = [_parquet_file(parquet, file).metadata for file in files]
        names = list(_parquet_file(parquet, files[0]).schema_arrow.names)
        labels = label_column(names, self.labels, who)
        if self.column is not None:
            require_column(self.column, names, who)
        inputs = [self.column] if self.column is not None else [name for name in names if name != labels]
        numbers = (
            None
            if labels is None
            else LabelNumbers.of(_values(parquet, files, labels), who, classes=classes_of(self.tokenizer))
        )
        tokenizer = None if self.tokenizer is None else Tokenizer.of(self.tokenizer, self.tokens)
        reader = Reader(who, tokenizer=tokenizer)

        def read() -> Iterator[Rows]:
            for batch in _batches(parquet, files, [*inputs, *([labels] if labels else [])]):
                known = None if numbers is None or labels is None else numbers.tensor(batch[labels].to_pylist())
                (rows,) = reader.rows_of_batches([_columns(batch, inputs, who)])
                yield rows[0], known

        view = {"mean": self.mean, "std": self.std, **({"tokenizer": tokenizer.source} if tokenizer else {})}
        n = sum(part.num_rows for part in metadata)
        return RowTable(n, read, None if numbers is None else numbers.classes, view)


def _parquet_file(parquet: ModuleType, file: Path) -> Any:
    try:
        return parquet.ParquetFile(file)
    except (OSError, ValueError) as e:
        raise DataError(f"{file} could not be read as a Parquet file: {str(e).splitlines()[0]}.") from e


def _batches(parquet: ModuleType, files: list[Path], columns: list[str]) -> Iterator[Any]:
    for file in files:
        yield from _parquet_file(parquet, file).iter_batches(_AT_ONCE, columns=columns)


def _values(parquet: ModuleType, files: list[Path], column: str) -> Iterator[Any]:
    for batch in _batches(parquet, files, [column]):
        yield from batch[column].to_pylist()


def _columns(batch: Any, names: list[str], who: str) -> dict[str, Any]:
    """The inputs of some rows: token ids by name, numbers in several columns as one vector, or a column's values."""
    columns = {name: _column(batch[name]) for name in names}
    if empty := [name for name in names if batch[name].null_count]:
        raise DataError(f"{who} has rows without a value in {word_list(empty)}. Repair or drop such rows.")
    if "input_ids" not in columns and all(isinstance(v, np.ndarray) and v.ndim == 1 for v in columns.values()):
        return {"inputs": np.stack(list(columns.values()), axis=1)}
    if "input_ids" not in columns and len(columns) > 1:
        raise DataError(
            f"{who} has the columns {word_list(names)} beside its labels. Say which of them holds the inputs: "
            f"column={names[0]!r}."
        )
    return columns


def _column(values: Any) -> Any:
    kind = str(values.type)
    if kind.startswith(("int", "uint", "float", "double", "halffloat", "bool")):
        return values.to_numpy(zero_copy_only=False)
    rows = values.to_pylist()
    # Hugging Face's own form of a picture: its file, and the name that it had.
    files = [row["bytes"] if isinstance(row, dict) and "bytes" in row else row for row in rows]
    if files and isinstance(files[0], bytes):
        image = need("PIL.Image", extra="vision", what="A Parquet file of pictures")
        return [image.open(io.BytesIO(file)) for file in files]
    return rows
