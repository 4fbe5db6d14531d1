"""Studies that take a moment, stores with results in them, small disks, and the command in a process of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from in_process import InProcess
from seamripper.experiment import Experiment, Store, run
from seamripper.experiment.job import canonical
from seamripper.experiment.result import Result

MINE = '''
"""A user's own functions. Whoever is called says so, with its process."""
import os, pathlib, time

HERE = pathlib.Path(__file__).parent

def said(word):
    with open(HERE / "called", "a") as file:
        file.write(f"{word}\\n")

def f(x, seed=0):
    said(f"{x}/{seed}")
    return {"double": 2 * x, "word": "even" if x % 2 == 0 else "odd"}

def slow(x, seed=0):
    said(f"{x}/{seed}")
    time.sleep(0.1)
    return {"double": 2 * x}

def together(x, seed=0):
    """The first job of each of two runs waits for that of the other."""
    said(f"{x}/{seed}")
    (HERE / f"worker-{os.getpid()}").touch()
    while len(list(HERE.glob("worker-*"))) < 2:
        time.sleep(0.01)
    time.sleep(0.02)
    return {"double": 2 * x}

def picky(x):
    if x == 2:
        raise ValueError("two is not liked")
    return {"double": 2 * x}

def long(x):
    return {"text": "0123456789abcdef" * 64 * x}
'''

REAL = """
data = { name = "digits/correlated", n = 200, n_test = 100 }
[models.net]
train = "zoo:R_1111?width=0.125"
data = "digits/correlated"
n = 200
training = "?epochs=1"
seeds = [0, 1]
[[stitch]]
senders = ["net/0"]
receivers = ["net/1"]
pairing = "all"
cuts = %s
matchings = ["direct"]
"""


def result(number: int, *, tensors: Mapping[str, str] | None = None, **more: Any) -> Result:
    """The result of a job that never was: its key, kind and state as asked for."""
    facts = {"kind": "call", "state": "done", "record": {"figures": {"number": number}}, **more}
    return Result(f"{number:08x}" * 8, tensors=tensors or {}, **facts)


@pytest.fixture(name="result")
def result_fixture() -> Callable[..., Result]:
    return result


@pytest.fixture
def study(tmp_path: Path) -> Callable[..., Path]:
    """A study of one of the functions above, as a file: `study("f", x=[1, 2], seeds=[0])`."""

    def write(function: str = "f", *, seeds: list[int] | None = None, name: str = "study", **grid: list[Any]) -> Path:
        (tmp_path / "mine.py").write_text(MINE)
        axes = ", ".join(f"{axis} = {json.dumps(values)}" for axis, values in grid.items())
        seeded = "" if seeds is None else f"seeds = {seeds}\n"
        path = tmp_path / f"{name}.toml"
        path.write_text(f'[[call]]\nfunction = "mine.py:{function}"\ngrid = {{ {axes} }}\n{seeded}')
        return path

    return write


@pytest.fixture
def called(tmp_path: Path) -> Callable[[], list[str]]:
    """Which calls of the functions above were made, in order."""
    return lambda: (tmp_path / "called").read_text().split() if (tmp_path / "called").exists() else []


@pytest.fixture(scope="session")
def finished(made_once: Callable[..., Path]) -> Path:
    """The folder of a real study that was run once: two trainings and a stitch; `study.toml` and `store`."""

    def make(folder: Path) -> None:
        (folder / "study.toml").write_text(REAL % '["layer1"]')
        done = run(Experiment.read(folder / "study.toml"), folder / "store", engine=InProcess())
        assert done.did == 3
        assert not done.failed

    return made_once("finished", make)


@pytest.fixture
def real(finished: Path, tmp_path: Path) -> Path:
    """A copy of it that may be damaged; `more.toml` asks for another stitch of the same networks."""
    folder = tmp_path / "real"
    shutil.copytree(finished, folder)
    (folder / "more.toml").write_text(REAL % '["layer1", "layer2"]')
    return folder


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Callable[..., Path]]:
    """A disk of its own, of so many bytes, within the test's folder: `disk(1 << 20)`."""
    mounted: list[Path] = []

    def mount(size: int) -> Path:
        place = tmp_path / f"disk-{len(mounted)}"
        place.mkdir()
        words = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)]
        done = subprocess.run(words, capture_output=True, text=True) if shutil.which("mount") else None
        if done is None or done.returncode:
            pytest.skip(f"a small disk cannot be mounted here: {done.stderr.strip() if done else 'no mount'}")
        mounted.append(place)
        return place

    yield mount
    for place in mounted:
        # At once, though a test that failed may have left a file of it open.
        subprocess.run(["umount", "--lazy", str(place)], check=True)


@pytest.fixture
def read_only(disk: Callable[..., Path]) -> Callable[[Path], Path]:
    """A copy of a folder on a disk that cannot be written, whoever tries: root does not heed permissions."""

    def copy(folder: Path) -> Path:
        place = disk(16 << 20)
        shutil.copytree(folder, place / folder.name)
        subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)
        return place / folder.name

    return copy


@dataclass(frozen=True)
class Ran:
    """What a command did: its exit code and what it wrote."""

    code: int
    out: str
    err: str


def words(*said: object) -> list[str]:
    return [str(Path(sys.executable).with_name("seamripper")), *map(str, said)]


ENV = {**os.environ, "PYTHONWARNINGS": "error", "OMP_NUM_THREADS": "1"}


@pytest.fixture
def shell(tmp_path: Path) -> Callable[..., Ran]:
    """The installed command, to its end."""

    def shell(*said: object) -> Ran:
        done = subprocess.run(words(*said), cwd=tmp_path, env=ENV, text=True, timeout=120, capture_output=True)
        return Ran(done.returncode, done.stdout, done.stderr)

    return shell


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """A process that is started and left running: the command, or with `code` a piece of Python."""
    running: list[subprocess.Popen[str]] = []

    def start(*said: object, code: str | None = None) -> subprocess.Popen[str]:
        line = words(*said) if code is None else [sys.executable, "-c", code, *map(str, said)]
        pipe = subprocess.PIPE
        running.append(subprocess.Popen(line, cwd=tmp_path, env=ENV, text=True, stdout=pipe, stderr=pipe))
        return running[-1]

    yield start
    for process in running:
        process.kill()
        process.communicate()


def rows(folder: Path) -> list[tuple[Any, ...]]:
    """Every result of a store, to the byte, without its circumstances."""
    with Store(folder) as store:
        return [(r.key, r.kind, r.state, canonical(r.record), canonical(r.tensors)) for r in store.results()]


@pytest.fixture(name="rows")
def rows_fixture() -> Callable[[Path], list[tuple[Any, ...]]]:
    return rows
