"""seamripper diff: the screen, the page, the JSON and the exit code."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Run

DATA = ("--data", "digits/digit", "--n", 40, "--null", 0, "--cuts", "layer2,layer4")
FACTORY = """
import warnings

import torch

import seamripper as sr


def noisy(file):
    module = sr.load(file).module
    with torch.no_grad():
        module.layer3[0].conv1.weight.mul_(1.1)
    return module


def int8(file):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.ao.quantization.quantize_dynamic(sr.load(file).module, {torch.nn.Linear})


def half(file):
    return sr.load(file).module.half()
"""


@pytest.fixture
def digit(networks: dict[str, Path], tmp_path: Path) -> str:
    (tmp_path / "other.py").write_text(FACTORY)
    return str(networks["digit"])


def test_a_copy_is_the_same_and_ends_with_zero(run: Run, digit: str) -> None:
    ran = run("diff", digit, digit, *DATA)
    assert ran.code == 0
    assert ran.out.startswith("No layer diverges: all 36 layers are the same within 1.9e-06, on 40 samples.\n")
    assert "0 of 40 answers change" in ran.out
    assert "Doubt: Only what these samples reach is seen" in ran.out
    assert ran.out.count("│ layer") == 2


def test_a_changed_layer_is_named_and_the_code_is_one(run: Run, digit: str, tmp_path: Path) -> None:
    ran = run("diff", digit, f"other.py:noisy?file={digit}", *DATA, "--out", "run")
    assert ran.code == 1
    assert ran.out.startswith("layer3.0.conv1 is the first of 36 layers to diverge: relative error 0.1 [0.1, 0.1]")
    assert "Traceback" not in ran.err
    assert ran.out.endswith("written to run/diff.json\nreport: run/diff.html\n")
    record = json.loads((tmp_path / "run" / "diff.json").read_text())
    assert (record["same"], record["first"]) == (False, "layer3.0.conv1")
    page = (tmp_path / "run" / "diff.html").read_text()
    assert "layer3.0.conv1 is the first of 36 layers to diverge" in page
    assert "<script src" not in page


def test_a_tolerance_decides_and_a_model_without_a_contract_sees_the_same_inputs(run: Run, digit: str) -> None:
    """The checkpoint says how it wants its pictures and the function does not: both are shown the same ones."""
    ran = run("diff", digit, f"other.py:noisy?file={digit}", *DATA, "--tolerance", 0.2, "--json")
    assert ran.code == 0
    assert ran.json["same"]
    assert ran.json["layers"][0]["value"] == 0.0
    assert ran.json["tolerance"] == 0.2


@pytest.mark.filterwarnings("ignore:.*quantize")
def test_a_quantised_model_can_be_loaded_from_a_function(run: Run, digit: str) -> None:
    ran = run("diff", digit, f"other.py:int8?file={digit}", *DATA, "--json")
    assert ran.code == 1
    assert ran.json["first"] == "fc"
    assert ran.json["cuts"][1]["error"]["value"] == 0.0


def test_half_precision_is_within_its_rounding(run: Run, digit: str) -> None:
    ran = run("diff", digit, f"other.py:half?file={digit}", *DATA, "--json")
    assert ran.code == 0
    assert ran.json["answers"]["agreement"]["value"] == 1.0
    assert 0 < ran.json["cuts"][0]["error"]["value"] < 0.01


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore:torch.qu")
def test_the_examples_of_the_documentation_give_its_table(run: Run, tmp_path: Path) -> None:
    """int8, float16, a fine-tuned copy and noise: the file that docs/diff.md shows, and the table that it has."""
    text = (Path(__file__).parents[2] / "docs" / "diff.md").read_text()
    (changes,) = (block for block in re.findall(r"```python\n(.*?)```", text, re.S) if "# changes.py" in block)
    (tmp_path / "changes.py").write_text(changes)
    train = re.search(r"^ {4}seamripper (train zoo:lenet .*)$", text, re.M)
    assert train is not None
    assert run(*shlex.split(train.group(1))).code == 0
    rows = re.findall(
        r"^\| `(\w+)`:[^|]*\| `?(\w+)`? \| ([\d.]+)[^|]*\| (\d+) \| ([^|]*?) \|[^|]*\| (\d) \|$", text, re.M
    )
    assert [row[0] for row in rows] == ["int8", "half", "tuned", "noisy"]
    for name, first, error, flips, kl, code in rows:
        ran = run("diff", "base.safetensors", f"changes.py:{name}", "--data", "digits/digit", "--null", 0, "--cuts",
                  "fc2", "--json")  # fmt: skip
        assert ran.code == int(code), name
        record = ran.json
        assert record["first"] == (None if first == "none" else first)
        shown = next(layer for layer in record["layers"] if layer["name"] == (record["first"] or "conv1"))
        assert shown["value"] == pytest.approx(float(error), rel=0.05)
        changed = round(360 * (1 - record["answers"]["agreement"]["value"]))
        # Kernels of another processor may turn a near tie.
        assert changed == pytest.approx(int(flips), abs=2), name
        assert record["answers"]["kl"]["value"] == pytest.approx(float(kl.split()[0]), rel=0.1)
