"""Tabular: a result as a table, with one row per figure, for pandas and xarray."""

from __future__ import annotations

import abc
import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, TypeAlias

from seamripper._words import need

Row: TypeAlias = dict[str, Any]
_REAL = ("value", "low", "high", "p", "threshold", "calibrated")
_WHOLE = ("n", "seed", "sender_seed", "receiver_seed", "permutations")
"""Columns of numbers, also where all of them are missing."""


class Tabular(abc.ABC):
    """A result whose figures are the rows of a table.

    The columns `axes` name a figure. The others are what is known of it: `value`, `low` and `high` (the ends of its
    interval), `n`, the `unit` that n counts, and more where there is more.
    """

    axes: ClassVar[tuple[str, ...]]

    @abc.abstractmethod
    def rows(self) -> list[Row]:
        """One row per figure; what is not known of it is missing."""

    def origin(self) -> Mapping[str, Any]:
        """What the result says of how it was made, as JSON has it."""
        return getattr(self, "record", {})

    def to_pandas(self) -> Any:
        """The figures as a pandas DataFrame, one row each."""
        rows = self.rows()
        return as_frame(_columns(self.axes, rows), rows)

    def to_xarray(self) -> Any:
        """The figures as an xarray Dataset over the axes, with how they were made as JSON in `attrs["record"]`."""
        return as_dataset(self.axes, self.rows(), {"record": json.dumps(self.origin(), default=str)})


def as_frame(columns: Sequence[str], rows: Sequence[Row]) -> Any:
    """Rows as a pandas DataFrame whose columns have one type each; what is missing in a row is missing there."""
    pandas = need("pandas", extra="tables", what="A table as pandas")
    return pandas.DataFrame({name: _column(pandas, name, [row.get(name) for row in rows]) for name in columns})


def as_dataset(axes: Sequence[str], rows: Sequence[Row], attrs: Mapping[str, Any]) -> Any:
    """Rows as an xarray Dataset over the axes, whose labels keep the order in which they come.

    Missing numbers are NaN, and missing words empty.
    """
    xarray = need("xarray", extra="tables", what="A table as xarray")
    import numpy as np

    labels = {axis: list(dict.fromkeys(row[axis] for row in rows)) for axis in axes}
    places = {axis: {label: k for k, label in enumerate(labels[axis])} for axis in axes}
    shape = tuple(len(labels[axis]) for axis in axes)
    variables: dict[str, Any] = {}
    for name in _columns(axes, rows)[len(axes) :]:
        present = [row for row in rows if row.get(name) is not None]
        known = {tuple(places[axis][row[axis]] for axis in axes): row[name] for row in present}
        words = any(isinstance(value, str) for value in known.values())
        cells = np.full(shape, "" if words else np.nan, dtype=object if words else float)
        for place, value in known.items():
            cells[place] = str(value) if words else value
        variables[name] = (tuple(axes), cells.astype(str) if words else cells)
    return xarray.Dataset(variables, coords=labels, attrs=dict(attrs))


def _columns(axes: Sequence[str], rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys((*axes, *(name for row in rows for name in row))))


def _column(pandas: Any, name: str, values: list[Any]) -> Any:
    """A column of one type, with missing values as missing."""
    kinds = {type(value) for value in values if value is not None}
    if kinds == {bool}:
        return pandas.array(values, dtype="boolean")
    if kinds <= {int} and (kinds or name in _WHOLE) and name not in _REAL:
        return pandas.array(values, dtype="Int64")
    if kinds <= {int, float} and (kinds or name in _REAL):
        return pandas.array([None if v is None else float(v) for v in values], dtype="Float64")
    return pandas.array([None if v is None else str(v) for v in values], dtype="string")
