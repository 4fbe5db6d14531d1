"""Shards: a part of an experiment each, for job arrays on machines that share nothing but a folder."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import Any

from seamripper._words import need
from seamripper.errors import ExperimentError
from seamripper.experiment.job import Graph
from seamripper.experiment.parts.base import parts
from seamripper.experiment.plan import cost


def parse_shard(text: str) -> tuple[int, int]:
    """Which shard of how many, counted from 0 as job arrays count.

    >>> parse_shard("3/16")
    (3, 16)
    """
    first, slash, second = text.partition("/")
    if not (slash and first.isdecimal() and second.isdecimal() and 0 <= int(first) < int(second)):
        raise ExperimentError(
            f"Expected a shard as I/N with I from 0 to N − 1, 0/4 for the first of four, but got {text!r}."
        )
    return int(first), int(second)


def portion(graph: Graph, shard: int, shards: int) -> Graph:
    """The goals of one shard and what they need: an equal share of the cost, in one piece, as neighbours share work."""
    costs = [cost(graph.jobs[key]) * parts[graph.jobs[key].kind].rate for key, _ in graph.goals]
    low, high = sum(costs) * shard / shards, sum(costs) * (shard + 1) / shards
    goals, at = [], 0.0
    for goal, share in zip(graph.goals, costs, strict=True):
        # By its middle, so that every goal is in one shard and no other.
        if low <= at + share / 2 < high:
            goals.append(goal)
        at += share
    return Graph(Graph(graph.jobs, tuple(goals)).remaining(frozenset()), tuple(goals))


def sbatch(experiment: str, shards: int, *, folder: str | os.PathLike[str], store: str | None, **slurm: Any) -> str:
    """The script of a Slurm job array, one task per shard, as submitit writes it.

    Options of `sbatch` by their names with underscores: partition, time (minutes), cpus_per_task, mem, account …
    """
    writer = need("submitit.slurm.slurm", extra="slurm", what="A script for sbatch")
    place = "" if store is None else f" --store {shlex.quote(store)}"
    run = f"{shlex.quote(sys.executable)} -m seamripper run {shlex.quote(experiment)}{place} --quiet"
    command = f"{run} --shard ${{SLURM_ARRAY_TASK_ID}}/{shards}"
    try:
        text: str = writer._make_sbatch_string(
            command=command, folder=Path(folder), map_count=shards, **{"job_name": Path(experiment).stem, **slurm}
        )
    except TypeError as e:
        raise ExperimentError(f"submitit does not take that option: {e}.") from e
    return text
