"""Published networks: the scripts of docs/swap.md and docs/map.md, at a small size."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import seamripper as sr
from seamripper.swapping import swap

SCRIPTS = Path(__file__).parents[2] / "benchmarks"


@pytest.mark.slow
@pytest.mark.network
@pytest.mark.filterwarnings("ignore:The compiled part of torchvision")
def test_minilm_l3_under_the_head_of_l6(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("transformers")
    monkeypatch.syspath_prepend(SCRIPTS)
    script = runpy.run_path(str(SCRIPTS / "swap_sentences.py"))
    fit, test = (sr.load_data(f"{SCRIPTS}/swap_sentences.py:Sentences", split, n=160) for split in ("train", "test"))
    old = script["with_fitted_head"](script["minilm_l6"](), n=200)
    verdict = swap(old, script["l3"](), fit, test, audit=False, old_cuts="before:head", new_cuts="encoder.layer.1")
    assert verdict.loss.yardstick == "labels"
    assert verdict.loss.old.low > 0.6
    # The stitch carries what L6's head needs: far better than chance, and cheaper by half.
    assert verdict.loss.joined.low > 0.55
    assert verdict.costs["joined"].flops < 0.6 * verdict.costs["old"].flops


@pytest.mark.slow
@pytest.mark.network
def test_efficientnet_lite1_under_a_head_of_lite0(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["swap_images.py", str(tmp_path), "--n", "200"])
    runpy.run_path(str(SCRIPTS / "swap_images.py"), run_name="__main__")
    old = f"zoo:efficientnet_lite0?classes=10&normalise=lite&weights={tmp_path}/lite0.safetensors"
    new = "imagenet:efficientnet_lite1?input=3x96x96"
    fit, test = (sr.load_data("cifar10", split, n=100) for split in ("train", "test"))
    verdict = swap(old, new, fit, test, audit=False, old_cuts="before:classifier", new_cuts="before:classifier")
    assert verdict.loss.old.low > 0.4
    assert verdict.loss.joined.low > 0.2
    assert verdict.match.matching.ridge > 0  # type: ignore[attr-defined]


@pytest.mark.slow
def test_an_index_of_many_vectors() -> None:
    words = [sys.executable, SCRIPTS / "map_index.py", "--n", "3000", "--width", "16", "--queries", "100"]
    out = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    assert "map: " in out
    # With so few columns, every kind of map finds all documents, and which one is chosen is by chance.
    assert "keep with the map (" in out
    assert "own Recall@1 1.000 [" in out
    assert "numpy.linalg.lstsq: " in out
