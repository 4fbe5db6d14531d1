"""Journals: finished results as lines of JSON, each with a seal, each writer to a file of its own.

The journals are the memory of a store, and its ledger (SQLite) is the index to them. A line is appended before the
ledger is told; so what was finished is not lost with a driver that is killed in between, nor with a ledger whose pages
are damaged, and shards on machines that share nothing but a folder need no ledger at all.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from seamripper.errors import StoreError
from seamripper.experiment.job import canonical

State = Literal["done", "failed"]

_SYNC_EVERY = 1.0
"""Seconds between two syncs to disk: a process that is killed loses nothing, a machine that loses power this much."""
_MOMENT = 0.05
"""Seconds in which a line that is being written is whole."""


@dataclass(frozen=True)
class Entry:
    """The result of one job: its `record` as JSON has it, and its tensors by role, each by the name of its content.

    A job that failed has its error and traceback as its record. `seconds`, `started`, `worker` and `run` tell of the
    circumstances; they are no part of the result, and may differ where results are the same.
    """

    key: str
    kind: str
    state: State
    record: Mapping[str, Any]
    tensors: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    started: float = 0.0
    worker: str = ""
    run: str = ""

    def __post_init__(self) -> None:
        # A seal tells of damage. It does not tell that what was sealed is a result.
        words = (self.key, self.kind, self.worker, self.run, *self.tensors, *dict(self.tensors).values())
        numbers, record = (self.seconds, self.started), dict(self.record)
        whole = self.state == "done" or (self.state == "failed" and {"error", "message"} <= record.keys())
        if not whole or {str, *map(type, words)} != {str} or not {int, float} >= set(map(type, numbers)):
            raise StoreError(f"This is no result: {self!r:.200}")

    def line(self) -> bytes:
        """The entry as a line of a journal."""
        text = canonical(vars(self))
        return f'{{"entry":{text},"seal":"{_seal(text)}"}}\n'.encode()

    @classmethod
    def parse(cls, line: bytes) -> Entry | None:
        """The entry of a line; None if the line is torn or was changed."""
        try:
            record = json.loads(line)
            found = cls(**record["entry"])
            return found if record["seal"] == _seal(canonical(vars(found))) else None
        except (StoreError, ValueError, TypeError, KeyError, RecursionError):
            return None


def _seal(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


class Journal:
    """A journal that is open for appending: one writer, `with Journal(path) as journal`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            _mend(path)
            self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        except OSError as e:
            raise StoreError(f"The journal {path} cannot be written: {e.strerror or e}.") from e
        self._synced = time.monotonic()

    def append(self, entry: Entry) -> None:
        """Write an entry, whole; what could not be written whole is taken back."""
        line = entry.line()
        before = os.fstat(self._file).st_size
        try:
            written = os.write(self._file, line)
            while written < len(line):
                written += os.write(self._file, line[written:])
            if time.monotonic() - self._synced > _SYNC_EVERY:
                self.sync()
        except OSError as e:
            os.ftruncate(self._file, before)
            raise StoreError(
                f"The journal {self.path} could not be written: {e.strerror or e}. What was finished before is kept. "
                "Free some space, and run it again: it goes on where it was."
            ) from e

    def sync(self) -> None:
        """Wait until all of it is on disk."""
        os.fsync(self._file)
        self._synced = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        try:
            self.sync()
        finally:
            os.close(self._file)


def _mend(path: Path) -> None:
    """End a torn last line, so that what is appended stands on a line of its own."""
    if not _torn(path):
        return
    # Somebody may be in the midst of it: a line that is being written is whole in a moment.
    time.sleep(_MOMENT)
    if _torn(path):
        with path.open("ab") as file:
            file.write(b"\n")


def _torn(path: Path) -> bool:
    """Whether the last line has no end."""
    if not path.exists() or not path.stat().st_size:
        return False
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1) != b"\n"


def entries(path: Path, start: int = 0) -> Iterator[tuple[int, Entry | None]]:
    """The entries from byte `start` on, each with the byte behind it; None for a line that is damaged.

    A last line without its end is still being written, or its writer was killed: it is left for the next time.
    """
    try:
        with path.open("rb") as file:
            file.seek(start)
            for line in file:
                if not line.endswith(b"\n"):
                    return
                start += len(line)
                if line.strip():
                    yield start, Entry.parse(line)
    except OSError as e:
        raise StoreError(f"The journal {path} cannot be read: {e.strerror or e}.") from e
