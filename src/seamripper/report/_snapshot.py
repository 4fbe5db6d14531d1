"""A copy of a store to read from, made without a byte written to the store itself.

SQLite's readers write: in WAL mode a `…-wal` and a `…-shm` appear beside a ledger that nobody writes, and a run that
ends while somebody reads leaves its log behind. So the ledger is copied elsewhere, with its log, and read there.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import sqlite3
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from seamripper.errors import StoreError
from seamripper.experiment.store import JOURNALS, LEDGER, TENSORS

Stamp = tuple[tuple[str, int, int], ...]
"""(name, mtime in ns, size) of all that a store is read from: where none of it has changed, nothing has."""

_TRIES = 10
_BUSY = 5.0
"""Seconds to wait for a ledger that is locked."""
_MOMENT = 100_000_000
"""Nanoseconds after which the time of a file is another."""
_COUNT = itertools.count()


def stamp(folder: Path) -> Stamp:
    """The stamp of a store: of its ledger, the ledger's log, and its journals."""
    files = [folder / LEDGER, folder / f"{LEDGER}-wal", *_journals(folder)]
    return tuple((path.name, *_changed(path)) for path in files)


def settled(found: Stamp) -> bool:
    """Whether a stamp tells what it is of from what is written next: two writes within a moment may bear one time."""
    return time.time_ns() - max(changed for _, changed, _ in found) > _MOMENT


def _journals(folder: Path) -> list[Path]:
    """The journals that are files of the store's own: not what a link leads to, nor a pipe, at which one would wait."""
    with contextlib.suppress(OSError):
        if _own(folder / JOURNALS, stat.S_ISDIR):
            return [path for path in sorted((folder / JOURNALS).glob("*.jsonl")) if _own(path, stat.S_ISREG)]
    return []


def _own(path: Path, kind: Callable[[int], bool]) -> bool:
    try:
        return kind(path.lstat().st_mode)
    except OSError:
        return False


def _changed(path: Path) -> tuple[int, int]:
    try:
        found = path.lstat()
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_size


@contextlib.contextmanager
def snapshot(folder: Path, name: str, scratch: Path) -> Iterator[Path]:
    """The store as it is now, under `name` in a folder of its own within `scratch`; it is removed afterwards.

    Journals and tensors are linked to, as they are only ever appended to, or whole.
    """
    home = scratch / str(next(_COUNT))
    copy = home / name
    try:
        copy.mkdir(parents=True)
        _copy_ledger(folder / LEDGER, copy / LEDGER)
        (copy / JOURNALS).mkdir()
        for path in _journals(folder):
            (copy / JOURNALS / path.name).symlink_to(path)
        if _own(folder / TENSORS, stat.S_ISDIR):
            (copy / TENSORS).symlink_to(folder / TENSORS, target_is_directory=True)
        yield copy
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _copy_ledger(ledger: Path, to: Path) -> None:
    """Copy a ledger that a run may be writing to.

    Beside a log (WAL), the file itself changes only as pages of the log are copied into it, and the log then stays as
    it is until it is begun anew, with another header. So the file, and after it the log, under one and the same header
    are a whole: what the file has only in part, the log has; and SQLite passes over what is torn at the log's end.
    """
    log = ledger.with_name(f"{ledger.name}-wal")
    for _ in range(_TRIES):
        before = _mark(ledger, log)
        _copy(ledger, to)
        if not _logged(to):
            # A rollback journal, as on a network's disk: here readers write nothing, and lock.
            _backup(ledger, to)
            return
        if log.is_file():
            with contextlib.suppress(FileNotFoundError):
                _copy(log, to.with_name(f"{to.name}-wal"))
        if _mark(ledger, log) == before:
            return
        to.with_name(f"{to.name}-wal").unlink(missing_ok=True)
    # Written to faster than it can be copied: there is a writer then, and a log for SQLite to read without making one.
    _backup(ledger, to)


def _mark(ledger: Path, log: Path) -> object:
    """What is the same before and after a copy that is whole."""
    with contextlib.suppress(FileNotFoundError), _opened(log) as file:
        header = os.read(file, 32)
        if header:
            return header
    found = ledger.stat()
    return found.st_ino, found.st_mtime_ns, found.st_size


def _logged(copy: Path) -> bool:
    """Whether a ledger is in WAL mode, by its header; what is no database is not looked at further here."""
    with copy.open("rb") as file:
        header = file.read(20)
    return not header.startswith(b"SQLite format 3\0") or header[18:19] == b"\2"


def _copy(path: Path, to: Path) -> None:
    with _opened(path) as source, to.open("wb") as target, open(source, "rb", closefd=False) as file:
        shutil.copyfileobj(file, target, 1 << 20)


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[int]:
    """A file of the store's own, open for reading."""
    source = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(source).st_mode):
            raise StoreError(f"Expected {path} to be a file.")
        yield source
    finally:
        os.close(source)


def _backup(ledger: Path, to: Path) -> None:
    to.unlink(missing_ok=True)
    try:
        with (
            contextlib.closing(sqlite3.connect(f"{ledger.as_uri()}?mode=ro", uri=True, timeout=_BUSY)) as source,
            contextlib.closing(sqlite3.connect(to)) as target,
        ):
            source.backup(target)
    except sqlite3.Error as e:
        raise StoreError(f"The ledger {ledger} cannot be read now: {e}.") from e
