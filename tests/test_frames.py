"""Results as tables of pandas and xarray: every figure, with the digits that the result has."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas
import pytest
import torch
import xarray
from torch import nn

import seamripper as sr
from seamripper._frames import Tabular, as_dataset, as_frame
from seamripper.comparing import Comparison, diff
from seamripper.comparing.comparison import Matrix
from seamripper.data import Samples
from seamripper.estimate import Estimate, Null
from seamripper.mapping import map_embeddings


def toy(n: int = 60) -> Samples:
    g = torch.Generator().manual_seed(0)
    return Samples("toy", torch.randn(n, 4, generator=g), torch.arange(n) % 3, torch.arange(n), classes=3)


def net(seed: int) -> nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3)).eval()


@pytest.fixture(scope="module")
def results() -> Mapping[str, Any]:
    samples, nets = toy(), [sr.Model(net(seed), f"net {seed}", input=(4,), classes=3) for seed in (0, 1)]
    halves = [sr.split(model, "1", model.example()) for model in nets]
    fit, test = samples.take(slice(0, 40)), samples.take(slice(40, 60))
    match = sr.match(*halves, fit, matching="direct")
    rows = torch.randn(120, 5, generator=torch.Generator().manual_seed(0))
    return {
        "comparison": sr.compare(*nets, samples, measures="linear_cka,mutual_knn", null=19),
        "match": match,
        "functional": sr.evaluate(match, test),
        "diff": diff(nets[0], net(0).double().float(), samples, null=0),
        "map": map_embeddings(rows, rows.roll(1, 1)),
    }


@pytest.mark.parametrize("name", ["comparison", "match", "functional", "diff", "map"])
def test_pandas_and_xarray_have_every_row(results: Mapping[str, Any], name: str) -> None:
    result = results[name]
    assert isinstance(result, Tabular)
    rows, frame, dataset = result.rows(), result.to_pandas(), result.to_xarray()
    assert len(rows) > 1
    assert len(frame) == len(rows)
    assert list(frame.columns[: len(result.axes)]) == list(result.axes)
    assert frame["value"].dtype == "Float64"
    assert not frame.duplicated(list(result.axes)).any()
    assert dataset["value"].dims == result.axes
    for row, (_, line) in zip(rows, frame.iterrows(), strict=True):
        cell = dataset.sel({axis: row[axis] for axis in result.axes})
        for column in ("value", "low", "high", "n"):
            known = row.get(column)
            if known is None:
                assert column not in frame or pandas.isna(line[column])
                assert column not in dataset or np.isnan(cell[column].item())
            else:
                assert line[column] == known == cell[column].item()
    json.loads(dataset.attrs["record"])


def test_figures_are_those_of_the_results(results: Mapping[str, Any]) -> None:
    comparison, verdict, difference = (results[name] for name in ("comparison", "map", "diff"))
    sender, receiver = comparison.senders[0], comparison.receivers[-1]
    score = comparison.score("linear_cka", sender, receiver)
    cell = comparison.to_xarray().sel(measure="linear_cka", sender=sender, receiver=receiver)
    assert [cell[k].item() for k in ("value", "low", "high")] == [score.value, score.low, score.high]
    assert cell["calibrated"].item() == score.null.calibrated
    assert cell["direction"].item() == "similarity"
    recall = verdict.to_pandas().set_index(["queries", "found", "figure"]).loc["map", "own", "Recall@1"]
    assert recall["value"] == verdict.tests["map"].own.recall[1].value == 1.0
    places = difference.to_pandas().set_index(["place", "figure"])
    assert places.loc[(difference.layers[0].name, "relative error"), "value"] == 0.0
    assert places.loc[("answers", "agreement"), "value"] == 1.0
    functional = results["functional"]
    top1 = functional.to_pandas().set_index("figure").loc["top1"]
    assert (top1["value"], top1["n"], top1["data"]) == (functional.top1.value, 20, "toy")


def test_labels_keep_their_order_and_missing_cells_say_why() -> None:
    scores = (
        (Estimate(0.5, n=9, unit="rows"), None),
        (Estimate(math.inf), Estimate(0.1, null=Null(0.05, 0.2, 0.0, 19))),
    )
    matrix = Matrix("mine", "distance", scores, {"z × a": "too few rows"})
    comparison = Comparison(("z", "b"), ("y", "a"), {"mine": matrix}, {"n": 9})
    dataset, frame = comparison.to_xarray(), comparison.to_pandas()
    assert list(dataset["sender"].values) == ["z", "b"]
    assert list(dataset["receiver"].values) == ["y", "a"]
    assert dataset["reason"].sel(sender="z", receiver="a").item() == "too few rows"
    assert np.isnan(dataset["value"].sel(sender="b", receiver="y").item())
    assert frame["p"].isna().sum() == 3
    assert frame["unit"].tolist()[0] == "rows"
    assert json.loads(dataset.attrs["record"]) == {"n": 9}


def test_audits_are_tables_too() -> None:
    from seamripper.audits import Audited, Verdict

    verdict = Verdict("margin", "Is it?", "yes", Estimate(0.9), {}, Estimate(0.4, 0.3, 0.5), "It is.", p=0.01)
    audited = Audited(None, {"margin": verdict}, (), {}, {})  # type: ignore[arg-type]
    frame = audited.to_pandas().set_index(["audit", "figure"])
    assert frame.loc[("margin", "effect"), "low"] == 0.3
    assert frame.loc[("margin", "observed"), "answer"] == "yes"


def test_columns_have_one_type() -> None:
    rows = [{"a": "x", "value": 1, "flag": True}, {"a": "y", "n": 3, "value": None}]
    frame = as_frame(["a", "value", "n", "flag", "low"], rows)
    assert {name: str(kind) for name, kind in frame.dtypes.items()} == {
        "a": "string",
        "value": "Float64",
        "n": "Int64",
        "flag": "boolean",
        "low": "Float64",
    }
    dataset = as_dataset(["a"], rows, {})
    assert isinstance(dataset, xarray.Dataset)
    assert np.isnan(dataset["value"].sel(a="y").item())
