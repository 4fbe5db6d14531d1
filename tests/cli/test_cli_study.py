"""Studies on the command line: plan, run, status, results, store, sbatch."""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PLAIN = """
about = "doubling"

[[call]]
function = "mine.py:f"
grid = { k = [0, 1, 2, 3] }
"""
CODE = "def f(k):\n    if k == 9:\n        raise ValueError('nine')\n    return {'double': 2 * k, 'word': 'fine'}\n"
REAL = """
[data]
name = "digits/correlated"
n = 100
n_test = 60

[models.digit]
train = "zoo:R_1111?width=0.125"
data = "digits/digit"
n = 200
training = "?epochs=1"
seeds = [0, 1]

[[stitch]]
senders = ["digit"]
receivers = ["digit"]
cuts = ["layer1"]
pairing = "others"
matchings = ["direct"]
controls = ["self"]
"""


@pytest.fixture
def study(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(CODE)
    (tmp_path / "study.toml").write_text(PLAIN)
    return tmp_path / "study.toml"


# ---- from the plan to the table


def test_a_study_from_its_plan_to_its_table(run: Any, study: Path, tmp_path: Path) -> None:
    planned = run("plan", "study.toml")
    assert planned.code == 0
    assert "study, kept in runs/study" in planned.out
    assert "a guess for call, because no such job was timed yet" in planned.out
    assert not (tmp_path / "runs").exists(), "a plan writes nothing"
    ran = run("run", "study.toml")
    assert (ran.code, ran.out.splitlines()[0][:11]) == (0, "4 jobs done")
    assert "results: seamripper results runs/study" in ran.out
    again = run("run", "study.toml")
    assert again.out.startswith("nothing was left to do; 4 were done before")
    assert "nothing to run: all of it is done" in run("plan", "study.toml").out
    status = run("status", "runs/study")
    assert status.code == 0
    assert "study" in status.out
    assert "engine local: ended" in status.out
    shown = run("results", "runs/study", "--figure", "double")
    assert "4 figures of runs/study" in shown.out
    assert "call mine.py:f" in shown.out, "what is the same in all rows is told once"
    written = run("results", "runs/study", "--to", "all.csv")
    assert written.out == "8 rows written to all.csv\n"
    rows = list(csv.DictReader((tmp_path / "all.csv").read_text().splitlines()))
    assert [row["value"] for row in rows if row["figure"] == "double"] == ["0.0", "2.0", "4.0", "6.0"]
    assert {row["status"] for row in rows if row["figure"] == "word"} == {"fine"}


def test_every_command_speaks_json(run: Any, study: Path) -> None:
    planned = run("plan", "study.toml", "--json").json
    assert (planned["jobs"], planned["to_run"], planned["store"]) == (4, 4, "runs/study")
    ran = run("run", "study.toml", "--json").json
    assert (ran["did"], ran["failed"], ran["store"]) == (4, [], "runs/study")
    status = run("status", "runs/study", "--json").json
    assert status["experiments"] == [{"name": "study", "goals": 4, "done": 4, "failed": 0, "running": 0, "left": 0}]
    table = run("results", "runs/study", "--json").json
    assert len(table["rows"]) == 8
    assert {"figure", "value", "key"} <= set(table["columns"])
    assert run("store", "check", "runs/study", "--json").json["problems"] == []
    assert run("store", "gc", "runs/study", "--json").json == {"files": 0, "bytes": 0}
    assert run("sbatch", "study.toml", "--shards", 3, "--json").json["shards"] == 3


def test_a_failed_job_is_told_with_its_reason_and_exit_code_1(run: Any, study: Path) -> None:
    study.write_text(PLAIN.replace("[0, 1, 2, 3]", "[0, 9]"))
    ran = run("run", "study.toml")
    assert ran.code == 1
    assert "call mine.py:f failed: f of mine.py failed at line 3: ValueError: nine" in ran.err
    assert "1 failed (seamripper status runs/study says why; --retry-failed runs them again)" in ran.out
    status = run("status", "runs/study", "--tracebacks")
    assert "ValueError: nine" in status.out
    assert "Traceback (most recent call last)" in status.out
    assert "try --retry-failed" in run("plan", "study.toml").out
    assert run("run", "study.toml", "--retry-failed").code == 1
    rows = run("results", "runs/study", "--json").json["rows"]
    assert [row["state"] for row in rows] == ["done", "done", "failed"]
    assert "ValueError: nine" in rows[-1]["error"]


def test_quiet_says_nothing(run: Any, study: Path) -> None:
    ran = run("run", "study.toml", "--quiet")
    assert (ran.code, ran.out, ran.err) == (0, "", "")


@pytest.mark.slow
def test_plain_lines_of_progress_where_no_terminal_looks(started: Any, study: Path, tmp_path: Path) -> None:
    # The last two jobs wait until a line was seen that tells of them.
    seen = tmp_path / "seen"
    code = f"import pathlib, time\ndef f(k):\n    while k > 1 and not pathlib.Path({str(seen)!r}).exists():\n"
    code += "        time.sleep(0.01)\n    return {'k': k}\n"
    (tmp_path / "mine.py").write_text(code)
    running = started("run", "study.toml", "--engine", "local?workers=2")
    lines = []
    while not lines or "jobs: 2/4 done, 2 running, 0 failed, about" not in lines[-1]:
        lines.append(running.stderr.readline())
        assert lines[-1], lines
    seen.touch()
    running.communicate(timeout=120)
    assert running.returncode == 0


@pytest.mark.slow
def test_a_terminal_gets_a_bar(study: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("import time\ndef f(k):\n    time.sleep(0.5)\n    return {'k': k}\n")
    words = [sys.executable, "-m", "seamripper", "run", "study.toml"]
    done = subprocess.run(
        ["script", "-qec", " ".join(words), "/dev/null"], cwd=tmp_path, capture_output=True, timeout=120
    )
    said = done.stdout.decode()
    assert "running" in said
    assert "━" in said
    assert "4 jobs done" in said


def test_parquet_has_the_same_rows(run: Any, study: Path, tmp_path: Path) -> None:
    import pyarrow.parquet

    run("run", "study.toml")
    assert run("results", "runs/study", "--to", "all.parquet").code == 0
    found = pyarrow.parquet.read_table(tmp_path / "all.parquet").to_pylist()
    assert [row["value"] for row in found if row["figure"] == "double"] == [0.0, 2.0, 4.0, 6.0]


@pytest.mark.slow
def test_shards_come_to_what_one_run_does(run: Any, tmp_path: Path) -> None:
    (tmp_path / "real.toml").write_text(REAL)
    assert run("run", "real.toml", "--store", "one", "--engine", "local?workers=1").code == 0
    for shard in range(2):
        assert (
            run("run", "real.toml", "--store", "many", "--shard", f"{shard}/2", "--engine", "local?workers=1").code == 0
        )
    tables = [run("results", store, "--json").json for store in ("one", "many")]
    assert tables[0] == tables[1]
    assert len(tables[0]["rows"]) > 10
    assert run("run", "real.toml", "--store", "many").out.startswith("nothing was left to do")
    made = run("status", "many", "--json").json["runs"]
    assert [one["id"][:12] for one in made] == ["shard-0-of-2", "shard-1-of-2"]
    assert all(one["packages"]["torch"] and one["engine"] == "local" for one in made)


@pytest.mark.slow
def test_a_damaged_tensor_that_nothing_needs_is_mended_too(run: Any, tmp_path: Path) -> None:
    (tmp_path / "real.toml").write_text(REAL)
    run("run", "real.toml", "--store", "s", "--engine", "local?workers=1")
    before = run("results", "s", "--json").json
    victim = max((tmp_path / "s" / "tensors").rglob("*.safetensors"), key=lambda path: path.stat().st_mtime_ns)
    victim.write_bytes(victim.read_bytes()[:-4])
    checked = run("store", "check", "s")
    assert checked.code == 1
    assert "is not as it was written" in checked.out
    assert "It was set aside, and the next run computes it again" in run("store", "check", "s", "--mend").out
    assert run("run", "real.toml", "--store", "s", "--engine", "local?workers=1").out.startswith("1 jobs done")
    assert run("store", "check", "s").out.endswith("nothing is damaged\n")
    assert run("results", "s", "--json").json == before


@pytest.mark.slow
def test_the_script_for_sbatch_runs_every_shard(run: Any, study: Path, tmp_path: Path) -> None:
    said = run("sbatch", "study.toml", "--shards", 2, "--time", 30, "--set", "partition=cpu", "--set", "mem=4GB")
    assert said.code == 0
    assert "now: sbatch study.sbatch" in said.out
    text = (tmp_path / "study.sbatch").read_text()
    for line in ("#SBATCH --array=0-1%2", "#SBATCH --partition=cpu", "#SBATCH --mem=4GB", "#SBATCH --time=30"):
        assert line in text.splitlines()
    assert (tmp_path / "runs" / "study-logs").is_dir()
    # No Slurm here: a stand-in for `srun` drops its own options, as tasks of the array would be started.
    (tmp_path / "bin").mkdir()
    srun = tmp_path / "bin" / "srun"
    srun.write_text(
        '#!/bin/sh\nwhile [ "${1#-}" != "$1" ]; do [ "$1" = --unbuffered ] || shift; shift; done\nexec "$@"\n'
    )
    srun.chmod(0o755)
    import os

    for task in range(2):
        env = {**os.environ, "SLURM_ARRAY_TASK_ID": str(task), "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
        subprocess.run(["bash", str(tmp_path / "study.sbatch")], cwd=tmp_path, env=env, check=True, timeout=120)
    (stands,) = run("status", "runs/study", "--json").json["experiments"]
    assert (stands["goals"], stands["done"], stands["left"]) == (4, 4, 0)


# ---- what users get wrong
