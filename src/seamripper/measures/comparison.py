"""Comparison: what a pass over two models found, a matrix a measure, with the rule it was made by."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from seamripper._files import atomic
from seamripper._words import did_you_mean
from seamripper.errors import FileError, MeasureError
from seamripper.measures.score import Score

FILE = "comparison.json"
"""The file in a run's folder that holds the comparison."""

_KIND = "comparison"


@dataclass(frozen=True)
class Matrix:
    """The scores of one measure: cuts of the sender (rows) × cuts of the receiver (columns).

    A cell whose score could not be had is None, and `failed` says why.
    """

    measure: str
    direction: str
    scores: tuple[tuple[Score | None, ...], ...]
    failed: Mapping[str, str] = field(default_factory=dict)
    """Reasons, with the cells `sender's cut × receiver's cut` that they are about."""

    @property
    def values(self) -> list[list[float]]:
        """The values, NaN where there is none."""
        return [[math.nan if s is None else s.value for s in row] for row in self.scores]

    def as_record(self) -> dict[str, Any]:
        """The matrix as JSON has it."""
        cells = [[None if s is None else s.as_record() for s in row] for row in self.scores]
        return {"direction": self.direction, "scores": cells, "failed": dict(self.failed)}


@dataclass(frozen=True)
class Comparison:
    """Every measure between all cuts of a sender and all cuts of a receiver, from one pass.

    `record` says what was compared and how: models, data, sampling, n, folds, precision, versions.
    """

    senders: tuple[str, ...]
    receivers: tuple[str, ...]
    matrices: Mapping[str, Matrix]
    record: Mapping[str, Any]

    def __getitem__(self, measure: str) -> Matrix:
        if measure not in self.matrices:
            raise MeasureError(f"This comparison has no {measure!r}: {did_you_mean(measure, list(self.matrices))}")
        return self.matrices[measure]

    def score(self, measure: str, sender: str, receiver: str) -> Score:
        """One cell, by the names of its cuts."""
        at = []
        for name, known in ((sender, self.senders), (receiver, self.receivers)):
            if name not in known:
                raise MeasureError(f"This comparison has no cut {name!r}: {did_you_mean(name, known)}")
            at.append(known.index(name))
        found = self[measure].scores[at[0]][at[1]]
        if found is None:
            raise MeasureError(
                f"{measure} has no score at {sender} × {receiver}: {self._why(measure, sender, receiver)}"
            )
        return found

    def _why(self, measure: str, sender: str, receiver: str) -> str:
        failed = self[measure].failed
        return failed.get(f"{sender} × {receiver}", "no reason was kept.")

    def as_record(self) -> dict[str, Any]:
        """The comparison as JSON has it."""
        return {
            "kind": _KIND,
            "senders": list(self.senders),
            "receivers": list(self.receivers),
            "record": dict(self.record),
            "matrices": {name: matrix.as_record() for name, matrix in self.matrices.items()},
        }

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write `comparison.json` into the folder, whole or not at all."""
        path = Path(folder) / FILE
        with atomic(path) as file:
            file.write(json.dumps(self.as_record(), allow_nan=False).encode())
        return path


def load_comparison(folder: str | os.PathLike[str]) -> Comparison:
    """Read back what `Comparison.save` wrote."""
    path = Path(folder) / FILE
    try:
        record = json.loads(path.read_bytes())
        if record.get("kind") != _KIND:
            raise FileError(f"{path} is no comparison of seamripper's.")
        matrices = {name: _matrix(name, one) for name, one in record["matrices"].items()}
        return Comparison(tuple(record["senders"]), tuple(record["receivers"]), matrices, record["record"])
    except OSError as e:
        raise FileError(f"Could not read {path}: {e.strerror or e}.") from e
    except (ValueError, KeyError, TypeError, AttributeError) as e:
        raise FileError(f"{path} is damaged, or no comparison of seamripper's: {e}") from e


def _matrix(name: str, record: dict[str, Any]) -> Matrix:
    scores = tuple(tuple(None if cell is None else read_score(cell) for cell in row) for row in record["scores"])
    return Matrix(name, record["direction"], scores, record["failed"])


def read_score(record: dict[str, Any]) -> Score:
    """The score that `Score.as_record` wrote down."""
    low, high = record["interval"] or (math.nan, math.nan)
    sides = tuple(record["sides"]) if "sides" in record else None
    return Score(
        record["measure"], record["value"], low, high, record["n"], record["sampling"], record["direction"], sides
    )
