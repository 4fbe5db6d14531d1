"""Results as a table: pandas, Arrow, Parquet and CSV, each with the same numbers to the last digit."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas
import pyarrow
import pyarrow.parquet
import pytest

from seamripper.errors import ExperimentError, StoreError
from seamripper.experiment import Experiment, Local, Store, as_arrow, as_pandas, export, run, table
from seamripper.experiment.job import Graph, Job
from seamripper.experiment.result import Result


@pytest.fixture
def store(tmp_path: Path) -> Any:
    """A store with results of all sorts: figures with and without intervals, words, a failure, one not done yet."""
    figures = [
        {"third": {"value": 1 / 3, "interval": [0.1, 0.9], "n": 20}, "flat": 0.1 + 0.2},
        {"word": 'good, "quoted"\nand broken', "count": 3},
        None,
    ]
    jobs = [Job("call", {"k": k}, {"call": "mine.py:f", "x": 0.5 * k, "flag": k == 1, "seed": k}) for k in range(4)]
    with Store(tmp_path / "store", write=True) as store:
        store.remember("study", {}, Graph.of(jobs))
        store.remember("again", {}, Graph.of(jobs[:1]))
        for job, found in zip(jobs, figures, strict=False):
            failed = {"error": "ValueError", "message": "no, not that", "traceback": "Traceback …\n"}
            facts = ("done", {"figures": found}) if found else ("failed", failed)
            store.enter(Result(job.key, "call", *facts))  # type: ignore[arg-type]
        yield store


def test_a_row_for_each_figure_with_its_labels_in_the_order_of_the_study(store: Store) -> None:
    columns, rows = table(store, "study")
    assert columns == [
        *("experiment", "kind", "state", "call", "flag", "seed", "x"),
        *("figure", "value", "low", "high", "n", "status", "error", "key"),
    ]
    assert [(row["x"], row.get("figure"), row.get("value")) for row in rows] == [
        (0.0, "flat", 0.1 + 0.2),
        (0.0, "third", 1 / 3),
        (0.5, "count", 3.0),
        (0.5, "word", None),
        (1.0, None, None),
    ]
    assert (rows[1]["low"], rows[1]["high"], rows[1]["n"]) == (0.1, 0.9, 20)
    assert rows[3]["status"] == 'good, "quoted"\nand broken'
    assert (rows[4]["state"], rows[4]["error"]) == ("failed", "ValueError: no, not that")


def test_all_experiments_or_one(store: Store) -> None:
    assert [row["experiment"] for row in table(store)[1]] == ["again"] * 2 + ["study"] * 5
    assert len(table(store, "again")[1]) == 2
    with pytest.raises(StoreError, match=r"no experiment 'studdy'.*study"):
        table(store, "studdy")


def test_as_pandas(store: Store) -> None:
    found = as_pandas(store, "study")
    assert isinstance(found, pandas.DataFrame)
    assert list(found["value"].dropna()) == [0.1 + 0.2, 1 / 3, 3.0]
    kinds = {name: str(found[name].dtype) for name in ("value", "n", "x", "seed", "flag", "error")}
    assert kinds == {
        "value": "Float64",
        "n": "Int64",
        "x": "Float64",
        "seed": "Int64",
        "flag": "boolean",
        "error": "string",
    }
    assert found["n"].isna().tolist() == [True, False, True, True, True]
    assert found["error"].iloc[4] == "ValueError: no, not that"


def test_as_arrow_and_back(store: Store) -> None:
    found = as_arrow(store, "study")
    assert isinstance(found, pyarrow.Table)
    assert found.schema.field("value").type == pyarrow.float64()
    assert found.schema.field("n").type == pyarrow.int64()
    columns, rows = table(store, "study")
    assert found.column_names == columns
    assert found.to_pylist() == [{name: row.get(name) for name in columns} for row in rows]


def test_parquet_has_the_same_to_the_last_digit(store: Store, tmp_path: Path) -> None:
    assert export(store, tmp_path / "new" / "table.parquet", "study") == 5
    read = pyarrow.parquet.read_table(tmp_path / "new" / "table.parquet")
    assert read.equals(as_arrow(store, "study"))
    assert pandas.read_parquet(tmp_path / "new" / "table.parquet")["value"].iloc[1] == 1 / 3


def test_csv_has_the_same_to_the_last_digit(store: Store, tmp_path: Path) -> None:
    assert export(store, tmp_path / "table.csv", "study") == 5
    with (tmp_path / "table.csv").open(newline="") as file:
        read = list(csv.DictReader(file))
    columns, rows = table(store, "study")
    assert list(read[0]) == columns
    for got, row in zip(read, rows, strict=True):
        assert got == {name: "" if row.get(name) is None else str(row[name]) for name in columns}
    assert float(read[1]["value"]) == 1 / 3
    assert pandas.read_csv(tmp_path / "table.csv")["value"].iloc[0] == 0.1 + 0.2


def test_another_kind_of_file_is_refused(store: Store, tmp_path: Path) -> None:
    with pytest.raises(ExperimentError, match=r"end in \.csv or \.parquet, but got 'table.xlsx'"):
        export(store, tmp_path / "table.xlsx")
    assert not (tmp_path / "table.xlsx").exists()


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_full_disk_leaves_the_old_table(store: Store, disk: Callable[..., Path], suffix: str) -> None:
    place = disk(8 << 10)
    (place / f"table.{suffix}").write_bytes(b"old")
    (place / "filler").write_bytes(b"x" * 4096)
    with pytest.raises(StoreError, match="The disk is full"):
        export(store, place / f"table.{suffix}")
    assert (place / f"table.{suffix}").read_bytes() == b"old"
    assert sorted(path.name for path in place.iterdir()) == ["filler", f"table.{suffix}"]


def test_an_empty_store_is_an_empty_table(tmp_path: Path) -> None:
    with Store(tmp_path / "store", write=True) as store:
        assert table(store) == (["figure", "value"], [])
        assert len(as_pandas(store)) == 0
        assert as_arrow(store).num_rows == 0
        assert export(store, tmp_path / "empty.parquet") == 0
        assert export(store, tmp_path / "empty.csv") == 0


def test_arguments_that_are_called_like_columns(tmp_path: Path) -> None:
    """A user's own function may well have an argument `n`, of words, or `state`."""
    jobs = [Job("call", {"n": n}, {"call": "f", "n": n, "state": "solid", "seed": n}) for n in ("few", "many")]
    with Store(tmp_path / "store", write=True) as store:
        store.remember("study", {}, Graph.of(jobs))
        for job in jobs:
            record = {"figures": {"top1": {"value": 0.5, "interval": None, "n": 20}}}
            store.enter(Result(job.key, "call", "done", record))
        found = as_pandas(store)
    assert found["n"].tolist() == [20, 20]
    assert found["arg_n"].tolist() == ["few", "many"]
    assert found["state"].tolist() == ["done", "done"]
    assert found["arg_state"].tolist() == ["solid", "solid"]
    assert found["seed"].tolist() == ["few", "many"]


@pytest.mark.slow
def test_a_real_study(real: Path, shell: Callable[..., Any]) -> None:
    with Store(real / "store") as store:
        found = as_pandas(store)
        top1 = found[found["figure"] == "top1"].iloc[0]
        assert 0 <= top1["low"] <= top1["value"] <= top1["high"] <= 1
        assert top1["n"] == 100
        assert (top1["sender"], top1["receiver"]) == ("net", "net")
        assert (top1["sender_seed"], top1["receiver_seed"]) == (0, 1)
        assert as_arrow(store).num_rows == len(found)
    done = shell("results", real / "store", "--to", real / "table.parquet")
    assert done.code == 0, done.err
    assert f"{len(found)} rows written" in done.out
    assert pyarrow.parquet.read_table(real / "table.parquet").num_rows == len(found)


def test_what_was_run_is_what_is_read(study: Callable[..., Path], tmp_path: Path) -> None:
    run(Experiment.read(study(x=[1, 2], seeds=[0, 5])), tmp_path / "store", engine=Local(1))
    with Store(tmp_path / "store") as store:
        found = as_pandas(store)
    doubles = found[found["figure"] == "double"]
    assert list(zip(doubles["x"], doubles["seed"], doubles["value"], strict=True)) == [
        *((1, 0, 2.0), (1, 5, 2.0), (2, 0, 4.0), (2, 5, 4.0))
    ]
