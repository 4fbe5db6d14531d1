"""The runs of a store, which of them are alive, and which job each has claimed.

`runs/RUN.json` says who a run is; its time of change is the run's heartbeat. `claims/KEY.N` is a link to that file:
only one process can make it. Whoever takes a job over from a dead run makes `KEY.N+1`, so that of two takers only one
wins. Nothing here needs a lock, and it works on a disk that several machines share.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from seamripper.errors import StoreError
from seamripper.experiment.job import canonical, release
from seamripper.experiment.journal import open_own, unwritable, write_whole

SILENCE = 120.0
"""Seconds without a heartbeat after which a run on another machine counts as dead."""
_RUNNING: set[tuple[str, str]] = set()
"""(store, run) of the runs that this process has begun and not ended. Where the disk is full, no file can say so."""


def new_run(word: str = "run") -> str:
    """A name for a run that no other run has."""
    stamp = time.strftime("%Y%m%dT%H%M%S")
    return f"{word}-{stamp}-{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(3)}"


class RunFiles:
    """The files of runs and claims in a store, as the run called `name` sees them."""

    def __init__(self, store: Path, name: str, *, write: bool) -> None:
        self.name, self.write = name, write
        self._runs, self._claims = store / "runs", store / "claims"
        self._own = self._runs / f"{name}.json"
        self._store = str(store.resolve())
        self._ended: set[str] = set()
        self._held: dict[str, int] = {}
        """The number of each claim that this run has made."""
        self._facts: dict[str, Any] = {}

    # ---- runs

    def begin(self, experiment: str, provenance: Mapping[str, Any], *, started: float | None = None) -> None:
        """Say who this run is and what it is made with."""
        self._facts = {
            "run": self.name,
            "experiment": experiment,
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "born": born(os.getpid()),
            "started": time.time() if started is None else started,
            "ended": None,
            "provenance": dict(provenance),
        }
        _RUNNING.add((self._store, self.name))
        write_whole(self._own, canonical(self._facts).encode())
        self._claims.mkdir(exist_ok=True)

    def beat(self) -> None:
        """Say that the run is alive."""
        with contextlib.suppress(OSError):
            os.utime(self._own)

    def end(self) -> None:
        """Say that the run has ended, and release what it has claimed."""
        _RUNNING.discard((self._store, self.name))
        self.release(list(self._held))
        write_whole(self._own, canonical({**self._facts, "ended": time.time()}).encode())

    def all(self) -> list[dict[str, Any]]:
        """Every run, the oldest first: its `id`, `experiment`, `started`, `ended` and provenance."""
        runs = [facts for facts, _ in map(_read, self._files()) if facts is not None]
        every = [
            {"id": run["run"], **{name: run[name] for name in ("experiment", "started", "ended")}, **run["provenance"]}
            for run in runs
        ]
        return sorted(every, key=lambda run: (run["started"], run["id"]))

    def living(self) -> list[str]:
        """The runs that have not ended and whose process is alive."""
        alive = []
        for path in self._files():
            if path.stem not in self._ended:
                facts, beat = _read(path)
                if facts is not None and facts["ended"] is not None:
                    self._ended.add(path.stem)
                elif facts is not None and self._alive(facts, beat):
                    alive.append(str(facts["run"]))
        return alive

    def _files(self) -> list[Path]:
        return sorted(self._runs.glob("*.json"))

    def _alive(self, facts: Mapping[str, Any], beat: float) -> bool:
        if facts["ended"] is not None:
            return False
        if facts["host"] != socket.gethostname():
            return self._now() - beat < SILENCE
        if (facts["pid"], facts["born"]) == (os.getpid(), born(os.getpid())):
            return (self._store, str(facts["run"])) in _RUNNING
        return process_alive(facts["pid"], facts["born"])

    def _now(self) -> float:
        """The time by the clock of the disk, which all machines share; by its own for a reader, who writes nothing."""
        if self.write:
            probe = self._runs / f".now-{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}.tmp"
            with contextlib.suppress(OSError):
                probe.touch()
                now = probe.stat().st_mtime
                probe.unlink()
                return now
        return time.time()

    # ---- claims

    def claim(self, keys: Sequence[str]) -> list[str]:
        """Claim jobs for this run; those that no other living run has claimed."""
        before = self._numbers()
        for key in keys:
            number = max(before.get(key, ()), default=-1)
            if key not in self._held and (number < 0 or self._owner(key, number) is None):
                self._link(key, number + 1)
        # Another run may have read the folder before this claim was in it: whoever sees another's claim steps back.
        after = self._numbers()
        for key in keys:
            if key in self._held and not self._is_alone(key, after.get(key, ())):
                self._remove(key, self._held.pop(key))
        return [key for key in keys if key in self._held]

    def release(self, keys: Iterable[str]) -> None:
        """Give up claims of this run, and remove those of dead runs that they had taken over."""
        for key in keys:
            for number in range(self._held.pop(key, -1) + 1):
                self._remove(key, number)

    def claims(self) -> dict[str, str]:
        """Which living run has claimed which job."""
        owners = {key: self._owner(key, max(numbers)) for key, numbers in self._numbers().items()}
        return {key: owner for key, owner in owners.items() if owner is not None}

    def _numbers(self) -> dict[str, list[int]]:
        """The numbers of the claims to each job."""
        numbers: dict[str, list[int]] = {}
        try:
            with os.scandir(self._claims) as files:
                for file in files:
                    key, _, number = file.name.rpartition(".")
                    if key and number.isdecimal():
                        numbers.setdefault(key, []).append(int(number))
        except FileNotFoundError:
            pass
        except OSError as e:
            raise StoreError(f"The claims in {self._claims} cannot be read: {e.strerror or e}.") from e
        return numbers

    def _owner(self, key: str, number: int) -> str | None:
        """The living run that has made a claim; None if that run is dead, or the claim gone."""
        facts, beat = _read(self._claims / f"{key}.{number}")
        if facts is None or not self._alive(facts, beat):
            return None
        return str(facts["run"])

    def _link(self, key: str, number: int) -> None:
        try:
            os.link(self._own, self._claims / f"{key}.{number}")
            self._held[key] = number
        except FileExistsError:
            pass
        except OSError as e:
            raise StoreError(unwritable(self._claims, e)) from e

    def _remove(self, key: str, number: int) -> None:
        with contextlib.suppress(OSError):
            (self._claims / f"{key}.{number}").unlink()

    def _is_alone(self, key: str, numbers: Sequence[int]) -> bool:
        own = self._held[key]
        return own in numbers and all(n == own or (n < own and self._owner(key, n) is None) for n in numbers)


_FACTS: dict[str, Any] = {
    "run": str,
    "experiment": str,
    "host": str,
    "pid": int,
    "born": float,
    "started": (int, float),
}


def _read(path: Path) -> tuple[dict[str, Any] | None, float]:
    """What a run says of itself, and its last heartbeat; None for a file that is gone, or not as it was written."""
    try:
        with os.fdopen(open_own(path), "rb") as file:
            facts, beat = json.loads(file.read()), os.fstat(file.fileno()).st_mtime
        is_complete = all(isinstance(facts[name], kind) for name, kind in _FACTS.items())
        if is_complete and isinstance(facts["provenance"], dict) and "ended" in facts:
            return facts, beat
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        pass
    return None, 0.0


# ---- processes of this machine


def born(pid: int) -> float:
    """When a process was started, by the kernel's count: a number that is used again is then known to be another's."""
    try:
        return float(_stat(pid)[19])
    except (OSError, IndexError, ValueError):
        return 0.0


def process_alive(pid: int, since: float) -> bool:
    """Whether the process of this number that was started then runs on this machine."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    # One that was killed, and that its parent has not taken note of yet, has a number still.
    with contextlib.suppress(OSError, IndexError):
        if _stat(pid)[0] in ("Z", "X"):
            return False
    return born(pid) == since


def _stat(pid: int) -> list[str]:
    """What the kernel tells of a process, from its state on."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


# ---- what a run is made with

_PACKAGES = ("seamripper", "torch", "numpy", "scipy", "safetensors", "pydantic", "ray")


def provenance(folder: str | os.PathLike[str] = ".") -> dict[str, Any]:
    """Versions, the git revisions of `folder` and of this package if they are in a repository, host, command line."""
    return {
        "python": platform.python_version(),
        "packages": {name: release(name) for name in _PACKAGES if release(name) is not None},
        "git": revision(folder),
        "code": _own_revision(),
        "host": socket.gethostname(),
        "machine": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "command": [Path(sys.argv[0]).name, *sys.argv[1:]],
    }


def revision(folder: str | os.PathLike[str]) -> str | None:
    """The commit that a folder is at, with `+` if something in it was changed since; None outside a repository."""
    try:
        commit = _git(folder, "rev-parse", "HEAD")
        return commit + ("+" if _git(folder, "status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.SubprocessError):
        return None


def _own_revision() -> str | None:
    """The commit of this very code, if it is run from a checkout: an environment inside a user's repository is none."""
    here = Path(__file__)
    try:
        _git(here.parent, "ls-files", "--error-unmatch", here.name)
    except (OSError, subprocess.SubprocessError):
        return None
    return revision(here.parent)


def _git(folder: str | os.PathLike[str], *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True, timeout=5)
    return done.stdout.strip()
