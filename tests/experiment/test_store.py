"""Store: results that outlast killed runs, damaged tensors, full disks and read-only ones."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from seamripper.errors import StoreError
from seamripper.experiment import Experiment, Local, Store, plan, run
from seamripper.experiment.journal import Entry
from seamripper.experiment.ledger import SCHEMA, SILENCE
from seamripper.experiment.status import status


def ran(path: Path, store: Path, **more: Any) -> Any:
    return run(Experiment.read(path), store, engine=Local(1), **more)


def change(store: Path, sql: str, *values: object) -> None:
    db = sqlite3.connect(store / "ledger.sqlite")
    db.execute(sql, values)
    db.commit()
    db.close()


# ---- the folder ----


def test_a_store_is_made_where_there_is_none(tmp_path: Path) -> None:
    with Store(tmp_path / "deep" / "store", write=True) as store:
        assert repr(store) == f"Store({str(tmp_path / 'deep' / 'store')!r})"
        assert store.done() == store.failed() == frozenset()
    with Store(tmp_path / "deep" / "store") as store:
        assert list(store.results()) == []


def test_a_folder_that_is_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "one.jpg").write_text("mine")
    with pytest.raises(StoreError, match=r"Expected a folder for the store, but .*file is a file"):
        Store(tmp_path / "file", write=True)
    for write, advice in ((True, "choose a folder that is new"), (False, "give one that `seamripper run`, `demo`")):
        with pytest.raises(StoreError, match=f"photos is no store of seamripper's, and not empty: {advice}"):
            Store(tmp_path / "photos", write=write)
    with pytest.raises(StoreError, match=r"There is no store at .*nowhere"):
        Store(tmp_path / "nowhere")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "one.jpg", "photos"]


def test_a_store_that_cannot_be_made(tmp_path: Path, read_only: Callable[[Path], Path]) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(StoreError, match="cannot be made: Read-only file system"):
        Store(read_only(tmp_path / "empty") / "store", write=True)


# ---- journals and the ledger ----


def test_a_result_is_in_the_journal_and_in_the_ledger(tmp_path: Path, entry: Callable[..., Entry]) -> None:
    with Store(tmp_path / "store", write=True) as store, store.journal("run-1") as journal:
        store.enter(journal, entry(1))
        assert list(store.results()) == [entry(1)]
        assert journal.path.read_bytes() == entry(1).line()
        assert store.ledger.read() == {"run-1": journal.path.stat().st_size}
        assert store.take_in() == []


def test_what_a_dead_run_has_left_in_its_journal_is_taken_in_once(tmp_path: Path, entry: Callable[..., Entry]) -> None:
    with Store(tmp_path / "store", write=True) as store:
        with store.journal("run-1") as journal:
            journal.append(entry(1))
            journal.append(entry(2, state="failed", record={"error": "E", "message": "m", "traceback": "t"}))
        assert status(store)["waiting"] == ["the journal run-1 has results that wait to be collected"]
        assert store.take_in() == [entry(1).key, entry(2).key]
        assert store.take_in() == []
        assert (store.done(), store.failed()) == ({entry(1).key}, {entry(2).key})
        assert len(store.ledger.attempts()) == 2
        with store.journal("run-1") as journal:
            journal.append(entry(3))
        assert store.take_in() == [entry(3).key]
        assert status(store)["waiting"] == []


def test_a_living_run_tells_the_ledger_itself(tmp_path: Path, entry: Callable[..., Entry]) -> None:
    with Store(tmp_path / "store", write=True) as store:
        store.ledger.begin("run-1", "study", {})
        with store.journal("run-1") as journal:
            journal.append(entry(1))
            assert store.take_in() == []
            assert status(store)["waiting"] == []
        store.ledger.end("run-1")
        assert store.take_in() == [entry(1).key]


def test_damaged_and_torn_lines_cost_themselves_alone(tmp_path: Path, entry: Callable[..., Entry]) -> None:
    said: list[str] = []
    with Store(tmp_path / "store", write=True) as store:
        lines = [entry(k).line() for k in range(4)]
        (store.folder / "journals").mkdir()
        path = store.folder / "journals" / "run-1.jsonl"
        path.write_bytes(lines[0] + lines[1].replace(b"done", b"dune") + lines[2] + lines[3][:50])
        assert store.take_in(said.append) == [entry(0).key, entry(2).key]
        assert said == [
            f"{path}: a line that ends at byte {len(lines[0] + lines[1])} is damaged. "
            "It is passed over, and its job redone."
        ]
        assert store.take_in(said.append) == []
        assert len(said) == 1
        # Half a line is nothing that will ever be collected.
        assert status(store)["waiting"] == []


def test_helpers_without_their_tensors_are_no_results(tmp_path: Path, entry: Callable[..., Entry]) -> None:
    with Store(tmp_path / "store", write=True) as store:
        there = store.tensors.put(lambda path: path.write_bytes(b"x") and None)
        found = [
            entry(1, kind="activations", tensors={"activations": there}),
            entry(2, kind="activations", tensors={"activations": "ab" * 32}),
            entry(3, kind="train", tensors={"model": "cd" * 32}),
        ]
        with store.journal("run-1") as journal:
            for one in found:
                journal.append(one)
        assert store.take_in() == [found[0].key, found[2].key]


# ---- a study ----


def test_a_study_is_done_once_and_gone_on_with(
    study: Callable[..., Path], called: Callable[[], list[str]], tmp_path: Path
) -> None:
    store = tmp_path / "store"
    assert ran(study(x=[1, 2]), store).did == 2
    again = ran(study(x=[1, 2]), store)
    assert (again.did, again.before) == (0, 2)
    more = ran(study(x=[1, 2, 3]), store)
    assert (more.did, more.before) == (1, 2)
    assert called() == ["1/0", "2/0", "3/0"]


def test_a_failed_job_keeps_its_error_and_traceback_as_its_result(study: Callable[..., Path], tmp_path: Path) -> None:
    path, folder = study("picky", x=[1, 2, 3]), tmp_path / "store"
    done = ran(path, folder)
    assert len(done.failed) == 1
    with Store(folder) as store:
        entry = store.ledger.result(done.failed[0])
        assert entry is not None
        assert entry.state == "failed"
        assert "ValueError: two is not liked" in entry.record["message"]
        assert "mine.py" in entry.record["traceback"]
        assert "in picky" in entry.record["traceback"]
        assert store.failed() == {entry.key}
        assert len(store.done()) == 2
        (failure,) = status(store)["failures"]
        assert failure["traceback"] == entry.record["traceback"]
    # It is not tried again unless that is asked for, and does not outlast its mending.
    assert ran(path, folder).did == 0
    assert ran(path, folder, retry_failed=True).did == 1


def test_a_killed_run_loses_nothing_that_was_finished(
    study: Callable[..., Path],
    started: Callable[..., Any],
    called: Callable[[], list[str]],
    tmp_path: Path,
) -> None:
    path, store = study("slow", x=list(range(10))), tmp_path / "store"
    killed = started("run", path, "--store", store, "--workers", 1, "--quiet")
    while len(called()) < 4:
        assert killed.poll() is None
        time.sleep(0.01)
    killed.send_signal(signal.SIGKILL)
    # Not waited for: its claims are taken over though its parent has not noticed its end.
    os.waitid(os.P_PID, killed.pid, os.WEXITED | os.WNOWAIT)
    begun = time.monotonic()
    done = ran(path, store)
    assert time.monotonic() - begun < SILENCE, "it was not waited for"
    assert done.before >= 3
    assert done.did == 10 - done.before
    # At most the one that was being done is done twice.
    assert len(called()) <= 11


def test_a_second_run_joins_and_no_job_is_done_twice(
    study: Callable[..., Path],
    started: Callable[..., Any],
    called: Callable[[], list[str]],
    shell: Callable[..., Any],
    tmp_path: Path,
) -> None:
    path, store = study("together", x=list(range(16))), tmp_path / "store"
    both = [started("run", path, "--store", store, "--workers", 1, "--json") for _ in range(2)]
    # Readers meanwhile see whole results and no more of them than there are.
    while any(one.poll() is None for one in both):
        if (store / "ledger.sqlite").exists() and (store / "ledger.sqlite").stat().st_size > 4096:
            with Store(store) as reader:
                assert len(list(reader.results())) <= 16
    found = [json.loads(one.communicate()[0]) for one in both]
    assert sum(one["did"] for one in found) == 16
    assert all(one["did"] for one in found)
    assert all(one["did"] + one["elsewhere"] + one["before"] == 16 for one in found)
    assert sorted(called()) == sorted(f"{x}/0" for x in range(16))
    with Store(store) as reader:
        assert len(reader.done()) == 16
        assert reader.ledger.claims() == {}
        assert len(reader.ledger.runs()) == 2


def test_a_run_elsewhere_that_has_fallen_silent_is_taken_over(
    study: Callable[..., Path], called: Callable[[], list[str]], tmp_path: Path
) -> None:
    path, folder = study(x=[1, 2, 3]), tmp_path / "store"
    with Store(folder, write=True) as store:
        keys = list(plan(Experiment.read(path), store).graph.jobs)
        store.ledger.begin("far", "study", {})
        assert store.ledger.claim(keys[:2], "far") == keys[:2]
    change(folder, "UPDATE runs SET host = 'elsewhere', pid = 1, beat = ? WHERE id = 'far'", time.time() + SILENCE)
    waited = []

    def fall_silent(now: Any) -> None:
        # What it has claimed is waited for, until it counts as dead: only then is it taken over.
        if now.done == 1 and now.elsewhere == 2 and not waited:
            waited.append(called())
            change(folder, "UPDATE runs SET beat = ? WHERE id = 'far'", time.time() - SILENCE - 1)

    done = ran(path, folder, watch=fall_silent)
    assert done.did == 3
    assert waited == [["3/0"]]
    assert sorted(called()) == ["1/0", "2/0", "3/0"]


# ---- what may befall a store ----


def test_a_truncated_tensor_is_set_aside_and_recomputed_with_a_line_that_says_so(
    real: Path, rows: Callable[[Path], list[Any]]
) -> None:
    before = rows(real / "store")
    with Store(real / "store") as store:
        trained = [entry for entry in store.results() if entry.kind == "train"]
        name = trained[0].tensors["model"]
        path = store.tensors.path(name)
    whole = path.read_bytes()
    os.truncate(path, len(whole) // 2)
    said: list[str] = []
    done = ran(real / "more.toml", real / "store", announce=said.append)
    assert done.did == 2
    assert not done.failed
    (line,) = said
    assert line.startswith(f"The tensor {name[:12]} is damaged. It was set aside (")
    assert line.endswith("is done again.")
    assert "train net" in line
    (aside,) = (real / "store" / "damaged").iterdir()
    assert str(aside) in line
    assert aside.read_bytes() == whole[: len(whole) // 2]
    assert path.read_bytes() == whole
    after = rows(real / "store")
    assert set(before) < set(after)
    assert len(after) == len(before) + 1


def test_a_full_disk_stops_a_study_with_a_sentence_and_it_goes_on_where_it_was(
    study: Callable[..., Path],
    disk: Callable[..., Path],
    shell: Callable[..., Any],
    rows: Callable[[Path], list[Any]],
    tmp_path: Path,
) -> None:
    place, path = disk(400 << 10), study("long", x=list(range(1, 24)))
    full = shell("run", path, "--store", place / "store", "--workers", 1, "--quiet")
    assert full.code == 2
    assert "Traceback" not in full.err
    assert "No space left" in full.err or "disk is full" in full.err
    assert "What was finished before is kept. Free some space, and run it again" in full.err
    # What was finished is in the journals, whole, whether or not the ledger could still be told.
    room = tmp_path / "room"
    shutil.copytree(place / "store", room / "store")
    with Store(room / "store", write=True) as store:
        store.take_in()
        kept = {entry.key: entry.record for entry in store.results()}
    assert 5 < len(kept) < 23
    subprocess.run(["mount", "-o", "remount,size=4m", str(place)], check=True)
    more = shell("run", path, "--store", place / "store", "--workers", 1, "--json")
    assert more.code == 0, more.err
    with Store(place / "store") as store:
        after = {entry.key: entry.record for entry in store.results()}
        assert len(after) == 23
        assert kept.items() <= after.items()
        assert len(store.ledger.attempts()) == 23


def test_a_full_disk_does_not_hang_the_next_run_of_the_same_process(
    study: Callable[..., Path], disk: Callable[..., Path]
) -> None:
    place, path = disk(400 << 10), study("long", x=list(range(1, 24)))
    with pytest.raises(StoreError, match="Free some space, and run it again"):
        ran(path, place / "store")
    subprocess.run(["mount", "-o", "remount,size=4m", str(place)], check=True)
    done = ran(path, place / "store")
    assert done.before > 5
    assert done.did + done.before == 23


LIMITED = """
import resource, sys
from pathlib import Path
from seamripper.cli import main
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
main(["run", *sys.argv[1:]])
"""


def test_a_limit_on_files_stops_a_study_with_a_sentence(
    study: Callable[..., Path], tmp_path: Path, shell: Callable[..., Any]
) -> None:
    path, store = study("long", x=list(range(1, 24))), tmp_path / "store"
    words = [sys.executable, "-c", LIMITED, str(path), "--store", str(store), "--workers", "1", "--quiet"]
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert "What was finished before is kept." in done.stderr
    with Store(store, write=True) as kept:
        kept.take_in()
        before = len(kept.done())
    assert before > 3
    more = ran(path, store)
    assert (more.before, more.did) == (before, 23 - before)


def test_a_full_disk_in_the_middle_of_a_training_is_no_failure_of_the_job(
    real: Path, disk: Callable[..., Path], rows: Callable[[Path], list[Any]]
) -> None:
    """Tensors are written by workers: theirs, too, is a full disk and not a failed job."""
    used = sum(path.stat().st_size for path in (real / "store").rglob("*") if path.is_file())
    place = disk(used + (200 << 10))
    shutil.copytree(real / "store", place / "store")
    before = rows(place / "store")
    with (place / "filler").open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 4096)
        except OSError:
            file.truncate((place / "filler").stat().st_size - (48 << 10))
    with pytest.raises(StoreError, match="What was finished before is kept"):
        ran(real / "more.toml", place / "store")
    (place / "filler").unlink()
    assert not [path for path in (place / "store" / "tensors").iterdir() if path.is_file()]
    assert rows(place / "store") == before


def test_a_read_only_store_is_read_and_not_run(
    study: Callable[..., Path], shell: Callable[..., Any], read_only: Callable[[Path], Path], tmp_path: Path
) -> None:
    ran(study(x=[1, 2]), tmp_path / "store")
    store = read_only(tmp_path / "store")
    refused = shell("run", study(x=[1, 2, 3]), "--store", store)
    assert refused.code == 2
    assert "cannot be written here" in refused.err
    assert "It can be read: `seamripper status`, `seamripper results`." in refused.err
    assert "Traceback" not in refused.err
    read = shell("results", store, "--json")
    assert read.code == 0, read.err
    assert '"double"' in read.out
    assert shell("status", store, "--json").code == 0
    assert shell("store", "check", store).code == 0
    assert shell("store", "gc", store).code == 2


def test_a_store_of_a_newer_version_is_refused_and_not_changed(
    study: Callable[..., Path], shell: Callable[..., Any], tmp_path: Path
) -> None:
    path, store = study(x=[1]), tmp_path / "store"
    ran(path, store)
    change(store, f"PRAGMA user_version = {SCHEMA + 1}")
    before = {path: path.read_bytes() for path in store.rglob("*") if path.is_file()}
    assert len(before) == 2
    for words in (
        ["run", path, "--store", store],
        ["status", store],
        ["results", store],
        ["collect", store],
        *(["store", word, store] for word in ("check", "gc", "repair")),
    ):
        done = shell(*words)
        assert done.code == 2, words
        assert f"was written by a newer seamripper (its format is {SCHEMA + 1}" in done.err, words
        assert "Upgrade seamripper" in done.err
    assert {path: path.read_bytes() for path in before} == before
    assert not (store / "damaged").exists()
