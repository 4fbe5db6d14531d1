"""Store: results that outlast killed runs, damaged tensors, full disks and read-only ones."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from seamripper.errors import StoreError
from seamripper.experiment import Experiment, Local, Store, plan, run
from seamripper.experiment.job import Graph, Job
from seamripper.experiment.reading import status
from seamripper.experiment.result import Result
from seamripper.experiment.runs import SILENCE
from seamripper.experiment.store import FORMAT
from seamripper.experiment.upkeep import check, gc


def ran(path: Path, store: Path, **more: Any) -> Any:
    return run(Experiment.read(path), store, engine=Local(1), **more)


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
        with pytest.raises(StoreError, match=f"photos is not a store of seamripper, and it is not empty: {advice}"):
            Store(tmp_path / "photos", write=write)
    with pytest.raises(StoreError, match=r"There is no store at .*nowhere"):
        Store(tmp_path / "nowhere")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "one.jpg", "photos"]


def test_a_store_that_cannot_be_made(tmp_path: Path, read_only: Callable[[Path], Path]) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(StoreError, match="cannot be made: Read-only file system"):
        Store(read_only(tmp_path / "empty") / "store", write=True)


def test_a_store_whose_making_was_killed_is_made_again(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    folder.mkdir()
    (folder / ".store.json.host-1-ab.tmp").write_text("{")
    with pytest.raises(StoreError, match="There is no store at"):
        Store(folder)
    Store(folder, write=True).close()
    assert json.loads((folder / "store.json").read_text()) == {"format": FORMAT}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (f'{{"format": {FORMAT + 1}}}', f"a newer seamripper .its format is {FORMAT + 1}.*Upgrade seamripper"),
        ('{"format": 1}', "an older seamripper .its format is 1.*run the study again with another --store"),
        (None, "an older seamripper .its format is 1.*run the study again with another --store"),
        ('{"form', 'store.json is damaged: expected ."format": 2'),
    ],
    ids=["newer", "older", "of SQLite", "damaged"],
)
def test_a_store_of_another_format_is_refused_and_not_changed(
    study: Callable[..., Path], tmp_path: Path, text: str | None, sentence: str
) -> None:
    path, store = study(x=[1]), tmp_path / "store"
    ran(path, store)
    if text is None:
        (store / "store.json").unlink()
        (store / "ledger.sqlite").write_text("as it was before")
    else:
        (store / "store.json").write_text(text)
    before = {path: path.read_bytes() for path in store.rglob("*") if path.is_file()}
    for use in (ran, lambda _, folder: Store(folder), lambda _, folder: check(folder), lambda _, folder: gc(folder)):
        with pytest.raises(StoreError, match=sentence):
            use(path, store)
    assert {path: path.read_bytes() for path in store.rglob("*") if path.is_file()} == before


# ---- results, experiments, memory ----


def test_a_result_is_seen_by_every_other_store_at_once(tmp_path: Path, result: Callable[..., Result]) -> None:
    with Store(tmp_path / "store", write=True) as store, Store(tmp_path / "store") as reader:
        store.enter(result(1))
        failed = result(2, state="failed", record={"error": "E", "message": "m", "traceback": "t"})
        store.enter(failed)
        assert (store.done(), store.failed()) == ({result(1).key}, {failed.key})
        assert list(reader.results()) == []
        reader.refresh()
        assert list(reader.results()) == [result(1), failed]
        store.forget([failed.key])
        reader.refresh()
        assert reader.states() == {result(1).key: "done"}
        assert len(reader.attempts()) == 2
        with pytest.raises(StoreError, match="is open for reading"):
            reader.enter(result(3))


def test_damaged_and_torn_lines_are_told_once_and_cost_themselves_alone(
    study: Callable[..., Path], called: Callable[[], list[str]], tmp_path: Path
) -> None:
    path, folder, said = study(x=[1, 2, 3]), tmp_path / "store", list[str]()
    ran(path, folder)
    (journal,) = (folder / "journals").iterdir()
    data = journal.read_bytes().replace(b'"double":4', b'"double":5')
    journal.write_bytes(data + b'["half a line')
    planned = plan(Experiment.read(path), folder)
    assert (len(planned.damage), len(planned.needed)) == (1, 1)
    done = ran(path, folder, announce=said.append)
    assert (done.did, done.before) == (1, 2)
    end = len(b"".join(data.splitlines(keepends=True)[:2]))
    assert said == [
        f"The journal {journal.stem} of {folder}: the line that ends at byte {end} is damaged. It is passed over, and "
        "its job is done again."
    ]
    assert called() == ["1/0", "2/0", "3/0", "2/0"]
    with Store(folder) as store:
        assert status(store)["damage"] == said
        assert len(store.done()) == 3


def test_helpers_without_their_tensors_are_no_results(tmp_path: Path, result: Callable[..., Result]) -> None:
    with Store(tmp_path / "store", write=True) as store:
        there = store.tensors.put(lambda path: path.write_bytes(b"x") and None)
        store.enter(result(1, kind="activations", tensors={"activations": there}))
        store.enter(result(2, kind="activations", tensors={"activations": "ab" * 32}))
        store.enter(result(3, kind="train", tensors={"model": "cd" * 32}))
        assert store.states() == {result(1).key: "done", result(3).key: "done"}
        assert store.helpers() == {result(1).key: [there]}
        store.tensors.drop(there)
        assert store.result(result(1).key) is None


def test_an_experiment_replaces_the_one_of_its_name(tmp_path: Path) -> None:
    one, two = (Job("call", {"x": k}, {"x": k}) for k in (1, 2))
    names = ("study", "a/../b <&> %2f", "long" * 100, "\udc80")
    with Store(tmp_path / "store", write=True) as store:
        store.remember("study", {"about": "one"}, Graph.of([one]))
        for name in names[1:]:
            store.remember(name, {"about": "both"}, Graph.of([one, two]))
        store.remember("study", {"about": "two"}, Graph.of([two, one]))
        before = {path: path.stat().st_mtime_ns for path in store.experiment_files()}
        store.remember("study", {"about": "two"}, Graph.of([two, one]))
        assert {path: path.stat().st_mtime_ns for path in store.experiment_files()} == before
        assert store.experiments() == {**{name: {"about": "both"} for name in names}, "study": {"about": "two"}}
        assert store.goals("study") == [(two.key, {"x": 2}), (one.key, {"x": 1})]
        assert store.goals(names[1]) == [(one.key, {"x": 1}), (two.key, {"x": 2})]
        assert store.contents(names[2]) == {one.key: {"x": 1}, two.key: {"x": 2}}
    assert len(before) == 4
    assert {path.parent for path in tmp_path.rglob("*.json")} == {tmp_path / "store", tmp_path / "store/experiments"}


def test_a_changed_byte_of_an_experiment_is_told_and_its_next_run_sets_it_right(
    study: Callable[..., Path], tmp_path: Path
) -> None:
    path, folder = study(x=[1, 2, 3]), tmp_path / "store"
    ran(path, folder)
    (file,) = (folder / "experiments").iterdir()
    whole = file.read_bytes()
    for damaged in (whole.replace(b'"x":2', b'"x":7', 1), whole[:-9], b""):
        file.write_bytes(damaged)
        with Store(folder) as store, pytest.raises(StoreError, match=r"was changed or damaged: .*Run its study again"):
            status(store)
        assert ran(path, folder).did == 0
        assert file.read_bytes() == whole


def test_answers_are_remembered(tmp_path: Path) -> None:
    with Store(tmp_path / "store", write=True) as store, Store(tmp_path / "store", write=True) as other:
        store.memo["question"] = {"answer": [1, 2.5, None]}
        other.memo["another"] = True
        assert store.memo["question"] == {"answer": [1, 2.5, None]}
    memo = tmp_path / "store" / "memo.jsonl"
    with Store(tmp_path / "store") as store:
        assert dict(store.memo) == {"question": {"answer": [1, 2.5, None]}, "another": True}
        store.memo["third"] = 3
    memo.write_bytes(memo.read_bytes().replace(b"2.5", b"3.5"))
    with Store(tmp_path / "store") as store:
        assert dict(store.memo) == {"another": True}


def test_a_reader_makes_and_changes_nothing(study: Callable[..., Path], tmp_path: Path) -> None:
    ran(study(x=[1, 2]), tmp_path / "store")
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "store").rglob("*")}
    with Store(tmp_path / "store") as store:
        assert status(store)["experiments"][0]["done"] == 2
        assert len(list(store.results())) == 2
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "store").rglob("*")} == before


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
        result = store.result(done.failed[0])
        assert result is not None
        assert result.state == "failed"
        assert "ValueError: two is not liked" in result.record["message"]
        assert "mine.py" in result.record["traceback"]
        assert "in picky" in result.record["traceback"]
        assert store.failed() == {result.key}
        assert len(store.done()) == 2
        (failure,) = status(store)["failures"]
        assert failure["traceback"] == result.record["traceback"]
    # It is not tried again unless that is asked for, and does not outlast its mending.
    assert ran(path, folder).did == 0
    assert ran(path, folder, retry_failed=True).did == 1


@pytest.mark.slow
def test_a_killed_run_loses_nothing_that_was_finished(
    study: Callable[..., Path],
    started: Callable[..., Any],
    called: Callable[[], list[str]],
    tmp_path: Path,
) -> None:
    path, store = study("slow", x=list(range(10))), tmp_path / "store"
    killed = started("run", path, "--store", store, "--engine", "local?workers=1", "--quiet")
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


@pytest.mark.slow
def test_a_second_run_joins_and_no_job_is_done_twice(
    study: Callable[..., Path],
    started: Callable[..., Any],
    called: Callable[[], list[str]],
    shell: Callable[..., Any],
    tmp_path: Path,
) -> None:
    path, store = study("together", x=list(range(16))), tmp_path / "store"
    both = [started("run", path, "--store", store, "--engine", "local?workers=1", "--json") for _ in range(2)]
    # Readers meanwhile see whole results and no more of them than there are.
    while any(one.poll() is None for one in both):
        if (store / "store.json").exists():
            with Store(store) as reader:
                assert len(list(reader.results())) <= 16
                assert not reader.damage
    found = [json.loads(one.communicate()[0]) for one in both]
    assert sum(one["did"] for one in found) == 16
    assert all(one["did"] for one in found)
    assert all(one["did"] + one["elsewhere"] + one["before"] == 16 for one in found)
    assert sorted(called()) == sorted(f"{x}/0" for x in range(16))
    with Store(store) as reader:
        assert len(reader.done()) == 16
        assert reader.runs.claims() == {}
        assert len(reader.runs.all()) == 2


def test_a_run_elsewhere_that_has_fallen_silent_is_taken_over(
    study: Callable[..., Path], called: Callable[[], list[str]], tmp_path: Path
) -> None:
    path, folder = study(x=[1, 2, 3]), tmp_path / "store"
    with Store(folder, write=True, name="far") as store:
        keys = list(plan(Experiment.read(path), store).graph.jobs)
        store.runs.begin("study", {})
        assert store.claim(keys[:2]) == keys[:2]
    file = folder / "runs" / "far.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "host": "elsewhere", "pid": 1}))
    waited = []

    def fall_silent(now: Any) -> None:
        # What it has claimed is waited for, until it counts as dead: only then is it taken over.
        if now.done == 1 and now.elsewhere == 2 and not waited:
            waited.append(called())
            os.utime(file, (time.time() - SILENCE - 1,) * 2)

    done = ran(path, folder, watch=fall_silent)
    assert done.did == 3
    assert waited == [["3/0"]]
    assert sorted(called()) == ["1/0", "2/0", "3/0"]


# ---- what may befall a store ----


@pytest.mark.slow
def test_a_truncated_tensor_is_set_aside_and_recomputed_with_a_line_that_says_so(
    real: Path, rows: Callable[[Path], list[Any]]
) -> None:
    before = rows(real / "store")
    with Store(real / "store") as store:
        trained = [result for result in store.results() if result.kind == "train"]
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


@pytest.mark.slow
def test_a_full_disk_stops_a_study_with_a_sentence_and_it_goes_on_where_it_was(
    study: Callable[..., Path],
    disk: Callable[..., Path],
    shell: Callable[..., Any],
    rows: Callable[[Path], list[Any]],
    tmp_path: Path,
) -> None:
    place, path = disk(160 << 10), study("long", x=list(range(1, 24)))
    full = shell("run", path, "--store", place / "store", "--engine", "local?workers=1", "--quiet")
    assert full.code == 2
    assert "Traceback" not in full.err
    assert "No space left" in full.err or "disk is full" in full.err
    assert "What was finished before is kept. Free some space" in full.err
    with Store(place / "store") as store:
        kept = {result.key: result.record for result in store.results()}
    assert 5 < len(kept) < 23
    subprocess.run(["mount", "-o", "remount,size=4m", str(place)], check=True)
    more = shell("run", path, "--store", place / "store", "--engine", "local?workers=1", "--json")
    assert more.code == 0, more.err
    with Store(place / "store") as store:
        after = {result.key: result.record for result in store.results()}
        assert len(after) == 23
        assert kept.items() <= after.items()
        assert len(store.attempts()) == 23


def test_a_full_disk_does_not_hang_the_next_run_of_the_same_process(
    study: Callable[..., Path], disk: Callable[..., Path]
) -> None:
    place, path = disk(160 << 10), study("long", x=list(range(1, 24)))
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


@pytest.mark.slow
def test_a_limit_on_files_stops_a_study_with_a_sentence(
    study: Callable[..., Path], tmp_path: Path, shell: Callable[..., Any]
) -> None:
    path, store = study("long", x=list(range(1, 24))), tmp_path / "store"
    words = [sys.executable, "-c", LIMITED, str(path), "--store", str(store), "--engine", "local?workers=1", "--quiet"]
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert "What was finished before is kept." in done.stderr
    with Store(store) as kept:
        before = len(kept.done())
    assert before > 3
    more = ran(path, store)
    assert (more.before, more.did) == (before, 23 - before)


@pytest.mark.slow
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
    text = (real / "study.toml").read_text().replace("seeds = [0, 1]", "seeds = [0, 1, 2]")
    (real / "more.toml").write_text(text.replace("net/1", "net/2"))
    with pytest.raises(StoreError, match=r"[Ff]ull.* The run was stopped. What was finished before is kept"):
        ran(real / "more.toml", place / "store")
    (place / "filler").unlink()
    assert not [path for path in (place / "store" / "tensors").iterdir() if path.is_file()]
    assert rows(place / "store") == before


@pytest.mark.slow
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
