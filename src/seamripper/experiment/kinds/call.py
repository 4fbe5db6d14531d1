"""The job `call`: a function of the user's own."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from seamripper._own_code import import_file, running
from seamripper.errors import ExperimentError
from seamripper.experiment.kinds.base import Kind, Output, Row, figure, plain, require_json

if TYPE_CHECKING:
    from seamripper.experiment.worker import Worker


@dataclass(frozen=True)
class Call(Kind):
    """Call `FILE.py:FUNCTION` with the arguments of one point of a grid; it returns its figures by name.

    A figure is a number, a word, or a table with `value`, `interval` and `n`; one that is not finite is kept as null,
    with a `status` that says what it was. Content: `file` (the sha256 of its
    bytes), `function`, `args`, `threads`: a file that was changed makes other jobs.
    """

    name: ClassVar[str] = "call"
    rate: ClassVar[float] = 1.0

    def run(self, content: Mapping[str, Any], worker: Worker) -> Output:
        """Call it."""
        path, function = Path(worker.where["file"]), content["function"]
        if hashlib.sha256(path.read_bytes()).hexdigest() != content["file"]:
            raise ExperimentError(f"{path} was changed since the experiment was planned: run it again.")
        module = import_file(path, function, error=ExperimentError)
        if not callable(getattr(module, function, None)):
            raise ExperimentError(f"{path} has no function {function!r}.")
        # Nobody presses Ctrl-C here: what would end a process is the function's own doing, too.
        with running(path, f"{function} of {path.name} failed", error=ExperimentError, every=True):
            found = getattr(module, function)(**content["args"])
        if not isinstance(found, Mapping) or not all(isinstance(name, str) for name in found):
            raise ExperimentError(
                f"Expected {function} of {path.name} to return a dict of figures by name, but got {found!r:.200}."
            )
        try:
            figures = {str(name): _figure(name, value) for name, value in found.items()}
            require_json(figures)
        except (ExperimentError, RecursionError) as e:
            said = "it is nested too deeply" if isinstance(e, RecursionError) else str(e)
            raise ExperimentError(
                f"Expected {function} of {path.name} to return numbers, words and tables of them: {said}."
            ) from e
        return Output({"figures": figures})

    def rows(self, record: Mapping[str, Any]) -> Iterator[Row]:
        """Each figure."""
        for name, value in record["figures"].items():
            if value is None or _is_estimate(value):
                yield from figure(name, value or _NOTHING)
            elif isinstance(value, (int, float)):
                yield {"figure": name, "value": float(value)}
            elif isinstance(value, str):
                yield {"figure": name, "status": value}


_NOTHING = {"value": None, "interval": None, "n": None}
_MOST = 2**63
"""Below this are the numbers of samples that a column of a table can hold."""


def _is_estimate(value: object) -> bool:
    return isinstance(value, Mapping) and value.keys() >= _NOTHING.keys()


def _figure(name: str, value: Any) -> Any:
    """A figure as a record keeps it, checked now: whoever makes a table of it later must find what a table can hold.

    >>> _figure("loss", float("nan"))
    {'value': None, 'interval': None, 'n': None, 'status': 'nan'}
    """
    if value is None or isinstance(value, (int, float)):
        return value if _finite(name, value) else _figure(name, {**_NOTHING, "value": value})
    if not _is_estimate(value):
        return plain(value)
    interval, n = value["interval"], value["n"]
    if interval is not None and not (isinstance(interval, (list, tuple)) and len(interval) == 2):
        raise ExperimentError(f"expected the interval of {name!r} to be None or two numbers, but got {interval!r:.80}")
    for end in interval or ():
        _finite(name, end)
    if n is not None and not (isinstance(n, int) and 0 <= n < _MOST):
        raise ExperimentError(f"expected n of {name!r} to be None or a number of samples, but got {n!r:.80}")
    status = {} if _finite(name, value["value"]) else {"status": str(value["value"]).lower()}
    return {**plain(value), **status}


def _finite(name: str, value: Any) -> bool:
    """Whether a value is a finite number; an error for what is no number, or none that a table can hold."""
    if value is not None and not isinstance(value, (int, float)):
        raise ExperimentError(f"expected {name!r} to be a number, but got {value!r:.80}")
    try:
        return value is not None and math.isfinite(value)
    except OverflowError:
        raise ExperimentError(f"{name!r} is a whole number above 1.8e308, the largest that a table can hold") from None
