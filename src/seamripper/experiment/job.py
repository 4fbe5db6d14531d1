"""Job: one piece of work, known by its content; and the graph in which jobs share work."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from seamripper.errors import ExperimentError

NUMBERS = 5
"""Raised by whoever changes what a job's numbers come out as: results of other numbers are then not taken for these."""


@functools.cache
def decides() -> dict[str, Any]:
    """What of the packages decides a result: the numbers of this one, and the release of torch."""
    return {"seamripper": NUMBERS, "torch": (release("torch") or "none").partition("+")[0]}


def release(package: str) -> str | None:
    """The version of a package; None if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def digest(content: Any) -> str:
    """sha256 over the one way to write a content as JSON.

    >>> digest({"b": 1, "a": 2}) == digest({"a": 2, "b": 1})
    True
    """
    return hashlib.sha256(canonical(content).encode()).hexdigest()


def canonical(content: Any) -> str:
    """The one way to write a content as JSON: keys sorted, no spaces, no NaN."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)


@dataclass(frozen=True, eq=False)
class Job:
    """What is to be done (`kind`), with all that decides its result (`content`): same content, same key, one result.

    `needs` are the keys of jobs whose results it takes, and `inputs`, once those are done, the tensors that each has
    left in the store. `labels` are what people call it by, and `where` tells where things that the content names by
    their fingerprint are to be found. None of these decides anything.

    >>> first, second = (Job("call", {"x": 1}, labels={"name": name}) for name in ("first", "second"))
    >>> first.key == second.key, first.key == Job("call", {"x": 2}).key
    (True, False)
    """

    kind: str
    content: Mapping[str, Any]
    labels: Mapping[str, Any] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    where: Mapping[str, Any] = field(default_factory=dict)
    inputs: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @functools.cached_property
    def key(self) -> str:
        """The fingerprint of the content."""
        return digest({"kind": self.kind, "content": self.content, "decides": decides()})

    def as_record(self) -> dict[str, Any]:
        """The job as JSON, for a worker in another process."""
        return {"key": self.key, **asdict(self)}

    @classmethod
    def parse(cls, record: Mapping[str, Any]) -> Job:
        """The job that `as_record` wrote. It keeps its key: a worker may have another release of torch."""
        facts = dict(record)
        key = facts.pop("key")
        job = cls(**facts)
        vars(job)["key"] = key
        return job

    def __str__(self) -> str:
        words = [f"{value}" for name, value in self.labels.items() if value is not None and name in _SHOWN]
        return f"{self.kind} {' '.join(words)}".strip()


_SHOWN = (
    *("model", "sender", "receiver", "sender_cut", "receiver_cut", "radius", "classes", "matching", "control", "seed"),
    *("part", "call"),
)


@dataclass(frozen=True, eq=False)
class Graph:
    """Jobs by key, each behind all that it needs; `goals` are those that were asked for, with their labels.

    A goal may be asked for under several labels; it is done once.
    """

    jobs: Mapping[str, Job]
    goals: tuple[tuple[str, Mapping[str, Any]], ...]

    @classmethod
    def of(cls, goals: Iterable[Job], helpers: Iterable[Job] = ()) -> Graph:
        """The graph of these goals and the jobs that help them, put in order."""
        asked = list(goals)
        every = {job.key: job for job in (*helpers, *asked)}
        ordered: dict[str, Job] = {}
        # Goals first, so that what helps one stands right before it.
        for key in (*(job.key for job in asked), *every):
            _visit(key, every, ordered)
        # What is asked for twice in the same words is one row of the results.
        goals_by_words = {(job.key, canonical(dict(job.labels))): (job.key, dict(job.labels)) for job in asked}
        return cls(ordered, tuple(goals_by_words.values()))

    def __len__(self) -> int:
        return len(self.jobs)

    def remaining(self, done: frozenset[str]) -> dict[str, Job]:
        """The jobs that are still to be done, in order: goals that are not, and what those need, and so on."""
        wanted: set[str] = set()
        waiting = [key for key, _ in self.goals if key not in done]
        while waiting:
            key = waiting.pop()
            if key not in wanted:
                wanted.add(key)
                waiting += [need for need in self.jobs[key].needs if need not in done]
        return {key: job for key, job in self.jobs.items() if key in wanted}

    def only(self, key: str) -> Graph:
        """The job with this key, and what it needs."""
        if key not in self.jobs:
            raise ExperimentError(
                f"The study has no job {key[:16]} now: its data, its models or its files were changed, or this version "
                "of seamripper or torch gives other numbers."
            )
        goals = ((key, dict(self.jobs[key].labels)),)
        return Graph(Graph(self.jobs, goals).remaining(frozenset()), goals)

    def users(self) -> dict[str, set[str]]:
        """For each job the keys of those that need it."""
        users: dict[str, set[str]] = {key: set() for key in self.jobs}
        for key, job in self.jobs.items():
            for need in job.needs:
                users[need].add(key)
        return users

    def __iter__(self) -> Iterator[Job]:
        return iter(self.jobs.values())


def _visit(key: str, every: Mapping[str, Job], ordered: dict[str, Job]) -> None:
    """Put a job behind all that it needs. Not by recursion into users: a chain is three jobs long at most."""
    if key in ordered:
        return
    for need in every[key].needs:
        if need not in every:
            raise ExperimentError(f"The job {every[key]} needs a job that is not in the experiment ({need[:12]}).")
        _visit(need, every, ordered)
    ordered[key] = every[key]
