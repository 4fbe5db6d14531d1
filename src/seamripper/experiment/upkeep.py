"""Upkeep of a store: check that all of it is whole, remove what nothing refers to, make a damaged ledger anew.

All three can be interrupted at any moment and done again.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import sqlite3
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from seamripper._progress import Progress, Watcher, nobody
from seamripper.errors import DamagedError, StoreError
from seamripper.experiment.journal import Entry, Journal, entries
from seamripper.experiment.kinds import kind_named
from seamripper.experiment.ledger import SCHEMA, UNSEALED, Ledger, entry_of
from seamripper.experiment.results import rows_of
from seamripper.experiment.shard import shards_living
from seamripper.experiment.store import DAMAGED, JOURNALS, LEDGER, WORK, Store

T = TypeVar("T")


@dataclass(frozen=True)
class Report:
    """What a check found: how much was looked at, and what is wrong, a sentence each, with what to do."""

    results: int
    tensors: int
    bytes: int
    problems: tuple[str, ...] = field(default_factory=tuple)


def check(folder: str | os.PathLike[str], *, mend: bool = False, watch: Watcher = nobody) -> Report:
    """Look at everything: the ledger's pages, every result's sum, every line of the journals, every tensor's bytes.

    With `mend`, a damaged tensor is set aside and its result taken back, so that the next run computes it anew; a
    result that was altered is read from its journal again, and one that no journal has is written to one. Without, a
    run does so only when it comes to need the tensor.
    """
    with Store(folder, write=mend, make=False) as store:
        problems = [*_ledger(store, mend), *_journals(store, mend)]
        found = _entries(store)
        problems += _records(store, found, mend)
        names = sorted({name for entry in found for name in entry.tensors.values()})
        size = 0
        for k, name in enumerate(names, 1):
            try:
                size += store.tensors.get(name).stat().st_size
            except DamagedError as e:
                problems.append(f"{e} {_mended(store, name, found) if mend else unmended(store.folder)}")
            watch(Progress("tensors", k, len(names)))
        return Report(len(found), len(names), size, tuple(problems))


def unmended(folder: Path) -> str:
    """What to do about a tensor that is gone or damaged."""
    return f"`seamripper store check {folder} --mend` sets it aside, and the next run computes it anew."


def _mended(store: Store, name: str, found: Iterable[Entry]) -> str:
    """Set a tensor aside and take back the results that it is part of."""
    store.tensors.set_aside(name)
    store.ledger.forget([entry.key for entry in found if name in entry.tensors.values()])
    return "It was set aside, and the next run computes it anew."


def _ledger(store: Store, mend: bool) -> list[str]:
    """What is wrong with the ledger. One that cannot be read to its end keeps nobody from looking at the rest."""
    problems = [f"The ledger: {word}." for word in _heard(store.ledger.integrity) or []]
    altered: list[str] = []
    try:
        if mend:
            store.mend(altered.append)
        damaged = store.ledger.damaged()
        problems += [f"The result {key[:12]} in the ledger is not as it was written." for key in damaged]
        for name in store.ledger.experiments():
            store.ledger.goals(name)
    except StoreError as e:
        problems.append(str(e))
    else:
        problems += [f"`seamripper store repair {store.folder}` makes the ledger anew."] if problems else []
    return [*altered, *problems]


def _records(store: Store, found: Iterable[Entry], mend: bool) -> list[str]:
    """Results whose records are not what their kinds write: of an older version, or of another hand."""
    problems, unread = [], []
    for entry in found:
        if entry.state == "done":
            try:
                rows_of(entry.kind, entry.record, entry.key)
            except StoreError as e:
                problems.append(str(e))
                unread.append(entry.key)
    if mend:
        store.ledger.forget(unread)
    return problems


def _entries(store: Store) -> list[Entry]:
    """Every result that can be read: of the ledger, or of the journals where the ledger is damaged."""
    try:
        return list(store.results())
    except StoreError:
        every = [entry for path in store.journals().values() for _, entry in entries(path) if entry is not None]
        return list({entry.key: entry for entry in every if store.holds(entry)}.values())


def _heard(ask: Callable[[], T]) -> T | None:
    try:
        return ask()
    except StoreError:
        return None


def _journals(store: Store, mend: bool) -> list[str]:
    problems = []
    # A ledger that is damaged is told of elsewhere.
    states, read = _heard(store.ledger.states), _heard(store.ledger.read) or {}
    lost = set(states or {})
    for name, path in store.journals().items():
        for end, entry in entries(path):
            if entry is None:
                problems.append(f"The journal {name}: the line that ends at byte {end} is damaged.")
                continue
            lost.discard(entry.key)
            if states is None or entry.state != "done" or entry.key in states or kind_named(entry.kind).helps:
                continue
            if end <= read.get(name, 0):
                problems.append(
                    f"The journal {name} has the result {entry.key[:12]}, and the ledger has not: the next run makes "
                    f"it anew, or `seamripper store repair {store.folder}` enters it."
                )
    return [*problems, *_lost(store, lost, [name for name in read if name not in store.journals()], mend)]


def _lost(store: Store, keys: set[str], gone: list[str], mend: bool) -> list[str]:
    """Tell of results that the ledger alone has; with `mend`, write them to a journal."""
    if not keys:
        return []
    which = f" (gone: {', '.join(gone)})" if gone else ""
    said = f"{len(keys)} results are in the ledger and in no journal{which}: a damaged ledger would take them along."
    if not mend:
        return [f"{said} `seamripper store check {store.folder} --mend` writes them to a journal anew."]
    attempts: dict[str, list[Any]] = {key: more for key, *more in store.ledger.attempts()}
    results = (entry for entry in map(store.ledger.result, sorted(keys)) if entry is not None)
    with store.journal(f"mended-{secrets.token_hex(4)}") as journal:
        for entry in results:
            run, worker, started, seconds, _ = attempts.get(entry.key, ["", "", 0.0, 0.0, ""])
            journal.append(replace(entry, run=run, worker=worker, started=started, seconds=seconds))
    store.ledger.take_in(journal.path.stem, journal.path.stat().st_size, [])
    return [f"{said} They were written to the journal {journal.path.stem}."]


@dataclass(frozen=True)
class Swept:
    """What was removed."""

    files: int
    bytes: int


def gc(folder: str | os.PathLike[str], *, watch: Watcher = nobody) -> Swept:
    """Remove what nothing refers to: tensors of no result, of helpers, drafts, finished work, what was set aside."""
    with Store(folder, write=True, make=False) as store:
        store.take_in()
        # Listed before looking whether a run is under way: what one that begins later writes is not among these.
        there = list(store.tensors.names())
        left = [*store.tensors.drafts(), *_finished(store), *store.folder.glob(f"{_ANEW}*")]
        living = [*store.ledger.living(), *shards_living(folder)]
        if living:
            raise StoreError(f"A run is under way on {folder} ({living[0]}): wait until it has ended.")
        helpers = [entry for entry in store.results() if kind_named(entry.kind).helps]
        # The row first: a row without its tensor would be a result that is not there.
        store.ledger.forget([entry.key for entry in helpers])
        wanted = {name for entry in store.results() for name in entry.tensors.values()}
        files, size = 0, 0
        for k, name in enumerate(there, 1):
            if name not in wanted:
                size += store.tensors.drop(name)
                files += 1
            watch(Progress("tensors", k, len(there)))
        for path in left:
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

    What an experiment asks for is not in the journals: it is copied as far as it can be read, and written down again
    by its next run. Without it `status` and `results` know the results and not the experiment.
    """
    folder = Path(folder)
    if not (folder / JOURNALS).is_dir() and not (folder / LEDGER).is_file():
        raise StoreError(f"{folder} has no journals to make a ledger from.")
    _require_known(folder / LEDGER)
    _write_down(folder)
    for path in folder.glob(f"{_ANEW}*"):
        path.unlink(missing_ok=True)
    fresh = folder / f"{_ANEW}{secrets.token_hex(4)}.sqlite"
    ledger = Ledger(fresh, write=True)
    try:
        _salvage(folder / LEDGER, ledger)
    finally:
        ledger.close()
    aside = folder / DAMAGED / f"ledger-{secrets.token_hex(4)}"
    aside.mkdir(parents=True)
    # Never without a ledger; and first without the log of the old one, which is not the new one's.
    if (folder / LEDGER).exists():
        _link(folder / LEDGER, aside / LEDGER)
    for suffix in ("-wal", "-shm", "-journal"):
        old = folder / f"{LEDGER}{suffix}"
        if old.exists():
            old.replace(aside / old.name)
    fresh.replace(folder / LEDGER)
    with Store(folder, write=True) as store:
        store.take_in(announce)
        return sum(1 for _ in store.results())


_ANEW = "anew-"
_KEPT = ("jobs", "experiments", "goals", "members", "runs")
"""Tables that are not in the journals. What is remembered of files and data is not copied: it is soon found again."""
_JSON = {"jobs": (2, 3), "experiments": (1,), "goals": (3,), "runs": (8,)}
"""The columns of them that are JSON."""


def _require_known(old: Path) -> None:
    """A ledger that a newer version has written is not damaged for that."""
    with contextlib.suppress(sqlite3.Error), contextlib.closing(_open(old)) as source:
        found = source.execute("PRAGMA user_version").fetchone()[0]
        if found > SCHEMA and source.execute("PRAGMA quick_check(1)").fetchone() == ("ok",):
            raise StoreError(
                f"{old} was written by a newer seamripper (its format is {found}, and this one knows {SCHEMA}): that "
                "is no damage. Upgrade seamripper to use it; nothing of it was changed."
            )


def _open(old: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{old.resolve().as_uri()}?mode=ro", uri=True)


def _link(old: Path, new: Path) -> None:
    """The same file under a second name; a copy, where the disk has no such thing."""
    try:
        new.hardlink_to(old)
    except OSError:
        shutil.copyfile(old, new)


def _salvage(old: Path, new: Ledger) -> None:
    """Copy what can still be read of the tables that are not in the journals."""
    if not old.is_file():
        return
    with contextlib.suppress(sqlite3.Error), contextlib.closing(_open(old)) as source:
        for table in _KEPT:
            rows = [row for row in _readable(source, table) if _is_json(row, _JSON.get(table, ()))]
            if table == "experiments":
                rows = [(*row[:2], UNSEALED) for row in rows]
            if rows:
                new.copy_in(table, rows)


def _write_down(folder: Path) -> None:
    """Write results to a journal that the old ledger alone has: a ledger made from the journals would not have them."""
    old = folder / LEDGER
    if not old.is_file():
        return
    with contextlib.suppress(sqlite3.Error), contextlib.closing(_open(old)) as source:
        found = [_entry(row) for row in _readable(source, "results")]
        lines = (entry for path in (folder / JOURNALS).glob("*.jsonl") for _, entry in entries(path))
        known = {entry.key for entry in lines if entry is not None}
        alone = [entry for entry in found if entry is not None and entry.key not in known]
        if alone:
            with Journal(folder / JOURNALS / f"mended-{secrets.token_hex(4)}.jsonl") as journal:
                for entry in alone:
                    journal.append(entry)


def _entry(row: tuple[object, ...]) -> Entry | None:
    try:
        return entry_of(row)
    except (StoreError, TypeError, ValueError, RecursionError):
        return None


def _is_json(row: tuple[object, ...], columns: tuple[int, ...]) -> bool:
    try:
        return all(json.loads(str(row[k])) is not None for k in columns)
    except (ValueError, RecursionError):
        return False


def _readable(source: sqlite3.Connection, table: str) -> list[tuple[object, ...]]:
    """The rows of a table up to the first that cannot be read."""
    rows: list[tuple[object, ...]] = []
    with contextlib.suppress(sqlite3.Error):
        rows.extend(source.execute(f"SELECT * FROM {table}"))  # a table's name of ours, and no word of a user's
    return rows
