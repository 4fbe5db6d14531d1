"""The job `call`: a function of the user's own."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from seamripper._own_code import import_file, running
from seamripper.errors import ExperimentError
from seamripper.experiment.kinds.base import Found, Kind, Row, figure, plain

if TYPE_CHECKING:
    from seamripper.experiment.desk import Desk


@dataclass(frozen=True)
class Call(Kind):
    """Call `FILE.py:FUNCTION` with the arguments of one point of a grid; it returns its figures by name.

    A figure is a number, a word, or a table with `value`, `interval` and `n`. Content: `file` (the sha256 of its
    bytes), `function`, `args`, `threads`: a file that was changed makes other jobs.
    """

    name: ClassVar[str] = "call"
    rate: ClassVar[float] = 1.0

    def run(self, content: Mapping[str, Any], desk: Desk) -> Found:
        """Call it."""
        path, function = Path(desk.where["file"]), content["function"]
        if hashlib.sha256(path.read_bytes()).hexdigest() != content["file"]:
            raise ExperimentError(f"{path} was changed since the experiment was planned: run it again.")
        module = import_file(path, function, error=ExperimentError)
        if not callable(getattr(module, function, None)):
            raise ExperimentError(f"{path} has no function {function!r}.")
        with running(path, f"{function} of {path.name} failed", error=ExperimentError):
            found = getattr(module, function)(**content["args"])
        if not isinstance(found, Mapping) or not all(isinstance(name, str) for name in found):
            raise ExperimentError(
                f"Expected {function} of {path.name} to return a dict of figures by name, but got {found!r:.200}."
            )
        try:
            return Found({"figures": json.loads(json.dumps(plain(found), allow_nan=False))})
        except (TypeError, ValueError) as e:
            raise ExperimentError(
                f"Expected {function} of {path.name} to return numbers, words and tables of them: {e}."
            ) from e

    def rows(self, record: Mapping[str, Any]) -> Iterator[Row]:
        """Each figure."""
        for name, value in record["figures"].items():
            if isinstance(value, Mapping) and {"value", "interval", "n"} <= value.keys():
                yield from figure(name, value)
            elif isinstance(value, (int, float)):
                yield {"figure": name, "value": float(value)}
            elif isinstance(value, str):
                yield {"figure": name, "status": value}
