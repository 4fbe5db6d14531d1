"""Provenance: what a run was made with, and that every run keeps it."""

from __future__ import annotations

import platform
import socket
import subprocess
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from seamripper.experiment import Experiment, Local, Store, run
from seamripper.experiment.runs import provenance, revision


def git(folder: Path, *words: str) -> str:
    who = [
        "-c",
        "user.name=A",
        "-c",
        "user.email=a@b.c",
        "-c",
        "commit.gpgsign=false",
        "-c",
        "core.hooksPath=/dev/null",
    ]
    done = subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / "file").write_text("one\n")
    git(folder, "add", "file")
    git(folder, "commit", "-q", "-m", "one")
    return folder


def test_versions_host_and_command_line() -> None:
    found = provenance()
    assert found["packages"]["seamripper"] == version("seamripper")
    assert found["packages"]["torch"] == version("torch")
    assert found["packages"]["numpy"] == version("numpy")
    assert found["python"] == platform.python_version()
    assert found["host"] == socket.gethostname()
    assert found["cores"] >= 1


def test_the_revision_of_a_repository(repository: Path) -> None:
    head = git(repository, "rev-parse", "HEAD")
    assert revision(repository) == head
    (repository / "new").write_text("nobody has added this\n")
    assert revision(repository) == head
    (repository / "file").write_text("two\n")
    assert revision(repository) == f"{head}+"


def test_there_is_no_revision_outside_a_repository(tmp_path: Path) -> None:
    assert revision(tmp_path) is None
    assert revision(tmp_path / "no-such-folder") is None


def test_a_repository_without_a_commit_has_no_revision(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    assert revision(tmp_path) is None


def test_the_code_s_own_commit_is_told_wherever_it_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And an environment that lies, untracked, in somebody's repository is not taken for a checkout."""
    import seamripper.experiment.runs as module

    monkeypatch.chdir(tmp_path)
    assert provenance()["git"] is None
    assert provenance()["code"] == revision(Path(module.__file__).parent)
    git(tmp_path, "init", "-q")
    (tmp_path / "own.txt").write_text("theirs\n")
    git(tmp_path, "add", "own.txt")
    git(tmp_path, "commit", "-q", "-m", "theirs")
    (tmp_path / "provenance.py").write_text("")
    monkeypatch.setattr(module, "__file__", str(tmp_path / "provenance.py"))
    assert provenance()["code"] is None
    git(tmp_path, "add", "provenance.py")
    git(tmp_path, "commit", "-q", "-m", "a checkout")
    assert provenance()["code"] == git(tmp_path, "rev-parse", "HEAD")


@pytest.mark.slow
def test_a_run_keeps_it_with_the_command_line_seeds_and_timings(
    study: Callable[..., Path], shell: Callable[..., Any], tmp_path: Path
) -> None:
    path = study("f", x=[1, 2], seeds=[3, 4])
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "study.toml")
    git(tmp_path, "commit", "-q", "-m", "the study")
    assert shell("run", path, "--store", "store", "--engine", "local?workers=1").code == 0
    with Store(tmp_path / "store") as store:
        (kept,) = store.runs.all()
        assert kept["command"] == ["seamripper", "run", str(path), "--store", "store", "--engine", "local?workers=1"]
        assert kept["git"] == git(tmp_path, "rev-parse", "HEAD")
        assert kept["host"] == socket.gethostname()
        assert kept["packages"]["torch"] == version("torch")
        assert kept["engine"] == "local"
        assert kept["started"] < kept["ended"]
        assert [content["args"]["seed"] for content in store.contents("study").values()].count(3) == 2
        assert store.experiments()["study"]["call"][0]["seeds"] == [3, 4]
        timings = store.attempts()
        assert len(timings) == 4
        assert {timing["run"] for timing in timings} == {kept["id"]}
        assert all(kept["started"] <= timing["started"] <= kept["ended"] for timing in timings)
        assert all(timing["seconds"] > 0 for timing in timings)


def test_a_second_run_has_a_provenance_of_its_own(study: Callable[..., Path], tmp_path: Path) -> None:
    run(Experiment.read(study(x=[1])), tmp_path / "store", engine=Local(1))
    run(Experiment.read(study(x=[1, 2])), tmp_path / "store", engine=Local(1))
    with Store(tmp_path / "store") as store:
        first, second = store.runs.all()
        assert first["started"] < second["started"]
        attempts = sorted(store.attempts(), key=lambda attempt: attempt["started"])
        assert [attempt["run"] for attempt in attempts] == [first["id"], second["id"]]
