from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from seamripper.cli import main

NETWORK = "zoo:R_1111?width=0.125"


@dataclass(frozen=True)
class Ran:
    """What a command did: its exit code and what it wrote."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one JSON object on standard output."""
        return json.loads(self.out)


Run = Callable[..., Ran]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """The command line within this process, in a folder of its own: what the entry point calls, without its start."""
    monkeypatch.chdir(tmp_path)

    def run(*words: object) -> Ran:
        capsys.readouterr()
        code = called(*words)
        said = capsys.readouterr()
        return Ran(code, said.out, said.err)

    return run


@pytest.fixture
def shell(tmp_path: Path) -> Run:
    """The installed command in a process of its own, in a folder of its own, with warnings as errors."""

    def shell(*words: object, **more: Any) -> Ran:
        env = {**os.environ, "PYTHONWARNINGS": "error", "OMP_NUM_THREADS": "1", **more.pop("env", {})}
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more}
        done = subprocess.run(command(*words), cwd=tmp_path, env=env, text=True, timeout=300, **pipes)
        return Ran(done.returncode, done.stdout, done.stderr or "")

    return shell


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start the installed command and leave it running; what still runs after the test is ended."""
    running: list[subprocess.Popen[str]] = []

    def start(*words: object, **more: Any) -> subprocess.Popen[str]:
        env = {**os.environ, "PYTHONWARNINGS": "error", "OMP_NUM_THREADS": "1"}
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more}
        running.append(subprocess.Popen(command(*words), cwd=tmp_path, env=env, text=True, **pipes))
        return running[-1]

    yield start
    for process in running:
        process.kill()
        process.communicate()


@pytest.fixture(scope="session")
def networks(made_once: Callable[..., Path]) -> dict[str, Path]:
    """A network that names the digit and one that names the colour, trained by the command line."""

    def make(folder: Path) -> None:
        for kind in ("digit", "colour"):
            train(kind, 0, folder / f"{kind}-0.safetensors")

    folder = made_once("networks", make)
    return {kind: folder / f"{kind}-0.safetensors" for kind in ("digit", "colour")}


@pytest.fixture(scope="session")
def other_seed(made_once: Callable[..., Path]) -> Path:
    """A network trained as the one that names the digit, from another seed."""
    name = "digit-1.safetensors"
    return made_once("other-seed", lambda folder: train("digit", 1, folder / name)) / name


def train(kind: str, seed: int, path: Path) -> None:
    with contextlib.redirect_stdout(io.StringIO()):
        words = ("train", NETWORK, "--data", f"digits/{kind}", "--training", "?epochs=3", "--seed", seed, "--out", path)
        assert called(*words) == 0


def called(*words: object) -> int:
    try:
        main([str(word) for word in words])
    except SystemExit as e:
        return int(e.code or 0)
    return 0


def command(*words: object) -> list[str]:
    installed = Path(sys.executable).with_name("seamripper")
    assert installed.is_file(), "seamripper is not installed in this environment: pip install -e ."
    return [str(installed), *map(str, words)]
