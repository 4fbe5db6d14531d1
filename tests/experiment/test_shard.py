"""Shards: parts of a study, on machines that share nothing but a folder."""

from __future__ import annotations

import json
import shutil
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from seamripper.errors import ExperimentError
from seamripper.experiment import Experiment, Local, Store, run, table
from seamripper.experiment.identity import Identities
from seamripper.experiment.job import Graph
from seamripper.experiment.plan import expand
from seamripper.experiment.shard import parse_shard, portion, sbatch
from seamripper.experiment.upkeep import check


def graph_of(path: Path) -> Graph:
    experiment = Experiment.read(path)
    return expand(experiment, Identities({}, folder=experiment.folder))


def shard(path: Path, store: Path, k: int, n: int) -> Any:
    return run(Experiment.read(path), store, shard=f"{k}/{n}", engine=Local(1))


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


@pytest.mark.slow
def test_shards_are_the_same_as_one_run(
    study: Callable[..., Path], shell: Callable[..., Any], rows: Callable[[Path], list[Any]], tmp_path: Path
) -> None:
    path, one, many = study("picky", x=list(range(9))), tmp_path / "one", tmp_path / "many"
    run(Experiment.read(path), one, engine=Local(1))
    for k in range(3):
        done = shell("run", path, "--store", many, "--shard", f"{k}/3", "--engine", "local?workers=1", "--quiet")
        assert done.code == (1 if k == 0 else 0), done.err
        # What a shard has done is there at once, and so is what all of them are to do.
        with Store(many) as store:
            assert (len(store.states()), len(store.goals("study"))) == (3 * (k + 1), 9)
    with Store(one) as single, Store(many) as sharded:
        assert table(single) == table(sharded)
        # A traceback names the files of its worker, and is the same here, too.
        assert [result.record for result in single.results()] == [result.record for result in sharded.results()]
        assert len(sharded.attempts()) == 9
        assert [made["id"][:12] for made in sharded.runs.all()] == ["shard-0-of-3", "shard-1-of-3", "shard-2-of-3"]
    assert rows(many) == rows(one)
    assert run(Experiment.read(path), many, engine=Local(1)).did == 0
    # A failure is retried by the shard whose it is.
    retried = [run(Experiment.read(path), many, shard=f"{k}/3", engine=Local(1), retry_failed=True) for k in range(3)]
    assert [one.did for one in retried] == [1, 0, 0]


@pytest.mark.slow
def test_a_real_study_in_shards(finished: Path, rows: Callable[[Path], list[Any]], tmp_path: Path) -> None:
    """Trainings that both parts need are done once; results and tensors come out as those of one run, to the bit."""
    path, store = tmp_path / "study.toml", tmp_path / "store"
    shutil.copy(finished / "study.toml", path)
    done = [shard(path, store, k, 2) for k in range(2)]
    assert sum(one.did for one in done) == 3
    assert all(one.did for one in done)
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
    # Parts of another size, and a run of all of it: what is done is done.
    assert shard(path, store, 1, 3).did == 1
    done = run(Experiment.read(path), store, engine=Local(1))
    assert (done.before, done.did) == (4, 2)
    assert shard(path, store, 0, 1).did == 0
    assert len(called()) == 6


@pytest.mark.slow
def test_a_killed_shard_is_gone_on_with(
    study: Callable[..., Path], started: Callable[..., Any], called: Callable[[], list[str]], tmp_path: Path
) -> None:
    path, store = study("slow", x=list(range(8))), tmp_path / "store"
    killed = started("run", path, "--store", store, "--shard", "0/1", "--engine", "local?workers=1", "--quiet")
    while len(called()) < 3:
        assert killed.poll() is None
        # Reading meanwhile harms nobody.
        if (store / "store.json").exists():
            Store(store).close()
        time.sleep(0.01)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    # Half a line, as a machine that loses its power may leave it.
    (journal,) = (store / "journals").iterdir()
    journal.write_bytes(journal.read_bytes()[:-20])
    done = shard(path, store, 0, 1)
    assert done.did == 8 - done.before
    assert done.before >= 1
    with Store(store) as whole:
        assert (len(whole.done()), whole.damage) == (8, [])


@pytest.mark.slow
def test_jobs_that_shards_share_are_done_once_though_they_run_side_by_side(
    study: Callable[..., Path], started: Callable[..., Any], called: Callable[[], list[str]], tmp_path: Path
) -> None:
    """Two shards of the same goals, as where one is run twice: each job is done by one of them."""
    path, store = study("slow", x=list(range(12))), tmp_path / "store"
    words = ("run", path, "--store", store, "--shard", "0/1", "--engine", "local?workers=1", "--json")
    both = [started(*words) for _ in range(2)]
    counts = [json.loads(process.communicate(timeout=120)[0]) for process in both]
    assert sum(one["did"] for one in counts) == 12
    assert all(one["did"] + one["elsewhere"] + one["before"] == 12 for one in counts)
    assert len(called()) == 12


@pytest.mark.slow
def test_helpers_stay_while_another_shard_needs_them_and_go_with_the_last(finished: Path, tmp_path: Path) -> None:
    path, store = tmp_path / "study.toml", Path(shutil.copytree(finished / "store", tmp_path / "store"))
    # Two stitches that begin at the same place share its activations; they are in different shards.
    path.write_text((finished / "study.toml").read_text() + "seeds = [1, 2]\n")
    kinds = []
    for k in range(8):
        shard(path, store, k, 8)
        with Store(store) as there:
            kinds.append(Counter(result.kind for result in there.results()))
    assert {counts["stitch"] for counts in kinds if counts["activations"]} == {2}
    assert kinds[-1] == {"stitch": 3, "train": 2}
    with Store(store) as there:
        made = Counter(attempt["kind"] for attempt in there.attempts())
        assert made["activations"] == 2, "the second shard has used those of the first"
        assert len(list(there.tensors.names())) == 5
    assert check(store).problems == ()


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
