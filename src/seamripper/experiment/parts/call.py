"""[[call]]: a function of the user's own, called for every point of a grid."""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import Field

from seamripper._files import plain
from seamripper._own_code import import_file, running
from seamripper.errors import ExperimentError
from seamripper.experiment.job import Job
from seamripper.experiment.parts.base import Output, Part, Row, figure_row
from seamripper.experiment.result import require_json
from seamripper.experiment.tables import Seed, Study, Value, Word

if TYPE_CHECKING:
    from seamripper.experiment.expansion import Expansion
    from seamripper.experiment.worker import Worker


class CallPart(Part):
    """A function of the user's own, `FILE.py:FUNCTION`, called for every point of a grid; it returns its figures.

    A figure is a number, a word, or a table with `value`, `interval` and `n`; one that is not finite is kept as null,
    with a `status` that says what it was. Content of a job: `file` (the sha256 of its bytes), `function`, `args`,
    `threads`: a file that was changed makes other jobs.
    """

    name: ClassVar[str] = "call"
    rate: ClassVar[float] = 1.0

    function: Word
    grid: Mapping[Word, Annotated[tuple[Value, ...], Field(min_length=1)]] = {}
    seeds: Annotated[tuple[Seed, ...], Field()] = ()
    args: Mapping[Word, Value] = {}

    def size(self, study: Study) -> int:
        """One job for each point of the grid."""
        return math.prod(map(len, self.grid.values())) * max(1, len(self.seeds))

    def jobs(self, expansion: Expansion) -> Iterator[Job]:
        """One job for each point of the grid."""
        file, colon, function = self.function.rpartition(":")
        if not colon or not file.endswith(".py") or not function.isidentifier():
            raise ExperimentError(f"Expected a function as FILE.py:FUNCTION, but got {self.function!r}.")
        path, sha = expansion.identities.file(file)
        expansion.identities.require_function(path, sha, function)
        axes = {**self.grid, **({"seed": self.seeds} if self.seeds else {})}
        twice = sorted(set(self.args) & set(axes))
        if twice:
            raise ExperimentError(
                f"The argument {twice[0]!r} of {self.function} is given twice: in `args` and as an axis."
            )
        for point in itertools.product(*axes.values()):
            args = {**self.args, **dict(zip(axes, point, strict=True))}
            content = {"file": sha, "function": function, "args": args, "threads": expansion.experiment.threads}
            labels = {"call": f"{file}:{function}", **{k: v for k, v in args.items() if k not in ("call", "figure")}}
            yield Job("call", content, labels, (), {"file": path})

    @classmethod
    def run(cls, content: Mapping[str, Any], worker: Worker) -> Output:
        """Call it."""
        path, function = Path(worker.where["file"]), content["function"]
        if hashlib.sha256(path.read_bytes()).hexdigest() != content["file"]:
            raise ExperimentError(f"{path} was changed since the experiment was planned: run it again.")
        module = import_file(path, function, error=ExperimentError)
        if not callable(getattr(module, function, None)):
            raise ExperimentError(f"{path} has no function {function!r}.")
        # Nobody presses Ctrl-C here: what would end a process is the function's own doing, too.
        with running(path, f"{function} of {path.name} failed", error=ExperimentError, every=True):
            returned = getattr(module, function)(**content["args"])
        if not isinstance(returned, Mapping) or not all(isinstance(name, str) for name in returned):
            raise ExperimentError(
                f"Expected {function} of {path.name} to return a dict of figures by name, but got {returned!r:.200}."
            )
        try:
            figures = {str(name): _figure(name, value) for name, value in returned.items()}
            require_json(figures)
        except (ExperimentError, RecursionError) as e:
            why = "it is nested too deeply" if isinstance(e, RecursionError) else str(e)
            raise ExperimentError(
                f"Expected {function} of {path.name} to return numbers, words and tables of them: {why}."
            ) from e
        return Output({"figures": figures})

    @classmethod
    def rows(cls, record: Mapping[str, Any]) -> Iterator[Row]:
        """Each figure."""
        for name, value in record["figures"].items():
            if value is None or _is_estimate(value):
                yield from figure_row(name, value or _NOTHING)
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
    """A figure as a record keeps it. It is checked now: whoever makes a table of it must find what a table can hold.

    >>> _figure("loss", float("nan"))
    {'value': None, 'interval': None, 'n': None, 'status': 'nan'}
    """
    if value is None or isinstance(value, (int, float)):
        return value if _is_finite(name, value) else _figure(name, {**_NOTHING, "value": value})
    if not _is_estimate(value):
        return plain(value)
    interval, n = value["interval"], value["n"]
    if interval is not None and not (isinstance(interval, (list, tuple)) and len(interval) == 2):
        raise ExperimentError(f"expected the interval of {name!r} to be None or two numbers, but got {interval!r:.80}")
    for end in interval or ():
        _is_finite(name, end)
    if n is not None and not (isinstance(n, int) and 0 <= n < _MOST):
        raise ExperimentError(f"expected n of {name!r} to be None or a number of samples, but got {n!r:.80}")
    status = {} if _is_finite(name, value["value"]) else {"status": str(value["value"]).lower()}
    return {**plain(value), **status}


def _is_finite(name: str, value: Any) -> bool:
    """Whether a value is a finite number; an error for what is no number, or none that a table can hold."""
    if value is not None and not isinstance(value, (int, float)):
        raise ExperimentError(f"expected {name!r} to be a number, but got {value!r:.80}")
    try:
        return value is not None and math.isfinite(value)
    except OverflowError:
        raise ExperimentError(f"{name!r} is a whole number above 1.8e308, the largest that a table can hold") from None
