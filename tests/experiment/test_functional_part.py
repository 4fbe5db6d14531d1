"""[[functional]]: every cell is what `match` and `evaluate` give alone, and detectors say how far to believe them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import seamripper as sr
from in_process import InProcess
from seamripper.audits import Distribution
from seamripper.errors import ExperimentError
from seamripper.experiment import Experiment, FunctionalPart, Network, Store, run, table
from seamripper.experiment.identity import Identities
from seamripper.experiment.plan import expand
from seamripper.experiment.reading import Reading
from seamripper.experiment.result import Result
from seamripper.figures import Grid, Histogram, scene
from seamripper.matching import matchings
from seamripper.report.appendix import all_figures

STUDY = """
data = { name = "digits/digit", n = 200, n_test = 120 }
[models.net]
train = "zoo:R_1111?width=0.125"
data = "digits/digit"
training = "?epochs=3"
seeds = [0, 1]
[matchings]
fast = "task?init=direct&epochs=2&batch=64&lr=0.01"
[[functional]]
senders = ["net/0"]
receivers = ["net/0", "net/1"]
pairing = "all"
cuts = ["layer1", "layer2", "layer3"]
receiver_cuts = ["layer2", "layer4"]
matchings = ["direct", "fast"]
ood = ["distribution?folds=3", "distribution?detector=energy&epochs=2&tune_epochs=2&width=0.05"]
"""
FAST, ENERGY = (
    Distribution(folds=3),
    Distribution(detector="energy", epochs=2, tune_epochs=2, width=0.05),
)


@pytest.fixture(scope="module")
def folder(made_once: Callable[..., Path]) -> Path:
    """A real study, run once: `study.toml` and `store`."""

    def make(folder: Path) -> None:
        (folder / "study.toml").write_text(STUDY)
        done = run(Experiment.read(folder / "study.toml"), folder / "store", engine=InProcess())
        assert not done.failed
        assert done.did == 2 + 2 * 2

    return made_once("functional", make)


def column(folder: Path, receiver: int, cut: str) -> Result:
    labels = {"receiver_seed": receiver, "receiver_cut": cut}
    (result,) = [r for r in Reading.open(folder / "store").of("functional") if labels.items() <= r.labels.items()]
    return result


def cell(record: Mapping[str, Any], sender_cut: str, matching: str) -> Mapping[str, Any]:
    (one,) = [c for c in record["cells"] if (c["sender_cut"], c["matching"]) == (sender_cut, matching)]
    return one


@pytest.mark.slow
@pytest.mark.parametrize("cut", ["layer2", "layer4"])
def test_every_cell_is_what_match_and_evaluate_give(folder: Path, cut: str) -> None:
    fit, test = sr.load_data("digits/digit", "train", n=200), sr.load_data("digits/digit", "test", n=120)
    nets = [
        sr.train("R_1111?width=0.125", sr.load_data("digits/digit", "train"), training="smith?epochs=3", seed=seed)
        for seed in (0, 1)
    ]
    example = fit.batch(slice(0, 2))
    receiver, record = sr.split(nets[1], cut, example), column(folder, 1, cut).record
    detectors = {"fast": FAST.at_cut(receiver, fit, test), "energy": ENERGY.at_cut(receiver, fit, test)}
    for name in ("layer1", "layer2", "layer3"):
        sender = sr.split(nets[0], name, example)
        for word in ("direct", "fast"):
            matching = matchings.make("direct" if word == "direct" else "task?init=direct&epochs=2&batch=64&lr=0.01")
            held_out = test if word == "direct" else None
            alone = sr.match(sender, receiver, fit, matching=matching, held_out=held_out)
            result, ours = sr.evaluate(alone, test), cell(record, name, word)
            assert ours["status"] == alone.status
            assert ours["top1"] == result.top1.as_record()
            assert ours["relative_accuracy"] == result.relative_accuracy.as_record()
            assert record["receiver_accuracy"] == result.receiver_here.as_record()
            for figure in ("loss_start", "loss_end") if word == "fast" else ("residual_held_out",):
                assert ours["figures"][figure] == pytest.approx(alone.figures[figure], rel=1e-3)
            for kind, detector in detectors.items():
                auroc = detector.auroc(detector.scores(alone, test))
                assert ours["ood"][kind]["value"] == pytest.approx(auroc.value, abs=2e-3)
                assert ours["ood"][kind]["interval"] == pytest.approx([auroc.low, auroc.high], abs=5e-3)
    assert record["detectors"]["energy"]["native"] == detectors["energy"].native.as_record()
    assert record["detectors"]["fast"]["auxiliary"] == detectors["fast"].auxiliary.as_record()


@pytest.mark.slow
def test_a_network_stitched_to_itself_loses_nothing_and_looks_native(folder: Path) -> None:
    own = cell(column(folder, 0, "layer2").record, "layer2", "direct")
    assert own["relative_accuracy"]["value"] == pytest.approx(1.0, abs=0.02)
    for kind in ("fast", "energy"):
        assert own["ood"][kind]["value"] == pytest.approx(0.5, abs=0.02)
    other = cell(column(folder, 0, "layer2").record, "layer1", "direct")
    assert other["ood"]["fast"]["value"] > 0.6, "an earlier layer does not hold what a later one has made"


@pytest.mark.slow
def test_energies_are_counted_in_common_bins(folder: Path) -> None:
    record = column(folder, 1, "layer2").record
    bins = record["histograms"]
    assert len(bins["edges"]) == 41
    assert {(kind["sender_cut"], kind["matching"]) for kind in bins["stitched"]} == {
        (cut, word) for cut in ("layer1", "layer2", "layer3") for word in ("direct", "fast")
    }
    counts = [bins["native"], bins["auxiliary"], *(kind["counts"] for kind in bins["stitched"])]
    assert [sum(kind) for kind in counts] == [120] * 8
    figures = {figure.title: figure for figure in FunctionalPart.energies(Reading.open(folder / "store"))}
    title = "Energies of native, auxiliary and stitched activations at layer2: net/0 → net/1, from every cut by direct"
    assert {*figures[title].counts} == {"native", "auxiliary", "from layer1", "from layer2", "from layer3"}
    assert [sum(kind) for kind in figures[title].counts.values()] == [120] * 5


@pytest.mark.slow
def test_rows(folder: Path) -> None:
    with Store(folder / "store") as store:
        columns, rows = table(store)
    rows = [row for row in rows if row["kind"] == "functional"]
    assert {"matching", "sender_cut", "receiver_cut", "detector", "sender_seed", "receiver_seed", "data"} <= {*columns}
    cells = [row for row in rows if "detector" not in row]
    rest = [row for row in cells if row["figure"] == "at_rest"]
    # Only what is trained comes to rest.
    assert {row["matching"] for row in rest} == {"fast"}
    assert len(rest) == 4 * 3
    cells = [row for row in cells if row["figure"] != "at_rest"]
    assert len(cells) == 4 * 3 * 2 * 4
    assert {row["figure"] for row in cells} == {"relative_accuracy", "top1", "ood_fast", "ood_energy"}
    (row,) = [
        row
        for row in cells
        if (row["receiver_seed"], row["receiver_cut"], row["sender_cut"]) == (1, "layer4", "layer3")
        and (row["matching"], row["figure"]) == ("fast", "ood_energy")
    ]
    auroc = cell(column(folder, 1, "layer4").record, "layer3", "fast")["ood"]["energy"]
    assert (row["value"], [row["low"], row["high"]], row["n"]) == (auroc["value"], auroc["interval"], 120)
    detectors = [row for row in rows if "detector" in row]
    assert len(detectors) == 4 * 2 * 2
    assert {row["figure"] for row in detectors} == {"detector_native", "detector_auxiliary"}


@pytest.mark.slow
def test_the_report_has_every_matrix_on_one_scale(folder: Path) -> None:
    (section,) = FunctionalPart.sections(Reading.open(folder / "store"))
    grids = [figure for figure in section.figures if isinstance(figure, Grid)]
    assert len(grids) == 2 * 2 * 3
    assert len({grid.scale for grid in grids}) == 1
    assert all(grid.rows == ("layer1", "layer2", "layer3") and grid.columns == ("layer2", "layer4") for grid in grids)
    (grid,) = [g for g in grids if g.title == "OOD AUROC (energy), fast: net/0 → net/1"]
    assert grid.direction == "distance"
    shown = grid.cells[2][1].value
    assert shown == cell(column(folder, 1, "layer4").record, "layer3", "fast")["ood"]["energy"]["value"]
    assert {*section.switches["figure"]} == {"relative accuracy", "OOD AUROC (fast)", "OOD AUROC (energy)"}
    assert len(section.details) == 2 * 3 * 2
    histograms = [figure for figure in section.figures if isinstance(figure, Histogram)]
    assert len(histograms) == 4
    assert list(histograms[0].counts) == ["native", "auxiliary", "direct", "fast"]
    assert all(scene(figure).marks for figure in section.figures)


@pytest.mark.slow
def test_the_table_of_all_figures_says_by_which_matching(folder: Path) -> None:
    reading = Reading.open(folder / "store")
    rows = [row for row in all_figures(reading).figures[0].rows if row[0] == "functional"]
    assert {row[3] for row in rows} == {"direct", "fast", "energy"}
    assert ("layer1 × layer2", "direct") in {row[2:4] for row in rows}


# ---- what needs no training


def estimate(value: float) -> dict[str, Any]:
    return {"value": value, "interval": [value - 0.1, value + 0.1], "n": 10}


CELL = {"sender_cut": "a", "matching": "task", "status": "ok", "figures": {}}
WILD = {**CELL, "matching": "wild", "status": "failed: it diverged"}
RECORD = {
    "receiver_cut": "b",
    "receiver_accuracy": estimate(0.9),
    "unreadable": None,
    "cells": [
        {**CELL, "top1": estimate(0.5), "relative_accuracy": estimate(0.55), "ood": {"fast": estimate(0.6)}},
        {
            **CELL,
            "matching": "wild",
            "status": "failed: it diverged",
            "top1": None,
            "relative_accuracy": None,
            "ood": {},
        },
    ],
    "detectors": {"fast": {"native": estimate(0.5), "auxiliary": None, "about": {}}},
    "histograms": None,
}


def test_a_cell_that_failed_has_a_row_that_says_why() -> None:
    rows = list(FunctionalPart.rows(RECORD))
    assert [(row.get("matching"), row["figure"], row.get("value")) for row in rows] == [
        ("task", "relative_accuracy", 0.55),
        ("task", "top1", 0.5),
        ("task", "ood_fast", 0.6),
        ("wild", "relative_accuracy", None),
        (None, "detector_native", 0.5),
    ]
    assert rows[3]["status"] == "failed: it diverged"
    for falling, rest in ((0.0, 1.0), (0.3, 0.0), (None, 0.0)):
        cells = [{**RECORD["cells"][0], "figures": {"falling": falling, "loss_end": 1.0}}]
        assert [
            row["value"] for row in FunctionalPart.rows({**RECORD, "cells": cells}) if row["figure"] == "at_rest"
        ] == [rest]
    unreadable = list(FunctionalPart.rows({**RECORD, "unreadable": "the receiver guesses"}))
    assert [row.get("status") for row in unreadable][:3] == ["unreadable: the receiver guesses"] * 2 + ["ok"]


def test_a_matrix_with_holes_is_shown() -> None:
    labels = {"sender": "x", "receiver": "y", "data": "digits", "seed": 0}

    class Results:
        def of(self, kind: str) -> list[Result]:
            return [Result("k" * 64, kind, "done", RECORD, {}, labels)]

        def tensor(self, *_: Any) -> None:
            return None

    (section,) = FunctionalPart.sections(Results())
    assert len(section.figures) == 2 * 2
    rows = section.details["functional0-0-0"]["rows"]
    assert ["wild", "relative accuracy", "no value; failed: it diverged"] in rows


def expanded(**given: Any) -> Any:
    models = {"net": Network(train="zoo:R_1111?width=0.125", data="digits/digit", n=20, seeds=(0, 1))}
    part = FunctionalPart(senders=("net",), receivers=("net",), **given)
    experiment = Experiment(name="study", data="digits/digit", models=models, functional=(part,))
    return experiment, [job for job in expand(experiment, Identities({})) if job.kind == "functional"]


def test_by_default_networks_are_cut_behind_each_block() -> None:
    experiment, jobs = expanded(matchings=("direct",))
    assert [job.labels["receiver_cut"] for job in jobs][:4] == ["layer1", "layer2", "layer3", "layer4"]
    assert jobs[0].content["sender_cuts"] == ["layer1", "layer2", "layer3", "layer4"]
    assert len(jobs) == 2 * 4
    assert FunctionalPart.cost(jobs[0].content) > 0
    _, some = expanded(matchings=("direct",), cuts=("layer*",), receiver_cuts=("layer2",))
    assert [job.key for job in some] == [job.key for job in jobs if job.labels["receiver_cut"] == "layer2"]
    assert FunctionalPart(senders=("net",), receivers=("net",), cuts=("layer1", "layer2")).size(experiment) == 4


def test_detectors_make_other_jobs_and_options_by_default_do_not() -> None:
    keys = [
        expanded(matchings=("direct",), receiver_cuts=("layer2",), ood=ood)[1][0].key
        for ood in ((), ("distribution",), ("distribution?n=1000",), ("distribution?n=50",))
    ]
    assert keys[1] == keys[2]
    assert len(set(keys)) == 3


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"ood": ("rank",)}, "to hold words of the audit 'distribution', such as"),
        ({"ood": ("distribution", "distribution?k=3")}, "'distribution?k=3' is another 'fast' one"),
        ({"ood": ("distribution?detector=enrgy",)}, "Expected detector of the audit 'distribution'"),
        ({"ood": ("distribution?kk=3",)}, "has no option 'kk': did you mean 'k'"),
        ({"matchings": ("tsk",)}, "There is no matching 'tsk': did you mean 'task'"),
        ({"matchings": ()}, "matchings"),
        ({"seed": -1}, "seed"),
    ],
)
def test_wrong_words_are_told(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ExperimentError) as told:
        expanded(**given)
    assert message in str(told.value)


def test_a_cut_that_there_is_not_is_told() -> None:
    with pytest.raises(sr.SeamripperError, match="layr2"):
        expanded(receiver_cuts=("layr2",))


# ---- errors, and a stitch of one's own choice


ERRORS = """
data = { name = "digits/digit?size=32", n = 60, n_test = 40 }
[models.a]
load = "zoo:R_1111?width=0.125&seed=1"
[models.b]
load = "zoo:R_1111?width=0.125&seed=2"
[matchings]
similar = "regression?epochs=1"
[[functional]]
senders = ["a"]
receivers = ["b"]
cuts = ["layer1"]
receiver_cuts = ["layer2"]
stitch = "strided"
matchings = ["direct?ridge=0.1", "similar"]
errors = true
"""


@pytest.mark.slow
def test_errors_are_those_between_native_and_stitched_activations(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(ERRORS)
    done = run(Experiment.read(tmp_path / "study.toml"), tmp_path / "store", engine=InProcess())
    assert not done.failed
    (result,) = Reading.open(tmp_path / "store").of("functional")
    fit, test = (sr.load_data("digits/digit?size=32", split, n=n) for split, n in (("train", 60), ("test", 40)))
    a, b = (sr.load(f"zoo:R_1111?width=0.125&seed={seed}") for seed in (1, 2))
    inputs = test.batch(slice(None))
    sender, receiver = sr.split(a, "layer1", inputs[:2]), sr.split(b, "layer2", inputs[:2])
    alone = sr.match(sender, receiver, fit, matching="direct?ridge=0.1", stitch="strided", held_out=test)
    assert alone.layer.map()[0].shape == (16, 8 * 2 * 2), "a patch, and not a map that was resized"
    apart = (alone.activations(inputs).detach() - receiver.head(inputs)).double().square().flatten(1).mean(1)
    pairs = {(error["against"], error["matching"]): error for error in result.record["errors"]}
    assert pairs.keys() == {("native", "direct?ridge=0.1"), ("native", "similar"), ("direct?ridge=0.1", "similar")}
    ours = pairs["native", "direct?ridge=0.1"]
    assert ours["error"]["value"] == pytest.approx(float(apart.mean()), rel=1e-4)
    assert ours["error_min"]["value"] == pytest.approx(float(apart.min()), rel=1e-4)
    assert ours["error_max"]["value"] == pytest.approx(float(apart.max()), rel=1e-4)
    assert ours["error_std"]["value"] == pytest.approx(float(apart.std(correction=0)), rel=1e-4)
    rows = [row for row in FunctionalPart.rows(result.record) if row.get("against") == "native"]
    assert {row["figure"] for row in rows} == {"error", "error_min", "error_max", "error_std"}
    assert {row["matching"] for row in rows} == {"direct?ridge=0.1", "similar"}


def test_a_stitch_and_errors_make_other_jobs_and_what_is_so_by_default_does_not() -> None:
    choices: tuple[dict[str, Any], ...] = ({}, {"stitch": "auto"}, {"stitch": "strided"}, {"errors": True})
    keys = [expanded(matchings=("direct",), receiver_cuts=("layer2",), **given)[1][0].key for given in choices]
    assert keys[0] == keys[1]
    assert len(set(keys)) == 3
    with pytest.raises(ExperimentError, match="There is no stitch 'stridd': did you mean 'strided'"):
        expanded(stitch="stridd")
