"""Results of a store as a table: one row per figure, with its value, interval, n, and what it is a figure of."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from seamripper._files import atomic
from seamripper._frames import as_frame
from seamripper._words import did_you_mean, need
from seamripper.errors import ExperimentError, FileError, StoreError
from seamripper.experiment.parts.base import Row, parts
from seamripper.experiment.result import require_json
from seamripper.experiment.store import Store

FIRST = ("experiment", "kind", "state")
LAST = ("measure", "figure", "value", "low", "high", "n", "unit", "status", "sampling", "error", "key")
"""Columns that stand first and last; between them are the labels, in the order in which they are met."""


def table(store: Store, experiment: str | None = None) -> tuple[list[str], list[Row]]:
    """The columns and the rows of an experiment's results, or of all experiments in the store."""
    known = list(store.experiments())
    if experiment is not None and experiment not in known:
        raise StoreError(f"The store has no experiment {experiment!r}: {did_you_mean(experiment, known)}")
    rows = [row for name in known if experiment in (None, name) for row in _rows(store, name)]
    labels = dict.fromkeys(key for row in rows for key in row if key not in (*FIRST, *LAST))
    present = {key for row in rows for key in row}
    columns = [key for key in (*FIRST, *labels, *LAST) if key in present or key in ("figure", "value")]
    return columns, rows


def _rows(store: Store, name: str) -> Iterator[Row]:
    """The rows of one experiment, in the order in which it asks for them."""
    for key, labels in store.goals(name):
        result = store.result(key)
        if result is None:
            continue
        first = {"experiment": name, "kind": result.kind, "state": result.state}
        # An argument of a user's own function may be called like a column of the table.
        labels = {f"arg_{word}" if word in (*FIRST, *LAST) else word: value for word, value in labels.items()}
        last = {"key": key[:16]}
        if result.state == "failed":
            yield {**first, **labels, "error": f"{result.record['error']}: {result.record['message']}", **last}
            continue
        if result.record.get("skipped") and not result.record.get("outcomes"):
            yield {**first, **labels, "status": f"skipped: {result.record['skipped']}", **last}
        for row in rows_of(result.kind, result.record, key):
            yield {**first, **labels, **row, **last}


def rows_of(kind: str, record: Mapping[str, Any], key: str) -> list[Row]:
    """The rows of a result; a sentence where its record, though as it was written, is not what its kind writes."""
    try:
        rows = list(parts[kind].rows(record))
        require_json({"rows": rows})
    except (ArithmeticError, AttributeError, ExperimentError, LookupError, TypeError, ValueError) as e:
        raise StoreError(
            f"The record of the result {key[:12]} cannot be read as that of a job {kind!r}: {type(e).__name__}: {e}. "
            "`seamripper store check --mend` withdraws it, and the next run computes it again."
        ) from e
    return rows


def as_pandas(store: Store, experiment: str | None = None) -> Any:
    """The table as a pandas DataFrame."""
    return as_frame(*table(store, experiment))


def as_arrow(store: Store, experiment: str | None = None) -> Any:
    """The table as an Arrow table."""
    arrow = need("pyarrow", extra="tables", what="A table as Arrow")
    return arrow.Table.from_pandas(as_pandas(store, experiment), preserve_index=False)


def as_csv(columns: Sequence[str], rows: Sequence[Row]) -> str:
    """The table as text with commas; what is missing is empty, numbers have all their digits."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow(["" if row.get(name) is None else row[name] for name in columns])
    return out.getvalue()


def export(store: Store, path: str | os.PathLike[str], experiment: str | None = None) -> int:
    """Write the table to a .csv or .parquet file, whole or not at all; the number of rows."""
    path = Path(path)
    if path.suffix not in (".csv", ".parquet"):
        raise ExperimentError(f"Expected the table's file to end in .csv or .parquet, but got {path.name!r}.")
    if path.suffix == ".csv":
        columns, rows = table(store, experiment)
        n, data = len(rows), as_csv(columns, rows).encode()
    else:
        parquet = need("pyarrow.parquet", extra="tables", what="A .parquet file")
        arrow, buffer = as_arrow(store, experiment), io.BytesIO()
        parquet.write_table(arrow, buffer)
        n, data = int(arrow.num_rows), buffer.getvalue()
    try:
        with atomic(path) as file:
            file.write(data)
    except FileError as e:
        raise StoreError(str(e)) from e
    return n
