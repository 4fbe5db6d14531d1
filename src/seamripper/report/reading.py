"""Reading: what an experiment has found so far, as a report reads it: records and kept tensors, never a model."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from seamripper._doors import require
from seamripper._words import did_you_mean
from seamripper.errors import DamagedError, FileError, StoreError
from seamripper.experiment.status import status
from seamripper.experiment.store import Store

_SHOWN = 4
"""Damaged tensors that are told by name."""


@dataclass(frozen=True, eq=False)
class Result:
    """The result of one job that was asked for, with what the experiment calls it."""

    kind: str
    state: str
    labels: Mapping[str, Any]
    record: Mapping[str, Any] = field(repr=False)
    tensors: Mapping[str, str] = field(default_factory=dict, repr=False)
    key: str = ""

    @property
    def pair(self) -> str:
        """Who was joined to whom: `colour/0 → digit/1`."""
        return f"{named(self.labels, 'sender')} → {named(self.labels, 'receiver')}"

    @property
    def cut(self) -> str:
        """Where: one name if both models were cut at the same place, or if there is no sender to be cut."""
        a, b = self.labels.get("sender_cut"), self.labels.get("receiver_cut")
        return str(b) if a is None or a == b else f"{a} → {b}"


def named(labels: Mapping[str, Any], role: str) -> str:
    """A model with its seed, if it has one.

    >>> named({"sender": "colour", "sender_seed": 0}, "sender")
    'colour/0'
    """
    seed = labels.get(f"{role}_seed")
    return str(labels.get(role, "?")) + ("" if seed is None else f"/{seed}")


@dataclass(frozen=True, eq=False)
class Reading:
    """An experiment of a store and what came of it so far: `Reading.open("runs/study")`."""

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
            known = store.ledger.experiments()
            if not known:
                raise StoreError(
                    f"{folder} has no experiment yet: run one, or `seamripper collect {folder} --study …`."
                )
            made = [run["experiment"] for run in store.ledger.runs() if run["experiment"] in known]
            name = experiment or (made[-1] if made else next(iter(known)))
            if name not in known:
                raise StoreError(f"The store has no experiment {name!r}: {did_you_mean(name, list(known))}")
            goals = store.ledger.goals(name)
            results = []
            for key, labels in goals:
                entry = store.ledger.result(key)
                if entry is not None:
                    results.append(Result(entry.kind, entry.state, labels, entry.record, entry.tensors, key))
            jobs = store.ledger.jobs()
            contents = {key: jobs[key][1] for key, _ in goals if key in jobs}
            others = tuple(other for other in known if other != name)
            names = dict.fromkeys(tensor for result in results for tensor in result.tensors.values())
            gone = {tensor: f"{tensor[:12]} is gone" for tensor in names if not store.tensors.has(tensor)}
            facts = (Path(folder), name, known[name], tuple(results), len(goals), status(store), contents, others)
            return cls(*facts, gone)

    def of(self, kind: str) -> list[Result]:
        """The results of one kind that were done."""
        return [result for result in self.results if result.kind == kind and result.state == "done"]

    def tensor(self, result: Result, role: str, kind: str) -> dict[str, Any] | None:
        """The tensors that a result has kept under a role; None if there are none, or they cannot be read any more."""
        from seamripper._files import load_tensors
        from seamripper.experiment.store import DAMAGED, TENSORS
        from seamripper.experiment.tensors import Tensors

        if role not in result.tensors:
            return None
        try:
            path = Tensors(self.folder / TENSORS, self.folder / DAMAGED).get(result.tensors[role])
            return load_tensors(path, kind=kind)[0]
        except (DamagedError, FileError, StoreError):
            name = result.tensors[role]
            self.damage.setdefault(name, f"{name[:12]} is not as it was written")
            return None

    @property
    def incomplete(self) -> str | None:
        """What the report lacks, and how to mend it; None while nothing is known to be damaged."""
        if not self.damage:
            return None
        every = {name for result in self.results for name in result.tensors.values()}
        more = f" and {len(self.damage) - _SHOWN} more" if len(self.damage) > _SHOWN else ""
        return (
            f"{len(self.damage)} of the {len(every)} tensors of {self.folder} are gone or damaged, and what is drawn "
            f"from them is missing here ({', '.join(list(self.damage.values())[:_SHOWN])}{more}). "
            f"`seamripper store check {self.folder} --mend` takes their results back; then run the study again."
        )
