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
from seamripper.experiment.job import canonical
from seamripper.experiment.journal import Entry, Journal, _seal, entries

APPEND = """
import sys
from pathlib import Path
from seamripper.experiment.journal import Entry, Journal
with Journal(Path(sys.argv[1])) as journal:
    print("ready", flush=True)
    for k in range(int(sys.argv[2]), int(sys.argv[3])):
        journal.append(Entry(f"{k:064x}", "call", "done", {"text": "x" * 2000, "k": k}))
"""


def whole(path: Path) -> list[Entry | None]:
    return [entry for _, entry in entries(path)]


def test_what_is_appended_is_read_back(tmp_path: Path, entry: Callable[..., Entry]) -> None:
    wanted = [
        entry(1, tensors={"model": "ab" * 32}, seconds=0.1 + 0.2, started=1e9, worker="local-1", run="run-1"),
        entry(2, record={"text": 'zwei ü 😀 \n \\ "', "none": None, "list": [1, 2.5, True]}),
        entry(3, state="failed", record={"error": "ValueError", "message": "no", "traceback": "a\nb\n"}),
    ]
    path = tmp_path / "new" / "folder" / "one.jsonl"
    with Journal(path) as journal:
        for one in wanted:
            journal.append(one)
        # The next reader has it at once, not only when the writer has ended.
        assert whole(path) == wanted
    assert whole(path) == wanted
    assert all(json.loads(line) for line in path.read_text().splitlines())


def test_a_journal_is_appended_to_and_never_written_over(tmp_path: Path, entry: Callable[..., Entry]) -> None:
    path = tmp_path / "one.jsonl"
    for k in range(3):
        with Journal(path) as journal:
            journal.append(entry(k))
    assert whole(path) == [entry(0), entry(1), entry(2)]


def test_a_reader_goes_on_from_where_it_was(tmp_path: Path, entry: Callable[..., Entry]) -> None:
    path = tmp_path / "one.jsonl"
    with Journal(path) as journal:
        journal.append(entry(1))
        ((end, first),) = entries(path)
        assert first == entry(1)
        assert end == path.stat().st_size
        assert list(entries(path, end)) == []
        journal.append(entry(2))
        assert [one for _, one in entries(path, end)] == [entry(2)]


def test_no_byte_of_a_line_can_be_changed_unseen(entry: Callable[..., Entry]) -> None:
    one = entry(7, record={"value": 0.125, "word": "\u00fc"}, tensors={"a": "b"}, seconds=1.5)
    line = one.line()
    for at in range(len(line) - 1):
        for bit in (1, 2, 32):
            changed = bytearray(line)
            changed[at] ^= bit
            # `\\u00fC` for `\\u00fc` is another way to write the same: nothing was changed.
            assert Entry.parse(bytes(changed)) in (None, one), bytes(changed)
    assert Entry.parse(line) == one


@pytest.mark.parametrize("line", [b"", b"{}", b"[1]", b"null", b"\xff\xfe", b'{"entry":{"key":1},"seal":"0"}'])
def test_a_line_of_something_else_is_a_damaged_one(line: bytes) -> None:
    assert Entry.parse(line) is None


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
def test_a_line_whose_seal_is_right_and_whose_result_is_none(entry: Callable[..., Entry], lie: dict[str, Any]) -> None:
    text = canonical({**vars(entry(1)), **lie})
    line = f'{{"entry":{text},"seal":"{_seal(text)}"}}\n'
    assert Entry.parse(line.encode()) is None


def test_a_damaged_line_in_the_middle_costs_itself_alone(tmp_path: Path, entry: Callable[..., Entry]) -> None:
    path = tmp_path / "one.jsonl"
    lines = [entry(k).line() for k in range(3)]
    path.write_bytes(lines[0] + lines[1].replace(b'"number":1', b'"number":9') + lines[2])
    assert whole(path) == [entry(0), None, entry(2)]


def test_a_line_that_is_torn_anywhere_is_left_out_and_ended_by_the_next_writer(
    tmp_path: Path, entry: Callable[..., Entry]
) -> None:
    first, torn = entry(1).line(), entry(2).line()
    path = tmp_path / "one.jsonl"
    for at in range(1, len(torn)):
        path.write_bytes(first + torn[:at])
        # Somebody may still be writing it: it is neither an entry nor damaged.
        assert whole(path) == [entry(1)]
    path.write_bytes(first + torn[:20])
    with Journal(path) as journal:
        journal.append(entry(3))
    assert whole(path) == [entry(1), None, entry(3)]


def test_a_line_that_lacks_nothing_but_its_end_is_not_lost(tmp_path: Path, entry: Callable[..., Entry]) -> None:
    path = tmp_path / "one.jsonl"
    path.write_bytes(entry(1).line()[:-1])
    with Journal(path) as journal:
        journal.append(entry(2))
    assert whole(path) == [entry(1), entry(2)]


def test_a_writer_that_is_killed_has_written_whole_lines(tmp_path: Path, started: Callable[..., Any]) -> None:
    path = tmp_path / "one.jsonl"
    for turn in range(3):
        writer = started(path, turn * 10**6, (turn + 1) * 10**6, code=APPEND)
        assert writer.stdout.readline() == "ready\n"
        before = path.stat().st_size
        while path.stat().st_size < before + 100_000:
            pass
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        found = whole(path)
        assert None not in found[-40:]
        mine = [one.record["k"] for one in found if one is not None and one.record["k"] >= turn * 10**6]
        assert mine == list(range(turn * 10**6, turn * 10**6 + len(mine)))
        assert len(mine) > 40


def test_two_writers_at_once_do_not_tear_each_others_lines(tmp_path: Path, started: Callable[..., Any]) -> None:
    path = tmp_path / "one.jsonl"
    both = [started(path, k * 400, (k + 1) * 400, code=APPEND) for k in range(2)]
    # A reader meanwhile sees whole lines and nothing else.
    while any(one.poll() is None for one in both):
        assert not path.exists() or None not in whole(path)
    assert [one.returncode for one in both] == [0, 0]
    assert sorted(one.record["k"] for one in whole(path) if one is not None) == list(range(800))


def test_a_line_that_another_is_writing_is_not_ended_for_it(
    tmp_path: Path, entry: Callable[..., Entry], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other writer ends its line in the moment that is waited."""
    path, line = tmp_path / "one.jsonl", entry(1).line()
    path.write_bytes(line[:20])

    def meanwhile(_: float) -> None:
        with path.open("ab") as file:
            file.write(line[20:])

    monkeypatch.setattr("seamripper.experiment.journal.time.sleep", meanwhile)
    with Journal(path) as journal:
        journal.append(entry(2))
    assert path.read_bytes() == line + entry(2).line()


LIMITED = """
import resource, sys
from pathlib import Path
from seamripper.errors import StoreError
from seamripper.experiment.journal import Entry, Journal
path = Path(sys.argv[1])
with Journal(path) as journal:
    journal.append(Entry("1", "call", "done", {"text": "x" * 1000}))
    size = path.stat().st_size
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 100, resource.RLIM_INFINITY))
    try:
        journal.append(Entry("2", "call", "done", {"text": "x" * 1000}))
    except StoreError as e:
        print(e)
    assert path.stat().st_size == size, "a piece was left"
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    journal.append(Entry("3", "call", "done", {}))
"""


def test_what_could_not_be_written_whole_is_taken_back(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    done = subprocess.run([sys.executable, "-c", LIMITED, path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert f"The journal {path} could not be written: File too large" in done.stdout
    assert "What was finished before is kept" in done.stdout
    assert [one.key for one in whole(path) if one is not None] == ["1", "3"]


def test_a_full_disk(disk: Callable[..., Path], entry: Callable[..., Entry]) -> None:
    def fill(journal: Journal) -> None:
        for k in range(1000):
            journal.append(entry(k, record={"text": "x" * 1000}))

    place = disk(64 << 10)
    with Journal(place / "one.jsonl") as journal:
        with pytest.raises(StoreError, match=r"No space left on device. What was finished before is kept") as told:
            fill(journal)
        assert "Free some space, and run it again" in str(told.value)
        kept = whole(journal.path)
        assert len(kept) > 30
        assert None not in kept
        (place / "one.jsonl").rename(place / "two.jsonl")
    assert whole(place / "two.jsonl") == kept


def test_a_journal_that_cannot_be_opened_or_read(tmp_path: Path, read_only: Callable[[Path], Path]) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"cannot be written: (Not a directory|File exists)"):
        Journal(tmp_path / "file" / "one.jsonl")
    with pytest.raises(StoreError, match="cannot be read: No such file"):
        list(entries(tmp_path / "none.jsonl"))
    (tmp_path / "folder").mkdir()
    with pytest.raises(StoreError, match="cannot be written: Read-only file system"):
        Journal(read_only(tmp_path / "folder") / "one.jsonl")


def test_it_is_synced_when_it_is_closed(tmp_path: Path, entry: Callable[..., Entry]) -> None:
    synced: list[str] = []

    def look(_: object, event: str, argument: Any) -> None:
        if event == "c_call" and argument is os.fsync:
            synced.append("fsync")

    with Journal(tmp_path / "one.jsonl") as journal:
        journal.append(entry(1))
        sys.setprofile(look)
    sys.setprofile(None)
    assert synced == ["fsync"]
