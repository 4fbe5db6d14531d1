"""The runs below a folder, and how each stands: what `serve` lists."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from seamripper.errors import FileError, SeamripperError, StoreError
from seamripper.experiment.status import status
from seamripper.experiment.store import JOURNALS, LEDGER, Store
from seamripper.report._snapshot import Stamp, settled, snapshot, stamp

DEPTH = 3
"""How far below the folder stores are looked for."""
_NO_TABLES = "It has no tables yet: a run is making it, or was killed as it did. Run the study again, and it goes on."
_NO_LEDGER = "It has no ledger yet. To enter what its shards have finished: seamripper collect"


@dataclass(frozen=True)
class Row:
    """An experiment of a store, as the list shows it."""

    name: str
    """Of the store: where it is below the folder."""
    url: str
    experiment: str
    state: str
    """running, finished, N failed, waiting, being made or damaged."""
    note: str
    done: int
    asked: int
    started: str
    engine: str


class _UnreadyError(StoreError):
    """A store that cannot be read yet; `state` is how the list calls it."""

    def __init__(self, state: str, message: str) -> None:
        super().__init__(message)
        self.state = state


class Runs:
    """The stores below a folder. Names come from looking at the disk, never from who asks: no other path is opened.

    A folder that is a store is not searched further, and no link is followed: what is found is in the folder. Nothing
    in it is written: stores are read from copies, in a folder for drafts that `close` removes.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.given = Path(folder)
        if not self.given.is_dir():
            kind = "is a file" if self.given.exists() else "is not there"
            raise FileError(f"Expected a folder with runs, but {self.given} {kind}. `seamripper run` makes one: runs/.")
        self.folder = self.given.resolve()
        self._drafts = tempfile.TemporaryDirectory(prefix="seamripper-serve-", ignore_cleanup_errors=True)
        self._scratch = Path(self._drafts.name).resolve()
        self._known: dict[str, tuple[Stamp, list[Row]]] = {}
        self._lock = threading.Lock()

    def close(self) -> None:
        """Remove the drafts."""
        self._drafts.cleanup()

    def found(self) -> dict[str, Path]:
        """The stores, by name; the folder itself, if it is one, has the empty name."""
        paths = list(_stores(self.folder, DEPTH))
        return {"" if path == self.folder else path.relative_to(self.folder).as_posix(): path for path in paths}

    def rows(self) -> list[Row]:
        """How everything stands, in the order of names. What has not changed is not read again."""
        with self._lock:
            found = self.found()
            self._known = {name: known for name, known in self._known.items() if name in found}
            return [row for name, path in found.items() for row in self._rows(name, path)]

    @contextlib.contextmanager
    def read(self, name: str, path: Path) -> Iterator[Path]:
        """A copy of a store to read from; errors name the store and not the copy."""
        shown = self.given / name
        if not (path / LEDGER).exists():
            raise _UnreadyError("waiting", f"{_NO_LEDGER} {shown}")
        try:
            with snapshot(path, name or self.folder.name or "runs", self._scratch) as copy:
                if _being_made(copy / LEDGER):
                    raise _UnreadyError("being made", _NO_TABLES)
                try:
                    yield copy
                except SeamripperError as e:
                    raise StoreError(str(e).replace(str(copy), str(shown))) from e
        except OSError as e:
            raise StoreError(f"{shown} cannot be read: {e.strerror or e}.") from e

    def _rows(self, name: str, path: Path) -> list[Row]:
        before, known = stamp(path), self._known.get(name)
        if known is not None and known[0] == before:
            return known[1]
        try:
            rows, alive = self._look(name, path)
        except _UnreadyError as e:
            rows, alive = [self._row(name, e.state, str(e))], False
        except SeamripperError as e:
            rows, alive = [self._row(name, "damaged", str(e))], False
        except Exception as e:
            # Whatever a damaged file makes a reader stumble over, the other runs are listed.
            rows, alive = [self._row(name, "damaged", f"It cannot be read: {type(e).__name__}: {e}")], False
        # A run that is killed changes no file.
        if not alive and settled(before):
            self._known[name] = before, rows
        return rows

    def _look(self, name: str, path: Path) -> tuple[list[Row], bool]:
        with self.read(name, path) as copy, Store(copy) as store:
            now = status(store)
        if not now["experiments"]:
            return [self._row(name, "waiting", "; ".join(now["waiting"]) or "No experiment was begun in it.")], False
        rows = [self._standing(name, one, now) for one in now["experiments"]]
        return rows, any(run["alive"] for run in now["runs"])

    def _standing(self, name: str, one: Mapping[str, Any], now: Mapping[str, Any]) -> Row:
        runs = [run for run in now["runs"] if run["experiment"] == one["name"]]
        failed = f"{one['failed']} failed" if one["failed"] else ""
        note = "; ".join(now["waiting"])
        if any(run["alive"] for run in runs):
            state, note = "running", "; ".join(filter(None, [failed, note]))
        elif one["done"] == one["goals"]:
            state = "finished"
        else:
            state = failed or "waiting"
        return self._row(
            name,
            state,
            note,
            experiment=one["name"],
            several=len(now["experiments"]) > 1,
            done=one["done"],
            asked=one["goals"],
            started=time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(runs[-1]["started"])) if runs else "",
            engine=str(runs[-1].get("engine", "")) if runs else "",
        )

    def _row(
        self, name: str, state: str, note: str, *, experiment: str = "", several: bool = False, **more: Any
    ) -> Row:
        url = address(name) + (f"?experiment={quote(experiment, safe='', errors='replace')}" if several else "")
        figures = {"done": 0, "asked": 0, "started": "", "engine": "", **more}
        return Row(_clean(name or self.folder.name), url, _clean(experiment), state, _clean(note), **figures)


def address(name: str) -> str:
    """The path under which a store is served.

    >>> address("old/a b")
    '/run/old/a%20b/'
    """
    return f"/run/{quote(os.fsencode(name))}/" if name else "/run/"


def _clean(text: str) -> str:
    """Text that can be sent: names of files may be bytes that are no text."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _stores(folder: Path, depth: int) -> Iterator[Path]:
    if _is_store(folder):
        yield folder
        return
    if depth == 0:
        return
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        below = sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
        for name in below:
            yield from _stores(folder / name, depth - 1)


def _is_store(folder: Path) -> bool:
    """Whether a folder holds a ledger, or journals of shards; of its own, and not by a link."""
    with contextlib.suppress(OSError):
        ledger, journals = folder / LEDGER, folder / JOURNALS
        if ledger.is_file():
            return not ledger.is_symlink()
        return not journals.is_symlink() and any(journals.glob("*.jsonl"))
    return False


def _being_made(ledger: Path) -> bool:
    """Whether a ledger has no tables yet; one that is damaged is not being made."""
    with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(ledger)) as db:
        return db.execute("SELECT 1 FROM sqlite_master").fetchone() is None
    return False
