"""Shards: parts of a study on machines that share a folder alone, and what is collected from them."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from seamripper.errors import ExperimentError, StoreError
from seamripper.experiment import Experiment, Local, Store, run, table
from seamripper.experiment.expand import expand
from seamripper.experiment.identity import Identities
from seamripper.experiment.job import Graph
from seamripper.experiment.journal import Entry
from seamripper.experiment.ledger import SILENCE
from seamripper.experiment.shard import ShardLedger, ShardStore, collect, parse_shard, portion, run_shard, sbatch
from seamripper.experiment.upkeep import check

KEYS = [f"{k:08x}" * 8 for k in range(6)]


def graph_of(path: Path) -> Graph:
    experiment = Experiment.read(path)
    return expand(experiment, Identities({}, folder=experiment.folder))


def shard(path: Path, store: Path, k: int, n: int) -> Any:
    return run_shard(Experiment.read(path), (k, n), store, engine=Local(1))


# ---- which part ----


@pytest.mark.parametrize("text", ["", "1", "1/", "/2", "2/2", "-1/2", "a/b", "0/0", "1/2/3", "0.5/2", "²/4"])
def test_a_part_that_there_is_not(text: str) -> None:
    with pytest.raises(ExperimentError, match="Expected a shard as I/N with I from 0 to N − 1"):
        parse_shard(text)


@pytest.mark.parametrize("n", [1, 2, 3, 7, 13, 40])
def test_every_goal_is_in_one_part_and_no_other(study: Callable[..., Path], n: int) -> None:
    graph = graph_of(study(x=list(range(13))))
    parts = [portion(graph, k, n) for k in range(n)]
    assert [goal for part in parts for goal in part.goals] == list(graph.goals)
    sizes = [len(part.goals) for part in parts]
    assert max(sizes) - min(sizes) <= 1
    assert all(set(part.jobs) == {key for key, _ in part.goals} for part in parts)


def test_a_part_has_what_its_goals_need(finished: Path) -> None:
    graph = graph_of(finished / "study.toml")
    parts = [portion(graph, k, len(graph.goals)) for k in range(len(graph.goals))]
    assert [goal for part in parts for goal in part.goals] == list(graph.goals)
    (part,) = [part for part in parts if any(part.jobs[key].kind == "stitch" for key, _ in part.goals)]
    # The networks that it joins are trained by whoever comes first.
    assert sorted(job.kind for job in part) == ["stitch", "train", "train"]


# ---- the same as one run ----


def test_shards_collected_are_the_same_as_one_run(
    study: Callable[..., Path], shell: Callable[..., Any], rows: Callable[[Path], list[Any]], tmp_path: Path
) -> None:
    path, one, many = study("picky", x=list(range(9))), tmp_path / "one", tmp_path / "many"
    run(Experiment.read(path), one, engine=Local(1))
    for k in range(3):
        done = shell("run", path, "--store", many, "--shard", f"{k}/3", "--workers", 1, "--quiet")
        assert done.code == (1 if k == 0 else 0), done.err
        # No SQLite before `collect`.
        assert not list(many.glob("*.sqlite*"))
    refused = shell("status", many)
    assert refused.code == 2
    assert f"seamripper collect {many}" in refused.err
    first = shell("collect", many, "--study", path)
    assert first.code == 0, first.err
    assert first.out == "9 results are new, 9 there are in all; the study is done\n"
    with Store(one) as single, Store(many) as sharded:
        assert table(single) == table(sharded)
        # A traceback tells of its worker's own files, and is the same here, too.
        assert [entry.record for entry in single.results()] == [entry.record for entry in sharded.results()]
    before = rows(many)
    assert before == rows(one)
    again = shell("collect", many, "--study", path)
    assert again.out == "0 results are new, 9 there are in all; the study is done\n"
    assert rows(many) == before
    with Store(many) as store:
        assert len(store.ledger.attempts()) == 9


def test_a_real_study_in_shards(finished: Path, rows: Callable[[Path], list[Any]], tmp_path: Path) -> None:
    """Trainings that both parts need are done once; results and tensors come out as those of one run, to the bit."""
    path, store = tmp_path / "study.toml", tmp_path / "store"
    shutil.copy(finished / "study.toml", path)
    done = [shard(path, store, k, 2) for k in range(2)]
    assert sum(one.did for one in done) == 3
    assert all(one.did for one in done)
    assert collect(store) == (3, 3)
    assert rows(store) == rows(finished / "store")
    assert check(store).problems == ()
    with Store(store) as here, Store(finished / "store") as there:
        assert list(here.tensors.names()) == list(there.tensors.names())


def test_a_shard_goes_on_where_it_was_and_finds_what_others_have_done(
    study: Callable[..., Path], called: Callable[[], list[str]], tmp_path: Path
) -> None:
    path, store = study(x=list(range(6))), tmp_path / "store"
    assert shard(path, store, 0, 2).did == 3
    again = shard(path, store, 0, 2)
    assert (again.did, again.before) == (0, 3)
    # Parts of another size: what is done is done.
    assert shard(path, store, 0, 1).did == 3
    assert len(called()) == 6
    assert collect(store) == (6, 6)


def test_a_killed_shard_is_gone_on_with_and_collected(
    study: Callable[..., Path], started: Callable[..., Any], called: Callable[[], list[str]], tmp_path: Path
) -> None:
    path, store = study("slow", x=list(range(8))), tmp_path / "store"
    killed = started("run", path, "--store", store, "--shard", "0/1", "--workers", 1, "--quiet")
    while len(called()) < 3:
        assert killed.poll() is None
        # Collecting meanwhile harms nobody.
        if (store / "journals").exists():
            collect(store)
        time.sleep(0.01)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    # Half a line, as a machine that loses its power may leave it.
    journal = store / "journals" / "shard-0-of-1.jsonl"
    journal.write_bytes(journal.read_bytes()[:-20])
    _, kept = collect(store)
    assert kept >= 1
    done = shard(path, store, 0, 1)
    assert done.did == 8 - done.before
    assert done.before >= 1
    said: list[str] = []
    assert collect(store, said.append)[1] == 8
    assert len(said) == 1
    assert "It is passed over" in said[0]
    assert collect(store) == (0, 8)


def test_a_run_with_a_ledger_goes_on_with_what_shards_have_done(
    study: Callable[..., Path], called: Callable[[], list[str]], tmp_path: Path
) -> None:
    path, store = study(x=list(range(6))), tmp_path / "store"
    shard(path, store, 1, 3)
    done = run(Experiment.read(path), store, engine=Local(1))
    assert (done.before, done.did) == (2, 4)
    assert shard(path, store, 0, 1).did == 0
    assert len(called()) == 6


# ---- collect ----


def test_helpers_are_let_go_of_when_nobody_is_at_work(tmp_path: Path, entry: Callable[..., Entry]) -> None:
    folder = tmp_path / "store"
    with ShardStore(folder, "shard-0-of-1") as store, store.journal("shard-0-of-1") as journal:
        name = store.tensors.put(lambda path: path.write_bytes(b"helper") and None)
        store.enter(journal, entry(1, kind="activations", tensors={"activations": name}))
        store.enter(journal, entry(2))
        store.ledger.begin("shard-0-of-1", "study", {})
        assert collect(folder) == (2, 2)
        assert store.tensors.has(name)
        store.ledger.end("shard-0-of-1")
    with Store(folder, write=True) as open_store:
        open_store.ledger.begin("run-1", "study", {})
        # A run with a ledger may need it just as well.
        assert collect(folder) == (0, 2)
        assert open_store.tensors.has(name)
        open_store.ledger.end("run-1")
        assert collect(folder) == (0, 1)
        assert not open_store.tensors.has(name)
    assert collect(folder) == (0, 1)


COLLECT = "import sys; from seamripper.experiment.shard import collect; print('go', flush=True); collect(sys.argv[1])"


def test_a_collection_that_is_killed_is_done_again(
    tmp_path: Path, entry: Callable[..., Entry], started: Callable[..., Any]
) -> None:
    folder = tmp_path / "store"
    wanted = []
    for wait in (0.0, 0.004, 0.008, 0.016, 0.03):
        name = f"shard-{len(wanted)}-of-9"
        with ShardStore(folder, name) as store, store.journal(name) as journal:
            for k in range(200):
                wanted.append(entry(len(wanted), record={"figures": {"text": "x" * 500, "k": k}}))
                store.enter(journal, wanted[-1])
        doing = started(folder, code=COLLECT)
        assert doing.stdout.readline() == "go\n"
        time.sleep(wait)
        doing.send_signal(signal.SIGKILL)
        doing.wait()
    assert collect(folder)[1] == 1000
    with Store(folder) as whole:
        assert list(whole.results()) == wanted
        assert len(whole.ledger.attempts()) == 1000
    assert check(folder).problems == ()


# ---- claims as files ----


@pytest.fixture
def claims(tmp_path: Path) -> Path:
    (tmp_path / "claims").mkdir()
    return tmp_path / "claims"


def test_a_job_is_claimed_by_one_shard(claims: Path) -> None:
    one, two = ShardLedger(claims), ShardLedger(claims)
    one.begin("one", "study", {})
    two.begin("two", "study", {})
    assert one.claim(KEYS[:3], "one") == KEYS[:3]
    assert two.claim(KEYS[:4], "two") == KEYS[3:4]
    assert one.claim(KEYS[:3], "one") == KEYS[:3]
    assert two.claims() == {**dict.fromkeys(KEYS[:3], "one"), KEYS[3]: "two"}
    one.release(KEYS[:1], "one")
    assert two.claim(KEYS[:2], "two") == KEYS[:1]
    one.end("one")
    assert two.living() == ["two"]
    assert two.claim(KEYS[:4], "two") == KEYS[:4]
    two.end("two")
    assert list(claims.iterdir()) == []


HOLD = """
import sys, time
from pathlib import Path
from seamripper.experiment.shard import ShardLedger
ledger = ShardLedger(Path(sys.argv[1]))
ledger.begin("theirs", "study", {})
print(len(ledger.claim([f"{k:08x}" * 8 for k in range(6)], "theirs")), flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("reaped", [True, False], ids=["gone", "a zombie"])
def test_the_claims_of_a_killed_shard_are_taken_over_at_once(
    claims: Path, started: Callable[..., Any], reaped: bool
) -> None:
    holder = started(claims, code=HOLD)
    assert holder.stdout.readline() == "6\n"
    mine = ShardLedger(claims)
    mine.begin("mine", "study", {})
    assert mine.claim(KEYS, "mine") == []
    holder.send_signal(signal.SIGKILL)
    os.waitid(os.P_PID, holder.pid, os.WEXITED | os.WNOWAIT)
    if reaped:
        holder.wait()
    assert mine.living() == ["mine"]
    assert mine.claim(KEYS, "mine") == KEYS


def test_a_shard_whose_number_is_used_by_another_process_is_dead(claims: Path) -> None:
    old = ShardLedger(claims)
    old.begin("old", "study", {})
    host, pid, since = (claims / "old.alive").read_text().split()
    assert old.living() == ["old"]
    (claims / "old.alive").write_text(f"{host} {pid} {float(since) - 1}")
    assert old.living() == []


def test_a_shard_on_another_machine_is_dead_when_it_has_been_silent_for_long(claims: Path) -> None:
    far, mine = ShardLedger(claims), ShardLedger(claims)
    far.begin("far", "study", {})
    far.claim(KEYS, "far")
    alive = claims / "far.alive"
    alive.write_text("elsewhere 4194305 1.0")
    now = alive.stat().st_mtime
    os.utime(alive, (now - 60, now - 60))
    assert mine.claim(KEYS, "mine") == []
    os.utime(alive, (now - SILENCE - 1, now - SILENCE - 1))
    assert mine.claim(KEYS[:3], "mine") == KEYS[:3]
    far.beat("far")
    assert mine.living() == ["far"]
    assert mine.claim(KEYS[3:], "mine") == []


def test_what_another_shard_has_done_meanwhile_is_not_done_again(tmp_path: Path, entry: Callable[..., Entry]) -> None:
    with ShardStore(tmp_path / "s", "shard-0-of-2") as one, ShardStore(tmp_path / "s", "shard-1-of-2") as two:
        one.ledger.begin(one.name, "study", {})
        two.ledger.begin(two.name, "study", {})
        two.take_in()
        assert one.ledger.claim([KEYS[1]], one.name) == [KEYS[1]]
        assert two.ledger.claim([KEYS[1], KEYS[2]], two.name) == [KEYS[2]]
        with one.journal(one.name) as journal:
            one.enter(journal, entry(1))
        assert two.ledger.claims() == {KEYS[2]: two.name}
        # Nobody has claimed it now, and it is done.
        assert two.ledger.claim([KEYS[1], KEYS[3]], two.name) == [KEYS[3]]
        assert two.ledger.result(KEYS[1]) == entry(1)
        assert two.ledger.claims() == {KEYS[2]: two.name, KEYS[3]: two.name}


WHOLE = """
import sys
from seamripper.experiment import Experiment, Local
from seamripper.experiment.drive import drive
from seamripper.experiment.expand import expand
from seamripper.experiment.identity import Identities
from seamripper.experiment.plan import Pace, Plan
from seamripper.experiment.shard import ShardStore
study = Experiment.read(sys.argv[1])
plan = Plan(study, expand(study, Identities({}, folder=study.folder)), frozenset(), frozenset(), Pace())
with ShardStore(sys.argv[2], sys.argv[3]) as store:
    done = drive(plan, store, Local(1), announce=print, watch=lambda _: None, name=store.name, keep_helpers=True)
print(done.did, done.elsewhere)
"""


def test_jobs_that_shards_share_are_done_once_though_they_run_side_by_side(
    study: Callable[..., Path], started: Callable[..., Any], called: Callable[[], list[str]], tmp_path: Path
) -> None:
    """Two shards of the same goals, as where one is run twice: each job is done by one of them."""
    path, store = study("slow", x=list(range(12))), tmp_path / "store"
    both = [started(path, store, name, code=WHOLE) for name in ("first", "second")]
    said = [one.communicate(timeout=120) for one in both]
    counts = [[int(word) for word in out.split()] for out, _ in said]
    assert sum(did for did, _ in counts) == 12, said
    assert all(did + elsewhere == 12 for did, elsewhere in counts)
    assert len(called()) == 12
    assert collect(store) == (12, 12)


def test_a_shard_on_a_disk_that_cannot_be_written(
    study: Callable[..., Path], tmp_path: Path, read_only: Callable[[Path], Path], shell: Callable[..., Any]
) -> None:
    (tmp_path / "empty").mkdir()
    place = read_only(tmp_path / "empty")
    with pytest.raises(StoreError, match="cannot be written: Read-only file system"):
        ShardStore(place / "store", "shard-0-of-1")
    done = shell("run", study(x=[1]), "--store", place / "store", "--shard", "0/2")
    assert done.code == 2
    assert "cannot be written: Read-only file system" in done.err


# ---- Slurm ----


def test_the_script_of_a_job_array(tmp_path: Path) -> None:
    text = sbatch("my studies/study.toml", 16, folder=tmp_path, store="/data/my store", partition="cpu", time=60)
    assert text.startswith("#!")
    assert "#SBATCH --array=0-15" in text
    assert "#SBATCH --partition=cpu" in text
    assert "#SBATCH --job-name=study" in text
    assert "run 'my studies/study.toml' --store '/data/my store' --quiet" in text
    assert "--shard ${SLURM_ARRAY_TASK_ID}/16" in text
    with pytest.raises(ExperimentError, match=r"submitit does not take that option.*colour"):
        sbatch("study.toml", 2, folder=tmp_path, store=None, colour="red")
