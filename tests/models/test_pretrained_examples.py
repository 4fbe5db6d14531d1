"""The pretrained networks of docs/yours.md, at a small size: benchmarks/pretrained.py, every case of it."""

from __future__ import annotations

import math
import runpy
from pathlib import Path
from typing import Any

import pytest

from seamripper.matching import Functional

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "pretrained.py"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.network,
    pytest.mark.filterwarnings("ignore:The compiled part of torchvision"),
]


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(SCRIPT))


def results(rows: Any) -> dict[str, Functional]:
    return dict(rows)


LITES = tuple(f"efficientnet_lite{k}" for k in range(3))
PHOTOGRAPHS = (
    (LITES[0], LITES[1]),
    (LITES[1], LITES[2]),
    (LITES[0], LITES[2]),
    ("mobilenet_v2", LITES[0]),
    ("resnet50", "mobilenet_v2"),
)


@pytest.mark.parametrize("pair", PHOTOGRAPHS, ids=" ".join)
def test_photographs(script: dict[str, Any], pair: tuple[str, str]) -> None:
    found = results(script["photographs"](24, 16, pairs=(pair,), side=64))
    assert list(found) == [f"{a} to {b}" for a, b in (pair, pair[::-1])]
    for result in found.values():
        # ImageNet's classes are not CIFAR-10's: what can be read is the agreement with the receiver.
        assert result.unreadable is not None
        assert result.kl is not None
        assert math.isfinite(result.kl.value)
        # From a thousand channels, 24 photographs are too few to fit on: the page has 0.14 of a hundred.
        assert "resnet50" in pair or result.agreement.value > result.agreement_chance


def test_all_pairs_of_the_script_are_tested(script: dict[str, Any]) -> None:
    assert script["PHOTOGRAPHS"] == PHOTOGRAPHS


def test_music(script: dict[str, Any]) -> None:
    found = results(script["music"](6, 4, cuts=("pool2",)))
    assert list(found) == ["MSD to MTT at pool2", "MTT to MSD at pool2"]
    for result in found.values():
        assert result.kl is not None
        assert result.kl.value < 1.0


def test_image_and_sound(script: dict[str, Any]) -> None:
    found = results(script["image_and_sound"](16, 8))
    ways = ("photographs to recordings", "recordings to photographs")
    assert list(found) == [f"{way}, paired by {how}" for how in ("class", "chance") for way in ways]
    assert all(result.n == 8 for result in found.values())


def test_every_cls_policy(script: dict[str, Any]) -> None:
    found = results(script["cls"](300, 150, data="digits", epochs=4))
    assert [name.partition("?")[2] for name in found] == [
        f"cls={policy}" for policy in ("learn", "pool", "drop", "drop", "keep", "pool")
    ]
    for way in ("CNN to ViT", "ViT to CNN"):
        best = max((r for name, r in found.items() if name.startswith(way)), key=lambda result: result.agreement.value)
        assert best.agreement.value > best.agreement_chance


def test_sentences(script: dict[str, Any]) -> None:
    found = results(script["sentences"](300, 150, tokens=20))
    assert list(found) == ["MiniLM-l6 to MiniLM-l3", "MiniLM-l3 to MiniLM-l6"]
    for result in found.values():
        assert result.receiver_here.value > 0.6
        assert result.agreement.value > result.agreement_chance
