"""Plan: what an experiment would do, what is done already, and about how long the rest takes."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from seamripper._doors import require
from seamripper.errors import ExperimentError, StoreError
from seamripper.experiment.expansion import Expansion
from seamripper.experiment.experiment import Experiment, as_experiment
from seamripper.experiment.identity import Identities
from seamripper.experiment.job import Graph, Job
from seamripper.experiment.parts.base import parts
from seamripper.experiment.store import Store


class Pace:
    """How long jobs take: seconds per unit of cost, for each kind; measured where some have been done, else a guess."""

    def __init__(self) -> None:
        self._seconds: Counter[str] = Counter()
        self._units: Counter[str] = Counter()

    def learn(self, job: Job, seconds: float) -> None:
        """A job has taken so long."""
        self._seconds[job.kind] += seconds  # type: ignore[assignment]
        self._units[job.kind] += cost(job)  # type: ignore[assignment]

    def knows(self, kind: str) -> bool:
        """Whether a job of this kind was ever timed."""
        return kind in self._units

    def rate(self, kind: str) -> float:
        """Seconds that a unit of cost takes."""
        return self._seconds[kind] / self._units[kind] if self.knows(kind) else parts[kind].rate

    def seconds(self, jobs: Iterable[Job]) -> float:
        """What these jobs would take, one after the other."""
        return sum(self.rate(job.kind) * cost(job) for job in jobs)

    @classmethod
    def of(cls, graph: Graph, taken: Mapping[str, float]) -> Pace:
        """The pace of jobs that were done before."""
        pace = cls()
        for key, seconds in taken.items():
            if key in graph.jobs:
                pace.learn(graph.jobs[key], seconds)
        return pace


def cost(job: Job) -> float:
    """The units of a job's cost; never nothing, so that rates are numbers."""
    return max(float(parts[job.kind].cost(job.content)), 1e-9)


def expand(experiment: Experiment, identities: Identities) -> Graph:
    """Every job of the experiment, each behind the jobs whose work it uses.

    ::

        train ──┬─→ activations ─→ stitch        one network for all, the same activations for every stitch from there
                ├─→ control, noise, functional, audit, pictures
                └─→ pass ─→ compare              one part of the data each
        call
    """
    experiment.require_size()
    expansion = Expansion(experiment, identities)
    expansion.require_words()
    goals: dict[str, list[Job]] = {name: [] for name in parts}
    asked = [part for _, part in experiment.parts()]
    for job in (job for part in asked for job in part.jobs(expansion)):
        # By its own kind: a [[stitch]] asks for controls, too.
        goals[job.kind].append(job)
    if not asked:
        for word in experiment.models:
            expansion.nets(word)
    if not (any(goals.values()) or expansion.trained):
        *most, last = (f"[[{name}]]" for name, part in parts.items() if part.asked_for)
        raise ExperimentError(f"The experiment {experiment.name!r} asks for nothing: add {', '.join(most)} or {last}.")
    shared = [job for name, jobs in goals.items() for job in parts[name].share(jobs, expansion)]
    return Graph.of([*expansion.trained.values(), *shared], expansion.helpers.values())


@dataclass(frozen=True, eq=False)
class Plan:
    """An experiment beside what its store holds."""

    experiment: Experiment
    graph: Graph
    done: frozenset[str]
    failed: frozenset[str]
    pace: Pace
    damage: tuple[str, ...] = ()
    """The lines of the store's journals that are not as they were written: their jobs count as not done."""

    def __repr__(self) -> str:
        done = len(self.graph.jobs.keys() & self.done)
        return f"Plan({self.experiment.name!r}: {len(self.graph)} jobs, {done} done, {len(self.needed)} to run)"

    @property
    def blocked(self) -> frozenset[str]:
        """Jobs that cannot be done, as one that they need has failed."""
        bad = set(self.failed)
        for key, job in self.graph.jobs.items():
            if any(need in bad for need in job.needs) and key not in self.done:
                bad.add(key)
        return frozenset(bad - self.failed)

    @property
    def needed(self) -> dict[str, Job]:
        """The jobs that would run, each behind those that it needs."""
        # What only serves jobs that cannot be done is not needed either.
        return self.graph.remaining(self.done | self.failed | self.blocked)

    @property
    def seconds(self) -> float:
        """What the jobs that would run take one after the other."""
        return self.pace.seconds(self.needed.values())

    @property
    def guessed(self) -> list[str]:
        """The kinds of jobs whose time is a guess, as none of them has been done yet."""
        return sorted({job.kind for job in self.needed.values() if not self.pace.knows(job.kind)})

    def counts(self) -> dict[str, dict[str, int]]:
        """For each kind: how many jobs there are, and of them done, failed, blocked and to be run."""
        groups = {
            "jobs": self.graph.jobs.keys(),
            "done": self.graph.jobs.keys() & self.done,
            "failed": self.graph.jobs.keys() & self.failed,
            "blocked": self.blocked,
            "to run": self.needed.keys(),
        }
        kinds = {name: Counter(self.graph.jobs[key].kind for key in keys) for name, keys in groups.items()}
        return {kind: {name: kinds[name][kind] for name in groups} for kind in sorted(kinds["jobs"])}

    def as_record(self) -> dict[str, Any]:
        """The plan as JSON has it."""
        return {
            "experiment": self.experiment.name,
            "jobs": len(self.graph),
            "goals": len(self.graph.goals),
            "kinds": self.counts(),
            "to_run": len(self.needed),
            "seconds": self.seconds,
            "guessed": self.guessed,
        }


def plan(experiment: Experiment | str | os.PathLike[str], store: Store | str | os.PathLike[str] | None = None) -> Plan:
    """What running the experiment on this store would do; without a store, as if nothing had been done yet.

    Planning writes down only what the words of the study refer to, and only in a store that is open for writing.
    """
    experiment = as_experiment(experiment)
    if isinstance(store, (str, os.PathLike)):
        with Store(store) as open_store:
            return plan(experiment, open_store)
    if store is None:
        graph = expand(experiment, Identities({}, folder=experiment.folder))
        return Plan(experiment, graph, frozenset(), frozenset(), Pace())
    require(store, Store, "store", error=StoreError, advice="Store('runs/study') opens one.")
    graph = expand(experiment, Identities(store.memo, folder=experiment.folder))
    states = store.states()
    done = frozenset(key for key, state in states.items() if state == "done")
    failed = frozenset(key for key, state in states.items() if state == "failed" and key in graph.jobs)
    return Plan(experiment, graph, done, failed, Pace.of(graph, store.seconds()), tuple(store.damage))
