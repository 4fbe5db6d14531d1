"""seamripper audit: the tables, the judgement, the options on their way to the library, and a folder's matrices."""

from __future__ import annotations

import inspect
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import seamripper as sr
from seamripper.audits import audit, audits
from seamripper.audits.audit import MATCHING
from seamripper.audits.base import DEFAULT_CONTROLS
from seamripper.audits.identification import identify
from seamripper.audits.interventions import interventions
from seamripper.errors import AuditError

if TYPE_CHECKING:
    from conftest import Run

DATA = ("--data", "digits/correlated", "--n", 300, "--n-test", 200, "--seeds", 1)
FEW = (*DATA, "--controls", "self,random_sender,clustered_noise", "--audits", "margin,conflict")
CONFLICT = ("--conflict", "digits/digit")


@pytest.fixture
def pair(networks: dict[str, Path]) -> tuple[str, str]:
    return f"{networks['colour']}@layer2", f"{networks['digit']}@layer2"


def table(out: str, corner: str) -> list[dict[str, str]]:
    """The rows of the table whose first column is called so."""
    lines = out.splitlines()
    first = next(k for k, line in enumerate(lines) if line.startswith("┃") and cells(line, "┃")[0] == corner)
    columns, rows = cells(lines[first], "┃"), []
    for line in lines[first + 2 :]:
        if not line.startswith("│"):
            break
        rows.append(dict(zip(columns, cells(line, "│"), strict=True)))
    return rows


def cells(line: str, bar: str) -> list[str]:
    return [cell.strip() for cell in line.strip(bar).split(bar)]


# ---- the two lines of the issue


@pytest.mark.slow
def test_the_installed_command_judges_with_a_conflict_set(shell: Run, pair: tuple[str, str], tmp_path: Path) -> None:
    ran = shell("audit", *pair, *FEW, *CONFLICT, "--out", "run")
    assert ran.code == 0
    assert "Traceback" not in ran.err
    assert " → ".join(pair) in ran.out
    found = json.loads((tmp_path / "run" / "audit.json").read_text())
    rows = table(ran.out, "control")
    assert [row["control"] for row in rows] == ["the sender", "self", "random_sender", "clustered_noise"]
    assert [row["what is known about it"] for row in rows[1:]] == ["the same information", *["has learnt nothing"] * 2]
    for row, outcome in zip(rows, found["outcomes"], strict=True):
        assert row["seeds"] == "0"
        assert row["accuracy"].startswith(f"{outcome['result']['top1']['value']:.3f} [")
        assert row["agreement"].startswith(f"{outcome['result']['agreement']['value']:.3f} [")
    (told,) = table(ran.out, "set")
    figures = found["verdicts"]["conflict"]["figures"]["sets"]["conflict set"]
    assert (told["set"], told[""]) == ("conflict set", "decided")
    assert told["weight"] == f"{figures['weight']:.3f}"
    assert told["κ of self"] == f"{figures['control']:.3f}"
    assert told["kept"].startswith(f"{figures['kept']['value']:.3f} [")
    assert "fitted on 300 samples of digits/correlated, scored on 200 samples of digits/correlated\n" in ran.out
    assert "conflict set: 360 samples of digits/digit\n" in ran.out
    made = "stitch 'auto', matching 'task' (from direct, epochs 4, lr 0.01, batch 64), freeze 'all', stitch seeds 0\n"
    assert made in ran.out
    assert ran.out.endswith("\nwritten to run/audit.json\nreport: run/report.html\n")
    # The folder is a store, as a study's is.
    page = (tmp_path / "run" / "report.html").read_text()
    assert "Do “colour-0” and “digit-0” represent the same thing at layer2?" in page
    assert "n = 200 samples" in page
    assert page.count("data:image/png;base64,") == 12, "examples of the set that decided"
    (result,) = sr.Run.open(tmp_path / "run").results
    assert (result.kind, result.pair, result.cut) == ("audit", "colour-0 → digit-0", "layer2")


@pytest.mark.slow
def test_the_judgement_stands_first(run: Run, pair: tuple[str, str]) -> None:
    out = run("audit", *pair, *FEW, *CONFLICT).out
    judged = sr.audit(*halves(pair), *samples(), conflict=sr.load_data("digits/digit", "test"), **few()).judgement
    assert judged.conclusion == "different information"
    lines = out.splitlines()
    assert lines[:3] == ["DIFFERENT INFORMATION", judged.reason, "Based on:"]
    end = lines.index(f"What would change this: {judged.experiment}")
    rests = lines[3:end]
    assert len(rests) == len(judged.figures)
    assert f"  accuracy of the stitched network: {judged.figures['stitched']}" in rests
    assert f"  chance: {judged.figures['chance']:.3f}" in rests
    assert "  decided by: conflict set" in rests


@pytest.mark.slow
def test_a_network_has_the_same_information_as_itself(run: Run, networks: dict[str, Path]) -> None:
    place = f"{networks['digit']}@layer2"
    out = run("audit", place, place, *FEW, *CONFLICT).out
    assert out.startswith("SAME INFORMATION\n")
    assert "conflict: Where the cues disagree, does the stitched network still answer as the receiver does? Yes." in out


@pytest.mark.slow
def test_a_folder_of_images_and_the_built_in_interventions(run: Run, tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    for split, count in (("train", 6), ("test", 5)):
        for kind, shade in (("dark", 20), ("light", 200)):
            folder = tmp_path / "photos" / split / kind
            folder.mkdir(parents=True)
            for k in range(count):
                image.new("RGB", (28, 28), (shade + k, shade, 90 - k)).save(folder / f"{k}.png")
    place = "zoo:R_1111?width=0.125&classes=2@layer3"
    data = "folder:photos?mean=0.5&std=0.5"
    words = ("--data", data, "--interventions", "default", "--seeds", 1, "--audits", "conflict")
    ran = run("audit", f"{place.partition('@')[0]}&seed=1@layer3", place, *words, "--controls", "self,random_sender")
    assert ran.code == 0
    images = [name for name, cls in interventions.items() if cls.kind == "image"]
    assert [row["set"] for row in table(ran.out, "set")] == images
    assert f"\ninterventions: {', '.join(images)}\n" in ran.out
    assert f"fitted on 12 samples of {data}, scored on 10 samples of {data}" in ran.out


# ---- what the library is asked for


def halves(pair: tuple[str, str]) -> list[sr.Split]:
    return [sr.split(sr.load(path), cut) for path, _, cut in (name.rpartition("@") for name in pair)]


def samples() -> list[sr.Samples]:
    return [sr.load_data("digits/correlated", split, n=n) for split, n in (("train", 300), ("test", 200))]


def few() -> dict[str, Any]:
    chosen = ("self", "random_sender", "clustered_noise")
    return {"seeds": (0,), "controls": chosen, "audits": ("margin", "conflict")}


@pytest.mark.slow
def test_the_json_is_what_the_library_finds(run: Run, pair: tuple[str, str]) -> None:
    ran = run("audit", *pair, *FEW, "--json")
    assert (ran.code, ran.err) == (0, "")
    expected = sr.audit(*halves(pair), *samples(), **few())
    assert ran.json == {**json.loads(json.dumps(expected.as_record())), "file": None, "report": None}


def test_by_default_it_does_what_the_library_does(
    run: Run, pair: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: dict[str, Any] = {}

    def listening(*_: object, **given: Any) -> None:
        asked.update(given)
        raise AuditError("Enough was heard.")

    monkeypatch.setattr("seamripper.audits.audit", listening)
    assert "Enough was heard." in run("audit", *pair, "--data", "digits/correlated").err
    usual = {name: one.default for name, one in inspect.signature(audit).parameters.items()}
    assert [control.name for control in asked.pop("controls")] == list(DEFAULT_CONTROLS)
    assert {one.name for one in asked.pop("audits")} == set(audits)
    assert (tuple(asked.pop("seeds")), tuple(asked.pop("others"))) == (usual["seeds"], ())
    assert asked.pop("watch")
    assert asked.pop("mixtures") == [usual["mixtures"]]
    assert asked == {name: usual[name] for name in asked}
    assert asked["matching"] == MATCHING


def test_the_help_knows_the_defaults(run: Run) -> None:
    said = " ".join(run("audit", "--help").out.split())
    usual = MATCHING.training
    assert f"epochs={usual.epochs}, lr={usual.lr:g} and batch={usual.batch}, and task has init={MATCHING.init}" in said


@pytest.mark.slow
def test_options_reach_the_library(run: Run, pair: tuple[str, str]) -> None:
    found = run(
        *("audit", *pair, "--data", "digits/correlated", "--n", 80, "--n-test", 60, "--seeds", 2, *CONFLICT),
        *("--matching", "task?epochs=1&lr=0.02&batch=16&init=random", "--stitch", "bn_affine", "--freeze", "weights"),
        *("--controls", "self,clustered_noise?radius=0.5", "--controls", "random_sender?seeds=1"),
        *("--interventions", "greyscale,hue_rotation?degrees=60", "--audits", "margin, conflict?n=30", "--json"),
    ).json
    record = found["record"]
    training = record["matching"]["training"]
    assert {key: training[key] for key in ("epochs", "lr", "batch")} == {"epochs": 1, "lr": 0.02, "batch": 16}
    assert (record["matching"]["init"], record["stitch"], record["freeze"]) == ("random", "bn_affine", "weights")
    assert record["seeds"] == [0, 1]
    assert (record["data"]["fit"]["n"], record["data"]["test"]["n"]) == (80, 60)
    assert [control["name"] for control in record["controls"]] == ["self", "clustered_noise", "random_sender"]
    assert record["controls"][1]["radius"] == 0.5
    assert record["interventions"] == ["greyscale", "hue_rotation?degrees=60.0"]
    assert list(found["verdicts"]) == ["margin", "conflict"]
    assert list(found["verdicts"]["conflict"]["figures"]["sets"]) == ["conflict set", *record["interventions"]]
    assert found["verdicts"]["conflict"]["observed"]["n"] in (2, 30)


@pytest.mark.slow
def test_a_mapping_can_be_audited(run: Run, pair: tuple[str, str]) -> None:
    words = ("--audits", "margin", "--controls", "random_sender")
    ran = run("audit", *pair, *DATA, "--matching", "embedding_mapping?epochs=1", *words)
    assert ran.code == 0
    assert "matching 'embedding_mapping' (epochs 1, lr 1e-05, batch 128), freeze" in ran.out


@pytest.mark.parametrize(("matching", "init"), [("direct", None), ("regression", "random")])
def test_every_matching_can_be_audited(run: Run, pair: tuple[str, str], matching: str, init: str | None) -> None:
    words = ("--audits", "margin", "--controls", "random_sender")
    ran = run("audit", *pair, *DATA, "--matching", f"{matching}?epochs=1" if init else matching, *words)
    assert ran.code == 0
    how = f"(from {init}, epochs 1, lr 0.01, batch 64)"
    assert f"matching {matching!r}{f' {how}' if init else ''}, freeze" in ran.out


@pytest.mark.slow
@pytest.mark.parametrize("cut", ["", "@layer2", "@layer3"])
def test_another_seed_is_cut_where_the_receiver_is_unless_told(
    run: Run, pair: tuple[str, str], other_seed: Path, cut: str
) -> None:
    words = ("--controls", "self,other_seed", "--audits", "margin", "--matching", "task?epochs=0", "--json")
    found = run("audit", *pair, *DATA, "--other-seed", f"{other_seed}{cut}", *words).json
    assert [one["cut"]["name"] for one in found["record"]["others"]] == [cut.strip("@") or "layer2"]
    assert found["record"]["others"][0]["source"] == str(other_seed)


@pytest.mark.slow
def test_all_that_does_not_apply_is_told(run: Run, pair: tuple[str, str]) -> None:
    words = (
        "--controls",
        "self,other_seed",
        "--audits",
        "all",
        "--interventions",
        "none",
        "--matching",
        "task?epochs=0",
    )
    ran = run("audit", *pair, *DATA, *words)
    assert ran.code == 0
    assert "\nneither a conflict set nor interventions\n" in ran.out
    skipped = ran.out.partition("\nNot done:\n")[2].partition("\n\n")[0].splitlines()
    reasons = dict(line.strip().split(": ", 1) for line in skipped)
    assert reasons["stability"].startswith("One stitch seed shows no spread.")
    assert reasons["margin"].startswith("No control that should fail was run")
    assert reasons["conflict"].startswith("There are no inputs on which cues disagree: neither a conflict set nor")
    assert reasons["other_seed"].startswith("No network trained like the receiver from another seed was given")
    shown = {line.partition(":")[0] for line in ran.out.splitlines()}
    for name, cls in audits.items():
        assert (name in shown) == (name not in reasons)
        assert (cls.question in ran.out) == (name not in reasons)


@pytest.mark.slow
def test_progress_is_told_where_no_terminal_is(
    run: Run, pair: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("seamripper.cli.output.PLAIN_EVERY", 0.0)
    said = run("audit", *pair, *FEW, *CONFLICT).err
    assert "task matching: " in said
    assert "\naudit 2 of 2: conflict: 1/1" in said
    assert run("audit", *pair, *DATA, "--controls", "self", "--audits", "conflict", *CONFLICT, "--json").err == ""


@pytest.mark.slow
def test_a_full_disk_does_not_take_the_figures_along(run: Run, pair: tuple[str, str], tmp_path: Path) -> None:
    (tmp_path / f".audit.json.{os.getpid()}.tmp").symlink_to("/dev/full")
    ran = run("audit", *pair, *FEW, *CONFLICT, "--out", "audit.json")
    assert ran.code == 2
    assert "seamripper: The disk is full (No space left on device): audit.json could not be written" in ran.err
    assert ran.out.startswith("DIFFERENT INFORMATION\n")
    assert "written to" not in ran.out
    assert list(tmp_path.iterdir()) == []


# ---- a folder of compare's


def compared(run: Run, pair: tuple[str, str], folder: str, *words: object) -> sr.Comparison:
    models = [name.rpartition("@")[0] for name in pair]
    ran = run("compare", *models, "--data", "digits/digit", "--n", 96, "--batch", 16, "--out", folder, *words)
    assert ran.code == 0
    return sr.Comparison.load(folder)


def test_the_matrices_of_a_folder_are_put_to_identification(run: Run, pair: tuple[str, str], tmp_path: Path) -> None:
    found = compared(run, pair, "run", "-m", "linear_cka,opd", "--no-interval")
    ran = run("audit", "run", "--out", "found.json")
    assert ran.code == 0
    rows = {row["measure"]: row for row in table(ran.out, "measure")}
    assert list(rows) == ["linear_cka", "opd"]
    for label, row in rows.items():
        verdict = identify(found, label)
        assert verdict.p is not None
        assert row["share identified [95 % interval]"] == str(verdict.observed)
        assert (row["chance"], row["p"]) == ("0.250", f"{verdict.p:.2g}")
        assert row["mean rank"] == f"{verdict.figures['mean_rank']:.2f}"
    assert (
        "4 layers, rows and columns counted; the intervals treat layers as independent, which they are not" in ran.out
    )
    assert ran.out.endswith("\nwritten to found.json\n")
    told = run("audit", "run", "--json").json
    assert told["identification"]["opd"] == json.loads(json.dumps(identify(found, "opd").as_record()))
    assert json.loads((tmp_path / "found.json").read_text()) == {k: v for k, v in told.items() if k != "file"}
    refused = run("audit", "run", "--out", "other")
    assert refused.code == 2
    assert "expected --out FILE.json, but got other" in refused.err


def test_a_network_and_itself_are_identified(run: Run, networks: dict[str, Path]) -> None:
    place = f"{networks['digit']}@layer2"
    compared(run, (place, place), "run", "-m", "linear_cka", "--no-interval")
    (row,) = table(run("audit", "run").out, "measure")
    assert row["share identified [95 % interval]"].startswith("1.000 [")
    assert row["mean rank"] == "1.00"
    # One matching of 4! names every layer rightly.
    assert row["p"] == f"{1 / 24:.2g}"


def test_a_measure_without_scores_is_told_below_the_table(run: Run, pair: tuple[str, str]) -> None:
    compared(run, pair, "run", "-m", "linear_cka,rsa", "--keep", 0)
    ran = run("audit", "run")
    assert [row["measure"] for row in table(ran.out, "measure")] == ["linear_cka"]
    assert "\n– rsa: rsa has no score for any layer with its own counterpart." in ran.out


def test_cuts_that_do_not_correspond_cannot_be_identified(run: Run, pair: tuple[str, str]) -> None:
    compared(run, pair, "run", "-m", "linear_cka", "--sender-cuts", "layer1,layer2", "--receiver-cuts", "layer2,layer3")
    ran = run("audit", "run", "--json")
    assert ran.code == 2
    assert ran.json["error"]["kind"] == "InapplicableError"
    assert "these are layer1, layer2 and layer2, layer3" in ran.json["error"]["message"]
