"""seamripper swap: the screen, the page, the JSON, the files and the exit code."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch

from seamripper.swapping import JoinedNetwork

if TYPE_CHECKING:
    from conftest import Run

FILES = {"safetensors": "joined.safetensors", "torch.export": "joined.pt2", "ONNX": "joined.onnx"}
FEW = ("--n", 200, "--n-test", 150, "--no-audit", "--old-cuts", "layer4", "--new-cuts", "layer4")


def test_a_copy_may_be_swapped_and_ends_with_zero(run: Run, networks: dict[str, Path]) -> None:
    digit = networks["digit"]
    ran = run("swap", digit, digit, "--data", "digits/digit", "--tolerance", 0.05, *FEW)
    assert ran.code == 0
    assert ran.out.startswith("May be swapped. The joined network loses 0.0 [")
    assert "up to layer4, the stitch 'affine' (direct, ridge 0), and" in ran.out
    assert "Flips: 0 of 150 answers change" in ran.out
    assert "are enough for the tolerance." in ran.out
    assert "GFLOPs per sample" in ran.out
    assert "Reason: Not audited" in ran.out
    assert "Doubt: " in ran.out
    assert len(ran.out.splitlines()) < 40


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("onnxruntime") is None, reason="the extra onnx is not installed")
def test_another_network_may_not_and_all_is_written(run: Run, networks: dict[str, Path], tmp_path: Path) -> None:
    words = ("--data", "digits/digit", *FEW, "--out", "run", "--json")
    ran = run("swap", networks["digit"], networks["colour"], *words)
    assert ran.code == 1
    assert ran.json["answer"] == "do not swap"
    assert ran.json["loss"]["penalty"]["value"] > 0.2
    flip = ran.json["flips"][0]
    assert flip.keys() == {"id", "old", "new", "label"}
    assert flip["old"] != flip["new"]
    kept = json.loads((tmp_path / "run" / "swap.json").read_text())
    assert {name: ran.json[name] for name in ("answer", "loss", "flips", "curve")} == {
        name: kept[name] for name in ("answer", "loss", "flips", "curve")
    }
    assert {e["form"]: Path(e["file"]).name for e in kept["exports"]} == FILES
    assert all(e["gap"] < 1e-5 for e in kept["exports"])
    # Batches of another size than the one that was exported.
    inputs = torch.rand(4, 3, 28, 28)
    joined = JoinedNetwork.load("run/joined.safetensors")
    program = torch.export.load("run/joined.pt2").module()
    assert torch.allclose(program(inputs), joined(inputs), atol=1e-5)
    page = (tmp_path / "run" / "swap.html").read_text()
    assert "Must not be swapped" in page
    assert "<script src" not in page
