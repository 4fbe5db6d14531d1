"""Runs and claims: who is alive, and who may do which job, among processes and machines that share a folder."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from seamripper.errors import StoreError
from seamripper.experiment import Store
from seamripper.experiment.result import Result
from seamripper.experiment.runs import SILENCE, RunFiles, born, process_alive

KEYS = [f"{k:08x}" * 8 for k in range(20)]


def begun(folder: Path, name: str) -> RunFiles:
    runs = RunFiles(folder, name, write=True)
    runs.begin("study", {"engine": "local"})
    return runs


def change(folder: Path, run: str, *, silent: float | None = None, **facts: Any) -> None:
    """Change what a run says of itself, as if another machine had written it; `silent` for so many seconds."""
    path = folder / "runs" / f"{run}.json"
    # In place, as claims are links to this file.
    path.write_text(json.dumps({**json.loads(path.read_text()), **facts}))
    if silent is not None:
        os.utime(path, (time.time() - silent,) * 2)


def test_a_living_run_keeps_its_claims_and_an_ended_one_gives_them_back(tmp_path: Path) -> None:
    one, two = begun(tmp_path, "one"), begun(tmp_path, "two")
    assert one.claim(KEYS[:3]) == KEYS[:3]
    assert two.claim(KEYS[:4]) == KEYS[3:4]
    assert one.claim(KEYS[:3]) == KEYS[:3]
    assert two.claims() == {**dict.fromkeys(KEYS[:3], "one"), KEYS[3]: "two"}
    two.release(KEYS[:1])
    one.release([KEYS[0], KEYS[3]])
    assert one.claims() == {KEYS[1]: "one", KEYS[2]: "one", KEYS[3]: "two"}
    one.end()
    assert two.living() == ["two"]
    assert two.claim(KEYS[:4]) == KEYS[:4]
    two.end()
    assert (list((tmp_path / "claims").iterdir()), two.living()) == ([], [])
    assert [(run["id"], run["engine"], run["ended"] >= run["started"]) for run in two.all()] == [
        ("one", "local", True),
        ("two", "local", True),
    ]


HOLD = """
import sys, time
from pathlib import Path
from seamripper.experiment.runs import RunFiles
runs = RunFiles(Path(sys.argv[1]), sys.argv[2], write=True)
runs.begin("study", {})
print(len(runs.claim([f"{k:08x}" * 8 for k in range(20)])), flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("reaped", [True, False], ids=["gone", "a zombie"])
def test_the_claims_of_a_killed_run_are_taken_over_at_once(
    tmp_path: Path, started: Callable[..., Any], reaped: bool
) -> None:
    holder = started(tmp_path, "theirs", code=HOLD)
    assert holder.stdout.readline() == "20\n"
    mine = begun(tmp_path, "mine")
    assert mine.claim(KEYS) == []
    assert set(mine.living()) == {"mine", "theirs"}
    holder.send_signal(signal.SIGKILL)
    # Its parent may not have taken note of its end; where nobody does, as in some containers, it never ends otherwise.
    os.waitid(os.P_PID, holder.pid, os.WEXITED | os.WNOWAIT)
    if reaped:
        holder.wait()
    assert mine.living() == ["mine"]
    assert mine.claim(KEYS) == KEYS
    mine.end()
    assert list((tmp_path / "claims").iterdir()) == [], "those of the dead run are gone as well"


def test_a_run_whose_number_is_used_by_another_process_is_dead(tmp_path: Path) -> None:
    old, mine = begun(tmp_path, "old"), begun(tmp_path, "mine")
    old.claim(KEYS)
    assert set(mine.living()) == {"old", "mine"}
    change(tmp_path, "old", pid=os.getppid(), born=born(os.getppid()) - 1)
    assert mine.living() == ["mine"]
    assert mine.claim(KEYS) == KEYS


def test_a_run_on_another_machine_is_dead_when_it_has_been_silent_for_long(tmp_path: Path) -> None:
    far, mine = begun(tmp_path, "far"), begun(tmp_path, "mine")
    far.claim(KEYS)
    assert socket.gethostname() != "elsewhere"
    # A process of this number is nothing to them: what counts is the heartbeat.
    change(tmp_path, "far", host="elsewhere", pid=2**22 + 1, silent=60)
    assert mine.claim(KEYS) == []
    change(tmp_path, "far", silent=SILENCE + 1)
    assert mine.living() == ["mine"]
    assert mine.claim(KEYS[:3]) == KEYS[:3]
    far.beat()
    assert set(mine.living()) == {"far", "mine"}
    assert mine.claim(KEYS[3:]) == []
    # It has come to life again, and does not take away what was taken over.
    far.release(KEYS)
    assert mine.claims() == dict.fromkeys(KEYS[:3], "mine")


def test_of_two_that_take_over_from_a_dead_run_one_wins(tmp_path: Path) -> None:
    dead, one, two = (begun(tmp_path, name) for name in ("dead", "one", "two"))
    dead.claim(KEYS[:1])
    change(tmp_path, "dead", pid=2**22 + 1, born=1.0)
    # Each has looked at the claims before the other has made its own.
    stale = [one._numbers()]
    assert two.claim(KEYS[:1]) == KEYS[:1]
    real = one._numbers
    one._numbers = lambda: stale.pop() if stale else real()  # type: ignore[method-assign]
    assert one.claim(KEYS[:1]) == []
    assert one.claims() == {KEYS[0]: "two"}
    two.end()
    assert one.claim(KEYS[:1]) == KEYS[:1]


def test_whoever_claims_by_what_was_there_before_steps_back(tmp_path: Path) -> None:
    """A run that was held up after it had looked finds the claim of another that came and went, or came and stayed."""
    one, two = begun(tmp_path, "one"), begun(tmp_path, "two")
    two.claim(KEYS[:1])
    (tmp_path / "claims" / f"{KEYS[0]}.0").rename(tmp_path / "claims" / f"{KEYS[0]}.1")
    stale: list[dict[str, list[int]]] = [{}]
    real = one._numbers
    one._numbers = lambda: stale.pop() if stale else real()  # type: ignore[method-assign]
    assert one.claim(KEYS[:1]) == []
    assert real() == {KEYS[0]: [1]}
    (tmp_path / "claims" / f"{KEYS[0]}.1").rename(tmp_path / "claims" / f"{KEYS[0]}.0")
    stale.append({KEYS[0]: [1]})
    assert one.claim(KEYS[:1]) == []
    assert one.claims() == {KEYS[0]: "two"}


CLAIM = """
import sys
from pathlib import Path
from seamripper.experiment.runs import RunFiles
runs = RunFiles(Path(sys.argv[1]), sys.argv[2], write=True)
runs.begin("study", {})
print("ready", flush=True)
sys.stdin.readline()
mine = [key for k in range(200) for key in runs.claim([f"{k:064x}"])]
print(*mine, flush=True)
sys.stdin.readline()
"""


def test_of_two_runs_at_once_no_job_is_claimed_by_both(tmp_path: Path) -> None:
    pipe = subprocess.PIPE
    words = [sys.executable, "-c", CLAIM, str(tmp_path)]
    both = [subprocess.Popen([*words, name], stdin=pipe, stdout=pipe, text=True) for name in ("one", "two")]
    assert [process.stdout.readline() for process in both if process.stdout] == ["ready\n"] * 2
    for process in both:
        assert process.stdin
        process.stdin.write("go\n")
        process.stdin.flush()
    first, second = (set(process.stdout.readline().split()) for process in both if process.stdout)
    assert not first & second
    # A job that both have stepped back from is claimed by the next who asks; nearly all were claimed at once.
    assert len(first | second) > 190
    for process in both:
        process.communicate("end\n")


def test_a_result_ends_the_claim_to_it_and_is_not_claimed_again(tmp_path: Path, result: Callable[..., Result]) -> None:
    with Store(tmp_path / "s", write=True, name="one") as one, Store(tmp_path / "s", write=True, name="two") as two:
        one.runs.begin("study", {})
        two.runs.begin("study", {})
        assert one.claim([KEYS[1]]) == [KEYS[1]]
        assert two.claim([KEYS[1], KEYS[2]]) == [KEYS[2]]
        one.enter(result(1))
        assert two.runs.claims() == {KEYS[2]: "two"}
        # Nobody has claimed it now, and it is done.
        assert two.claim([KEYS[1], KEYS[3]]) == [KEYS[3]]
        assert two.result(KEYS[1]) == result(1)
        assert two.runs.claims() == {KEYS[2]: "two", KEYS[3]: "two"}
        two.forget([KEYS[1]])
        assert two.claim([KEYS[1]]) == [KEYS[1]]
        one.refresh()
        assert one.result(KEYS[1]) is None
        one.runs.end()
        two.runs.end()


def test_a_run_of_this_process_that_could_not_say_that_it_has_ended_is_not_waited_for(
    disk: Callable[..., Path],
) -> None:
    place = disk(64 << 10)
    (place / "claims").mkdir()
    full = begun(place, "full")
    assert full.claim(KEYS[:2]) == KEYS[:2]
    with contextlib.suppress(OSError), (place / "filler").open("wb", buffering=0) as file:
        while True:
            file.write(b"x" * 4096)
    with pytest.raises(StoreError, match="No space left on device"):
        full.end()
    assert full.living() == []
    assert full.claims() == {}


def test_what_a_run_says_of_itself_and_cannot_be_read_is_passed_over(tmp_path: Path) -> None:
    one, two = begun(tmp_path, "one"), begun(tmp_path, "two")
    one.claim(KEYS[:1])
    (tmp_path / "runs" / "one.json").write_text('{"run": "one"')
    assert [run["id"] for run in two.all()] == ["two"]
    assert two.living() == ["two"]
    assert two.claim(KEYS[:1]) == KEYS[:1]


def test_processes_are_told_by_number_and_birth(started: Callable[..., Any]) -> None:
    here = os.getpid()
    assert process_alive(here, born(here))
    assert not process_alive(here, born(here) - 1)
    other = started(code="input()")
    since = born(other.pid)
    assert since >= born(here)
    assert process_alive(other.pid, since)
    other.kill()
    other.wait()
    assert not process_alive(other.pid, since)
    assert born(2**22 + 1) == 0
