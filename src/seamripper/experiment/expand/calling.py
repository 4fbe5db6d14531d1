"""[[call]]: a job for each point of a function's grid."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from seamripper.errors import ExperimentError
from seamripper.experiment.expand._expansion import Expansion
from seamripper.experiment.job import Job
from seamripper.experiment.spec import Calling


def calls(work: Expansion, part: Calling) -> Iterator[Job]:
    """A job for each point of the grid."""
    file, colon, function = part.function.rpartition(":")
    if not colon or not file.endswith(".py") or not function.isidentifier():
        raise ExperimentError(f"Expected a function as FILE.py:FUNCTION, but got {part.function!r}.")
    path, sha = work.identities.file(file)
    work.identities.require_function(path, sha, function)
    axes = {**part.grid, **({"seed": part.seeds} if part.seeds else {})}
    twice = sorted(set(part.args) & set(axes))
    if twice:
        raise ExperimentError(f"The argument {twice[0]!r} of {part.function} is given twice: in `args` and as an axis.")
    for point in itertools.product(*axes.values()):
        args = {**part.args, **dict(zip(axes, point, strict=True))}
        content = {"file": sha, "function": function, "args": args, "threads": work.experiment.threads}
        labels = {"call": f"{file}:{function}", **{k: v for k, v in args.items() if k not in ("call", "figure")}}
        yield Job("call", content, labels, (), {"file": path})
