"""Upkeep: check, gc and repair, each at any moment killed and done again."""

from __future__ import annotations

import os
import signal
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from seamripper.cli import cli
from seamripper.errors import StoreError
from seamripper.experiment import Experiment, Local, Store, plan, run, table
from seamripper.experiment.journal import Entry
from seamripper.experiment.shard import ShardStore, collect
from seamripper.experiment.upkeep import check, gc, repair
from seamripper.report.serve import RunServer

ROUND = 60


def ran(path: Path, store: Path) -> Any:
    return run(Experiment.read(path), store, engine=Local(1))


def put(store: Store, text: str) -> str:
    return store.tensors.put(lambda path: path.write_text(text) and None)


@pytest.fixture
def folder(tmp_path: Path, entry: Callable[..., Entry]) -> Path:
    """A store with 60 results and their tensors, as many tensors of nobody's, 5 helpers, and leftovers of all kinds."""
    folder = tmp_path / "store"
    with Store(folder, write=True) as store, store.journal("run-1") as journal:
        for k in range(ROUND):
            record = {"accuracy": None, "losses": [0.5], "n": 1, "number": k}
            store.enter(journal, entry(k, kind="train", record=record, tensors={"model": put(store, f"model {k}")}))
            put(store, f"nobody's {k}")
        for k in range(100, 105):
            name = put(store, f"activations {k}")
            store.enter(journal, entry(k, kind="activations", tensors={"activations": name}))
        (store.tensors.folder / "draft-1-ab.safetensors").write_text("half")
        (store.tensors.folder / ".draft-1-ab.safetensors.1.tmp").write_text("half")
        for key in (entry(1).key, entry(999).key):
            store.work(key).mkdir(parents=True)
            (store.work(key) / "model.safetensors").write_text("unfinished")
        (folder / "damaged").mkdir()
        (folder / "damaged" / "old.safetensors").write_text("damaged")
    return folder


def overwrite(path: Path, at: int, data: bytes) -> None:
    with path.open("rb+") as file:
        file.seek(at)
        file.write(data)


# ---- check ----


def test_a_store_that_is_whole(folder: Path, real: Path) -> None:
    report = check(folder)
    assert (report.results, report.tensors, report.problems) == (65, 65, ())
    assert report.bytes > 65 * 7
    report = check(real / "store")
    assert (report.results, report.tensors, report.problems) == (3, 3, ())


def test_check_looks_at_every_tensor_and_says_how_far_it_is(folder: Path, entry: Callable[..., Entry]) -> None:
    with Store(folder) as store:
        paths = [store.tensors.path(one.tensors["model"]) for one in store.results() if one.kind == "train"]
    os.truncate(paths[0], 3)
    paths[1].unlink()
    overwrite(paths[2], 0, b"M")
    seen: list[tuple[int, int]] = []
    report = check(folder, watch=lambda now: seen.append((now.done, now.total)))
    assert len(report.problems) == 3
    assert sum("is not as it was written" in problem for problem in report.problems) == 2
    assert sum("is gone" in problem for problem in report.problems) == 1
    assert seen == [(k, 65) for k in range(1, 66)]


def test_check_finds_damaged_lines_and_results_that_the_ledger_lost(folder: Path, entry: Callable[..., Entry]) -> None:
    path = folder / "journals" / "run-1.jsonl"
    data = path.read_bytes()
    path.write_bytes(data.replace(b'"number":7}', b'"number":8}'))
    line, lost = check(folder).problems
    assert line.startswith("The journal run-1: the line that ends at byte")
    assert lost.startswith("1 results are in the ledger and in no journal")
    path.write_bytes(data)
    with Store(folder, write=True) as store:
        store.ledger.forget([entry(3).key, entry(101).key])
    (problem,) = check(folder).problems
    assert problem.startswith(f"The journal run-1 has the result {entry(3).key[:12]}, and the ledger has not: ")
    assert f"`seamripper store repair {folder}` enters it" in problem


def test_results_that_wait_to_be_collected_are_no_damage(folder: Path, entry: Callable[..., Entry]) -> None:
    with Store(folder, write=True) as store, store.journal("shard-0-of-2") as journal:
        journal.append(entry(500))
    assert check(folder).problems == ()


def test_check_looks_on_where_the_ledger_is_damaged(folder: Path, entry: Callable[..., Entry]) -> None:
    with Store(folder) as store:
        first = store.ledger.result(entry(0).key)
    assert first is not None
    (folder / "tensors" / first.tensors["model"][:2] / f"{first.tensors['model']}.safetensors").unlink()
    data = (folder / "ledger.sqlite").read_bytes()
    at = data.find(b'"number":59')
    overwrite(folder / "ledger.sqlite", at, b'"lumber":59')
    report = check(folder)
    assert (report.results, report.tensors) == (65, 65)
    assert f"The result {entry(59).key[:12]} in the ledger is not as it was written." in report.problems
    assert any("is gone" in problem for problem in report.problems)
    assert any("seamripper store repair" in problem for problem in report.problems)
    overwrite(folder / "ledger.sqlite", at // 4096 * 4096, b"\xff" * 4096)
    report = check(folder)
    assert (report.results, report.tensors) == (65, 65)
    assert any("is gone" in problem for problem in report.problems)
    assert any("seamripper store repair" in problem for problem in report.problems)


def test_check_tells_of_journals_that_are_gone_and_writes_them_anew(
    folder: Path, rows: Callable[[Path], list[Any]], tmp_path: Path
) -> None:
    before = rows(folder)
    with Store(folder) as store:
        attempts = sorted(store.ledger.attempts())
    (folder / "journals" / "run-1.jsonl").unlink()
    (problem,) = check(folder).problems
    assert problem.startswith("65 results are in the ledger and in no journal (gone: run-1)")
    assert f"`seamripper store check {folder} --mend` writes them to a journal anew" in problem
    (problem,) = check(folder, mend=True).problems
    assert "They were written to the journal mended-" in problem
    assert check(folder).problems == ()
    assert repair(folder) == 65
    assert rows(folder) == before
    with Store(folder) as store:
        assert sorted(store.ledger.attempts()) == attempts


@pytest.mark.parametrize("empty", [True, False], ids=["an empty folder", "no folder"])
def test_repair_keeps_what_the_ledger_alone_has(folder: Path, rows: Callable[[Path], list[Any]], empty: bool) -> None:
    before = rows(folder)
    (folder / "journals" / "run-1.jsonl").unlink()
    if not empty:
        (folder / "journals").rmdir()
    assert repair(folder) == 65
    assert rows(folder) == before
    assert check(folder).problems == ()


def altered(store: Path) -> None:
    """Change a result on disk, as a bad disk or another hand may."""
    db = sqlite3.connect(store / "ledger.sqlite")
    db.execute("UPDATE results SET record = replace(record, '\"double\":4', '\"double\":5')")
    db.commit()
    db.close()


@pytest.mark.parametrize("journals", [True, False], ids=["with its journal", "without"])
def test_a_run_tells_of_an_altered_result_and_sets_it_right(
    study: Callable[..., Path], called: Callable[[], list[str]], rows: Callable[[Path], list[Any]], tmp_path: Path,
    journals: bool,
) -> None:  # fmt: skip
    path, store, said = study(x=[1, 2, 3]), tmp_path / "store", list[str]()
    ran(path, store)
    before = rows(store)
    altered(store)
    assert rows(store) != before
    if not journals:
        next((store / "journals").iterdir()).unlink()
    with Store(store) as read:
        planned = plan(Experiment.read(path), read)
    assert (len(planned.altered), len(planned.needed)) == (1, 1)
    done = run(Experiment.read(path), store, engine=Local(1), announce=said.append)
    assert done.did == (0 if journals else 1)
    assert rows(store) == before
    assert len(called()) == (3 if journals else 4)
    (line,) = said
    assert "in the ledger was not as it was written. It " in line
    assert ("was read from its journal again" if journals else "is in no journal either, and is made anew") in line


def test_check_mends_an_altered_result(
    study: Callable[..., Path], rows: Callable[[Path], list[Any]], tmp_path: Path
) -> None:
    store = tmp_path / "store"
    ran(study(x=[1, 2, 3]), store)
    before = rows(store)
    altered(store)
    planned = CliRunner().invoke(cli, ["plan", str(tmp_path / "study.toml"), "--store", str(store)])
    assert "1 results in the ledger of" in planned.stderr
    assert f"`seamripper store check {store} --mend` reads them from the journals again" in planned.stderr
    told, remedy = check(store).problems
    assert "is not as it was written" in told
    assert f"seamripper store repair {store}" in remedy
    (mended,) = check(store, mend=True).problems
    assert "was read from its journal again" in mended
    assert rows(store) == before
    assert check(store).problems == ()


def test_check_takes_back_records_that_cannot_be_read(tmp_path: Path, entry: Callable[..., Entry]) -> None:
    with Store(tmp_path / "store", write=True) as store, store.journal("one") as journal:
        store.enter(journal, entry(1, record={"figures": {"big": 10**400}}))
    (problem,) = check(tmp_path / "store").problems
    assert "cannot be read as that of a job 'call': OverflowError" in problem
    check(tmp_path / "store", mend=True)
    with Store(tmp_path / "store") as store:
        assert store.done() == frozenset()


@pytest.mark.parametrize("use", [collect, gc, lambda folder: check(folder, mend=True)], ids=["collect", "gc", "mend"])
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
        assert said in server.report("store", store, None), "and it names the store, not the copy that it is read from"
    assert len(check(store, mend=True).problems) == 2
    assert reported()[0] == 0, "what was taken back is missing no more: the next run makes it"


def test_the_command_says_it_with_its_exit_code(real: Path, shell: Callable[..., Any]) -> None:
    store = real / "store"
    good = shell("store", "check", store)
    assert good.code == 0, good.err
    assert "3 results and 3 tensors" in good.out
    assert "all of it is whole" in good.out
    os.truncate(next((store / "tensors").glob("*/*.safetensors")), 10)
    bad = shell("store", "check", store)
    assert bad.code == 1
    assert "is not as it was written" in bad.out


# ---- gc ----


def test_gc_removes_what_nothing_refers_to_and_nothing_else(
    folder: Path, entry: Callable[..., Entry], rows: Callable[[Path], list[Any]]
) -> None:
    wanted = [row for row in rows(folder) if row[1] == "train"]
    swept = gc(folder)
    # 60 of nobody's, 5 of helpers, 2 drafts, the work of one that is done, 1 set aside.
    assert swept.files == 60 + 5 + 2 + 1 + 1
    assert swept.bytes > 60 * 10
    with Store(folder) as store:
        assert len(list(store.tensors.names())) == ROUND
        assert list(store.tensors.drafts()) == []
        assert not store.work(entry(1).key).exists()
        # A training that is not finished goes on where it was.
        assert (store.work(entry(999).key) / "model.safetensors").exists()
    assert list((folder / "damaged").iterdir()) == []
    assert rows(folder) == wanted
    assert check(folder).problems == ()
    assert gc(folder).files == 0


def test_gc_knows_what_a_dead_run_has_left_in_its_journal(folder: Path, entry: Callable[..., Entry]) -> None:
    with Store(folder, write=True) as store, store.journal("run-2") as journal:
        name = put(store, "finished by a run that was killed before it told the ledger")
        journal.append(entry(700, kind="train", tensors={"model": name}))
    gc(folder)
    with Store(folder) as store:
        assert store.tensors.get(name)
        assert entry(700).key in store.done()


def test_gc_waits_for_runs_and_shards(folder: Path) -> None:
    with Store(folder, write=True) as store:
        store.ledger.begin("run-9", "study", {})
        with pytest.raises(StoreError, match=r"A run is under way on .* .run-9.: wait until it has ended"):
            gc(folder)
        store.ledger.end("run-9")
        with ShardStore(folder, "shard-0-of-2") as shard:
            shard.ledger.begin("shard-0-of-2", "study", {})
            with pytest.raises(StoreError, match=r"A run is under way on .* .shard-0-of-2.: wait until it has ended"):
                gc(folder)
            shard.ledger.end("shard-0-of-2")
    assert gc(folder).files > 60


def test_a_tensor_that_two_results_share_is_kept_while_one_is_there(
    tmp_path: Path, entry: Callable[..., Entry]
) -> None:
    with Store(tmp_path / "store", write=True) as store, store.journal("run-1") as journal:
        name = put(store, "shared")
        store.enter(journal, entry(1, kind="train", tensors={"model": name}))
        store.enter(journal, entry(2, kind="activations", tensors={"activations": name}))
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


# ---- repair ----


def damage(store: Path, how: str) -> None:
    """Damage the ledger of a store in one of many ways."""
    path = store / "ledger.sqlite"
    db = sqlite3.connect(path)
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    data = path.read_bytes()
    page = data.rfind(b'"figures":{"text"') // 4096 * 4096
    assert page >= 4096
    if how == "gone":
        path.unlink()
    elif how == "half":
        os.truncate(path, len(data) // 2 + 100)
    else:
        place = {"header": 0, "schema": 100, "page of results": page, "middle": len(data) // 2, "row": 0}[how]
        size = {"header": 100, "schema": 2000, "page of results": 4096, "middle": 64, "row": 0}[how]
        overwrite(path, place, b"\xa5" * size)
    if how == "row":
        overwrite(path, data.find(b'"figures":{"text":"0123'), b'"figures":{"text":"X')


HOWS = ["header", "schema", "page of results", "half", "row"]


@pytest.mark.parametrize("how", HOWS)
def test_a_damaged_ledger_is_told_and_repaired_and_the_study_goes_on(
    study: Callable[..., Path], rows: Callable[[Path], list[Any]], tmp_path: Path, how: str
) -> None:
    store = tmp_path / "store"
    ran(study("long", x=list(range(1, 12))), store)
    before = rows(store)
    with Store(store) as whole:
        told = table(whole)
    damage(store, how)

    def use() -> None:
        with Store(store, write=True) as used:
            used.take_in()
            table(used)

    with pytest.raises(StoreError, match=f"seamripper store repair {store}"):
        use()
    assert repair(store) == 11
    assert rows(store) == before
    (aside,) = (store / "damaged").iterdir()
    assert (aside / "ledger.sqlite").stat().st_size > 4096
    assert check(store).problems == ()
    done = ran(study("long", x=list(range(1, 13))), store)
    assert (done.did, done.before) == (1, 11)
    assert set(before) < set(rows(store))
    with Store(store) as whole:
        columns, found = table(whole)
    assert columns == told[0]
    assert [row for row in found if row["x"] < 12] == told[1]


def test_the_commands_say_so(
    study: Callable[..., Path], shell: Callable[..., Any], rows: Callable[[Path], list[Any]], tmp_path: Path
) -> None:
    path, store = study("long", x=list(range(1, 12))), tmp_path / "store"
    ran(path, store)
    before = rows(store)
    damage(store, "page of results")
    for words in (["run", path, "--store", store], ["results", store], ["status", store]):
        done = shell(*words)
        assert done.code == 2, words
        assert "is damaged" in done.err
        assert f"seamripper store repair {store}" in done.err
        assert "Traceback" not in done.err
    checked = shell("store", "check", store)
    assert checked.code == 1
    assert "store repair" in checked.out
    repaired = shell("store", "repair", store)
    assert repaired.code == 0
    assert "made anew with 11 results" in repaired.out
    assert rows(store) == before
    again = shell("run", path, "--store", store)
    assert again.code == 0
    assert "nothing was left to do; 11 were done before" in again.out


def test_a_ledger_that_is_gone_is_made_anew(
    study: Callable[..., Path], rows: Callable[[Path], list[Any]], tmp_path: Path
) -> None:
    path, store = study("long", x=[1, 2, 3, 4, 5, 6, 7]), tmp_path / "store"
    ran(path, store)
    before = rows(store)
    damage(store, "gone")
    assert repair(store) == 7
    assert rows(store) == before
    assert ran(path, store).did == 0


def test_a_whole_ledger_is_repaired_without_loss(
    study: Callable[..., Path], rows: Callable[[Path], list[Any]], tmp_path: Path
) -> None:
    path, store = study("picky", x=[1, 2, 3]), tmp_path / "store"
    ran(path, store)
    before = rows(store)
    with Store(store) as whole:
        told, runs, attempts = table(whole), whole.ledger.runs(), whole.ledger.attempts()
    assert repair(store) == 3
    assert rows(store) == before
    with Store(store) as whole:
        assert table(whole) == told
        assert whole.ledger.runs() == runs
        assert whole.ledger.attempts() == attempts


def test_helpers_that_were_let_go_of_do_not_come_back(folder: Path, rows: Callable[[Path], list[Any]]) -> None:
    gc(folder)
    before = rows(folder)
    assert repair(folder) == ROUND
    assert rows(folder) == before


def test_a_damaged_line_is_told(folder: Path) -> None:
    path = folder / "journals" / "run-1.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"number":7}', b'"number":8}'))
    said: list[str] = []
    assert repair(folder, said.append) == 65, "the old ledger has its result"
    assert [line for line in said if "is damaged. It is passed over" in line] == said
    assert len(said) == 1


def test_a_repair_that_is_killed_is_done_again(
    study: Callable[..., Path], started: Callable[..., Any], rows: Callable[[Path], list[Any]], tmp_path: Path
) -> None:
    path, store = study("long", x=list(range(1, 12))), tmp_path / "store"
    ran(path, store)
    before = rows(store)
    code = "import sys; from seamripper.experiment.upkeep import repair; print('go', flush=True); repair(sys.argv[1])"
    for wait in (0, 0.001, 0.002, 0.004, 0.008, 0.016):
        damage(store, "page of results")
        doing = started(store, code=code)
        assert doing.stdout.readline() == "go\n"
        time.sleep(wait)
        doing.send_signal(signal.SIGKILL)
        doing.wait()
        # Whatever is there, a ledger is: no moment at which readers would find none.
        assert (store / "ledger.sqlite").exists()
        assert repair(store) == 11
        assert rows(store) == before
        assert list(store.glob("anew-*")) == []
        with Store(store) as whole:
            assert list(whole.ledger.experiments()) == ["study"]
    assert ran(path, store).did == 0


def test_what_was_salvaged_of_an_experiment_is_written_down_anew(study: Callable[..., Path], tmp_path: Path) -> None:
    """A label that was changed on disk is not in the journals: the next run of the study sets it right."""
    path, store = study(x=[1, 2, 3]), tmp_path / "store"
    ran(path, store)
    db = sqlite3.connect(store / "ledger.sqlite")
    db.execute("UPDATE goals SET labels = replace(labels, '\"x\":2', '\"x\":7') WHERE place = 1")
    db.execute("UPDATE goals SET labels = 'noise' WHERE place = 2")
    db.execute("UPDATE memo SET answer = 'noise'")
    db.commit()
    db.close()
    assert any("store repair" in problem for problem in check(store).problems)
    assert repair(store) == 3
    assert ran(path, store).did == 0
    with Store(store) as whole:
        assert [labels["x"] for _, labels in whole.ledger.goals("study")] == [1, 2, 3]
    assert check(store).problems == ()


def test_there_is_nothing_to_repair_without_journals(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    with pytest.raises(StoreError, match="has no journals to make a ledger from"):
        repair(tmp_path / "store")
    assert list((tmp_path / "store").iterdir()) == []
