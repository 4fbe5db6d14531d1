"""Texts in a file, as `text:FILE`: lines of a .txt, or a column of a .csv, .tsv or .jsonl, as a model's tokens."""

from __future__ import annotations

import csv
import itertools
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from seamripper.data.columns import LabelNumbers, label_column, require_column
from seamripper.data.row_files import RowFile, RowTable
from seamripper.data.stream import Rows
from seamripper.data.tokens import Tokenizer, classes_of
from seamripper.errors import DataError

_AT_ONCE = 256
_TEXT = "text"
_LONGEST = 1 << 24
"""Characters that one field of a table may have."""


@dataclass(frozen=True)
class TextFile(RowFile):
    """The texts of a file, each as `tokens` tokens: longer ones are cut off, and shorter ones padded.

    `tokenizer` is the folder or the name of a Hugging Face model, or `bytes`. The texts are in `column`, by default the
    column `text`, or the only one beside the labels; `labels` is the column of labels, by default `label` if there is
    one. Labels may be words: the classes of the tokenizer's model, by their names, or else numbered by the alphabet.
    """

    name: ClassVar[str] = "text"
    about: ClassVar[str] = "your own texts in a .txt, .csv, .tsv or .jsonl file, as tokens"
    least = {"tokens": 1}

    tokenizer: str | None = None
    tokens: int = 128
    column: str | None = None
    labels: str | None = None

    def open(self, path: Path) -> RowTable:
        """The file, read once to count its rows and to number its labels."""
        who = f"{self.name}:{self.path}"
        if self.tokenizer is None:
            raise DataError(
                f"{who} holds text, and models read tokens. Say what makes them: '{who}?tokenizer=FOLDER' for that of "
                "a Hugging Face model, or tokenizer=bytes."
            )
        reader = _READERS.get(path.suffix.lower())
        if reader is None or not path.is_file():
            raise DataError(f"Expected texts in a file with the ending {', '.join(_READERS)}, but got {path}.")
        tokenizer = Tokenizer.of(self.tokenizer, self.tokens)
        column, labels = self._columns(reader, path, who)
        n = 0

        def checked_labels() -> Iterator[Any]:
            nonlocal n
            for row in reader(path):
                n += 1
                _require_text(row.get(column), column, n, who)
                yield row.get(labels or "")

        numbers = None if labels is None else LabelNumbers.of(checked_labels(), who, classes=classes_of(self.tokenizer))
        if labels is None:
            for _ in checked_labels():
                pass

        def read() -> Iterator[Rows]:
            rows = reader(path)
            while part := list(itertools.islice(rows, _AT_ONCE)):
                known = None if numbers is None else numbers.tensor(row[labels or ""] for row in part)
                yield tokenizer([row[column] for row in part]), known

        view = {"tokenizer": tokenizer.source}
        return RowTable(n, read, None if numbers is None else numbers.classes, view)

    def _columns(
        self, reader: Callable[[Path], Iterator[dict[str, Any]]], path: Path, who: str
    ) -> tuple[str, str | None]:
        first = next(reader(path), None)
        if first is None:
            raise DataError(f"{who} is empty: a comparison needs at least two samples.")
        names = list(first)
        labels = label_column(names, self.labels, who)
        if self.column is not None:
            require_column(self.column, names, who)
            return self.column, labels
        others = [name for name in names if name != labels]
        if _TEXT in others or len(others) == 1:
            return _TEXT if _TEXT in others else others[0], labels
        raise DataError(
            f"{who} has the columns {', '.join(map(repr, names))}. Say which of them holds the texts: "
            f"'{who}?column={others[0] if others else 'NAME'}'."
        )


def _require_text(text: Any, column: str, row: int, who: str) -> None:
    if not isinstance(text, str) or not text.strip():
        raise DataError(f"Row {row} of {who} has no text in {column!r}. Repair it or take it out of the file.")


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    """The lines that are not empty."""
    with path.open(encoding="utf-8") as file:
        yield from ({_TEXT: line.rstrip("\n")} for line in file if line.strip())


def _table(path: Path, delimiter: str) -> Iterator[dict[str, Any]]:
    csv.field_size_limit(_LONGEST)
    with path.open(encoding="utf-8-sig", newline="") as file:
        try:
            yield from csv.DictReader(file, delimiter=delimiter)
        except csv.Error as e:
            raise DataError(f"{path} could not be read as a table: {e}.") from e


def _objects(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except ValueError as e:
                raise DataError(f"Line {number} of {path} could not be read as JSON: {e}.") from e
            if not isinstance(row, dict):
                raise DataError(f"Expected each line of {path} to be an object of JSON, but line {number} is not.")
            yield row


_READERS: dict[str, Callable[[Path], Iterator[dict[str, Any]]]] = {
    ".txt": _lines,
    ".csv": lambda path: _table(path, ","),
    ".tsv": lambda path: _table(path, "\t"),
    ".jsonl": _objects,
}
