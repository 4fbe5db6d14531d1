"""Plans: what would be run, what is done, failed and blocked, how long it takes; and finished studies without torch."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from in_process import InProcess
from seamripper.errors import StoreError
from seamripper.experiment import (
    ComparePart,
    Data,
    Experiment,
    Network,
    Plan,
    StitchPart,
    Store,
    parts,
    plan,
    run,
)
from seamripper.experiment.job import Job
from seamripper.experiment.plan import Pace, cost
from seamripper.experiment.result import Result

PAIR: dict[str, Any] = {"senders": ("net/0",), "receivers": ("net/1",), "pairing": "all"}
STUDY = Experiment(
    name="study",
    data=Data(name="digits/digit", n=64, n_test=32),
    models={
        "net": Network(train="zoo:R_1111?width=0.125", data="digits/digit", n=64, training="?epochs=2", seeds=(0, 1)),
    },
    stitch=(StitchPart(**PAIR, cuts=("layer1",), matchings=("direct",), seeds=(0, 1), controls=("self",)),),
    compare=(ComparePart(**PAIR, cuts=("layer1",), parts=2, batch=8),),
)
KINDS = {"activations": 2, "compare": 1, "control": 2, "pass": 2, "stitch": 2, "train": 2}
COLUMNS = ("jobs", "done", "failed", "blocked", "to run")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store", write=True) as store:
        yield store


def enter(store: Store, *jobs: Job, state: Any = "done", seconds: float = 0.0, gone: bool = False) -> None:
    """Results of these jobs, as a run would have entered them; helpers with a tensor, which may be gone again."""
    for job in jobs:
        tensors = {}
        if parts[job.kind].helps and state == "done":
            name = store.tensors.put(lambda path, job=job: path.write_text(job.key))  # type: ignore[misc]
            tensors["made"] = name
        record = {"error": "E", "message": "m"}
        store.enter(Result(job.key, job.kind, state, record, tensors, seconds=seconds))
        if gone:
            store.tensors.drop(tensors["made"])


def jobs(planned: Plan, kind: str) -> list[Job]:
    return [job for job in planned.graph if job.kind == kind]


def counts(planned: Plan) -> dict[str, tuple[int, ...]]:
    """Jobs, done, failed, blocked and to run, of each kind."""
    found = planned.counts()
    assert all(tuple(row) == COLUMNS for row in found.values())
    return {kind: tuple(row.values()) for kind, row in found.items()}


# ---- before anything is done


def test_without_a_store_all_of_it_is_to_be_run() -> None:
    planned = plan(STUDY)
    assert counts(planned) == {kind: (n, 0, 0, 0, n) for kind, n in KINDS.items()}
    assert list(counts(planned)) == sorted(KINDS)
    assert list(planned.needed) == list(planned.graph.jobs)
    assert planned.blocked == frozenset()
    assert planned.guessed == sorted(KINDS)


def test_an_empty_store_is_the_same(store: Store) -> None:
    assert counts(plan(STUDY, store)) == counts(plan(STUDY))


def test_each_job_would_run_behind_those_that_it_needs() -> None:
    seen: set[str] = set()
    for key, job in plan(STUDY).needed.items():
        assert set(job.needs) <= seen
        seen.add(key)


def test_planning_enters_no_job_and_no_result(store: Store) -> None:
    plan(STUDY, store)
    assert store.states() == {}
    assert store.experiments() == {}
    assert len(store.memo) > 0


def test_a_store_that_is_open_for_reading_is_not_written(tmp_path: Path) -> None:
    with Store(tmp_path / "store", write=True):
        pass
    with Store(tmp_path / "store") as reading:
        before = counts(plan(STUDY, reading))
        assert counts(plan(STUDY, reading)) == before
    assert [path.name for path in (tmp_path / "store").iterdir()] == ["store.json"]


def test_there_must_be_a_store_to_plan_on(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="There is no store at"):
        Store(tmp_path / "none")


# ---- done, failed, blocked


def test_what_is_done_is_not_run(store: Store) -> None:
    planned = plan(STUDY, store)
    enter(store, *jobs(planned, "train"), jobs(planned, "stitch")[0], jobs(planned, "compare")[0])
    assert counts(plan(STUDY, store)) == {
        "activations": (2, 0, 0, 0, 2),
        # Nothing needs the passes any more.
        "pass": (2, 0, 0, 0, 0),
        "compare": (1, 1, 0, 0, 0),
        "control": (2, 0, 0, 0, 2),
        "stitch": (2, 1, 0, 0, 1),
        "train": (2, 2, 0, 0, 0),
    }


def test_when_every_goal_is_done_helpers_are_not_missed(store: Store) -> None:
    planned = plan(STUDY, store)
    enter(store, *(job for job in planned.graph if not parts[job.kind].helps))
    again = plan(STUDY, store)
    assert again.needed == {}
    assert again.seconds == 0.0
    assert again.guessed == []


@pytest.mark.parametrize("gone", [False, True])
def test_a_helper_counts_as_done_while_its_tensors_are_there(store: Store, gone: bool) -> None:
    planned = plan(STUDY, store)
    enter(store, *jobs(planned, "train"))
    enter(store, *jobs(planned, "activations"), *jobs(planned, "pass"), gone=gone)
    found = counts(plan(STUDY, store))
    assert found["activations"] == found["pass"] == ((2, 0, 0, 0, 2) if gone else (2, 2, 0, 0, 0))


def test_what_needs_a_job_that_failed_is_blocked(store: Store) -> None:
    planned = plan(STUDY, store)
    sender, receiver = jobs(planned, "train")
    enter(store, receiver)
    enter(store, sender, state="failed")
    again = plan(STUDY, store)
    assert counts(again) == {
        # `self` is a control of the receiver alone.
        "control": (2, 0, 0, 0, 2),
        "activations": (2, 0, 0, 2, 0),
        "compare": (1, 0, 0, 1, 0),
        "pass": (2, 0, 0, 2, 0),
        "stitch": (2, 0, 0, 2, 0),
        "train": (2, 1, 1, 0, 0),
    }
    assert {job.kind for job in again.needed.values()} == {"control"}
    assert again.failed == {sender.key}
    assert not again.blocked & again.failed
    assert again.as_record()["to_run"] == 2


def test_what_was_done_before_its_need_failed_stays_done(store: Store) -> None:
    planned = plan(STUDY, store)
    done = jobs(planned, "stitch")[0]
    enter(store, done)
    enter(store, *jobs(planned, "train"), state="failed")
    again = plan(STUDY, store)
    assert done.key not in again.blocked
    assert counts(again)["stitch"] == (2, 1, 0, 1, 0)


def test_helpers_of_jobs_that_failed_are_not_made_again(store: Store) -> None:
    """They were let go of behind the failure; a second run has nothing to do, and must not make them for nobody."""
    planned = plan(STUDY, store)
    enter(store, *jobs(planned, "train"), *jobs(planned, "control"))
    enter(store, *jobs(planned, "stitch"), *jobs(planned, "compare"), state="failed")
    again = plan(STUDY, store)
    assert again.needed == {}
    assert counts(again)["activations"] == counts(again)["pass"] == (2, 0, 0, 0, 0)


def test_one_that_failed_does_not_hold_back_the_other_that_shares_its_helpers(store: Store) -> None:
    planned = plan(STUDY, store)
    enter(store, *jobs(planned, "train"))
    enter(store, jobs(planned, "stitch")[0], state="failed")
    again = plan(STUDY, store)
    assert counts(again)["activations"] == (2, 0, 0, 0, 2)
    assert counts(again)["stitch"] == (2, 0, 1, 0, 1)


def test_what_failed_and_was_done_later_is_done(store: Store) -> None:
    train = jobs(plan(STUDY, store), "train")
    enter(store, *train, state="failed")
    enter(store, train[0])
    assert counts(plan(STUDY, store))["train"] == (2, 1, 1, 0, 0)


def test_results_of_another_study_count_where_the_jobs_are_the_same_and_nowhere_else(store: Store) -> None:
    other = STUDY.model_copy(update={"name": "other", "threads": 2})
    same = STUDY.model_copy(update={"name": "same", "compare": ()})
    enter(store, *plan(other, store).graph, seconds=1.0)
    untouched = plan(STUDY, store)
    assert counts(untouched) == {kind: (n, 0, 0, 0, n) for kind, n in KINDS.items()}
    assert untouched.guessed == sorted(KINDS)
    enter(store, *jobs(untouched, "train"), *jobs(untouched, "compare"))
    assert counts(plan(same, store)) == {
        "activations": (2, 0, 0, 0, 2),
        "control": (2, 0, 0, 0, 2),
        "stitch": (2, 0, 0, 0, 2),
        "train": (2, 2, 0, 0, 0),
    }


# ---- how long it takes


def test_before_anything_was_timed_it_is_a_guess() -> None:
    planned = plan(STUDY)
    guess = sum(parts[job.kind].rate * parts[job.kind].cost(job.content) for job in planned.graph)
    assert planned.seconds == pytest.approx(guess)
    assert planned.seconds > 0


def test_timed_jobs_tell_what_others_of_their_kind_take(store: Store) -> None:
    stitching = (STUDY.stitch[0].model_copy(update={"controls": ()}),)
    longer = STUDY.model_copy(update={"stitch": stitching, "compare": ()})
    first = jobs(plan(longer, store), "train")[0]
    # Two epochs over 64 samples in 12.8 s: 0.1 s a sample.
    assert cost(first) == 128
    enter(store, first, seconds=12.8)
    planned = plan(longer, store)
    assert planned.pace.rate("train") == pytest.approx(0.1)
    assert planned.guessed == ["activations", "stitch"]
    rest = sum(parts[job.kind].rate * cost(job) for job in planned.needed.values() if job.kind != "train")
    assert planned.seconds == pytest.approx(12.8 + rest)


def test_the_pace_is_the_mean_by_cost_and_goes_by_kind() -> None:
    def trained(n: int) -> Job:
        return Job("train", {"n": n, "training": {"epochs": 1}})

    pace = Pace()
    assert not pace.knows("train")
    assert pace.rate("train") == parts["train"].rate
    pace.learn(trained(10), 1.0)
    pace.learn(trained(30), 1.0)
    assert pace.knows("train")
    assert not pace.knows("call")
    assert pace.rate("train") == pytest.approx(2 / 40)
    assert pace.seconds([trained(100), Job("call", {})]) == pytest.approx(5 + parts["call"].rate)


def test_time_that_failures_took_is_not_counted(store: Store) -> None:
    enter(store, jobs(plan(STUDY, store), "train")[0], state="failed", seconds=1000.0)
    assert not plan(STUDY, store).pace.knows("train")
    assert plan(STUDY, store).seconds < 100


def test_no_job_costs_nothing() -> None:
    assert cost(Job("activations", {"n": 0})) > 0


def test_the_record_is_json(store: Store) -> None:
    enter(store, *jobs(plan(STUDY, store), "train"), seconds=1.5)
    record = plan(STUDY, store).as_record()
    assert json.loads(json.dumps(record, allow_nan=False)) == record
    assert {name: record[name] for name in ("experiment", "jobs", "goals", "to_run", "guessed")} == {
        "experiment": "study",
        "jobs": 11,
        "goals": 7,
        "to_run": 9,
        "guessed": ["activations", "compare", "control", "pass", "stitch"],
    }
    assert record["kinds"]["train"] == {"jobs": 2, "done": 2, "failed": 0, "blocked": 0, "to run": 0}
    assert record["seconds"] > 0


# ---- a study that was really run

TOML = """
    data = {name = "digits/digit", n = 64, n_test = 32}
    [models.net]
    train = "zoo:R_1111?width=0.125"
    data = "digits/digit"
    n = 64
    training = "?epochs=1"
    seeds = [0, 1]
    [[stitch]]
    senders = ["net/0"]
    receivers = ["net/1"]
    pairing = "all"
    cuts = ["layer1"]
    matchings = ["direct"]
    seeds = [0, 1]
    controls = ["self"]
    [[compare]]
    senders = ["net/0"]
    receivers = ["net/1"]
    pairing = "all"
    cuts = ["layer1"]
    measures = ["linear_cka"]
    parts = 2
    batch = 8
    [[audit]]
    senders = ["net/0"]
    receivers = ["net/1"]
    pairing = "all"
    cuts = ["layer1"]
    matching = "direct"
    controls = ["self"]
    audits = ["rank"]
    seeds = [0]
    [[call]]
    function = "mine.py:picky"
    grid = {x = [1, 2]}
"""
PICKY = """
def picky(x):
    if x == 2:
        raise ValueError("two is not liked")
    return {"x": x}
"""


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a study of every kind of job that was run to its end; one call of it has failed."""
    folder = tmp_path_factory.mktemp("ended")
    (folder / "study.toml").write_text(textwrap.dedent(TOML))
    (folder / "mine.py").write_text(PICKY)
    summary = run(Experiment.read(folder / "study.toml"), folder / "store", engine=InProcess())
    assert summary.did == 14
    assert len(summary.failed) == 1
    return folder


def test_a_study_that_was_run_is_seen_to_be_done(ended: Path) -> None:
    with Store(ended / "store") as store:
        planned = plan(Experiment.read(ended / "study.toml"), store)
        assert counts(planned) == {
            "activations": (2, 0, 0, 0, 0),
            "audit": (1, 1, 0, 0, 0),
            "call": (2, 1, 1, 0, 0),
            "compare": (1, 1, 0, 0, 0),
            "control": (2, 2, 0, 0, 0),
            "pass": (2, 0, 0, 0, 0),
            "stitch": (2, 2, 0, 0, 0),
            "train": (2, 2, 0, 0, 0),
        }
        assert planned.needed == {}
        assert planned.seconds == 0
        assert all(planned.pace.knows(kind) for kind in counts(planned) if kind != "call")


def python(code: str, *args: object) -> list[str]:
    """The lines that code prints in a fresh interpreter, where nothing has been imported yet."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, args)],
        env={**os.environ, "PYTHONWARNINGS": "error", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


REPLAN = """
    import sys
    from pathlib import Path
    from seamripper.experiment import Experiment, Store, plan

    folder = Path(sys.argv[1])
    with Store(folder / "store") as store:
        planned = plan(Experiment.read(folder / sys.argv[2]), store)
    print(len(planned.graph), len(planned.needed))
    print(*sorted(sys.modules))
"""


@pytest.mark.slow
def test_a_finished_study_is_planned_again_without_torch(ended: Path) -> None:
    said, modules = python(REPLAN, ended, "study.toml")
    assert said == "14 0"
    assert not {"torch", "numpy", "scipy", "sklearn"} & set(modules.split())


@pytest.mark.slow
def test_what_is_new_in_a_study_is_looked_at_with_torch(ended: Path) -> None:
    """The test above can fail: a cut that was never looked for has to be."""
    (ended / "more.toml").write_text(textwrap.dedent(TOML).replace('["layer1"]', '["layer1", "layer2"]', 1))
    said, modules = python(REPLAN, ended, "more.toml")
    assert said == "20 6"
    assert "torch" in modules.split()


@pytest.mark.slow
def test_running_a_finished_study_does_nothing_without_torch(ended: Path) -> None:
    said, modules = python(
        """
        import sys
        from pathlib import Path
        from seamripper.experiment import Experiment, run

        folder = Path(sys.argv[1])
        done = run(Experiment.read(folder / "study.toml"), folder / "store")
        print(done.did, done.before, len(done.failed), done.run)
        print(*sorted(sys.modules))
        """,
        ended,
    )
    assert said == "0 9 1 None"
    assert "torch" not in modules.split()
