"""A disk that is full, Ctrl-C, a reader that has gone: a sentence, the right code, and nothing half-written."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch

import seamripper as sr
from seamripper._files import read_record

if TYPE_CHECKING:
    from conftest import Run

LENET = ("train", "zoo:lenet", "--data", "digits/digit", "--n", 32, "--training")
FEW = ("--data", "digits/correlated", "--n", 100, "--n-test", 50, "--matching", "direct")


def small_files() -> None:
    """No file may grow beyond 16 KiB: to a process, that is a disk that fills up while it writes."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (16 * 1024, 16 * 1024))


def test_memory_that_runs_out_gets_a_sentence(run: Run) -> None:
    """A network of 5 GB, which many a machine has room for, where this process may take one more."""
    limits = resource.getrlimit(resource.RLIMIT_AS)
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + (1 << 30), limits[1]))
    try:
        ran = run("cuts", "zoo:R_1111?width=0.125&classes=20000000")
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)
    assert (ran.code, ran.out) == (2, "")
    assert "memory" in ran.err
    assert len(ran.err.splitlines()) == 1


def can_be_interrupted() -> None:
    """As at a terminal: a shell that starts things in the background has them ignore Ctrl-C, and that is inherited."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


# ---- a full disk


@pytest.mark.slow
def test_a_disk_that_fills_up_leaves_nothing_half_written(shell: Run, run: Run, tmp_path: Path) -> None:
    words = (*LENET, "?batch=32&lr=0.01&epochs=1", "--out", "a.safetensors")
    ran = shell(*words, preexec_fn=small_files)
    assert (ran.code, ran.out) == (2, "")
    assert "Traceback" not in ran.err
    assert ran.err.endswith(
        "seamripper: The disk is full (File too large): a.partial.safetensors could not be written and nothing of it "
        "was kept. Free some space, or give a path on another disk.\n"
    )
    assert list(tmp_path.iterdir()) == []
    assert run(*words).code == 0
    assert [path.name for path in tmp_path.iterdir()] == ["a.safetensors"]


@pytest.mark.slow
def test_a_full_disk_leaves_the_old_file_and_shows_the_figures(
    shell: Run, tmp_path: Path, networks: dict[str, Path]
) -> None:
    old = tmp_path / "match.safetensors"
    old.write_bytes(b"an older match")
    pair = (f"{networks['colour']}@layer2", f"{networks['digit']}@layer2")
    ran = shell("stitch", *pair, *FEW, "--out", old.name, preexec_fn=small_files)
    assert ran.code == 2
    assert "Traceback" not in ran.err
    assert "seamripper: The disk is full (File too large): match.safetensors could not be written" in ran.err
    assert "stitched network, top-1" in ran.out
    assert "written to" not in ran.out
    assert old.read_bytes() == b"an older match"
    assert list(tmp_path.iterdir()) == [old]


def test_no_space_left_on_the_device(run: Run, tmp_path: Path, networks: dict[str, Path]) -> None:
    """The temporary file leads to /dev/full, on which the kernel has no space for anything."""
    (tmp_path / f".match.safetensors.{os.getpid()}.tmp").symlink_to("/dev/full")
    pair = (f"{networks['colour']}@layer2", f"{networks['digit']}@layer2")
    ran = run("stitch", *pair, *FEW, "--out", "match.safetensors", "--json")
    assert (ran.code, ran.err) == (2, "")
    assert ran.json["error"]["kind"] == "FileError"
    assert ran.json["error"]["message"].startswith("The disk is full (No space left on device): match.safetensors")
    assert list(tmp_path.iterdir()) == []
    assert Path("/dev/full").is_char_device()


# ---- Ctrl-C


def wait_for(condition: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 120
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.002)


@pytest.mark.slow
def test_a_training_that_is_stopped_goes_on_where_it_was(
    started: Callable[..., subprocess.Popen[str]], run: Run, tmp_path: Path
) -> None:
    words = (*LENET, "?batch=32&lr=0.01&epochs=80")
    process = started(*words, "--out", "a.safetensors", preexec_fn=can_be_interrupted)
    partial = tmp_path / "a.partial.safetensors"
    wait_for(partial.exists, process)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out) == (130, "")
    assert "Traceback" not in err
    # On a line of its own, after the ^C of the terminal.
    assert err.endswith(
        "\nseamripper: Stopped. Nothing half-written was left behind. Start a training or a study again, and it "
        "continues where it was.\n"
    )
    assert list(tmp_path.iterdir()) == [partial]
    kind, record = read_record(partial)
    done = len(record["losses"])
    assert kind == "training"
    assert 1 <= done < 80

    assert run(*words, "--out", "a.safetensors").code == 0
    assert run(*words, "--out", "b.safetensors").code == 0
    stopped, straight = sr.load("a.safetensors"), sr.load("b.safetensors")
    assert stopped.record["losses"][:done] == record["losses"]
    assert stopped.record["losses"] == straight.record["losses"]
    assert stopped.fingerprint == straight.fingerprint
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.safetensors", "b.safetensors"]


@pytest.mark.slow
def test_a_stitch_that_is_stopped_leaves_nothing(
    started: Callable[..., subprocess.Popen[str]], tmp_path: Path, networks: dict[str, Path]
) -> None:
    mine, loaded = tmp_path / "mine.py", tmp_path / "loaded"
    mine.write_text(
        "from pathlib import Path\nfrom seamripper import load\n"
        f"def make():\n    net = load({str(networks['colour'])!r}).module\n    Path('loaded').touch()\n    return net\n"
    )
    pair = ("mine.py:make@layer2", f"{networks['digit']}@layer2")
    words = (
        "stitch",
        *pair,
        "--data",
        "digits/correlated",
        "--matching",
        "task?epochs=1000000",
        "--out",
        "match.safetensors",
    )
    process = started(*words, "--json", preexec_fn=can_be_interrupted)
    # From here on at any moment: the command runs, and its own code has the word.
    wait_for(loaded.exists, process)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, err.strip()) == (130, "")
    assert json.loads(out)["error"]["kind"] == "Stopped"
    assert {path.name for path in tmp_path.iterdir()} <= {"mine.py", "loaded", "__pycache__"}


@pytest.mark.slow
def test_a_training_that_is_killed_goes_on_where_it_was(
    started: Callable[..., subprocess.Popen[str]], run: Run, tmp_path: Path
) -> None:
    words = (*LENET, "?batch=32&lr=0.01&epochs=50", "--seed", 1)
    process = started(*words, "--out", "a.safetensors")
    wait_for((tmp_path / "a.partial.safetensors").exists, process)
    process.kill()
    process.communicate()
    # Killed in the middle of a write, a temporary file stays; the next writer takes it away.
    (tmp_path / f".a.partial.safetensors.{process.pid}.tmp").write_bytes(b"half a")
    assert run(*words, "--out", "a.safetensors").code == 0
    assert run(*words, "--out", "b.safetensors").code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.safetensors", "b.safetensors"]
    assert sr.load("a.safetensors").fingerprint == sr.load("b.safetensors").fingerprint
    assert torch.get_num_threads() == 1


# ---- a reader that has gone


@pytest.mark.slow
@pytest.mark.parametrize("words", [("list", "data"), ("list", "data", "--json"), ("cuts", "zoo:lenet", "--json")])
def test_a_reader_that_has_gone_is_no_error(
    started: Callable[..., subprocess.Popen[str]], words: tuple[str, ...]
) -> None:
    ours, theirs = os.pipe()
    os.close(ours)
    process = started(*words, stdout=theirs)
    os.close(theirs)
    _, err = process.communicate(timeout=120)
    assert err == ""
    assert process.returncode == 1
