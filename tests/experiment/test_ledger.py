"""Ledger: what SQLite keeps, who may do which job, and what is said when the file is not what it was."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from seamripper.errors import StoreError
from seamripper.experiment import _disk
from seamripper.experiment._processes import born, process_alive
from seamripper.experiment.job import Graph, Job
from seamripper.experiment.journal import Entry
from seamripper.experiment.ledger import SCHEMA, SILENCE, Ledger

KEYS = [f"{k:08x}" * 8 for k in range(20)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.sqlite"


@pytest.fixture
def ledger(path: Path) -> Iterator[Ledger]:
    ledger = Ledger(path, write=True)
    yield ledger
    ledger.close()


def change(path: Path, sql: str, *values: object) -> None:
    """Change a ledger behind its back."""
    db = sqlite3.connect(path)
    db.execute(sql, values)
    db.commit()
    db.close()


def asked(path: Path, sql: str) -> Any:
    db = sqlite3.connect(path)
    found = db.execute(sql).fetchall()
    db.close()
    return found


def overwrite(path: Path, at: int, data: bytes) -> None:
    with path.open("rb+") as file:
        file.seek(at)
        file.write(data)


def page_with(path: Path, text: bytes) -> int:
    """Where the page begins that these bytes are on."""
    at = path.read_bytes().find(text)
    assert at >= 0
    return at // 4096 * 4096


# ---- the file ----


def test_write_ahead_log_on_a_local_disk(ledger: Ledger, path: Path) -> None:
    assert asked(path, "PRAGMA journal_mode") == [("wal",)]
    assert path.with_name("ledger.sqlite-wal").exists()


def test_a_rollback_journal_on_a_network_disk(
    path: Path, monkeypatch: pytest.MonkeyPatch, entry: Callable[..., Entry]
) -> None:
    here = _disk.file_system(path.parent)
    local = Ledger(path, write=True)
    local.take_in("one", 1, [entry(1)])
    local.close()
    # The disk under this test, whatever it is, counts as one that machines share: as if the store had been moved there.
    monkeypatch.setattr(_disk, "_NETWORK", {here})
    shared = Ledger(path, write=True)
    shared.take_in("one", 2, [entry(2)])
    assert asked(path, "PRAGMA journal_mode") != [("wal",)]
    assert shared._one("PRAGMA journal_mode") == ("truncate",)
    assert not path.with_name("ledger.sqlite-wal").exists()
    assert path.with_name("ledger.sqlite-journal").stat().st_size == 0
    assert len(shared.states()) == 2
    shared.close()


def test_a_ledger_of_a_newer_version_is_left_as_it_is(ledger: Ledger, path: Path) -> None:
    ledger.close()
    change(path, f"PRAGMA user_version = {SCHEMA + 1}")
    before = path.read_bytes()
    for write in (True, False):
        with pytest.raises(StoreError, match=f"newer seamripper .its format is {SCHEMA + 1}, and this one knows") as e:
            Ledger(path, write=write)
        assert "Upgrade seamripper" in str(e.value)
    assert path.read_bytes() == before


def test_a_reader_makes_nothing(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"There is no ledger .* yet.*seamripper collect"):
        Ledger(tmp_path / "ledger.sqlite", write=False)
    assert list(tmp_path.iterdir()) == []


def test_a_reader_changes_nothing(ledger: Ledger, path: Path, entry: Callable[..., Entry]) -> None:
    reader = Ledger(path, write=False)
    with pytest.raises(StoreError, match=r"cannot be written here .*readonly.* It can be read"):
        reader.take_in("one", 1, [entry(1)])
    memo = reader.memo
    memo["question"] = "answer"
    assert memo["question"] == "answer"
    assert list(ledger.memo) == []
    reader.close()


@pytest.mark.parametrize("left", [(), ("-wal", "-shm"), ("-wal",)], ids=["closed", "with its log", "with half of it"])
def test_a_read_only_disk(
    tmp_path: Path, entry: Callable[..., Entry], read_only: Callable[[Path], Path], left: tuple[str, ...]
) -> None:
    folder, copy = tmp_path / "store", tmp_path / "copy"
    folder.mkdir()
    writer = Ledger(folder / "ledger.sqlite", write=True)
    writer.take_in("one", 1, [entry(1), entry(2)])
    if not left:
        writer.close()
    copy.mkdir()
    for suffix in ("", *left):
        shutil.copy(folder / f"ledger.sqlite{suffix}", copy)
    writer.close()
    place = read_only(copy) / "ledger.sqlite"
    if left == ("-wal",):
        with pytest.raises(StoreError, match=r"cannot be read here.* Copy the store to a disk that can be written"):
            Ledger(place, write=False)
        return
    reader = Ledger(place, write=False)
    assert list(reader.results()) == [entry(1), entry(2)]
    reader.close()

    def write() -> None:
        ledger = Ledger(place, write=True)
        try:
            ledger.take_in("one", 2, [entry(3)])
        finally:
            ledger.close()

    with pytest.raises(StoreError, match=r"cannot be written here .* It can be read: `seamripper status`"):
        write()


def fill(ledger: Ledger, entry: Callable[..., Entry], kept: list[Entry]) -> None:
    """Enter results until the disk is full; those that were kept."""
    for k in range(100, 1000):
        one = entry(k, record={"text": "x" * 4000})
        ledger.take_in("one", k, [one])
        kept.append(one)


def test_a_full_disk_loses_nothing(disk: Callable[..., Path], entry: Callable[..., Entry]) -> None:
    path = disk(512 << 10) / "ledger.sqlite"
    ledger, kept = Ledger(path, write=True), list[Entry]()
    with pytest.raises(StoreError, match=r"The disk is full.*What was finished before is kept.*run it again"):
        fill(ledger, entry, kept)
    assert len(kept) > 10
    ledger.close()
    again = Ledger(path, write=False)
    assert list(again.results()) == kept
    again.close()


# ---- results ----


def test_what_is_done_stays_and_what_failed_may_be_done_later(ledger: Ledger, entry: Callable[..., Entry]) -> None:
    failed = entry(1, state="failed", record={"error": "E", "message": "m", "traceback": "t"})
    other = entry(1, record={"figures": {"number": 99}})
    assert ledger.take_in("one", 10, [failed]) == [KEYS[1]]
    assert ledger.result(KEYS[1]) == failed
    assert ledger.take_in("one", 20, [entry(1)]) == [KEYS[1]]
    assert ledger.take_in("one", 30, [other, failed]) == []
    assert ledger.result(KEYS[1]) == entry(1)
    assert ledger.states() == {KEYS[1]: "done"}
    assert ledger.read() == {"one": 30}
    assert [outcome for *_, outcome in ledger.attempts()] == ["failed", "done", "done", "failed"]


def test_what_another_has_taken_in_meanwhile_is_not_taken_in_twice(ledger: Ledger, entry: Callable[..., Entry]) -> None:
    assert ledger.take_in("one", 10, [entry(1)], start=0) == [KEYS[1]]
    assert ledger.take_in("one", 5, [entry(1)], start=0) == []
    assert len(ledger.attempts()) == 1
    assert ledger.read() == {"one": 10}
    assert ledger.take_in("one", 20, [entry(2)], start=10) == [KEYS[2]]


def test_what_is_taken_in_is_taken_in_whole_or_not_at_all(ledger: Ledger, entry: Callable[..., Entry]) -> None:
    def found() -> Iterator[Entry]:
        yield entry(1)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ledger.take_in("one", 10, found())
    assert ledger.states() == {}
    assert ledger.read() == {}
    ledger.take_in("one", 10, [entry(1)])
    assert ledger.states() == {KEYS[1]: "done"}


def test_what_is_forgotten_can_be_done_again(ledger: Ledger, entry: Callable[..., Entry]) -> None:
    ledger.begin("run", "study", {})
    ledger.take_in("one", 10, [entry(1)])
    assert ledger.claim([KEYS[1]], "run") == []
    ledger.forget([KEYS[1]])
    assert ledger.result(KEYS[1]) is None
    assert ledger.claim([KEYS[1]], "run") == [KEYS[1]]


@pytest.mark.parametrize(
    "change_",
    ["record = replace(record, '1', '2')", "state = 'failed'", 'tensors = \'{"a":"b"}\'', "sum = 'x'", "kind = 'x'"],
)
def test_a_result_that_was_changed_is_not_given_out(
    ledger: Ledger, path: Path, entry: Callable[..., Entry], change_: str
) -> None:
    ledger.take_in("one", 10, [entry(1), entry(2)])
    change(path, f"UPDATE results SET {change_} WHERE key = ?", KEYS[1])
    with pytest.raises(StoreError, match=f"{KEYS[1][:12]}.*is not as it was written.*seamripper store repair"):
        ledger.result(KEYS[1])
    with pytest.raises(StoreError, match="store repair"):
        list(ledger.results())
    assert ledger.damaged() == [KEYS[1]]
    assert ledger.result(KEYS[2]) == entry(2)


def test_a_state_that_there_is_not_is_damage(ledger: Ledger, path: Path, entry: Callable[..., Entry]) -> None:
    ledger.take_in("one", 10, [entry(1)])
    change(path, "UPDATE results SET state = 'dome'")
    with pytest.raises(StoreError, match=r"is not as it was written.*store repair"):
        ledger.states()


# ---- damaged pages ----


@pytest.fixture
def large(ledger: Ledger, path: Path, entry: Callable[..., Entry]) -> Path:
    """A ledger of many pages, closed."""
    ledger.take_in("one", 10, [entry(k, record={"text": f"result {k} " + "x" * 300}) for k in range(300)])
    jobs = [Job("call", {"x": k}, {"x": k, "note": f"goal {k} " + "y" * 100}) for k in range(200)]
    ledger.remember("study", {"about": "it"}, Graph.of(jobs))
    ledger.close()
    return path


def used(path: Path) -> None:
    """Open a ledger as a run does, and read all of it."""
    ledger = Ledger(path, write=True)
    try:
        ledger.states()
        list(ledger.results())
        for name in ledger.experiments():
            ledger.goals(name)
        ledger.jobs()
    finally:
        ledger.close()


def test_the_large_ledger_is_whole(large: Path) -> None:
    used(large)
    assert large.stat().st_size > 40 * 4096


@pytest.mark.parametrize(
    ("at", "data"),
    [
        (0, b"\0" * 100),
        (0, b"garbage" * 20),
        (100, b"\xff" * 3996),
        (4096, b"\0" * 4096),
        (4096, os.urandom(4096)),
    ],
    ids=["header of zeros", "header of garbage", "schema", "page of zeros", "page of noise"],
)
def test_a_damaged_beginning_is_told_with_the_way_out(large: Path, at: int, data: bytes) -> None:
    overwrite(large, at, data)
    with pytest.raises(StoreError, match=r"is damaged .*seamripper store repair"):
        used(large)


@pytest.mark.parametrize("data", [b"\0" * 4096, b"\xff" * 4096, os.urandom(4096)], ids=["zeros", "ones", "noise"])
@pytest.mark.parametrize("text", [b"result 0 ", b"result 150 ", b"result 299 ", b"goal 100 "])
def test_a_damaged_page_anywhere_is_told_with_the_way_out(large: Path, text: bytes, data: bytes) -> None:
    overwrite(large, page_with(large, text), data)
    with pytest.raises(StoreError, match="seamripper store repair"):
        used(large)


@pytest.mark.parametrize("data", [b"Z", b"\xff", b"\0", b'"'])
@pytest.mark.parametrize("text", [b"result 150 ", b"goal 100 "])
def test_a_changed_byte_within_a_row_is_told_with_the_way_out(large: Path, text: bytes, data: bytes) -> None:
    """SQLite itself has no sums, and sees nothing wrong with such a page."""
    overwrite(large, large.read_bytes().find(text), data)
    assert asked(large, "PRAGMA integrity_check") == [("ok",)]
    with pytest.raises(StoreError, match="seamripper store repair"):
        used(large)


def test_a_ledger_that_was_cut_short(large: Path) -> None:
    os.truncate(large, large.stat().st_size // 2)
    with pytest.raises(StoreError, match=r"is damaged .*seamripper store repair"):
        used(large)
    os.truncate(large, 0)
    with pytest.raises(StoreError, match=r"is damaged .*seamripper store repair"):
        Ledger(large, write=False).states()


# ---- experiments and memory ----


def test_an_experiment_replaces_the_one_of_its_name(ledger: Ledger) -> None:
    one, two = (Job("call", {"x": k}, {"x": k}) for k in (1, 2))
    ledger.remember("study", {"about": "one"}, Graph.of([one]))
    ledger.remember("other", {"about": "both"}, Graph.of([one, two]))
    ledger.remember("study", {"about": "two"}, Graph.of([two, one]))
    assert ledger.experiments() == {"other": {"about": "both"}, "study": {"about": "two"}}
    assert ledger.goals("study") == [(two.key, {"x": 2}), (one.key, {"x": 1})]
    assert ledger.goals("other") == [(one.key, {"x": 1}), (two.key, {"x": 2})]
    assert ledger.jobs() == {job.key: ("call", {"x": k}, ()) for k, job in enumerate((one, two), 1)}


def test_answers_are_remembered(ledger: Ledger, path: Path) -> None:
    ledger.memo["question"] = {"answer": [1, 2.5, None]}
    other = Ledger(path, write=True)
    assert other.memo["question"] == {"answer": [1, 2.5, None]}
    assert list(other.memo) == ["question"]
    assert "another" not in other.memo
    del other.memo["question"]
    assert len(other.memo) == 0
    other.close()


# ---- claims ----

HOLD = """
import sys, time
from pathlib import Path
from seamripper.experiment.ledger import Ledger
ledger = Ledger(Path(sys.argv[1]), write=True)
ledger.begin(sys.argv[2], "study", {})
print(len(ledger.claim([f"{k:08x}" * 8 for k in range(20)], sys.argv[2])), flush=True)
time.sleep(60)
"""


def test_a_living_run_keeps_its_claims_and_an_ended_one_gives_them_back(ledger: Ledger) -> None:
    ledger.begin("one", "study", {})
    ledger.begin("two", "study", {})
    assert ledger.claim(KEYS[:2], "one") == KEYS[:2]
    assert ledger.claim(KEYS[:3], "two") == [KEYS[2]]
    assert ledger.claim(KEYS[:2], "one") == KEYS[:2]
    assert ledger.claims() == {KEYS[0]: "one", KEYS[1]: "one", KEYS[2]: "two"}
    ledger.release([KEYS[0], KEYS[2]], "one")
    assert ledger.claims() == {KEYS[1]: "one", KEYS[2]: "two"}
    ledger.end("one")
    assert ledger.living() == ["two"]
    assert ledger.claim(KEYS[:3], "two") == KEYS[:3]


def test_a_result_ends_the_claim_to_it(ledger: Ledger, entry: Callable[..., Entry]) -> None:
    ledger.begin("one", "study", {})
    ledger.claim([KEYS[1]], "one")
    ledger.take_in("one", 1, [entry(1)])
    assert ledger.claims() == {}
    assert ledger.claim([KEYS[1]], "one") == []


@pytest.mark.parametrize("reaped", [True, False], ids=["gone", "a zombie"])
def test_the_claims_of_a_killed_run_are_taken_over_at_once(
    ledger: Ledger, path: Path, started: Callable[..., Any], reaped: bool
) -> None:
    holder = started(path, "theirs", code=HOLD)
    assert holder.stdout.readline() == "20\n"
    ledger.begin("mine", "study", {})
    assert ledger.claim(KEYS, "mine") == []
    assert set(ledger.living()) == {"mine", "theirs"}
    holder.send_signal(signal.SIGKILL)
    # Its parent may not have taken note of its end; where nobody does, as in some containers, it never ends otherwise.
    os.waitid(os.P_PID, holder.pid, os.WEXITED | os.WNOWAIT)
    if reaped:
        holder.wait()
    assert ledger.living() == ["mine"]
    assert ledger.claim(KEYS, "mine") == KEYS


def test_a_run_whose_number_is_used_by_another_process_is_dead(ledger: Ledger, path: Path) -> None:
    ledger.begin("old", "study", {})
    ledger.claim(KEYS, "old")
    assert ledger.living() == ["old"]
    change(path, "UPDATE runs SET born = born - 1")
    assert ledger.living() == []
    ledger.begin("mine", "study", {})
    assert ledger.claim(KEYS, "mine") == KEYS


def test_a_run_on_another_machine_is_dead_when_it_has_been_silent_for_long(ledger: Ledger, path: Path) -> None:
    ledger.begin("far", "study", {})
    ledger.claim(KEYS, "far")
    ledger.begin("mine", "study", {})
    # A process of this number is nothing to them: what counts is the heartbeat.
    pid = 2**22 + 1
    change(path, "UPDATE runs SET host = 'elsewhere', pid = ?, beat = ? WHERE id = 'far'", pid, time.time() - 60)
    assert socket.gethostname() != "elsewhere"
    assert set(ledger.living()) == {"far", "mine"}
    assert ledger.claim(KEYS, "mine") == []
    change(path, "UPDATE runs SET beat = ? WHERE id = 'far'", time.time() - SILENCE - 1)
    assert ledger.living() == ["mine"]
    assert ledger.claim(KEYS, "mine") == KEYS


def test_a_heartbeat_keeps_a_run_on_another_machine_alive(ledger: Ledger, path: Path) -> None:
    ledger.begin("far", "study", {})
    change(path, "UPDATE runs SET host = 'elsewhere', beat = 0")
    assert ledger.living() == []
    ledger.beat("far")
    assert ledger.living() == ["far"]


def test_a_run_of_this_process_that_could_not_say_that_it_has_ended_is_not_waited_for(
    disk: Callable[..., Path], entry: Callable[..., Entry]
) -> None:
    place = disk(256 << 10)
    ledger = Ledger(place / "ledger.sqlite", write=True)
    ledger.begin("full", "study", {})
    ledger.claim(KEYS, "full")
    with pytest.raises(StoreError, match="disk is full"):
        fill(ledger, entry, [])
    with contextlib.suppress(OSError), (place / "filler").open("wb", buffering=0) as file:
        while True:
            file.write(b"x" * 4096)
    # Its log may have a little room left.
    with contextlib.suppress(StoreError):
        for _ in range(100):
            ledger.beat("full")
    with pytest.raises(StoreError, match="disk is full"):
        ledger.end("full")
    (place / "filler").unlink()
    ledger.close()
    again = Ledger(place / "ledger.sqlite", write=True)
    assert again.living() == []
    again.close()


CLAIM = """
import sys, time
from pathlib import Path
from seamripper.experiment.ledger import Ledger
ledger = Ledger(Path(sys.argv[1]), write=True)
ledger.begin(sys.argv[2], "study", {})
print("ready", flush=True)
sys.stdin.readline()
mine = [key for k in range(200) for key in ledger.claim([f"{k:064x}"], sys.argv[2])]
print(*mine, flush=True)
sys.stdin.readline()
"""


def test_of_two_runs_at_once_each_job_is_claimed_by_one(ledger: Ledger, path: Path) -> None:
    pipe = subprocess.PIPE
    words = [sys.executable, "-c", CLAIM, str(path)]
    both = [subprocess.Popen([*words, name], stdin=pipe, stdout=pipe, text=True) for name in ("one", "two")]
    assert [one.stdout.readline() for one in both if one.stdout] == ["ready\n"] * 2
    for one in both:
        assert one.stdin
        one.stdin.write("go\n")
        one.stdin.flush()
    first, second = ([*one.stdout.readline().split()] for one in both if one.stdout)
    for one in both:
        one.communicate("end\n")
    assert sorted(first + second) == [f"{k:064x}" for k in range(200)]


# ---- readers and processes ----

WRITE = """
import sys
from pathlib import Path
from seamripper.experiment.journal import Entry
from seamripper.experiment.ledger import Ledger
ledger = Ledger(Path(sys.argv[1]), write=True)
print("ready", flush=True)
for k in range(300):
    ledger.take_in("one", k, [Entry(f"{2 * k + j:064x}", "call", "done", {"k": k, "text": "x" * 500}) for j in (0, 1)])
"""


def test_any_number_may_read_while_one_writes(ledger: Ledger, path: Path, started: Callable[..., Any]) -> None:
    ledger.close()
    writer = started(path, code=WRITE)
    assert writer.stdout.readline() == "ready\n"
    readers = [Ledger(path, write=False) for _ in range(3)]
    seen = []
    while writer.poll() is None:
        for reader in readers:
            # Each sees what was finished at some moment: both of two that were entered together, and every sum right.
            found = list(reader.results())
            assert len(found) % 2 == 0
            seen.append(len(found))
    assert writer.returncode == 0
    assert len(set(seen)) > 5, "the readers looked too late to see anything grow"
    assert [len(reader.states()) for reader in readers] == [600] * 3
    for reader in readers:
        reader.close()


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
