"""Comparison: the result of a pass over two models, one matrix per measure, with the rule it was made by."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from seamripper._doors import require_path
from seamripper._files import write_json
from seamripper._frames import Row
from seamripper._notebook import Html, card, line, one_line, short, spread_out, table, text_of
from seamripper._words import did_you_mean
from seamripper.cards import WithMethods
from seamripper.comparing.methods import comparison_method, comparison_sentences, measure_sentence
from seamripper.errors import FileError, MeasureError
from seamripper.estimate import LEVEL, Estimate, Null
from seamripper.figures import Grid, plot
from seamripper.measures.score import ends_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FILE = "comparison.json"
"""The file in a run's folder that holds the comparison."""

_KIND = "comparison"
_TABLES, _CUTS = 4, 12
"""How many matrices a notebook shows of itself, and how many cuts of each model."""


@dataclass(frozen=True)
class Matrix:
    """The scores of one measure: cuts of the sender (rows) × cuts of the receiver (columns).

    A cell whose score could not be had is None, and `failed` says why.
    """

    measure: str
    direction: str
    scores: tuple[tuple[Estimate | None, ...], ...]
    failed: Mapping[str, str] = field(default_factory=dict)
    """Reasons, with the cells `sender's cut × receiver's cut` that they are about."""
    null: Null | None = None
    """What the best score of the matrix is worth beside the best ones of permuted samples, if that was asked for."""
    no_null: str = ""
    """Why there is no null, or none of some cells, where one was asked for."""

    def __repr__(self) -> str:
        size = f"{len(self.scores)} × {len(self.scores[0]) if self.scores else 0}"
        return f"Matrix({short(self.measure, 60)!r}, {self.direction}, {size}, {len(self.failed)} without a score)"

    @property
    def values(self) -> list[list[float]]:
        """The values, NaN where there is none."""
        return [[math.nan if s is None else s.value for s in row] for row in self.scores]

    @property
    def calibrated(self) -> list[list[float]]:
        """The calibrated scores, 0 under the null and at most 1; NaN where there is none."""
        return [[math.nan if s is None or s.null is None else s.null.calibrated for s in row] for row in self.scores]

    @property
    def null_text(self) -> str:
        """What the best score is worth beside those of permuted samples, or why that is not known; empty if not asked.

        >>> Matrix("opd", "distance", ((Estimate(0.4),),), null=Null(0.005, 1.1, 0.636, 200)).null_text
        'Smallest score: 0.400, p = 0.005, calibrated 0.636; 5 % of 200 permutations of the samples come below 1.100.'
        """
        if self.null is None:
            return self.no_null
        null, values = self.null, [score.value for row in self.scores for score in row if score is not None]
        similarity = self.direction == "similarity"
        best = f"Largest score: {max(values):.3f}" if similarity else f"Smallest score: {min(values):.3f}"
        threshold = f"{'above' if similarity else 'below'} {null.threshold:.3f}"
        share = f"{100 * LEVEL:.0f} % of {null.permutations} permutations of the samples"
        return " ".join(filter(None, (f"{best}, {null}; {share} come {threshold}.", self.no_null)))

    def as_record(self) -> dict[str, Any]:
        """The matrix as JSON has it."""
        cells = [[None if s is None else s.as_record() for s in row] for row in self.scores]
        record = {"direction": self.direction, "scores": cells, "failed": dict(self.failed)}
        null = {} if self.null is None else {"null": asdict(self.null)}
        return record | null | ({"no_null": self.no_null} if self.no_null else {})


@dataclass(frozen=True)
class Comparison(WithMethods):
    """Every measure between all cuts of a sender and all cuts of a receiver, from one pass.

    `record` says what was compared and how: models, data, sampling, n, folds, precision, versions.
    """

    kind: ClassVar[str] = _KIND
    axes: ClassVar[tuple[str, ...]] = ("measure", "sender", "receiver")
    senders: tuple[str, ...]
    receivers: tuple[str, ...]
    matrices: Mapping[str, Matrix]
    record: Mapping[str, Any]

    def __repr__(self) -> str:
        size = f"{len(self.senders)} × {len(self.receivers)} cuts"
        summary = f"{len(self.matrices)} matrices of {size}, n = {self.record.get('n')}"
        return one_line(f"Comparison({self._models_text()}: {summary})")

    def __getitem__(self, measure: str) -> Matrix:
        if measure not in self.matrices:
            raise MeasureError(f"This comparison has no {measure!r}: {did_you_mean(measure, list(self.matrices))}")
        return self.matrices[measure]

    def score(self, measure: str, sender: str, receiver: str) -> Estimate:
        """One cell, by the names of its cuts."""
        at = []
        for name, known in ((sender, self.senders), (receiver, self.receivers)):
            if name not in known:
                raise MeasureError(f"This comparison has no cut {name!r}: {did_you_mean(name, known)}")
            at.append(known.index(name))
        cell = self[measure].scores[at[0]][at[1]]
        if cell is None:
            raise MeasureError(
                f"{measure} has no score at {sender} × {receiver}: {self._why(measure, sender, receiver)}"
            )
        return cell

    def _why(self, measure: str, sender: str, receiver: str) -> str:
        failed = self[measure].failed
        return failed.get(f"{sender} × {receiver}", "no reason was kept.")

    def rows(self) -> list[Row]:
        """One row per measure and pair of cuts; where there is no score, `reason` says why."""
        rows: list[Row] = []
        for label, matrix in self.matrices.items():
            for sender, scores in zip(self.senders, matrix.scores, strict=True):
                for receiver, score in zip(self.receivers, scores, strict=True):
                    cell: Row = {"measure": label, "sender": sender, "receiver": receiver}
                    why = {"reason": self._why(label, sender, receiver)} if score is None else {}
                    rows.append({**cell, "direction": matrix.direction, **(score.as_row() if score else why)})
        return rows

    def method(self) -> dict[str, Any]:
        """All that decides the scores."""
        return comparison_method(self.record)

    def sentences(self) -> list[str]:
        """How the comparison was made."""
        return comparison_sentences(self.record)

    def figure_sentences(self) -> dict[str, str]:
        """What each measure is."""
        return {label: measure_sentence(label, matrix.direction) for label, matrix in self.matrices.items()}

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
        path = Path(require_path(folder, "folder", error=FileError)) / FILE
        write_json(path, self.as_record())
        return path

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Comparison:
        """Read back what `save` wrote into the folder."""
        path = Path(require_path(folder, "folder", error=FileError)) / FILE
        try:
            record = json.loads(path.read_bytes())
            if record.get("kind") != _KIND:
                raise FileError(f"{path} is not a comparison that seamripper wrote.")
            matrices = {name: _matrix(name, grid) for name, grid in record["matrices"].items()}
            return Comparison(tuple(record["senders"]), tuple(record["receivers"]), matrices, record["record"])
        except OSError as e:
            raise FileError(f"Could not read {path}: {e.strerror or e}.") from e
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as e:
            raise FileError(f"{path} is damaged, or not a comparison that seamripper wrote: {e}") from e

    def plot(self, measure: str | None = None) -> Figure:
        """The matrix of a measure (the first, if none is named), as a matplotlib figure: bright is similar.

        Cells of two cuts with the same name are framed.
        """
        if not self.matrices:
            raise MeasureError("This comparison has no matrix to draw: it was made without measures.")
        return plot(self.grid(next(iter(self.matrices)) if measure is None else measure))

    def grid(self, measure: str) -> Grid:
        """The matrix of a measure as a figure."""
        matrix = self[measure]
        title = f"{self._models_text()}: {short(measure, 60)} ({matrix.direction})"
        scale = ends_of(matrix.measure, (value for row in matrix.values for value in row))
        missing = Estimate(math.nan)
        cells = tuple(tuple(missing if score is None else score for score in row) for row in matrix.scores)
        tags = {"measure": measure}
        return Grid(title, self.senders, self.receivers, cells, scale, matrix.direction, tags=tags)

    def _repr_html_(self) -> str:
        matrices = list(self.matrices.values())[:_TABLES]
        rows, columns = (spread_out(len(names), _CUTS) for names in (self.senders, self.receivers))
        parts = [line(self._subtitle(len(rows), len(columns)), faint=True)]
        for matrix in matrices:
            parts += [line(f"{matrix.measure} ({matrix.direction})"), self._table(matrix, rows, columns)]
            if matrix.null is not None:
                parts.append(self._table(matrix, rows, columns, calibrated=True))
            if matrix.null_text:
                parts.append(line(matrix.null_text, faint=True))
            if matrix.failed:
                parts.append(line(f"Cells without a score: {len(matrix.failed)}.", faint=True))
        others = list(self.matrices)[_TABLES:]
        if others:
            parts.append(line(f"And {len(others)} more: {', '.join(others)}.", faint=True))
        return card(self._models_text(), *parts)

    def _table(self, matrix: Matrix, rows: Sequence[int], columns: Sequence[int], *, calibrated: bool = False) -> Html:
        values, direction, corner = matrix.values, matrix.direction, ""
        low, high = ends_of(matrix.measure, (value for row in values for value in row))
        if calibrated:
            values, direction, corner, low, high = matrix.calibrated, "similarity", "calibrated", 0.0, 1.0
        similar = [[_share(values[i][j], low, high, direction) for j in columns] for i in rows]

        def cell(i: int, j: int) -> object:
            """A score with its interval, if it has one."""
            score = matrix.scores[i][j]
            return values[i][j] if calibrated or score is None or not score.has_interval else score

        cells = [(self.senders[i], *(cell(i, j) for j in columns)) for i in rows]
        return table((corner, *(self.receivers[j] for j in columns)), cells, shades=similar)

    def _models_text(self) -> str:
        sources = ((self.record.get(role) or {}).get("source", role) for role in ("sender", "receiver"))
        return " × ".join(short(str(source), 60) for source in sources)

    def _subtitle(self, rows: int, columns: int) -> str:
        """What the rows and columns are, and whether they are all there are."""
        data = (self.record.get("data") or {}).get("name", "samples")
        all_of = f"{len(self.senders)} × {len(self.receivers)}"
        some = f"{all_of} cuts" if f"{rows} × {columns}" == all_of else f"{rows} × {columns} of {all_of} cuts"
        n = text_of(self.record.get("n"))
        return f"{data}, n = {n}; {some}: the sender's in rows, the receiver's in columns"


def _share(value: float, low: float, high: float, direction: str) -> float:
    """How similar a value is on its scale, 0 … 1; NaN if there is no value."""
    if math.isnan(value):
        return math.nan
    share = (value - low) / (high - low) if high > low else 0.5
    return 1 - share if direction == "distance" else share


def _matrix(name: str, record: dict[str, Any]) -> Matrix:
    scores = tuple(
        tuple(None if cell is None else Estimate.from_record(cell) for cell in row) for row in record["scores"]
    )
    null = record.get("null")
    return Matrix(name, record["direction"], scores, record["failed"], null and Null(**null), record.get("no_null", ""))
