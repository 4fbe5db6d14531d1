"""Upkeep of a store: check that all of it is whole, remove what nothing refers to, make a damaged ledger anew.

All three can be interrupted at any moment and done again.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from seamripper._progress import Progress, Watcher, nobody
from seamripper.errors import DamagedError, StoreError
from seamripper.experiment.journal import entries
from seamripper.experiment.kinds import kind_named
from seamripper.experiment.ledger import Ledger
from seamripper.experiment.store import DAMAGED, LEDGER, WORK, Store


@dataclass(frozen=True)
class Report:
    """What a check found: how much was looked at, and what is wrong, a sentence each, with what to do."""

    results: int
    tensors: int
    bytes: int
    problems: tuple[str, ...] = field(default_factory=tuple)


def check(folder: str | os.PathLike[str], *, watch: Watcher = nobody) -> Report:
    """Look at everything: the ledger's pages, every result's sum, every line of the journals, every tensor's bytes."""
    with Store(folder) as store:
        problems = [f"The ledger: {word}." for word in store.ledger.integrity()]
        damaged = store.ledger.damaged()
        problems += [f"The result {key[:12]} in the ledger is not as it was written: repair." for key in damaged]
        problems += _journals(store)
        wanted: dict[str, str] = {}
        results = 0
        if not damaged:
            for entry in store.results():
                results += 1
                wanted |= dict.fromkeys(entry.tensors.values(), entry.key)
        names = sorted(wanted)
        size = 0
        for k, name in enumerate(names, 1):
            try:
                size += store.tensors.get(name).stat().st_size
            except DamagedError as e:
                problems.append(f"{e} The next run sets it aside and computes it anew, if it is needed.")
            watch(Progress("tensors", k, len(names)))
        return Report(results, len(names), size, tuple(problems))


def _journals(store: Store) -> list[str]:
    problems = []
    states = store.ledger.states()
    for name, path in store.journals().items():
        for end, entry in entries(path):
            if entry is None:
                problems.append(f"The journal {name}: the line that ends at byte {end} is damaged.")
            elif entry.state == "done" and entry.key not in states and not kind_named(entry.kind).helps:
                problems.append(f"The journal {name} has the result {entry.key[:12]}, and the ledger has not: repair.")
    return problems


@dataclass(frozen=True)
class Swept:
    """What was removed."""

    files: int
    bytes: int


def gc(folder: str | os.PathLike[str], *, watch: Watcher = nobody) -> Swept:
    """Remove what nothing refers to: tensors of no result, of helpers, drafts, finished work, what was set aside."""
    with Store(folder, write=True) as store:
        living = store.ledger.living()
        if living:
            raise StoreError(f"A run is under way on {folder} ({living[0]}): wait until it has ended.")
        store.take_in()
        helpers = [entry for entry in store.results() if kind_named(entry.kind).helps]
        # The row first: a row without its tensor would be a result that is not there.
        store.ledger.forget([entry.key for entry in helpers])
        wanted = {name for entry in store.results() for name in entry.tensors.values()}
        files, size = 0, 0
        there = list(store.tensors.names())
        for k, name in enumerate(there, 1):
            if name not in wanted:
                size += store.tensors.drop(name)
                files += 1
            watch(Progress("tensors", k, len(there)))
        for path in [*store.tensors.drafts(), *_finished(store)]:
            size += _size(path)
            files += 1
            _remove(path)
        return Swept(files, size)


def _finished(store: Store) -> list[Path]:
    """Work of jobs that are done, and what was set aside."""
    done = {key[:32] for key in store.done()}
    work = store.folder / WORK
    found = [path for path in sorted(work.iterdir()) if path.name in done] if work.is_dir() else []
    aside = store.folder / DAMAGED
    return [*found, *(sorted(aside.iterdir()) if aside.is_dir() else [])]


def _size(path: Path) -> int:
    if path.is_file():
        return path.stat().st_size
    return sum(one.stat().st_size for one in path.rglob("*") if one.is_file())


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def repair(folder: str | os.PathLike[str], announce: Callable[[str], None] = lambda _: None) -> int:
    """Make the ledger anew from the journals, with the damaged one set aside; how many results it then has.

    What an experiment asks for is not in the journals: it is written down again by its next run. Until then `status`
    and `results` know the results and not the experiment.
    """
    folder = Path(folder)
    if not (folder / "journals").is_dir():
        raise StoreError(f"{folder} has no journals to make a ledger from.")
    fresh = folder / f"anew-{secrets.token_hex(4)}.sqlite"
    ledger = Ledger(fresh, write=True)
    try:
        _salvage(folder / LEDGER, ledger)
    finally:
        ledger.close()
    aside = folder / DAMAGED / f"ledger-{secrets.token_hex(4)}"
    aside.mkdir(parents=True)
    for suffix in ("", "-wal", "-shm", "-journal"):
        old = folder / f"{LEDGER}{suffix}"
        if old.exists():
            old.replace(aside / old.name)
    fresh.replace(folder / LEDGER)
    with Store(folder, write=True) as store:
        store.take_in(announce)
        return sum(1 for _ in store.results())


_KEPT = ("jobs", "experiments", "goals", "members", "runs", "memo")
"""Tables that are not in the journals."""


def _salvage(old: Path, new: Ledger) -> None:
    """Copy what can still be read of the tables that are not in the journals."""
    if not old.is_file():
        return
    try:
        source = sqlite3.connect(f"{old.resolve().as_uri()}?mode=ro", uri=True)
    except sqlite3.Error:
        return
    try:
        for table in _KEPT:
            rows = _readable(source, table)
            if rows:
                new.copy_in(table, rows)
    finally:
        source.close()


def _readable(source: sqlite3.Connection, table: str) -> list[tuple[object, ...]]:
    """The rows of a table up to the first that cannot be read."""
    rows: list[tuple[object, ...]] = []
    with contextlib.suppress(sqlite3.Error):
        rows.extend(source.execute(f"SELECT * FROM {table}"))  # one of _KEPT, and no word of a user's
    return rows
