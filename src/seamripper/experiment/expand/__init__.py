"""Expanding an experiment: from a grid to jobs, and to the graph in which they share work.

Each part of a study has a file.

::

    train ──┬─→ activations ─→ stitch        the same network for all, the same activations for every stitch from there
            ├─→ control
            ├─→ noise
            ├─→ audit
            ├─→ pictures
            └─→ pass ─→ compare              a part of the data each
    call
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from seamripper.errors import ExperimentError
from seamripper.experiment.expand._counting import require_size
from seamripper.experiment.expand._expansion import Expansion
from seamripper.experiment.expand.auditing import audits
from seamripper.experiment.expand.calling import calls
from seamripper.experiment.expand.comparing import comparisons
from seamripper.experiment.expand.noising import noises
from seamripper.experiment.expand.picturing import pictures
from seamripper.experiment.expand.stitching import sharing, stitches
from seamripper.experiment.identity import Identities
from seamripper.experiment.job import Graph, Job
from seamripper.experiment.spec import Experiment

__all__ = ["expand", "require_size"]

_PARTS: Mapping[str, Callable[[Expansion, Any], Iterator[Job]]] = {
    "stitch": stitches,
    "control": stitches,
    "noise": noises,
    "compare": comparisons,
    "audit": audits,
    "pictures": pictures,
    "call": calls,
}
"""How the parts of an experiment are expanded, by their names in it."""


def expand(experiment: Experiment, identities: Identities) -> Graph:
    """Every job of the experiment, those that share work behind the one that does it; not more than can be planned."""
    require_size(experiment)
    work = Expansion(experiment, identities)
    parts = [(found, part) for name, found in _PARTS.items() for part in getattr(experiment, name)]
    goals = [job for found, part in parts for job in found(work, part)]
    if not parts:
        for word in experiment.models:
            work.nets(word)
    if not (goals or work.trained):
        *most, last = (f"[[{name}]]" for name in _PARTS)
        asked = f"{', '.join(most)} or {last}"
        raise ExperimentError(f"The experiment {experiment.name!r} asks for nothing: add {asked}.")
    shared = sharing(work, [job for job in goals if job.kind == "stitch"])
    rest = [job for job in goals if job.kind != "stitch"]
    return Graph.of([*work.trained.values(), *shared, *rest], work.helpers.values())
