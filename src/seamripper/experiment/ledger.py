"""Ledger: the SQLite file of a store, with jobs, results, runs, claims and timings.

It is an index to the journals, and can be made anew from them. Every result has a sum over its content, looked at when
it is read. Write-ahead logging on a local disk; on a network's, where that is not safe, a plain rollback journal.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import socket
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from pathlib import Path
from typing import Any

from seamripper.errors import StoreError
from seamripper.experiment._disk import on_network
from seamripper.experiment._processes import born, process_alive
from seamripper.experiment.job import Graph, canonical
from seamripper.experiment.journal import Entry

SCHEMA = 1
"""The version of the tables below."""
SILENCE = 120.0
"""Seconds without a heartbeat after which a run on another machine counts as dead."""
_BUSY = 60.0
_MADE = 2.0
"""Seconds within which a ledger that is being made has its tables."""
_CHECKED = 1 << 28
"""Ledgers up to so many bytes are looked through for damage whenever they are opened for writing."""

UNSEALED = ""
"""The digest of an experiment that was copied from a damaged ledger: its next run writes it down anew."""
_DAMAGE = ("malformed", "not a database", "corrupt", "decode to UTF-8", "no such table")
"""What SQLite says of a damaged file."""
_ENDED: set[tuple[Path, str]] = set()
"""Runs of this process that have ended, each with its ledger; where the disk is full, the ledger could not be told."""

_TABLES = """
CREATE TABLE results (key TEXT PRIMARY KEY, kind TEXT NOT NULL, state TEXT NOT NULL, record TEXT NOT NULL,
                      tensors TEXT NOT NULL, sum TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE jobs (key TEXT PRIMARY KEY, kind TEXT NOT NULL, content TEXT NOT NULL, needs TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE experiments (name TEXT PRIMARY KEY, description TEXT NOT NULL, digest TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE goals (experiment TEXT NOT NULL, place INTEGER NOT NULL, key TEXT NOT NULL, labels TEXT NOT NULL,
                    PRIMARY KEY (experiment, place)) WITHOUT ROWID;
CREATE TABLE members (experiment TEXT NOT NULL, key TEXT NOT NULL, PRIMARY KEY (experiment, key)) WITHOUT ROWID;
CREATE TABLE runs (id TEXT PRIMARY KEY, experiment TEXT NOT NULL, host TEXT NOT NULL, pid INTEGER NOT NULL,
                   born REAL NOT NULL, started REAL NOT NULL, beat REAL NOT NULL, ended REAL, provenance TEXT NOT NULL)
             WITHOUT ROWID;
CREATE TABLE attempts (id INTEGER PRIMARY KEY, key TEXT NOT NULL, run TEXT NOT NULL, worker TEXT NOT NULL,
                       started REAL NOT NULL, seconds REAL NOT NULL, outcome TEXT NOT NULL);
CREATE TABLE claims (key TEXT PRIMARY KEY, run TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE journals (name TEXT PRIMARY KEY, read INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE memo (question TEXT PRIMARY KEY, answer TEXT NOT NULL) WITHOUT ROWID;
"""


class Ledger:
    """The open file. With `write`, it is made if it is not there; without, nothing is ever changed."""

    def __init__(self, path: Path, *, write: bool) -> None:
        self.path, self.write = path, write
        with self._told():
            self._db = self._opened()
            try:
                self._prepare()
            except BaseException:
                self._db.close()
                raise

    def _opened(self) -> sqlite3.Connection:
        if self.write:
            return sqlite3.connect(self.path, timeout=_BUSY, isolation_level=None)
        if not self.path.is_file():
            # A store is told by its ledger or its journals: see `Store`.
            raise StoreError(
                f"There is no ledger {self.path} yet. What shards and runs have finished is in the journals beside it: "
                f"`seamripper collect {self.path.parent}` enters it."
            )
        # In a folder that cannot be written a log beside the file cannot be read either, but then there is no writer.
        frozen = not os.access(self.path.parent, os.W_OK) and not self.path.with_name(f"{self.path.name}-wal").exists()
        query = "immutable=1" if frozen else "mode=ro"
        uri = f"{self.path.resolve().as_uri()}?{query}"
        return sqlite3.connect(uri, uri=True, timeout=_BUSY, isolation_level=None)

    def _prepare(self) -> None:
        found = int(self._one("PRAGMA user_version")[0])
        if found > SCHEMA:
            raise StoreError(
                f"{self.path} was written by a newer seamripper (its format is {found}, and this one knows {SCHEMA}). "
                "Upgrade seamripper to use it; nothing of it was changed."
            )
        if not self.write:
            # A reader may come between the making of the file and that of its tables.
            end = time.monotonic() + _MADE
            while found == 0 and time.monotonic() < end:
                time.sleep(0.02)
                found = int(self._one("PRAGMA user_version")[0])
            return
        if self.path.stat().st_size <= _CHECKED:
            for (word,) in self._db.execute("PRAGMA quick_check(1)"):
                if word != "ok":
                    raise sqlite3.DatabaseError(f"database disk image is malformed: {word}")
        mode = "TRUNCATE" if on_network(self.path.parent) else "WAL"
        self._patiently(f"PRAGMA journal_mode = {mode}")
        # A process that is killed loses nothing by this; the journals are synced once a second against loss of power.
        self._db.execute("PRAGMA synchronous = NORMAL")
        if found == 0:
            with self._change():
                if int(self._one("PRAGMA user_version")[0]) == 0:
                    for statement in filter(str.strip, _TABLES.split(";")):
                        self._db.execute(statement)
                    self._db.execute(f"PRAGMA user_version = {SCHEMA}")

    def _patiently(self, sql: str) -> None:
        """Execute what SQLite refuses at once, without waiting, while another process opens the same file."""
        end = time.monotonic() + _BUSY
        while True:
            try:
                self._db.execute(sql).fetchall()
            except sqlite3.OperationalError as e:
                if "locked" not in str(e) or time.monotonic() > end:
                    raise
                time.sleep(0.02)
            else:
                return

    def close(self) -> None:
        """Close the file."""
        with contextlib.suppress(sqlite3.Error):
            self._db.close()

    # ---- results

    def take_in(self, name: str, read: int, entries: Iterable[Entry], *, start: int | None = None) -> list[str]:
        """Enter what a journal has said, up to byte `read` of it; the keys that are new.

        What is done stays as it was done first; what failed may be done later. With `start`, nothing is entered if
        another process has meanwhile taken in more than what is before that byte.
        """
        new = []
        with self._told(), self._change():
            if start is not None and self.read().get(name, 0) != start:
                return []
            for entry in entries:
                if self._enter(entry):
                    new.append(entry.key)
                self._db.execute(
                    "INSERT INTO attempts (key, run, worker, started, seconds, outcome) VALUES (?, ?, ?, ?, ?, ?)",
                    (entry.key, entry.run, entry.worker, entry.started, entry.seconds, entry.state),
                )
            self._db.execute("INSERT OR REPLACE INTO journals VALUES (?, ?)", (name, read))
        return new

    def _enter(self, entry: Entry) -> bool:
        row = (entry.kind, entry.state, canonical(entry.record), canonical(entry.tensors))
        put = self._db.execute(
            "INSERT INTO results VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET state = excluded.state, "
            "record = excluded.record, tensors = excluded.tensors, sum = excluded.sum WHERE results.state != 'done'",
            (entry.key, *row, _sum(entry.key, *row)),
        )
        self._db.execute("DELETE FROM claims WHERE key = ?", (entry.key,))
        return put.rowcount > 0

    def states(self) -> dict[str, str]:
        """`done` or `failed` for every job that has ended."""
        with self._told():
            found: dict[str, str] = dict(self._db.execute("SELECT key, state FROM results"))
        for key, state in found.items():
            if state not in ("done", "failed"):
                raise self._not_as_written(key)
        return found

    def result(self, key: str) -> Entry | None:
        """The result of a job; None if it has none."""
        with self._told():
            row = self._db.execute(
                "SELECT key, kind, state, record, tensors, sum FROM results WHERE key = ?", (key,)
            ).fetchone()
        return None if row is None else self._entry(row)

    def results(self) -> Iterator[Entry]:
        """Every result, in the order of their keys."""
        with self._told():
            for row in self._db.execute("SELECT key, kind, state, record, tensors, sum FROM results ORDER BY key"):
                yield self._entry(row)

    def damaged(self) -> list[str]:
        """The keys of results whose rows are not as they were written."""
        with self._told():
            rows = self._db.execute("SELECT key, kind, state, record, tensors, sum FROM results")
            return sorted(row[0] for row in rows if row[5] != _sum(*row[:5]))

    def replace(self, keys: Iterable[str], entries: Iterable[Entry]) -> None:
        """Take results back and enter others in their place, at once."""
        with self._told(), self._change():
            self._db.executemany("DELETE FROM results WHERE key = ?", [(key,) for key in keys])
            for entry in entries:
                self._enter(entry)

    def _entry(self, row: Sequence[Any]) -> Entry:
        try:
            found = entry_of(row)
        except (StoreError, TypeError, ValueError, RecursionError):
            found = None
        if found is None:
            raise self._not_as_written(str(row[0]))
        return found

    def _not_as_written(self, key: str) -> StoreError:
        return StoreError(f"The result {key[:12]} in {self.path} is not as it was written. {_repair(self.path)}")

    def forget(self, keys: Iterable[str]) -> None:
        """Take results back, so that they are made again."""
        with self._told(), self._change():
            self._db.executemany("DELETE FROM results WHERE key = ?", [(key,) for key in keys])

    def read(self) -> dict[str, int]:
        """Up to which byte each journal was taken in."""
        with self._told():
            return dict(self._db.execute("SELECT name, read FROM journals"))

    def attempts(self) -> list[tuple[str, str, str, float, float, str]]:
        """(key, run, worker, started, seconds, outcome) of everything that was ever carried out to its end."""
        with self._told():
            return self._db.execute(
                "SELECT key, run, worker, started, seconds, outcome FROM attempts ORDER BY id"
            ).fetchall()

    def seconds(self) -> dict[str, float]:
        """How long each job took that was done."""
        with self._told():
            return dict(self._db.execute("SELECT key, seconds FROM attempts WHERE outcome = 'done'"))

    # ---- experiments

    def remember(self, name: str, description: Mapping[str, Any], graph: Graph) -> None:
        """Write down what an experiment asks for; it replaces what the experiment of this name asked for before."""
        text = canonical(description)
        digest = _digest(text, graph.goals, graph.jobs)
        with self._told():
            known = self._db.execute("SELECT digest FROM experiments WHERE name = ?", (name,)).fetchone()
            if known == (digest,):
                return
            with self._change():
                self._db.execute("INSERT OR REPLACE INTO experiments VALUES (?, ?, ?)", (name, text, digest))
                self._db.executemany(
                    "INSERT OR IGNORE INTO jobs VALUES (?, ?, ?, ?)",
                    [(job.key, job.kind, canonical(job.content), canonical(list(job.needs))) for job in graph],
                )
                self._db.execute("DELETE FROM goals WHERE experiment = ?", (name,))
                self._db.execute("DELETE FROM members WHERE experiment = ?", (name,))
                self._db.executemany("INSERT INTO members VALUES (?, ?)", [(name, key) for key in graph.jobs])
                self._db.executemany(
                    "INSERT INTO goals VALUES (?, ?, ?, ?)",
                    [(name, place, key, canonical(labels)) for place, (key, labels) in enumerate(graph.goals)],
                )

    def experiments(self) -> dict[str, dict[str, Any]]:
        """The experiments of the store, as they were last described."""
        with self._told():
            rows = self._db.execute("SELECT name, description FROM experiments ORDER BY name")
            return {name: json.loads(text) for name, text in rows}

    def goals(self, experiment: str) -> list[tuple[str, dict[str, Any]]]:
        """(key, labels) of what an experiment asks for, in its order."""
        with self._told():
            rows = self._db.execute("SELECT key, labels FROM goals WHERE experiment = ? ORDER BY place", (experiment,))
            found = [(key, json.loads(labels)) for key, labels in rows]
            members = self._db.execute("SELECT key FROM members WHERE experiment = ?", (experiment,)).fetchall()
            known = self._db.execute(
                "SELECT description, digest FROM experiments WHERE name = ?", (experiment,)
            ).fetchone()
        if known is not None and known[1] not in (UNSEALED, _digest(known[0], found, [key for (key,) in members])):
            raise StoreError(
                f"What the experiment {experiment!r} asks for is not as it was written in {self.path}. "
                f"{_repair(self.path)}"
            )
        return found

    def jobs(self) -> dict[str, tuple[str, dict[str, Any], tuple[str, ...]]]:
        """(kind, content, needs) of every job that was ever asked for."""
        with self._told():
            rows = self._db.execute("SELECT key, kind, content, needs FROM jobs")
            return {key: (kind, json.loads(content), tuple(json.loads(needs))) for key, kind, content, needs in rows}

    # ---- runs and claims

    def begin(self, run: str, experiment: str, provenance: Mapping[str, Any]) -> None:
        """Enter a run."""
        _ENDED.discard((self.path.resolve(), run))
        now = time.time()
        row = (run, experiment, socket.gethostname(), os.getpid(), born(os.getpid()), now, now, canonical(provenance))
        with self._told(), self._change():
            self._db.execute("INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, NULL, ?)", row)

    def note(
        self,
        run: str,
        ended: float,
        *,
        experiment: str,
        host: str,
        pid: int,
        born: float,
        started: float,
        provenance: Mapping[str, Any],
    ) -> None:
        """Enter a run that was made without a ledger: a shard's."""
        row = (run, experiment, host, pid, born, started, ended, ended, canonical(provenance))
        with self._told(), self._change():
            self._db.execute("INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)

    def beat(self, run: str) -> None:
        """Say that the run is alive."""
        with self._told(), self._change():
            self._db.execute("UPDATE runs SET beat = ? WHERE id = ?", (time.time(), run))

    def end(self, run: str) -> None:
        """Say that the run has ended, and give back what it has claimed."""
        _ENDED.add((self.path.resolve(), run))
        with self._told(), self._change():
            self._db.execute("UPDATE runs SET ended = ?, beat = ? WHERE id = ?", (time.time(), time.time(), run))
            self._db.execute("DELETE FROM claims WHERE run = ?", (run,))

    def living(self) -> list[str]:
        """The runs that have not ended, and whose process is alive."""
        with self._told():
            rows = self._db.execute("SELECT id, host, pid, born, beat FROM runs WHERE ended IS NULL").fetchall()
        here = self.path.resolve()
        return [run for run, *facts in rows if (here, run) not in _ENDED and _alive(*facts)]

    def runs(self) -> list[dict[str, Any]]:
        """Every run, the oldest first."""
        with self._told():
            rows = self._db.execute("SELECT id, experiment, started, ended, provenance FROM runs ORDER BY started, id")
            return [
                {"id": run, "experiment": name, "started": started, "ended": ended, **json.loads(more)}
                for run, name, started, ended, more in rows
            ]

    def claim(self, keys: Sequence[str], run: str) -> list[str]:
        """Claim jobs for a run: those that no living run has claimed, and that nobody has done meanwhile."""
        living = set(self.living())
        taken = []
        with self._told(), self._change():
            for key in keys:
                held = self._db.execute("SELECT run FROM claims WHERE key = ?", (key,)).fetchone()
                if held is not None and held[0] != run and held[0] in living:
                    continue
                if self._db.execute("SELECT 1 FROM results WHERE key = ?", (key,)).fetchone():
                    continue
                self._db.execute("INSERT OR REPLACE INTO claims VALUES (?, ?)", (key, run))
                taken.append(key)
        return taken

    def release(self, keys: Iterable[str], run: str) -> None:
        """Give claims back."""
        with self._told(), self._change():
            self._db.executemany("DELETE FROM claims WHERE key = ? AND run = ?", [(key, run) for key in keys])

    def claims(self) -> dict[str, str]:
        """Which run has claimed which job."""
        with self._told():
            return dict(self._db.execute("SELECT key, run FROM claims"))

    # ---- the rest

    @property
    def memo(self) -> MutableMapping[str, Any]:
        """Answers that are remembered, by question."""
        return _Memo(self)

    def copy_in(self, table: str, rows: Sequence[Sequence[object]]) -> None:
        """Enter rows of another ledger as they are."""
        marks = ", ".join("?" for _ in rows[0])
        with self._told(), self._change():
            self._db.executemany(f"INSERT OR IGNORE INTO {table} VALUES ({marks})", rows)

    def integrity(self) -> list[str]:
        """What SQLite finds wrong with the file."""
        with self._told():
            return [word for (word,) in self._db.execute("PRAGMA integrity_check") if word != "ok"]

    def _one(self, sql: str) -> Any:
        return self._db.execute(sql).fetchone()

    @contextlib.contextmanager
    def _change(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._db.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                self._db.execute("ROLLBACK")
            raise

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        """What SQLite raises becomes a sentence that says what to do."""
        try:
            yield
        except (sqlite3.Error, json.JSONDecodeError, RecursionError) as e:
            if not self.write and "unable to open" in str(e):
                raise StoreError(
                    f"The ledger {self.path} cannot be read here: it was not closed, and its log (…-wal, …-shm) is not "
                    "beside it, or cannot be written. Copy the store to a disk that can be written, and read it there."
                ) from e
            raise StoreError(_sentence(self.path, e)) from e


class _Memo(MutableMapping[str, Any]):
    """The table `memo` as a mapping. Where it cannot be written, answers last as long as this does."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.held: dict[str, Any] = {}

    def __getitem__(self, question: str) -> Any:
        if question not in self.held:
            with self.ledger._told():
                row = self.ledger._db.execute("SELECT answer FROM memo WHERE question = ?", (question,)).fetchone()
            if row is None:
                raise KeyError(question)
            self.held[question] = json.loads(row[0])
        return self.held[question]

    def __setitem__(self, question: str, answer: Any) -> None:
        self.held[question] = answer
        if self.ledger.write:
            with self.ledger._told(), self.ledger._change():
                self.ledger._db.execute("INSERT OR REPLACE INTO memo VALUES (?, ?)", (question, canonical(answer)))

    def __delitem__(self, question: str) -> None:
        self.held.pop(question, None)
        with self.ledger._told(), self.ledger._change():
            self.ledger._db.execute("DELETE FROM memo WHERE question = ?", (question,))

    def __iter__(self) -> Iterator[str]:
        with self.ledger._told():
            return iter([q for (q,) in self.ledger._db.execute("SELECT question FROM memo")])

    def __len__(self) -> int:
        return len(list(iter(self)))


def _digest(description: str, goals: Iterable[tuple[str, Mapping[str, Any]]], members: Iterable[str]) -> str:
    """The sum over what an experiment asks for, as it can be told from its rows."""
    return _sum(canonical([description, [[key, labels] for key, labels in goals], sorted(members)]))


def entry_of(row: Sequence[Any]) -> Entry | None:
    """The result of a row of the table `results`; None if the row is not as it was written."""
    key, kind, state, record, tensors, seal = row
    if seal != _sum(key, kind, state, record, tensors):
        return None
    return Entry(key, kind, state, json.loads(record), json.loads(tensors))


def _sum(*parts: str) -> str:
    return hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()


def _repair(path: Path) -> str:
    return (
        "Every finished result is in the journals as well: `seamripper store repair "
        f"{path.parent}` sets the damaged ledger aside and makes it anew from them."
    )


def _sentence(path: Path, error: Exception) -> str:
    said = " ".join(str(error).split())
    # Bytes of a row that were changed: SQLite does not see it, but text and JSON do.
    if isinstance(error, (ValueError, RecursionError)) or any(word in said for word in _DAMAGE):
        return f"The ledger {path} is damaged ({said}). {_repair(path)}"
    if "full" in said or "disk I/O error" in said:
        return (
            f"The disk is full, or failing ({said}): {path} could not be written. What was finished before is kept. "
            "Free some space, and run it again: it goes on where it was."
        )
    if "readonly" in said or "unable to open" in said:
        return (
            f"The store {path.parent} cannot be written here ({said}). It can be read: `seamripper status`, "
            "`seamripper results`. To go on with it, make it writable, or give another with --store."
        )
    if "locked" in said:
        return f"The ledger {path} has been locked by another process for {_BUSY:.0f} s. Is one hanging? ({said})"
    return f"The ledger {path} cannot be used: {said}."


def _alive(host: str, pid: int, since: float, beat: float) -> bool:
    if host == socket.gethostname():
        return process_alive(pid, since)
    return time.time() - beat < SILENCE
