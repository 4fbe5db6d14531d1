"""Shards: a part of an experiment each, on machines that share a folder and nothing else.

A shard writes no SQLite, which is not safe on a network's disk: it appends to a journal of its own, reads the others',
and claims a job by making a file that only one can make. `collect` enters the journals into the ledger. Shards that
need the same network find it there, wait for the one that trains it, or train it, if that one has died.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from seamripper.errors import ExperimentError, StoreError
from seamripper.experiment._processes import born, process_alive
from seamripper.experiment.drive import Standing, Summary, drive, store_of
from seamripper.experiment.engines import Engine
from seamripper.experiment.expand import expand
from seamripper.experiment.identity import Identities
from seamripper.experiment.job import Graph, canonical
from seamripper.experiment.journal import Entry, Journal, entries
from seamripper.experiment.kinds import kind_named
from seamripper.experiment.ledger import SILENCE
from seamripper.experiment.plan import Pace, Plan, cost
from seamripper.experiment.spec import Experiment
from seamripper.experiment.store import DAMAGED, JOURNALS, TENSORS, WORK, Store
from seamripper.experiment.tensors import Tensors, whole

CLAIMS = "claims"


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


def run_shard(
    experiment: Experiment,
    shard: tuple[int, int],
    store: str | os.PathLike[str] | None = None,
    *,
    engine: Engine,
    announce: Callable[[str], None] = lambda _: None,
    watch: Callable[[Standing], None] = lambda _: None,
) -> Summary:
    """Carry out one shard of an experiment; `collect` then enters the journals of all into the store's ledger."""
    folder = store_of(experiment) if store is None else Path(store)
    graph = portion(expand(experiment, Identities({}, folder=experiment.folder)), *shard)
    with ShardStore(folder, f"shard-{shard[0]}-of-{shard[1]}") as store_:
        store_.take_in(announce)
        states = store_.ledger.states()
        done = frozenset(key for key, state in states.items() if state == "done")
        failed = frozenset(key for key, state in states.items() if state == "failed" and key in graph.jobs)
        planned = Plan(experiment, graph, done, failed, Pace())
        return drive(planned, store_, engine, announce=announce, watch=watch, name=store_.name, keep_helpers=True)


def portion(graph: Graph, shard: int, shards: int) -> Graph:
    """The goals of one shard and what they need: an equal share of the cost, in one piece, as neighbours share work."""
    total = sum(cost(graph.jobs[key]) * kind_named(graph.jobs[key].kind).rate for key, _ in graph.goals)
    low, high = total * shard / shards, total * (shard + 1) / shards
    mine, at = [], 0.0
    for key, labels in graph.goals:
        share = cost(graph.jobs[key]) * kind_named(graph.jobs[key].kind).rate
        # By its middle, so that every goal is in one shard and no other.
        if low <= at + share / 2 < high:
            mine.append((key, labels))
        at += share
    part = Graph(graph.jobs, tuple(mine))
    needed = part.needed(frozenset())
    return Graph(needed, tuple(mine))


class ShardStore:
    """A store as a shard sees it: tensors and journals, and a ledger in memory."""

    def __init__(self, folder: str | os.PathLike[str], name: str) -> None:
        self.folder, self.name = Path(folder), name
        try:
            for part in (JOURNALS, TENSORS, CLAIMS):
                (self.folder / part).mkdir(parents=True, exist_ok=True)
        except OSError as e:
            raise StoreError(f"The store {folder} cannot be written: {e.strerror or e}.") from e
        self.tensors = Tensors(self.folder / TENSORS, self.folder / DAMAGED)
        self.ledger = ShardLedger(self.folder / CLAIMS, self.take_in)

    def __enter__(self) -> ShardStore:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is held open."""

    def work(self, key: str) -> Path:
        """As in `Store`."""
        return self.folder / WORK / key[:32]

    def journal(self, name: str) -> Journal:
        """As in `Store`."""
        return Journal(self.folder / JOURNALS / f"{name}.jsonl")

    def take_in(self, announce: Callable[[str], None] = lambda _: None) -> list[str]:
        """Read what journals have said since the last time."""
        new = []
        for path in sorted((self.folder / JOURNALS).glob("*.jsonl")):
            start = self.ledger.read.get(path.stem, 0)
            if path.stat().st_size <= start:
                continue
            for end, entry in entries(path, start):
                self.ledger.read[path.stem] = end
                if entry is None:
                    announce(
                        f"{path}: a line that ends at byte {end} is damaged. It is passed over, and its job redone."
                    )
                elif self.holds(entry) and self.ledger.enter(entry):
                    new.append(entry.key)
        return new

    def holds(self, entry: Entry) -> bool:
        """As in `Store`."""
        return not kind_named(entry.kind).helps or all(self.tensors.has(name) for name in entry.tensors.values())

    def enter(self, journal: Journal, entry: Entry) -> None:
        """Append to the journal; the others read it there."""
        journal.append(entry)
        self.ledger.enter(entry)
        self.ledger.release([entry.key], self.name)


class ShardLedger:
    """Results in memory, and claims as files: who makes `claims/KEY` has the job, while it says that it is alive."""

    def __init__(self, folder: Path, look: Callable[[], object] = lambda: None) -> None:
        self.folder, self.look = folder, look
        self.read: dict[str, int] = {}
        self._results: dict[str, Entry] = {}

    def enter(self, entry: Entry) -> bool:
        """Take a result in; what is done stays as it was done first."""
        known = self._results.get(entry.key)
        if known is not None and known.state == "done":
            return False
        self._results[entry.key] = entry
        return True

    def states(self) -> dict[str, str]:
        """As in `Ledger`."""
        return {key: entry.state for key, entry in self._results.items()}

    def result(self, key: str) -> Entry | None:
        """As in `Ledger`."""
        return self._results.get(key)

    def forget(self, keys: Iterable[str]) -> None:
        """As in `Ledger`, for this shard."""
        for key in keys:
            self._results.pop(key, None)

    def begin(self, run: str, experiment: str, provenance: Mapping[str, Any]) -> None:
        """Say who this is, and what with; `collect` enters it into the ledger."""
        now = time.time()
        facts = {"host": socket.gethostname(), "pid": os.getpid(), "born": born(os.getpid()), "started": now}
        with whole(self.folder.parent / JOURNALS / f"{run}.json") as file:
            file.write(canonical({"experiment": experiment, **facts, "provenance": dict(provenance)}).encode())
        self._write(f"{run}.alive", f"{socket.gethostname()} {os.getpid()} {born(os.getpid())}")

    def beat(self, run: str) -> None:
        """Say that the shard is alive."""
        with contextlib.suppress(OSError):
            (self.folder / f"{run}.alive").touch()

    def end(self, run: str) -> None:
        """Give back what is claimed."""
        for key, owner in self.claims().items():
            if owner == run:
                self._remove(key)
        self._remove(f"{run}.alive")

    def living(self) -> list[str]:
        """The shards that have said so lately; by the clock of the disk, which is one for all."""
        probe = self.folder / f".now-{socket.gethostname()}-{os.getpid()}"
        try:
            probe.touch()
            now = probe.stat().st_mtime
            return [path.stem for path in self.folder.glob("*.alive") if self._lives(path, now)]
        finally:
            with contextlib.suppress(OSError):
                probe.unlink()

    def _lives(self, path: Path, now: float) -> bool:
        try:
            host, pid, since = path.read_text().split()
            if host == socket.gethostname():
                return process_alive(int(pid), float(since))
            return now - path.stat().st_mtime < SILENCE
        except (OSError, ValueError):
            return False

    def claim(self, keys: Sequence[str], run: str) -> list[str]:
        """Claim jobs that no living shard has claimed, and that none has done meanwhile."""
        taken, living = [], set(self.living())
        held = self.claims()
        for key in keys:
            owner = held.get(key)
            if owner is not None and owner != run:
                if owner in living:
                    continue
                self._remove(key)
            if owner == run or self._made(key, run):
                taken.append(key)
        # A shard writes to its journal before it gives a claim back: whoever has the claim then finds the result.
        self.look()
        done = [key for key in taken if key in self._results]
        self.release(done, run)
        return [key for key in taken if key not in self._results]

    def release(self, keys: Iterable[str], run: str) -> None:
        """Give claims back."""
        for key in keys:
            self._remove(key)

    def claims(self) -> dict[str, str]:
        """Which shard has claimed which job."""
        found = {}
        for path in self.folder.iterdir():
            if "." not in path.name:
                with contextlib.suppress(OSError):
                    found[path.name] = path.read_text()
        return found

    def _made(self, key: str, run: str) -> bool:
        """Make the claim's file, unless somebody else does: written first under another name, so that it is whole."""
        draft = self._write(f".claim-{socket.gethostname()}-{os.getpid()}-{time.monotonic_ns()}", run)
        try:
            os.link(draft, self.folder / key)
        except FileExistsError:
            return False
        finally:
            draft.unlink()
        return True

    def _write(self, name: str, text: str) -> Path:
        path = self.folder / name
        try:
            path.write_text(text)
        except OSError as e:
            raise StoreError(f"{path} could not be written: {e.strerror or e}.") from e
        return path

    def _remove(self, name: str) -> None:
        with contextlib.suppress(OSError):
            (self.folder / name).unlink()


def shards_living(folder: str | os.PathLike[str]) -> list[str]:
    """The shards that are at work on a store."""
    claims = Path(folder) / CLAIMS
    return ShardLedger(claims).living() if claims.is_dir() else []


def collect(folder: str | os.PathLike[str], announce: Callable[[str], None] = lambda _: None) -> tuple[int, int]:
    """Enter the journals of shards into the store's ledger: how many results are new, and how many there are.

    It may be repeated, and done while shards are running. When none is, what only helped them is let go of.
    """
    with Store(folder, write=True, make=False) as store:
        new = store.take_in(announce)
        _enter_runs(store)
        if not store.ledger.living() and not shards_living(folder):
            helpers = [entry for entry in store.results() if kind_named(entry.kind).helps]
            store.ledger.forget([entry.key for entry in helpers])
            for name in (name for entry in helpers for name in entry.tensors.values()):
                store.tensors.drop(name)
        return len(new), sum(1 for _ in store.results())


def _enter_runs(store: Store) -> None:
    """Enter what shards have said of themselves; a file that cannot be read is no reason to keep results back."""
    for path in sorted((store.folder / JOURNALS).glob("*.json")):
        with contextlib.suppress(ValueError, TypeError, KeyError, OSError, RecursionError):
            told = json.loads(path.read_bytes())
            store.ledger.note(path.stem, path.stat().st_mtime, **told)


def sbatch(experiment: str, shards: int, *, folder: str | os.PathLike[str], store: str | None, **slurm: Any) -> str:
    """The script of a Slurm job array, a task for each shard, as submitit writes it.

    Options of `sbatch` by their names with underscores: partition, time (minutes), cpus_per_task, mem, account …
    """
    import shlex
    import sys

    from seamripper._words import need

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
