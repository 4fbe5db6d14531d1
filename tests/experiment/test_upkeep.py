"""Upkeep: check and gc, each killed at any moment and done again."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from seamripper.cli import cli
from seamripper.errors import StoreError
from seamripper.experiment import Experiment, Local, Store, run
from seamripper.experiment.result import Result
from seamripper.experiment.upkeep import check, gc
from seamripper.report.serve import RunServer

ROUND = 60


def ran(path: Path, store: Path) -> Any:
    return run(Experiment.read(path), store, engine=Local(1))


def put(store: Store, text: str) -> str:
    return store.tensors.put(lambda path: path.write_text(text) and None)


@pytest.fixture
def folder(tmp_path: Path, result: Callable[..., Result]) -> Path:
    """A store with 60 results and their tensors, as many tensors of nobody's, 5 helpers, and leftovers of all kinds."""
    folder = tmp_path / "store"
    with Store(folder, write=True, name="run-1") as store:
        for k in range(ROUND):
            record = {"accuracy": None, "losses": [0.5], "n": 1, "number": k}
            store.enter(result(k, kind="train", record=record, tensors={"model": put(store, f"model {k}")}))
            put(store, f"nobody's {k}")
        for k in range(100, 105):
            store.enter(result(k, kind="activations", tensors={"activations": put(store, f"activations {k}")}))
        (store.tensors.folder / "draft-1-ab.safetensors").write_text("half")
        (store.tensors.folder / ".draft-1-ab.safetensors.1.tmp").write_text("half")
        (folder / ".store.json.host-1-ab.tmp").write_text("half")
        (folder / "claims").mkdir()
        (folder / "claims" / f"{result(1).key}.0").write_text("of a run that was killed")
        for key in (result(1).key, result(999).key):
            store.work(key).mkdir(parents=True)
            (store.work(key) / "model.safetensors").write_text("unfinished")
        (folder / "damaged").mkdir()
        (folder / "damaged" / "old.safetensors").write_text("damaged")
    return folder


# ---- check ----


def test_a_store_that_is_whole(folder: Path, real: Path) -> None:
    report = check(folder)
    assert (report.results, report.tensors, report.problems) == (65, 65, ())
    assert report.bytes > 65 * 7
    report = check(real / "store")
    assert (report.results, report.tensors, report.problems) == (3, 3, ())


def test_check_looks_at_every_tensor_and_says_how_far_it_is(folder: Path) -> None:
    with Store(folder) as store:
        paths = [store.tensors.path(one.tensors["model"]) for one in store.results() if one.kind == "train"]
    os.truncate(paths[0], 3)
    paths[1].unlink()
    paths[2].write_bytes(b"M" + paths[2].read_bytes()[1:])
    seen: list[tuple[int, int]] = []
    report = check(folder, watch=lambda now: seen.append((now.done, now.total)))
    assert len(report.problems) == 3
    assert sum("is not as it was written" in problem for problem in report.problems) == 2
    assert sum("is gone" in problem for problem in report.problems) == 1
    assert all(f"`seamripper store check {folder} --mend` sets it aside" in problem for problem in report.problems)
    assert seen == [(k, 65) for k in range(1, 66)]
    assert len(check(folder, mend=True).problems) == 3
    assert check(folder).problems == ()
    with Store(folder) as store:
        assert len(store.done()) == 62
        assert len(list((folder / "damaged").iterdir())) == 1 + 2


def test_check_finds_every_damaged_line_and_sets_it_aside(
    folder: Path, rows: Callable[[Path], list[Any]], result: Callable[..., Result]
) -> None:
    before = rows(folder)
    path = folder / "journals" / "run-1.jsonl"
    data = path.read_bytes()
    lines = data.replace(b'"number":7}', b'"number":8}').splitlines(keepends=True)
    lines[20] = b"noise\n"
    path.write_bytes(b"".join(lines) + b'["torn')
    ends = [len(b"".join(lines[: k + 1])) for k in (7, 20)]
    problems = check(folder).problems
    assert [
        f"The journal run-1: the line that ends at byte {end} is damaged." in problems[k] for k, end in enumerate(ends)
    ]
    assert len(problems) == 2
    with Store(folder, write=True, name="run-2") as store:
        store.runs.begin("study", {})
        with pytest.raises(StoreError, match="A run is under way"):
            check(folder, mend=True)
        store.runs.end()
    assert all("It was set aside" in problem for problem in check(folder, mend=True).problems)
    assert check(folder).problems == ()
    assert rows(folder) == [row for row in before if row[0] not in (result(7).key, result(20).key)]
    (aside,) = (folder / "damaged").glob("run-1-*.jsonl")
    assert aside.read_bytes() == lines[7] + lines[20]


def test_check_finds_damage_to_experiments_and_memory(study: Callable[..., Path], tmp_path: Path) -> None:
    path, store = study(x=[1, 2, 3]), tmp_path / "store"
    ran(path, store)
    (asked,) = (store / "experiments").iterdir()
    asked.write_bytes(asked.read_bytes()[:-30])
    (store / "memo.jsonl").write_bytes((store / "memo.jsonl").read_bytes().replace(b"true", b"null"))
    first, second = check(store).problems
    assert "The file that says what an experiment asks for was changed or damaged" in first
    assert second.startswith("memo.jsonl: a line is damaged")
    assert len(check(store, mend=True).problems) == 2
    assert check(store).problems == ()
    assert ran(path, store).did == 0
    with Store(store) as whole:
        assert [labels["x"] for _, labels in whole.goals("study")] == [1, 2, 3]


def test_check_takes_back_records_that_cannot_be_read(tmp_path: Path, result: Callable[..., Result]) -> None:
    with Store(tmp_path / "store", write=True) as store:
        store.enter(result(1, record={"figures": {"big": 10**400}}))
    (problem,) = check(tmp_path / "store").problems
    assert "cannot be read as that of a job 'call': OverflowError" in problem
    check(tmp_path / "store", mend=True)
    with Store(tmp_path / "store") as store:
        assert store.done() == frozenset()


@pytest.mark.parametrize("use", [gc, lambda folder: check(folder, mend=True)], ids=["gc", "mend"])
def test_no_store_is_made_of_nothing(tmp_path: Path, use: Callable[[Path], Any]) -> None:
    for folder in (tmp_path / "nope", tmp_path):
        with pytest.raises(StoreError, match="There is no store at"):
            use(folder)
    assert list(tmp_path.iterdir()) == []


def test_a_report_tells_which_tensors_are_gone(real: Path) -> None:
    store = real / "store"

    def reported() -> tuple[int, str, str]:
        done = CliRunner().invoke(cli, ["report", str(store)], catch_exceptions=False)
        return done.exit_code, done.stderr, (store / "report.html").read_text()

    code, err, page = reported()
    assert (code, err, "This report is incomplete" in page) == (0, "", False)
    with Store(store) as read:
        paths = {one.kind: read.tensors.path(*one.tensors.values()) for one in read.results()}
    paths["train"].unlink()
    os.truncate(paths["stitch"], 10)
    code, err, page = reported()
    said = f"2 of the 3 tensors of {store} are gone or damaged"
    assert (code, said in err) == (1, True), err
    assert f"{paths['train'].stem[:12]} is gone" in err
    assert f"{paths['stitch'].stem[:12]} is not as it was written" in err
    assert f"`seamripper store check {store} --mend`" in err
    assert "This report is incomplete" in page
    assert said in page
    with RunServer(real, port=0) as server:
        # A page that is served says where the store is in the folder that is served, and not on the disk.
        assert said.replace(str(store), f"{real.name}/store") in server.report("store", store, None)
    assert len(check(store, mend=True).problems) == 2
    assert reported()[0] == 0, "what was taken back is missing no more: the next run makes it"


def test_the_command_says_it_with_its_exit_code(real: Path, shell: Callable[..., Any]) -> None:
    store = real / "store"
    good = shell("store", "check", store)
    assert good.code == 0, good.err
    assert "3 results and 3 tensors" in good.out
    assert "nothing is damaged" in good.out
    os.truncate(next((store / "tensors").glob("*/*.safetensors")), 10)
    bad = shell("store", "check", store)
    assert bad.code == 1
    assert "is not as it was written" in bad.out


# ---- gc ----


def test_gc_removes_what_nothing_refers_to_and_nothing_else(
    folder: Path, result: Callable[..., Result], rows: Callable[[Path], list[Any]]
) -> None:
    wanted = [row for row in rows(folder) if row[1] == "train"]
    swept = gc(folder)
    # 60 of nobody's, 5 of helpers, 3 drafts, a claim of a dead run, the work of one that is done, 1 set aside.
    assert swept.files == 60 + 5 + 3 + 1 + 1 + 1
    assert swept.bytes > 60 * 10
    with Store(folder) as store:
        assert len(list(store.tensors.names())) == ROUND
        assert list(store.tensors.drafts()) == []
        assert not store.work(result(1).key).exists()
        # A training that is not finished goes on where it was.
        assert (store.work(result(999).key) / "model.safetensors").exists()
    assert list((folder / "damaged").iterdir()) == []
    assert rows(folder) == wanted
    assert check(folder).problems == ()
    assert gc(folder).files == 0


def test_gc_waits_for_runs(folder: Path) -> None:
    with Store(folder, write=True, name="run-9") as store:
        store.runs.begin("study", {})
        with pytest.raises(StoreError, match=r"A run is under way on .* .run-9.: wait until it has ended"):
            gc(folder)
        store.runs.end()
    assert gc(folder).files > 60


def test_a_tensor_that_two_results_share_is_kept_while_one_is_there(
    tmp_path: Path, result: Callable[..., Result]
) -> None:
    with Store(tmp_path / "store", write=True) as store:
        name = put(store, "shared")
        store.enter(result(1, kind="train", tensors={"model": name}))
        store.enter(result(2, kind="activations", tensors={"activations": name}))
    assert gc(tmp_path / "store").files == 0
    with Store(tmp_path / "store") as store:
        assert store.tensors.get(name)


SLOWLY = """
import sys, time
from seamripper.experiment import upkeep
def watch(now):
    print(now.done, flush=True)
    time.sleep(0.005)
getattr(upkeep, sys.argv[1])(sys.argv[2], watch=watch)
"""


@pytest.mark.slow
@pytest.mark.parametrize("word", ["check", "gc"])
def test_killed_at_any_moment_it_has_done_no_harm(
    folder: Path, started: Callable[..., Any], rows: Callable[[Path], list[Any]], word: str
) -> None:
    wanted = [row for row in rows(folder) if row[1] == "train"]
    killed = 0
    for moment in ("1\n", "2\n", "20\n", "40\n", "60\n"):
        doing = started(word, folder, code=SLOWLY)
        while (line := doing.stdout.readline()) not in (moment, ""):
            pass
        doing.send_signal(signal.SIGKILL)
        doing.wait()
        killed += line != ""
        assert check(folder).problems == ()
        assert [row for row in rows(folder) if row[1] == "train"] == wanted
    assert killed >= 4
    gc(folder)
    with Store(folder) as store:
        assert len(list(store.tensors.names())) == ROUND
    assert check(folder).problems == ()
    assert rows(folder) == wanted
