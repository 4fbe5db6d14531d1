"""What a logger is, and what it is given."""

from __future__ import annotations

import abc
import contextlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from seamripper._frames import Row
from seamripper.cards import WithMethods
from seamripper.errors import LogError, SeamripperError
from seamripper.registry import Choice, Registry

_NOT_LABELS = ("experiment", "state", "value", "low", "high", "n", "unit", "status", "sampling", "error", "key")
"""Columns of a study's table that do not name a figure."""


@dataclass(frozen=True)
class Entry:
    """What one command has found: its figures by name, how they were made, and the files that it wrote."""

    command: str
    figures: Mapping[str, float]
    method: Mapping[str, Any] = field(default_factory=dict)
    text: str = ""
    files: tuple[Path, ...] = ()

    @classmethod
    def of(cls, command: str, result: WithMethods, files: Sequence[Path | None] = ()) -> Entry:
        """The entry of a result; `files` that were not written are None."""
        methods = result.methods()
        written = tuple(file for file in files if file is not None)
        return cls(command, _figures(methods.rows, methods.axes), methods.method, methods.text, written)

    @classmethod
    def of_table(cls, command: str, columns: Sequence[str], rows: Sequence[Row], about: Mapping[str, Any]) -> Entry:
        """The entry of the table of a study."""
        return cls(command, _figures(rows, [name for name in columns if name not in _NOT_LABELS]), about)


def _figures(rows: Sequence[Row], labels: Sequence[str]) -> dict[str, float]:
    """Every finite value, and the ends of its interval, by the labels of its row joined by slashes.

    >>> _figures([{"figure": "top1", "value": 0.5, "low": 0.25, "high": None}], ["figure"])
    {'top1': 0.5, 'top1/low': 0.25}
    """
    figures: dict[str, float] = {}
    for row in rows:
        name = "/".join(str(row[label]) for label in labels if row.get(label) not in (None, ""))
        for column, tail in (("value", ""), ("low", "/low"), ("high", "/high"), ("p", "/p")):
            value = row.get(column)
            if isinstance(value, int | float) and math.isfinite(value):
                figures[name + tail] = float(value)
    return figures


@dataclass(frozen=True)
class Logger(Choice):
    """A tool that keeps figures. Leaves are frozen dataclasses with a `name`, an `about`, and their options."""

    what, error = "logger", LogError
    about: ClassVar[str]

    @abc.abstractmethod
    def require(self) -> None:
        """Refuse, before any work is done, if the tool is not installed or cannot be used here."""

    @abc.abstractmethod
    def write(self, entry: Entry) -> str:
        """Hand the entry over; where it is now, in words."""

    def log(self, entry: Entry) -> str:
        """Hand the entry over; whatever goes wrong in the tool becomes a sentence."""
        with self._sentences():
            return self.write(entry)

    @contextlib.contextmanager
    def _sentences(self) -> Iterator[None]:
        try:
            yield
        except SeamripperError:
            raise
        except Exception as e:
            first = (str(e).splitlines() or [""])[0]
            raise LogError(f"{self.label} could not keep the figures ({type(e).__name__}: {first}).") from e


loggers: Registry[Logger] = Registry(Logger, "seamripper.loggers", what="logger", error=LogError)
"""Every logger by name. `loggers.make("wandb?project=mine")` makes one."""
