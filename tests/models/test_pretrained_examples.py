"""The pretrained networks of docs/yours.md, at a small size: benchmarks/pretrained.py, every case of it."""

from __future__ import annotations

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


def test_photographs(script: dict[str, Any]) -> None:
    pair = ("mobilenet_v2", "efficientnet_lite0")
    found = results(script["photographs"](24, 16, pairs=(pair,), side=64))
    assert list(found) == ["mobilenet_v2 to efficientnet_lite0", "efficientnet_lite0 to mobilenet_v2"]
    for result in found.values():
        # ImageNet's classes are not CIFAR-10's: what can be read is the agreement with the receiver.
        assert result.unreadable is not None
        assert result.agreement.value > result.agreement_chance
        assert result.kl is not None


def test_all_pairs_of_the_page_are_in_the_script(script: dict[str, Any]) -> None:
    names = {frozenset(pair) for pair in script["PHOTOGRAPHS"]}
    lites = [f"efficientnet_lite{k}" for k in range(3)]
    expected = [(lites[0], lites[1]), (lites[1], lites[2]), ("mobilenet_v2", lites[0]), ("resnet50", "mobilenet_v2")]
    assert {frozenset(pair) for pair in expected} <= names


def test_music(script: dict[str, Any]) -> None:
    found = results(script["music"](6, 4, cuts=("pool2",)))
    assert list(found) == ["MSD to MTT at pool2", "MTT to MSD at pool2"]
    for result in found.values():
        assert result.kl is not None
        assert result.kl.value < 1.0


def test_image_and_sound(script: dict[str, Any]) -> None:
    found = results(script["image_and_sound"](16, 8))
    assert list(found) == [f"photographs to recordings, paired by {how}" for how in ("class", "chance")]
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
