"""seamripper cuts: the table, the JSON, and what is told of a model that cannot be listed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch

import seamripper as sr

if TYPE_CHECKING:
    from conftest import Run


@pytest.mark.slow
def test_the_installed_command_lists_the_cuts_of_the_zoo(shell: Run) -> None:
    ran = shell("cuts", "zoo:resnet18", "--input", "3x28x28")
    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in lines if line.startswith("│")]
    assert rows[0] == ["before:conv1", "3x28x28", "nchw", "0", "11,181,642"]
    assert ["layer2", "128x4x4", "nchw", "683,072", "10,498,570"] in rows
    assert rows[-1] == ["fc", "10", "nd", "11,181,642", "0"]
    assert lines[0] == f"{len(rows)} cuts of zoo:resnet18"


def test_the_json_is_what_the_library_finds(run: Run) -> None:
    ran = run("cuts", "zoo:R_1111?width=0.125", "--input", "3x28x28", "--json")
    assert (ran.code, ran.err) == (0, "")
    found = sr.cuts(sr.load("zoo:R_1111?width=0.125"), torch.zeros(1, 3, 28, 28))
    assert ran.json["model"] == "zoo:R_1111?width=0.125"
    assert [cut["name"] for cut in ran.json["cuts"]] == [cut.name for cut in found]
    assert [tuple(cut["shape"]) for cut in ran.json["cuts"]] == [cut.shape for cut in found]
    assert [(cut["before"], cut["after"]) for cut in ran.json["cuts"]] == [(cut.before, cut.after) for cut in found]


def test_the_help_names_every_kind_of_model(run: Run) -> None:
    said = " ".join(run("cuts", "--help").out.split())
    kinds = ("zoo:", "imagenet:NAME", "torchvision:", "timm:", "hf:FOLDER", "FILE.py:FUNCTION", "FILE.safetensors")
    assert all(kind in said for kind in kinds)


def test_every_listed_cut_can_be_cut(run: Run) -> None:
    model = sr.load("zoo:lenet")
    images = torch.randn(3, 3, 28, 28, generator=torch.Generator().manual_seed(0))
    names = [cut["name"] for cut in run("cuts", "zoo:lenet", "--json").json["cuts"]]
    assert len(names) == 13
    for name in names:
        halves = sr.split(model, name)
        assert torch.equal(halves.tail(halves.head(images)), model.module(images))


def test_other_names_are_shown_if_asked_for(run: Run) -> None:
    plain = run("cuts", "zoo:resnet18?width=0.125", "--input", "3x28x28").out
    told = run("cuts", "zoo:resnet18?width=0.125", "--input", "3x28x28", "--aliases").out
    assert "also called" not in plain
    assert "also called" in told
    # A stage returns what its last block returns.
    assert "layer2.1" not in {line.split("│")[1].strip() for line in told.splitlines() if line.startswith("│")}
    assert "layer2.1" in told


def test_a_checkpoint_knows_its_input(run: Run, networks: dict[str, Path]) -> None:
    ran = run("cuts", networks["digit"], "--json")
    assert ran.code == 0
    assert ran.json["cuts"][0]["shape"] == [3, 28, 28]


def test_a_network_of_your_own(run: Run, tmp_path: Path) -> None:
    layers = "nn.Sequential(nn.Linear(6, width), nn.Linear(width, 2))"
    (tmp_path / "mine.py").write_text(f"from torch import nn\n\ndef make(width=4):\n    return {layers}\n")
    ran = run("cuts", "mine.py:make?width=5", "--input", "6", "--json")
    assert [cut["shape"] for cut in ran.json["cuts"]] == [[6], [5], [2]]
