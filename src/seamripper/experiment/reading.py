"""Reading a store: how its experiments stand, and the results of one so far: records and tensors, never a model."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from seamripper._doors import require
from seamripper._words import did_you_mean
from seamripper.errors import DamagedError, FileError, StoreError
from seamripper.experiment.job import Job
from seamripper.experiment.result import Result
from seamripper.experiment.store import Store
from seamripper.experiment.tensors import Tensors

_SHOWN = 4
"""Damaged tensors that are named."""


@dataclass(frozen=True, eq=False)
class Reading:
    """An experiment of a store and its results so far: `Reading.open("runs/study")`."""

    folder: Path
    name: str
    description: Mapping[str, Any] = field(repr=False)
    results: tuple[Result, ...] = field(repr=False)
    asked: int
    standing: Mapping[str, Any] = field(repr=False)
    contents: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """The contents of the jobs, by key."""
    others: tuple[str, ...] = ()
    """Other experiments of the same store."""
    damage: dict[str, str] = field(default_factory=dict, repr=False)
    """What is wrong with tensors, by their names: those that are gone, and those that were found damaged when read."""

    @classmethod
    def open(cls, folder: str | os.PathLike[str], *, experiment: str | None = None) -> Reading:
        """Read an experiment of a store; without a name, the one that was run last."""
        if experiment is not None:
            require(experiment, str, "experiment", error=StoreError)
        with Store(folder) as store:
            known = store.experiments()
            if not known:
                raise StoreError(f"{folder} has no experiment yet: `seamripper run STUDY.toml` runs one.")
            ran = [run["experiment"] for run in store.runs.all() if run["experiment"] in known]
            name = experiment or (ran[-1] if ran else next(iter(known)))
            if name not in known:
                raise StoreError(f"The store has no experiment {name!r}: {did_you_mean(name, list(known))}")
            goals = store.goals(name)
            every = ((store.result(key), labels) for key, labels in goals)
            results = tuple(replace(result, labels=labels) for result, labels in every if result is not None)
            names = dict.fromkeys(tensor for result in results for tensor in result.tensors.values())
            return cls(
                Path(folder),
                name,
                known[name],
                results,
                asked=len(goals),
                standing=status(store),
                contents=store.contents(name),
                others=tuple(other for other in known if other != name),
                damage={tensor: f"{tensor[:12]} is gone" for tensor in names if not store.tensors.has(tensor)},
            )

    @property
    def models(self) -> tuple[str, ...]:
        """The names of the senders and receivers, in the order in which they are met."""
        roles = ("sender", "receiver")
        return tuple(dict.fromkeys(str(r.labels[role]) for r in self.results for role in roles if role in r.labels))

    def of(self, kind: str) -> list[Result]:
        """The results of one kind that were done."""
        return [result for result in self.results if result.kind == kind and result.state == "done"]

    def tensor(self, result: Result, role: str, kind: str) -> dict[str, Any] | None:
        """The tensors of a result under a role; None if there are none, or they cannot be read any more."""
        from seamripper._files import load_tensors

        if role not in result.tensors:
            return None
        name = result.tensors[role]
        try:
            path = Tensors(self.folder).get(name)
            return load_tensors(path, kind=kind)[0]
        except (DamagedError, FileError, StoreError):
            self.damage.setdefault(name, f"{name[:12]} is not as it was written")
            return None

    @property
    def incomplete(self) -> str | None:
        """What a report lacks, and how to mend it; None while nothing is known to be damaged."""
        if not self.damage:
            return None
        every = {name for result in self.results for name in result.tensors.values()}
        more = f" and {len(self.damage) - _SHOWN} more" if len(self.damage) > _SHOWN else ""
        return (
            f"{len(self.damage)} of the {len(every)} tensors of {self.folder} are gone or damaged, and what is drawn "
            f"from them is missing here ({', '.join(list(self.damage.values())[:_SHOWN])}{more}). "
            f"`seamripper store check {self.folder} --mend` takes their results back; then run the study again."
        )


def status(store: Store) -> dict[str, Any]:
    """Each experiment's jobs by how they stand, what failed and why, the runs, and damaged lines of the journals."""
    states, claims, living = store.states(), store.runs.claims(), set(store.runs.living())
    experiments, failures = [], []
    for name in store.experiments():
        goals = dict(store.goals(name))
        ended = Counter(states.get(key, "left") for key in goals)
        running = sum(key in claims and key not in states for key in goals)
        experiments.append(
            {
                "name": name,
                "goals": len(goals),
                "done": ended["done"],
                "failed": ended["failed"],
                "running": running,
                "left": ended["left"] - running,
            }
        )
        failures += [_failure(store, key, goals[key]) for key in goals if states.get(key) == "failed"]
    did = Counter(attempt["run"] for attempt in store.attempts())
    runs = [{**run, "alive": run["id"] in living, "did": did[run["id"]]} for run in store.runs.all()]
    return {"experiments": experiments, "failures": failures, "runs": runs, "damage": store.damage}


def _failure(store: Store, key: str, labels: dict[str, Any]) -> dict[str, Any]:
    result = store.result(key)
    assert result is not None
    return {"key": key, "job": str(Job(result.kind, {}, labels)), **result.record}
