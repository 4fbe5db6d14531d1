"""run: jobs survive failures, deaths, damage and kills; nothing is lost, nothing done twice, not a byte differs."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from in_process import InProcess
from seamripper.experiment import Experiment, Local, Store, Summary, run
from seamripper.experiment.engines import Terms
from seamripper.experiment.runs import born, process_alive

REAL = """
[data]
name = "digits/correlated"
n = 200
n_test = 100

[models.digit]
train = "zoo:R_1111?width=0.125"
data = "digits/digit"
n = 300
training = "?epochs=1"
seeds = [0, 1]

[models.colour]
train = "zoo:R_1111?width=0.125"
data = "digits/colour"
n = 300
training = "?epochs=1"

[[stitch]]
senders = ["colour", "digit/1"]
receivers = ["digit/0"]
cuts = ["layer1"]
matchings = ["direct"]
pairing = "all"
seeds = [0, 1]
"""
LONG = """
data = { name = "digits/digit", n = 100, n_test = 50 }
[models.digit]
train = "zoo:R_1111?width=0.125"
data = "digits/digit"
training = "?epochs=8"
[[stitch]]
senders = ["digit"]
receivers = ["digit"]
cuts = ["layer1"]
matchings = ["direct"]
"""
PLAIN = """
[[call]]
function = "mine.py:f"
grid = { k = [%s] }
"""


Rows = Callable[[Path], list[Any]]


def study(place: Path, code: str, jobs: int = 6) -> Path:
    place.mkdir(exist_ok=True)
    (place / "mine.py").write_text(code)
    (place / "study.toml").write_text(PLAIN % ", ".join(map(str, range(jobs))))
    return place / "study.toml"


def done(path: Path, store: Path, **more: Any) -> Summary:
    return run(Experiment.read(path), store, **{"engine": Local(2), **more})


def entries(store: Path) -> list[dict[str, Any]]:
    """The headers of all results that were ever finished, from the lines of the journals themselves."""
    lines = [line for path in (store / "journals").glob("*.jsonl") for line in path.read_bytes().splitlines(True)]
    headers = [json.loads(line)[1] for line in lines if line.endswith(b"]\n")]
    return [header for header in headers if "takes_back" not in header]


def command(path: Path, store: Path, *more: str) -> list[str]:
    words = ["run", str(path), "--store", str(store), "--quiet", *more]
    return [sys.executable, "-m", "seamripper", *words]


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 120
    while not true():
        assert time.monotonic() < end, "it did not come true in time"
        time.sleep(0.01)


# ---- what is done, and what is not done again


def test_every_job_is_done_once_and_a_second_run_does_nothing(tmp_path: Path) -> None:
    path = study(tmp_path / "a", "def f(k):\n    return {'double': 2 * k}\n")
    first = done(path, tmp_path / "s")
    assert (first.did, first.before, first.failed) == (6, 0, ())
    second = done(path, tmp_path / "s")
    assert (second.did, second.before, second.run) == (0, 6, None)
    with Store(tmp_path / "s") as store:
        assert sorted(entry.record["figures"]["double"] for entry in store.results()) == [0, 2, 4, 6, 8, 10]


def test_a_longer_study_goes_on_from_a_shorter_one(tmp_path: Path) -> None:
    done(study(tmp_path / "a", "def f(k):\n    return {'k': k}\n", jobs=3), tmp_path / "s")
    longer = done(study(tmp_path / "a", "def f(k):\n    return {'k': k}\n", jobs=5), tmp_path / "s")
    assert (longer.did, longer.before) == (2, 3)


def test_what_a_run_was_made_with_is_written_down(tmp_path: Path) -> None:
    done(study(tmp_path / "a", "def f(k):\n    return {'k': k}\n", jobs=1), tmp_path / "s")
    with Store(tmp_path / "s") as store:
        (made,) = store.runs.all()
        (attempt,) = store.attempts()
    assert made["packages"].keys() >= {"seamripper", "torch", "numpy"}
    assert made["engine"] == "local"
    assert made["command"]
    assert made["ended"] >= made["started"]
    assert (attempt["run"], attempt["state"]) == (made["id"], "done")
    assert attempt["worker"].startswith("local-")
    assert 0 <= attempt["seconds"] < 60
    assert abs(attempt["started"] - time.time()) < 600
    assert len(attempt["key"]) == 64


@pytest.mark.slow
def test_progress_tells_of_jobs_done_running_and_left(tmp_path: Path) -> None:
    seen: list[Any] = []
    code = "import time\ndef f(k):\n    time.sleep(0.15)\n    return {'k': k}\n"
    done(study(tmp_path / "a", code, jobs=8), tmp_path / "s", watch=seen.append)
    assert seen[-1].done == seen[-1].total == 8
    assert max(len(now.running) for now in seen) == 2
    assert any(now.running and now.running[0].startswith("call mine.py:f") for now in seen)
    assert any(now.left is not None and now.left > 0 for now in seen)


# ---- what goes wrong


def test_a_failed_job_keeps_its_error_and_stops_no_other(tmp_path: Path) -> None:
    code = "def f(k):\n    if k == 3:\n        raise ArithmeticError('three is bad')\n    return {'k': k}\n"
    said: list[str] = []
    found = done(study(tmp_path / "a", code), tmp_path / "s", announce=said.append)
    assert (found.did, len(found.failed)) == (6, 1)
    with Store(tmp_path / "s") as store:
        entry = store.result(found.failed[0])
    assert entry is not None
    assert entry.state == "failed"
    assert "three is bad" in entry.record["message"]
    assert "line 3" in entry.record["message"]
    assert "raise ArithmeticError" in entry.record["traceback"]
    assert len(said) == 1
    assert "three is bad" in said[0]


def test_a_failed_job_is_done_again_only_if_asked(tmp_path: Path) -> None:
    flag = tmp_path / "mended"
    code = f"import os\ndef f(k):\n    if k == 1 and not os.path.exists({str(flag)!r}):\n        raise OSError('no')\n"
    path = study(tmp_path / "a", code + "    return {'k': k}\n")
    assert len(done(path, tmp_path / "s").failed) == 1
    flag.touch()
    again = done(path, tmp_path / "s")
    assert (again.did, len(again.failed)) == (0, 1)
    retried = done(path, tmp_path / "s", retry_failed=True)
    assert (retried.did, retried.failed) == (1, ())
    with Store(tmp_path / "s") as store:
        assert {entry.state for entry in store.results()} == {"done"}


@pytest.mark.slow
def test_jobs_behind_a_failed_one_wait_and_the_others_go_on(tmp_path: Path) -> None:
    text = REAL.replace("epochs=1", "epochs=1&lr=1e30", 1)
    (tmp_path / "study.toml").write_text(text)
    found = done(tmp_path / "study.toml", tmp_path / "s", engine=InProcess())
    with Store(tmp_path / "s") as store:
        states = Counter((entry.kind, entry.state) for entry in store.results())
    # Both networks of `digit` diverge; the other is trained, and no stitch can be made.
    assert states == {("train", "failed"): 2, ("train", "done"): 1}
    assert (len(found.failed), found.blocked) == (2, 4)


def test_a_dead_worker_s_job_is_done_by_another(tmp_path: Path) -> None:
    flag = tmp_path / "died"
    code = f"import os\ndef f(k):\n    if k == 2 and not os.path.exists({str(flag)!r}):\n"
    code += f"        open({str(flag)!r}, 'w').close()\n        os.kill(os.getpid(), 9)\n    return {{'k': k}}\n"
    found = done(study(tmp_path / "a", code), tmp_path / "s")
    assert (found.did, found.failed) == (6, ())
    assert len(found.messages) == 1
    assert "A worker died over call mine.py:f" in found.messages[0]
    assert "killed by signal 9" in found.messages[0]


@pytest.mark.slow
def test_a_job_that_kills_every_worker_fails_in_the_end(tmp_path: Path) -> None:
    code = "import os\ndef f(k):\n    if k == 0:\n        os._exit(7)\n    return {'k': k}\n"
    found = done(study(tmp_path / "a", code, jobs=4), tmp_path / "s")
    assert (found.did, len(found.failed)) == (4, 1)
    with Store(tmp_path / "s") as store:
        entry = store.result(found.failed[0])
    assert entry is not None
    assert entry.record["error"] == "WorkerDied"
    assert "6 workers died over this job, the last was exit code 7. Does its code end the" in entry.record["message"]


def test_what_a_job_prints_is_not_taken_for_an_answer(tmp_path: Path) -> None:
    code = 'def f(k):\n    print(\'{"key": "x", "ending": "done"}\')\n    return {"k": k}\n'
    assert done(study(tmp_path / "a", code), tmp_path / "s").did == 6


# ---- the same numbers


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store of the real study, which two workers have filled; tests that write take a copy."""
    folder = tmp_path_factory.mktemp("real")
    (folder / "study.toml").write_text(REAL)
    assert not done(folder / "study.toml", folder / "store").failed
    return folder / "store"


@pytest.mark.slow
def test_results_are_the_same_to_the_byte_whatever_the_number_of_workers(
    rows: Rows, tmp_path: Path, real: Path
) -> None:
    (tmp_path / "study.toml").write_text(REAL)
    assert not done(tmp_path / "study.toml", tmp_path / "1", engine=InProcess()).failed
    (tmp_path / "2").symlink_to(real)
    assert rows(tmp_path / "1") == rows(tmp_path / "2")
    assert len(rows(tmp_path / "1")) == 7
    tensors = [sorted(p.name for p in (tmp_path / s / "tensors").rglob("*.safetensors")) for s in ("1", "2")]
    assert tensors[0] == tensors[1]
    # Four stitches, two that begin at each place: its activations are computed once, and let go of.
    kinds = Counter(entry["kind"] for entry in entries(tmp_path / "1"))
    assert kinds == {"train": 3, "activations": 4, "stitch": 4}


@pytest.mark.slow
def test_shared_activations_change_nothing(rows: Rows, tmp_path: Path, real: Path) -> None:
    """A stitch that begins where no other does computes them itself, and finds the same to the bit."""
    (tmp_path / "alone.toml").write_text(REAL.rstrip().removesuffix("seeds = [0, 1]") + "seeds = [1]\n")
    done(tmp_path / "alone.toml", tmp_path / "alone", engine=InProcess())
    assert not any(entry["kind"] == "activations" for entry in entries(tmp_path / "alone"))
    shared = {row[0]: row for row in rows(real)}
    alone = [row for row in rows(tmp_path / "alone") if row[1] == "stitch"]
    assert len(alone) == 2
    assert all(shared[row[0]] == row for row in alone)


@pytest.mark.slow
def test_a_damaged_tensor_is_set_aside_and_computed_anew(rows: Rows, tmp_path: Path, real: Path) -> None:
    shutil.copytree(real, tmp_path / "s")
    before = rows(tmp_path / "s")
    with Store(tmp_path / "s") as store:
        trained = [entry for entry in store.results() if entry.kind == "train"]
        victims = [store.tensors.path(entry.tensors["model"]) for entry in trained]
    victims[0].write_bytes(victims[0].read_bytes()[:-100])
    victims[1].unlink()
    (tmp_path / "study.toml").write_text(REAL.replace('cuts = ["layer1"]', 'cuts = ["layer1", "layer2"]'))
    found = done(tmp_path / "study.toml", tmp_path / "s", engine=InProcess())
    assert not found.failed
    assert [message for message in found.messages if "is damaged. It was set aside" in message]
    assert [message for message in found.messages if "It is gone, and train" in message]
    assert len(list((tmp_path / "s" / "damaged").iterdir())) == 1
    assert all(victim.is_file() for victim in victims)
    # What was found before is as it was: the same weights were trained again.
    assert set(before) < set(rows(tmp_path / "s"))


# ---- kill -9


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux kills a process as its parent ends")
def test_a_worker_in_a_loop_in_c_ends_with_its_driver(
    tmp_path: Path, started: Callable[..., subprocess.Popen[str]]
) -> None:
    """Such a loop lets no other thread of the worker run: only the kernel can tell it that the driver has ended."""
    code = "import collections, itertools, os, pathlib\ndef f(k):\n    here = pathlib.Path(__file__).with_name('pid')\n"
    code += "    here.with_suffix('.new').write_text(str(os.getpid()))\n    here.with_suffix('.new').rename(here)\n"
    (tmp_path / "mine.py").write_text(code + "    collections.deque(itertools.repeat(0), maxlen=0)\n")
    (tmp_path / "study.toml").write_text('[[call]]\nfunction = "mine.py:f"\nargs = { k = 1 }\n')
    driver = started("run", tmp_path / "study.toml", "--store", tmp_path / "store", "--engine", "local?workers=1")
    until((tmp_path / "pid").exists)
    worker = int((tmp_path / "pid").read_text())
    since = born(worker)
    assert process_alive(worker, since)
    driver.kill()
    try:
        until(lambda: not process_alive(worker, since))
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(worker, signal.SIGKILL)


def test_a_worker_whose_driver_has_ended_before_it_looked_ends_at_once(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "seamripper.experiment.engines.process", "{}", "late", "1", "0", "1"]
    assert subprocess.run(words, stdin=subprocess.DEVNULL, timeout=60).returncode == 0


@pytest.mark.slow
def test_killed_at_twenty_moments_it_ends_as_if_undisturbed(rows: Rows, tmp_path: Path) -> None:
    # The last job waits for a sign, so that no run has ended before it is killed.
    sign = tmp_path / "sign"
    code = f"import pathlib, time\ndef f(k):\n    while k == 59 and not pathlib.Path({str(sign)!r}).exists():\n"
    code += "        time.sleep(0.01)\n    time.sleep(0.03)\n    return {'square': k * k, 'root': k ** 0.5}\n"
    path = study(tmp_path / "a", code, jobs=60)
    sign.touch()
    done(path, tmp_path / "whole")
    sign.unlink()
    store, moments, kept, killed = tmp_path / "killed", random.Random(1), set[str](), 0
    for target in sorted(moments.randrange(59) for _ in range(20)):
        driver = subprocess.Popen(command(path, store))
        until(lambda d=driver, t=target: d.poll() is not None or len(entries(store)) >= t)  # type: ignore[misc]
        time.sleep(moments.uniform(0, 0.05 if target else 0.4))
        driver.kill()
        killed += driver.wait() == -signal.SIGKILL
        now = {entry["key"] for entry in entries(store)}
        assert kept <= now
        kept = now
    assert killed == 20
    sign.touch()
    assert subprocess.run(command(path, store)).returncode == 0
    assert rows(store) == rows(tmp_path / "whole")
    assert Counter(Counter(entry["key"] for entry in entries(store)).values()) == {1: 60}
    assert subprocess.run([sys.executable, "-m", "seamripper", "store", "check", str(store)]).returncode == 0


@pytest.mark.slow
def test_a_real_study_that_is_killed_goes_on_within_its_training(rows: Rows, tmp_path: Path) -> None:
    # One network alone: its training is long enough to be met.
    (tmp_path / "study.toml").write_text(LONG)
    done(tmp_path / "study.toml", tmp_path / "whole", engine=InProcess())
    store = tmp_path / "killed"
    driver = subprocess.Popen(command(tmp_path / "study.toml", store))
    until(lambda: len(list(store.glob("work/*/*.partial.safetensors"))) > 0)
    driver.kill()
    driver.wait()
    partial = next(store.glob("work/*/*.partial.safetensors"))
    assert not (store / "journals").exists() or not entries(store)
    assert partial.stat().st_size > 0
    assert subprocess.run(command(tmp_path / "study.toml", store)).returncode == 0
    assert rows(store) == rows(tmp_path / "whole")
    assert not list(store.glob("work/*"))


@pytest.mark.slow
def test_workers_end_with_their_driver(tmp_path: Path) -> None:
    code = f"import os, time\ndef f(k):\n    open({str(tmp_path)!r} + f'/pid-{{os.getpid()}}', 'w').close()\n"
    code += "    time.sleep(600)\n"
    driver = subprocess.Popen(command(study(tmp_path / "a", code), tmp_path / "s", "--engine", "local?workers=2"))
    until(lambda: len(list(tmp_path.glob("pid-*"))) == 2)
    pids = [int(path.name[4:]) for path in tmp_path.glob("pid-*")]
    driver.kill()
    driver.wait()
    until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids))


@pytest.mark.slow
def test_ctrl_c_gives_claims_back_and_says_how_to_go_on(tmp_path: Path) -> None:
    code = "import time\ndef f(k):\n    time.sleep(0 if k < 2 else 60)\n    return {'k': k}\n"
    path = study(tmp_path / "a", code)
    # A shell that runs the tests in the background lets them ignore Ctrl-C, and so would the driver.
    heeding = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    words = command(path, tmp_path / "s")
    driver = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, preexec_fn=heeding)
    until(lambda: len(entries(tmp_path / "s")) == 2)
    driver.send_signal(signal.SIGINT)
    _, said = driver.communicate(timeout=120)
    assert driver.returncode == 130
    assert "it continues where it was" in said
    with Store(tmp_path / "s") as store:
        assert store.runs.claims() == {}
        assert store.runs.living() == []
        assert len(store.done()) == 2


# ---- two at a time


@pytest.mark.slow
def test_two_runs_of_one_study_share_the_work_and_both_end_well(tmp_path: Path) -> None:
    # The first job of each waits for that of the other, however late that one is.
    code = f"import os, pathlib, time\nhere = pathlib.Path({str(tmp_path)!r})\ndef f(k):\n"
    code += "    (here / f'worker-{os.getpid()}').touch()\n"
    code += "    while len(list(here.glob('worker-*'))) < 2:\n        time.sleep(0.01)\n"
    code += "    time.sleep(0.05)\n    return {'k': k}\n"
    path = study(tmp_path / "a", code, jobs=40)
    words = command(path, tmp_path / "s", "--engine", "local?workers=1", "--json")
    both = [subprocess.Popen(words, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    told = [json.loads(one.communicate(timeout=120)[0]) for one in both]
    assert [one.returncode for one in both] == [0, 0]
    assert sum(one["did"] for one in told) == 40
    assert min(one["did"] for one in told) >= 1
    assert Counter(Counter(entry["key"] for entry in entries(tmp_path / "s")).values()) == {1: 40}


@pytest.mark.slow
def test_a_run_takes_over_what_a_dead_one_had_claimed(rows: Rows, tmp_path: Path) -> None:
    code = "import os, time\ndef f(k):\n    time.sleep(60 if os.environ.get('SLOW') else 0)\n    return {'k': k}\n"
    path = study(tmp_path / "a", code)
    slow = subprocess.Popen(command(path, tmp_path / "s"), env={**os.environ, "SLOW": "1"})
    until(lambda: (tmp_path / "s" / "store.json").exists() and len(_claims(tmp_path / "s")) == 2)
    quick = subprocess.Popen(command(path, tmp_path / "s"))
    until(lambda: len(entries(tmp_path / "s")) == 4)
    assert quick.poll() is None, "the other run is alive: what it has claimed is waited for"
    slow.kill()
    slow.wait()
    assert quick.wait(20) == 0
    assert len(rows(tmp_path / "s")) == 6


def _claims(store: Path) -> dict[str, str]:
    with Store(store) as there:
        return there.runs.claims()


# ---- what an engine refuses


def test_a_job_that_asks_for_a_gpu_is_refused_before_anything_begins(tmp_path: Path) -> None:
    import torch

    from seamripper.errors import ExperimentError

    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    path = study(tmp_path / "a", "def f(k):\n    return {'k': k}\n")
    path.write_text(path.read_text() + "\n[resources]\ngpus = 0.5\n")
    with pytest.raises(ExperimentError, match=r"asks for 0\.5 GPU, and this machine has 0"):
        done(path, tmp_path / "s")
    assert not list((tmp_path / "s").glob("journals/*"))


def test_an_engine_of_no_workers_is_refused() -> None:
    from seamripper.errors import ExperimentError

    with pytest.raises(ExperimentError, match="workers to be a whole number of at least 1, but got 0"):
        Local(0)


def test_by_default_there_is_a_worker_for_each_share_of_the_cores() -> None:
    engine, cores = Local(), len(os.sched_getaffinity(0))
    engine.terms = Terms("nowhere", threads=1)
    assert engine.places == cores
    engine.terms = Terms("nowhere", threads=2 * cores)
    assert engine.places == 1


@pytest.mark.slow
def test_a_helper_that_another_study_let_go_of_is_done_again(rows: Rows, tmp_path: Path, real: Path) -> None:
    """Two studies on one store share a helper; the first to end removes it under the other."""
    (tmp_path / "study.toml").write_text(REAL)
    store = tmp_path / "s"
    removed: list[str] = []

    def let_go(now: Any) -> None:
        # As soon as activations are there, as the other study would at its end.
        with Store(store, write=True) as there:
            gone = [entry for entry in there.results() if entry.kind == "activations"] if not removed else []
            for entry in gone:
                there.tensors.drop(entry.tensors["activations"])
                removed.append(entry.key)

    found = done(tmp_path / "study.toml", store, engine=Local(1), watch=let_go)
    assert removed
    assert (found.failed, found.blocked) == ((), 0)
    assert rows(store) == rows(real)
