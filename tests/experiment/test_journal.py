"""Journals: lines that are whole or known not to be, whatever happens to their writers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from seamripper.errors import StoreError
from seamripper.experiment.journal import Journal, Journals, open_line, result_line, sealed_line
from seamripper.experiment.result import Result

APPEND = """
import sys, time
from pathlib import Path
from seamripper.experiment.journal import Journal, result_line
from seamripper.experiment.result import Result
journal = Journal(Path(sys.argv[1]))
print("ready", flush=True)
for k in range(int(sys.argv[2]), int(sys.argv[3])):
    journal.append(result_line(Result(f"{k:064x}", "call", "done", {"text": "x" * 2000, "k": k})))
    time.sleep(float(sys.argv[4]))
journal.close()
"""


def write(path: Path, *results: Result) -> None:
    journal = Journal(path)
    for result in results:
        journal.append(result_line(result))
    journal.close()


def read(folder: Path) -> Journals:
    journals = Journals(folder)
    journals.refresh()
    return journals


def results(journals: Journals) -> list[Result]:
    """The results that stand, in the order in which they were read."""
    lines = [line for key in journals.lines if (line := journals.standing(key)) is not None]
    found = [journals.result(line) for line in lines]
    journals.close()
    return found


def test_what_is_appended_is_read_back_at_once(tmp_path: Path, result: Callable[..., Result]) -> None:
    wanted = [
        result(1, tensors={"model": "ab" * 32}, seconds=0.1 + 0.2, started=1e9, worker="local-1", run="run-1"),
        result(2, record={"text": 'zwei ü 😀 \n \\ "', "none": None, "list": [1, 2.5, True]}),
        result(3, state="failed", record={"error": "ValueError", "message": "no", "traceback": "a\nb\n"}),
    ]
    path = tmp_path / "new" / "one.jsonl"
    write(path, *wanted[:2])
    journals = read(path.parent)
    assert results(journals) == wanted[:2]
    write(path, wanted[2])
    journals.refresh()
    assert results(journals) == wanted
    assert all(json.loads(line) for line in path.read_text().splitlines())
    assert not journals.damage


def test_no_byte_of_a_line_can_be_changed_unseen(result: Callable[..., Result]) -> None:
    line = result_line(result(7, record={"value": 0.125, "word": "ü"}, tensors={"a": "b"}, seconds=1.5))
    assert open_line(line) is not None
    for at in range(len(line)):
        for bit in (1, 2, 32):
            changed = bytearray(line)
            changed[at] ^= bit
            assert open_line(bytes(changed)) is None, bytes(changed)


@pytest.mark.parametrize("line", [b"{}\n", b"[1]\n", b"null\n", b"\xff\xfe\n", b'["0",{},{}]\n', sealed_line({}, {})])
def test_a_line_of_something_else_is_a_damaged_one(tmp_path: Path, line: bytes) -> None:
    (tmp_path / "one.jsonl").write_bytes(line)
    assert read(tmp_path).damage == [("one", 0, len(line))]


@pytest.mark.parametrize(
    "lie",
    [
        {"key": 5},
        {"kind": None},
        {"state": "well"},
        {"record": 3},
        {"state": "failed", "record": {}},
        {"tensors": {"model": 5}},
        {"tensors": "model"},
        {"seconds": "long"},
        {"worker": ["a"]},
    ],
    ids=str,
)
def test_a_sealed_line_that_holds_no_result_is_a_damaged_one(
    tmp_path: Path, result: Callable[..., Result], lie: dict[str, Any]
) -> None:
    facts = {**vars(result(1)), **lie}
    facts.pop("labels")
    record = facts.pop("record")
    (tmp_path / "one.jsonl").write_bytes(sealed_line(facts, record))
    journals = read(tmp_path)
    assert (journals.lines, len(journals.damage)) == ({}, 1)


def test_damaged_and_torn_lines_cost_themselves_alone(tmp_path: Path, result: Callable[..., Result]) -> None:
    lines = [result_line(result(k)) for k in range(3)]
    path = tmp_path / "one.jsonl"
    path.write_bytes(lines[0] + lines[1].replace(b'"number":1', b'"number":9') + lines[2])
    journals = read(tmp_path)
    assert results(journals) == [result(0), result(2)]
    assert journals.damage == [("one", len(lines[0]), len(lines[0] + lines[1]))]
    for at in range(1, len(lines[1])):
        path.write_bytes(lines[0] + lines[1][:at])
        # Somebody may still be writing it: it is neither a result nor damaged.
        journals = read(tmp_path)
        assert (results(journals), journals.damage) == ([result(0)], [])
    path.write_bytes(lines[0] + lines[1][:20])
    write(path, result(2))
    journals = read(tmp_path)
    assert (results(journals), len(journals.damage)) == ([result(0), result(2)], 1)
    # One that lacks nothing but its end is not lost.
    path.write_bytes(lines[0][:-1])
    write(path, result(2))
    assert results(read(tmp_path)) == [result(0), result(2)]


def test_a_done_result_beats_a_failed_one_and_the_first_done_one_stands(
    tmp_path: Path, result: Callable[..., Result]
) -> None:
    failed = result(1, state="failed", record={"error": "E", "message": "m"}, started=1.0)
    first, second = result(1, started=5.0, seconds=1.0), result(1, started=3.0, seconds=9.0)
    for order in ((failed, first, second), (second, failed, first), (first, second, failed)):
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        for number, one in enumerate(order):
            write(folder / f"run-{number}.jsonl", one)
        assert results(read(folder)) == [first]


def test_a_result_is_taken_back_whatever_is_read_first(tmp_path: Path, result: Callable[..., Result]) -> None:
    line = result_line(result(1))
    write(tmp_path / "b.jsonl", result(1), result(2))
    parts = open_line(line)
    assert parts is not None
    Journal(tmp_path / "a.jsonl").append(sealed_line({"takes_back": parts[0]}, {}))
    assert results(read(tmp_path)) == [result(2)]
    (tmp_path / "a.jsonl").rename(tmp_path / "c.jsonl")
    assert results(read(tmp_path)) == [result(2)]
    again = result(1, started=1.0)
    write(tmp_path / "d.jsonl", again)
    assert sorted(one.key for one in results(read(tmp_path))) == [again.key, result(2).key]


def test_a_result_that_was_changed_since_it_was_first_read_is_not_given_out(
    tmp_path: Path, result: Callable[..., Result]
) -> None:
    path = tmp_path / "one.jsonl"
    write(path, result(1))
    journals = read(tmp_path)
    path.write_bytes(path.read_bytes().replace(b'"number":1', b'"number":9'))
    said = f"{result(1).key[:12]} in the journal one .*it was changed since .*computed again"
    with pytest.raises(StoreError, match=said):
        results(journals)


def test_a_writer_that_is_killed_has_written_whole_lines(tmp_path: Path, started: Callable[..., Any]) -> None:
    path = tmp_path / "journals" / "one.jsonl"
    path.parent.mkdir()
    path.touch()
    for turn in range(3):
        writer = started(path, turn * 10**6, (turn + 1) * 10**6, 0, code=APPEND)
        assert writer.stdout.readline() == "ready\n"
        before = path.stat().st_size
        while path.stat().st_size < before + 100_000:
            pass
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        journals = read(path.parent)
        numbers = [one.record["k"] for one in results(journals)]
        mine = [k for k in numbers if k >= turn * 10**6]
        assert mine == list(range(turn * 10**6, turn * 10**6 + len(mine)))
        assert len(mine) > 40
        assert len(journals.damage) <= turn


@pytest.mark.slow
def test_any_number_may_read_while_others_write(tmp_path: Path, started: Callable[..., Any]) -> None:
    """Without a lock; each reader sees whole lines and nothing else, two writers to one file included."""
    path = tmp_path / "journals" / "one.jsonl"
    both = [started(path, k * 200, (k + 1) * 200, 0.005, code=APPEND) for k in range(2)]
    readers, seen = [Journals(path.parent) for _ in range(2)], set[int]()
    while any(writer.poll() is None for writer in both):
        for reader in readers:
            reader.refresh()
            assert not reader.damage
            seen.add(len(reader.lines))
    assert [writer.returncode for writer in both] == [0, 0]
    assert len(seen) > 5, "the readers looked too late to see anything grow"
    for reader in readers:
        reader.refresh()
        assert sorted(one.record["k"] for one in results(reader)) == list(range(400))


LIMITED = """
import resource, sys
from pathlib import Path
from seamripper.errors import StoreError
from seamripper.experiment.journal import Journal, result_line
from seamripper.experiment.result import Result
path = Path(sys.argv[1])
journal = Journal(path)
journal.append(result_line(Result("1", "call", "done", {"text": "x" * 1000})))
size = path.stat().st_size
resource.setrlimit(resource.RLIMIT_FSIZE, (size + 100, resource.RLIM_INFINITY))
try:
    journal.append(result_line(Result("2", "call", "done", {"text": "x" * 1000})))
except StoreError as e:
    print(e)
assert path.stat().st_size == size, "a piece was left"
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
journal.append(result_line(Result("3", "call", "done", {})))
"""


def test_what_could_not_be_written_whole_is_taken_back(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    done = subprocess.run([sys.executable, "-c", LIMITED, path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert f"{path} could not be written: File too large. What was finished before is kept" in done.stdout
    assert [one.key for one in results(read(tmp_path))] == ["1", "3"]


def test_a_full_disk(disk: Callable[..., Path], result: Callable[..., Result]) -> None:
    def fill(journal: Journal) -> None:
        for k in range(1000):
            journal.append(result_line(result(k, record={"text": "x" * 1000})))

    place = disk(64 << 10)
    journal = Journal(place / "one.jsonl")
    with pytest.raises(StoreError, match=r"No space left on device. What was finished before is kept. Free some space"):
        fill(journal)
    journals = read(place)
    assert (len(results(journals)) > 30, journals.damage) == (True, [])
    journal.close()


def test_a_journal_that_cannot_be_opened(tmp_path: Path, read_only: Callable[[Path], Path]) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"could not be written: (Not a directory|File exists)"):
        Journal(tmp_path / "file" / "one.jsonl").append(b"")
    (tmp_path / "folder").mkdir()
    with pytest.raises(StoreError, match="cannot be written here: Read-only file system"):
        Journal(read_only(tmp_path / "folder") / "one.jsonl").append(b"")


def test_links_and_pipes_are_no_journals(tmp_path: Path, result: Callable[..., Result]) -> None:
    write(tmp_path / "elsewhere" / "one.jsonl", result(1))
    folder = tmp_path / "journals"
    folder.mkdir()
    os.mkfifo(folder / "pipe.jsonl")
    (folder / "link.jsonl").symlink_to(tmp_path / "elsewhere" / "one.jsonl")
    journals = read(folder)
    assert (journals.lines, journals.damage) == ({}, [])


def test_it_is_synced_when_it_is_closed(tmp_path: Path, result: Callable[..., Result]) -> None:
    synced: list[str] = []

    def look(_: object, event: str, argument: Any) -> None:
        if event == "c_call" and argument is os.fsync:
            synced.append("fsync")

    journal = Journal(tmp_path / "one.jsonl")
    journal.append(result_line(result(1)))
    sys.setprofile(look)
    journal.close()
    sys.setprofile(None)
    assert synced == ["fsync"]
