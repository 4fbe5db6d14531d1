"""What was found without a study is kept in a store, as a study's results are, beside whatever is in the folder."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from seamripper.errors import StoreError
from seamripper.experiment import Experiment, Local, Store, run, table
from seamripper.experiment.job import Job
from seamripper.experiment.parts.base import Output
from seamripper.experiment.single import Single, keep
from seamripper.experiment.upkeep import check
from seamripper.report.runs import Runs


def single(value: float) -> Single:
    return Single(Job("call", {"value": value}, {"call": f"of {value}"}), Output({"figures": {"x": value}}))


def test_the_last_results_of_a_name_stand_and_files_stay(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    keep(tmp_path, "demo", [single(1.0), single(2.0)], started=time.time(), about="first")
    keep(tmp_path, "demo", [single(3.0)], started=time.time())
    keep(tmp_path, "audit", [single(2.0)], started=time.time())
    with Store(tmp_path) as store:
        assert {(row["experiment"], row["call"]) for row in table(store)[1]} == {
            ("demo", "of 3.0"),
            ("audit", "of 2.0"),
        }
        assert [one["experiment"] for one in store.runs.all()] == ["demo", "demo", "audit"]
        assert store.runs.living() == []
    assert check(tmp_path).problems == ()
    assert {(row.experiment, row.state, row.done) for row in Runs(tmp_path).rows()} == {
        ("demo", "finished", 1),
        ("audit", "finished", 1),
    }
    assert (tmp_path / "mine.txt").read_text() == "mine"


def test_a_study_of_the_same_name_stays(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def f(k):\n    return {'k': k}\n")
    (tmp_path / "audit.toml").write_text('[[call]]\nfunction = "mine.py:f"\ngrid = { k = [0] }\n')
    run(Experiment.read(tmp_path / "audit.toml"), tmp_path / "store", engine=Local(1))
    with pytest.raises(
        StoreError, match="already has a study called 'audit', which is not replaced: choose another folder"
    ):
        keep(tmp_path / "store", "audit", [single(1.0)], started=time.time())
    keep(tmp_path / "store", "compare", [single(1.0)], started=time.time())
    with Store(tmp_path / "store") as store:
        assert set(store.experiments()) == {"audit", "compare"}


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(StoreError, match="cannot be made: "):
        keep(tmp_path / "file", "audit", [single(1.0)], started=time.time())
