"""Files from elsewhere: fetched once, held to their sha256, kept in a cache.

The checksum decides and not the source: sources are asked in order until every file has come with the right
bytes. `SEAMRIPPER_CACHE` moves the cache; `SEAMRIPPER_OFFLINE=1` asks no source.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from seamripper._files import atomic, sha256_of
from seamripper.data.sources import Source
from seamripper.errors import FileError, UnfetchedError

_verified: set[tuple[Path, str, int, int]] = set()
_one_thread = threading.Lock()


def cache_folder() -> Path:
    """`$SEAMRIPPER_CACHE`, else `$XDG_CACHE_HOME/seamripper`, else `~/.cache/seamripper`."""
    own = os.environ.get("SEAMRIPPER_CACHE")
    if own:
        return Path(own).expanduser()
    shared = os.environ.get("XDG_CACHE_HOME")
    return (Path(shared) if shared else Path.home() / ".cache") / "seamripper"


def offline() -> bool:
    """Whether `SEAMRIPPER_OFFLINE` forbids every source."""
    return os.environ.get("SEAMRIPPER_OFFLINE", "").lower() not in ("", "0", "false", "no")


@dataclass(frozen=True)
class Remote:
    """Files that are kept in `name` of the cache: `files` is file → sha256, `sources` are asked in order."""

    name: str
    files: Mapping[str, str]
    sources: tuple[Source, ...]

    def path(self, file: str) -> Path:
        """Where the file lies, with the right bytes; it is fetched if it is not there or is damaged."""
        folder = cache_folder() / self.name
        if not _whole(folder / file, self.files[file]):
            with _alone(folder):
                # Asked again: while this process waited, another may have brought it.
                if not _whole(folder / file, self.files[file]):
                    self._bring(file, folder)
        return folder / file

    def read(self, file: str) -> bytes:
        """The bytes of the file."""
        return self.path(file).read_bytes()

    def _bring(self, file: str, folder: Path) -> None:
        answers = []
        for source in self.sources:
            answers.append(f"  {source}: {_ask(source, self._missing(folder), folder)}")
            if not self._missing(folder):
                return
        missing = self._missing(folder)
        if file in missing:
            lines = [
                f"{self.name} could not be fetched. What each source said:",
                *(answers or ["  (it has no sources)"]),
                "Try again with a network, or place these files by hand; SEAMRIPPER_CACHE moves the folder:",
                *(f"  {folder / name}  sha256 {print_}" for name, print_ in missing.items()),
            ]
            raise UnfetchedError("\n".join(lines))

    def _missing(self, folder: Path) -> dict[str, str]:
        return {file: print_ for file, print_ in self.files.items() if not _whole(folder / file, print_)}


def _ask(source: Source, missing: Mapping[str, str], folder: Path) -> str:
    """Keep what a source gives and is right; return what became of it, for the message if all fail."""
    if offline():
        return "not asked, because SEAMRIPPER_OFFLINE is set"
    try:
        got = source.files(tuple(missing))
    # Whatever goes wrong in one source, the next one is asked.
    except Exception as e:
        return " ".join(str(e).split()) or type(e).__name__
    refused = []
    for file, payload in got.items():
        print_ = hashlib.sha256(payload).hexdigest()
        if print_ == missing.get(file):
            with atomic(folder / file) as out:
                out.write(payload)
        else:
            refused.append(f"{file} has sha256 {print_[:12]}… and was refused")
    absent = [f"{file} is not there" for file in missing if file not in got]
    return "; ".join(refused + absent) or "gave the files"


def _whole(place: Path, print_: str) -> bool:
    """Whether the file is there with these bytes; they are read once per process, and again after a change."""
    try:
        state = place.stat()
        seen = (place, print_, state.st_size, state.st_mtime_ns)
        if seen not in _verified:
            if sha256_of(place) != print_:
                return False
            _verified.add(seen)
    except OSError:
        return False
    return True


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One process at a time. Where there is no such lock, two fetch the same bytes, and nothing breaks."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / ".lock").open("w")
    except OSError as e:
        raise FileError(
            f"Nothing can be written to the cache folder {folder}: {e.strerror}. "
            "Set SEAMRIPPER_CACHE to a folder that can be."
        ) from e
    with _one_thread, lock:
        try:
            import fcntl

            fcntl.flock(lock, fcntl.LOCK_EX)
        except (ImportError, OSError):
            pass
        yield
