"""Journals: the results of a store, one sealed line each, one file per run.

A line is JSON: `["SEAL",HEADER,RECORD]`. The seal is the sha256 of the bytes of `HEADER,RECORD`. The header holds what
a plan needs (key, kind, state, tensors, times); the record is parsed only when somebody asks for it. Files are only
appended to. A line that takes another back has the header `{"takes_back": SEAL}`, so the order of lines, and of files,
does not matter.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import secrets
import socket
import stat
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from seamripper.errors import StoreError
from seamripper.experiment.job import canonical
from seamripper.experiment.result import Result, is_result

_SYNC_EVERY = 1.0
"""Seconds between two syncs to disk: a process that is killed loses nothing, a machine that loses power this much."""
_BODY = len('["",') + 64
_HEADER = ("key", "kind", "state", "tensors", "seconds", "started", "worker", "run")
_NAMES = set(_HEADER)
_parse_json = json.JSONDecoder().raw_decode


def sealed_line(header: Mapping[str, Any], record: Any) -> bytes:
    """A line of a journal."""
    body = f"{canonical(header)},{canonical(record)}".encode()
    return b'["%b",%b]\n' % (hashlib.sha256(body).hexdigest().encode(), body)


def open_line(line: bytes) -> tuple[str, dict[str, Any], int] | None:
    """The seal of a line, its header, and where its record begins; None if the line is torn or was changed."""
    if line[:2] != b'["' or line[_BODY - 2 : _BODY] != b'",' or line[-2:] != b"]\n":
        return None
    seal = line[2 : _BODY - 2].decode("ascii", "replace")
    if hashlib.sha256(line[_BODY:-2]).hexdigest() != seal:
        return None
    try:
        header, end = _parse_json(line.decode("ascii"), _BODY)
    except (ValueError, RecursionError):
        return None
    return (seal, header, end + 1) if isinstance(header, dict) else None


def record_of(line: bytes, start: int) -> Any:
    """The record of a line that `open_line` has opened."""
    return json.loads(line[start:-2])


def result_line(result: Result) -> bytes:
    """A result as a line."""
    return sealed_line({name: getattr(result, name) for name in _HEADER}, result.record)


class Journal:
    """A journal that one process appends to: `with Journal(path) as journal`. The file is made with the first line."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: int | None = None
        self._synced = time.monotonic()

    def append(self, line: bytes) -> int:
        """Write a line, whole or not at all; the byte at which it starts."""
        try:
            file = self._open()
            start = os.fstat(file).st_size
        except OSError as e:
            raise StoreError(unwritable(self.path, e)) from e
        try:
            sent = 0
            while sent < len(line):
                sent += os.write(file, line[sent:])
            if time.monotonic() - self._synced > _SYNC_EVERY:
                self.sync()
        except OSError as e:
            os.ftruncate(file, start)
            raise StoreError(unwritable(self.path, e)) from e
        return start

    def sync(self) -> None:
        """Wait until all of it is on disk."""
        if self._file is not None:
            os.fsync(self._file)
            self._synced = time.monotonic()

    def close(self) -> None:
        """Sync and close the file."""
        if self._file is not None:
            try:
                self.sync()
            finally:
                os.close(self._file)
                self._file = None

    def _open(self) -> int:
        if self._file is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
            size = os.fstat(self._file).st_size
            # A writer that was killed may have left a torn line, which is ended here.
            if size and os.pread(self._file, 1, size - 1) != b"\n":
                os.write(self._file, b"\n")
        return self._file


def write_whole(path: Path, data: bytes) -> None:
    """Write a file that appears under its name only when it is whole; several machines may do so at once."""
    draft = path.with_name(f".{path.name}.{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with draft.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError as e:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise StoreError(unwritable(path, e)) from e


def unwritable(path: Path, error: OSError) -> str:
    """Why a file of a store could not be written, and what to do."""
    why = error.strerror or error
    if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        return (
            f"{path} cannot be written here: {why}. It can be read: `seamripper status`, `seamripper results`. "
            "To go on with it, make it writable, or give another with --store."
        )
    return (
        f"{path} could not be written: {why}. What was finished before is kept. Free some space, and run it again: it "
        "goes on where it was."
    )


def open_own(path: Path) -> int:
    """Open a file for reading that is a regular file of the store itself: no link is followed, no pipe waited for."""
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if stat.S_ISREG(os.fstat(file).st_mode):
        return file
    os.close(file)
    raise OSError(f"{path} is not a regular file")


class Line(NamedTuple):
    """A line that holds a result: where it is, its seal, and its header."""

    journal: str
    start: int
    size: int
    record: int
    seal: str
    header: Mapping[str, Any]

    @property
    def rank(self) -> tuple[bool, float, str, int]:
        """Of several results of a job the least stands: a done one before a failed one, then the first."""
        finished = self.header["started"] + self.header["seconds"]
        return self.header["state"] != "done", finished, self.journal, self.start


class Journals:
    """All journals of a folder, read without locks, and further each time `refresh` is called."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lines: dict[str, list[Line]] = {}
        """Every result that was ever finished, by the key of its job."""
        self.taken_back: set[str] = set()
        """Seals of lines that count no more."""
        self.damage: list[tuple[str, int, int]] = []
        """(journal, start, end) of lines that are not as they were written."""
        self._read: dict[str, int] = {}
        self._open: tuple[str, int] | None = None

    def close(self) -> None:
        """Close the file that was read last."""
        if self._open is not None:
            os.close(self._open[1])
            self._open = None

    def names(self) -> list[str]:
        """The journals that there are."""
        try:
            with os.scandir(self.folder) as files:
                return sorted(file.name[:-6] for file in files if file.name.endswith(".jsonl"))
        except FileNotFoundError:
            return []
        except OSError as e:
            raise StoreError(f"The journals in {self.folder} cannot be read: {e.strerror or e}.") from e

    def refresh(self) -> None:
        """Read what was appended since the last time."""
        for name in self.names():
            path = self.folder / f"{name}.jsonl"
            with contextlib.suppress(OSError):
                facts = path.lstat()
                if not stat.S_ISREG(facts.st_mode) or facts.st_size <= self._read.get(name, 0):
                    continue
            try:
                self._read_further(name)
            except OSError as e:
                raise StoreError(f"The journal {path} cannot be read: {e.strerror or e}.") from e

    def _read_further(self, name: str) -> None:
        start = self._read.get(name, 0)
        with os.fdopen(open_own(self.folder / f"{name}.jsonl"), "rb") as file:
            file.seek(start)
            for line in file:
                # A last line without its end is still being written, or its writer was killed.
                if not line.endswith(b"\n"):
                    break
                if line != b"\n" and not self.index(name, start, line):
                    self.damage.append((name, start, start + len(line)))
                start += len(line)
        self._read[name] = start

    def index(self, name: str, start: int, line: bytes) -> bool:
        """Take note of a whole line of a journal; False if it is damaged."""
        parts = open_line(line)
        if parts is None:
            return False
        seal, header, record = parts
        if "takes_back" in header:
            self.taken_back.add(str(header["takes_back"]))
        elif _holds_result(header, line, record):
            place = Line(name, start, len(line), record, seal, header)
            self.lines.setdefault(header["key"], []).append(place)
        else:
            return False
        self._read[name] = start + len(line)
        return True

    def standing(self, key: str) -> Line | None:
        """The line of a job's result that counts; None if it has none."""
        lines = self.lines.get(key, ())
        if len(lines) == 1 and lines[0].seal not in self.taken_back:
            return lines[0]
        standing = [line for line in lines if line.seal not in self.taken_back]
        return min(standing, key=lambda line: line.rank, default=None)

    def result(self, line: Line) -> Result:
        """The whole result of a line, its seal checked once more."""
        try:
            data = os.pread(self._file(line.journal), line.size, line.start)
            if open_line(data) is not None:
                return Result(**line.header, record=record_of(data, line.record))
            why = "it was changed since the store was opened"
        except (OSError, StoreError, TypeError, ValueError, RecursionError) as e:
            why = str(e)
        raise StoreError(
            f"The result {line.header['key'][:12]} in the journal {line.journal} of {self.folder.parent} cannot be "
            f"read: {why}. Run the study again: the result is then computed again."
        )

    def _file(self, name: str) -> int:
        """One journal is kept open, as results that are read together mostly stand together."""
        if self._open is None or self._open[0] != name:
            self.close()
            self._open = name, open_own(self.folder / f"{name}.jsonl")
        return self._open[1]


def _holds_result(header: Mapping[str, Any], line: bytes, start: int) -> bool:
    if header.keys() != _NAMES or line[start : start + 1] != b"{":
        return False
    # The header of a result that is done decides, and its record need not be parsed.
    return is_result(header, {} if header["state"] == "done" else record_of(line, start))
