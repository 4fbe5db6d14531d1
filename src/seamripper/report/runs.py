"""The runs below a folder, and how each stands: what `serve` lists."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from seamripper.errors import FileError, SeamripperError, StoreError
from seamripper.experiment.reading import status
from seamripper.experiment.store import EXPERIMENTS, JOURNALS, PARTS, STORE, Store, is_store

DEPTH = 3
"""How far below the folder stores are looked for."""
Stamp = tuple[tuple[str, int, int], ...]
"""(name, time of change in ns, size) of all that a store is read from: where none of it has changed, nothing has."""
_MOMENT = 100_000_000
"""Nanoseconds after which the time of a file is another."""


def stamp(folder: Path) -> Stamp:
    """The stamp of a store."""
    files = [folder / STORE, folder / "claims"]
    for part, suffix in ((EXPERIMENTS, ".json"), (JOURNALS, ".jsonl"), ("runs", ".json")):
        files += sorted((folder / part).glob(f"*{suffix}"))
    return tuple((path.name, *_stamp(path)) for path in files)


def is_settled(stamp: Stamp) -> bool:
    """Whether the next write will change the stamp: two writes within a moment may bear the same time."""
    return time.time_ns() - max(changed for _, changed, _ in stamp) > _MOMENT


def _stamp(path: Path) -> tuple[int, int]:
    try:
        facts = path.lstat()
    except OSError:
        return 0, 0
    return facts.st_mtime_ns, facts.st_size


@dataclass(frozen=True)
class RunRow:
    """An experiment of a store, as the list shows it."""

    name: str
    """Of the store: where it is below the folder."""
    url: str
    experiment: str
    state: str
    """running, finished, N failed, waiting or damaged."""
    note: str
    done: int = 0
    asked: int = 0
    started: str = ""
    engine: str = ""


class Runs:
    """The stores below a folder. Names come from looking at the disk, never from who asks: no other path is opened.

    A folder that is a store is not searched further, and no link is followed: what is shown is in the folder. Nothing
    in it is written.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.given = Path(folder)
        if not self.given.is_dir():
            kind = "is a file" if self.given.exists() else "is not there"
            raise FileError(f"Expected a folder with runs, but {self.given} {kind}. `seamripper run` makes one: runs/.")
        self.folder = self.given.resolve()
        self.name = self.folder.name or "this machine"
        """What pages call the folder: its own name, and nothing of where it lies on the disk."""
        self._known: dict[str, tuple[Stamp, list[RunRow]]] = {}
        self._lock = threading.Lock()

    def stores(self) -> dict[str, Path]:
        """The stores, by name; the folder itself, if it is one, has the empty name."""
        paths = list(_stores(self.folder, DEPTH))
        return {"" if path == self.folder else path.relative_to(self.folder).as_posix(): path for path in paths}

    def rows(self) -> list[RunRow]:
        """How everything stands, in the order of names. What has not changed is not read again."""
        with self._lock:
            stores = self.stores()
            self._known = {name: known for name, known in self._known.items() if name in stores}
            return [row for name, path in stores.items() for row in self._rows(name, path)]

    @contextlib.contextmanager
    def read(self, name: str, path: Path) -> Iterator[Path]:
        """The folder of a store to read from; errors call the store by its name in the folder of runs."""
        public = self.public(name)
        links = [part for part in PARTS if (path / part).is_symlink()]
        if links:
            raise StoreError(f"{public / links[0]} is a link, and links are not followed here.")
        try:
            yield path
        except SeamripperError as e:
            raise StoreError(str(e).replace(str(path), str(public))) from e
        except OSError as e:
            raise StoreError(f"{public} cannot be read: {e.strerror or e}.") from e

    def public(self, name: str) -> Path:
        """What a reader is told of where a store is."""
        return Path(self.name) / name

    def _rows(self, name: str, path: Path) -> list[RunRow]:
        before, known = stamp(path), self._known.get(name)
        if known is not None and known[0] == before:
            return known[1]
        try:
            rows, alive = self._look(name, path)
        except SeamripperError as e:
            rows, alive = [self._row(name, "damaged", str(e))], False
        except Exception as e:
            # Whatever a damaged file makes a reader stumble over, the other runs are listed.
            rows, alive = [self._row(name, "damaged", f"It cannot be read: {type(e).__name__}: {e}")], False
        # A run that is killed changes no file.
        if not alive and is_settled(before):
            self._known[name] = before, rows
        return rows

    def _look(self, name: str, path: Path) -> tuple[list[RunRow], bool]:
        with self.read(name, path), Store(path) as store:
            now = status(store)
        if not now["experiments"]:
            return [self._row(name, "waiting", "No experiment was begun in it.")], False
        rows = [self._standing(name, experiment, now) for experiment in now["experiments"]]
        return rows, any(run["alive"] for run in now["runs"])

    def _standing(self, name: str, experiment: Mapping[str, Any], now: Mapping[str, Any]) -> RunRow:
        runs = [run for run in now["runs"] if run["experiment"] == experiment["name"]]
        failed = f"{experiment['failed']} failed" if experiment["failed"] else ""
        damage = len(now["damage"])
        notes = [f"{damage} damaged {'line' if damage == 1 else 'lines'} in its journals"] if damage else []
        if any(run["alive"] for run in runs):
            state, notes = "running", [*filter(None, [failed]), *notes]
        elif experiment["done"] == experiment["goals"]:
            state = "finished"
        else:
            state = failed or "waiting"
        return self._row(
            name,
            state,
            "; ".join(notes),
            experiment=experiment["name"],
            several=len(now["experiments"]) > 1,
            done=experiment["done"],
            asked=experiment["goals"],
            started=time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(runs[-1]["started"])) if runs else "",
            engine=str(runs[-1].get("engine", "")) if runs else "",
        )

    def _row(
        self, name: str, state: str, note: str, *, experiment: str = "", several: bool = False, **more: Any
    ) -> RunRow:
        url = address(name) + (f"?experiment={quote(experiment, safe='', errors='replace')}" if several else "")
        return RunRow(_clean(name or self.folder.name), url, _clean(experiment), state, _clean(note), **more)


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
    """Whether a folder is a store by a file of its own, and not by a link."""
    with contextlib.suppress(OSError):
        return is_store(folder) and not (folder / STORE).is_symlink()
    return False
