"""Planted cues: what agrees with what in each variant, and that a cue can be read from the pixels alone."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
import torch
from PIL import Image

from seamripper.data import load_data
from seamripper.data.planted import CUES
from seamripper.errors import DataError


def load(variant: str, cue: str = "place", split: str = "test", **more: object):
    return load_data(f"planted/{variant}?base=digits&cue={cue}", split, **more)


@pytest.mark.parametrize("cue", CUES)
def test_variants_differ_in_what_the_label_is_and_what_the_cue_follows(cue: str) -> None:
    both, shape, by_cue, plain = (load(variant, cue) for variant in ("both", "shape", "cue", "plain"))
    assert torch.equal(both.labels, plain.labels)
    assert torch.equal(shape.labels, plain.labels)
    assert torch.equal(shape.inputs, by_cue.inputs)
    # Drawn by chance: about a tenth of the cues agree with the class.
    assert 0.04 < float((by_cue.labels == shape.labels).float().mean()) < 0.17
    assert not torch.equal(both.inputs, plain.inputs)
    assert both.inputs.dtype == torch.uint8
    assert both.fingerprint == load("both", cue).fingerprint != load("both", cue, seed=1).fingerprint


@pytest.mark.parametrize("cue", CUES)
def test_the_cue_can_be_read_without_the_class(cue: str) -> None:
    """Of two images with the same cue, the planted part is more alike than of two with different cues."""
    by_cue, plain = load("cue", cue), load("plain", cue)
    scale = {"colour": 0.65, "place": 1.0, "texture": 0.75, "brightness": 0.5}[cue]
    planted = by_cue.inputs.float() - scale * plain.inputs.float()
    # The phase of a grating varies: its spectrum does not.
    parts = torch.fft.rfft2(planted.mean(1)).abs().flatten(1) if cue == "texture" else planted.flatten(1)
    centres = torch.stack([parts[:150][by_cue.labels[:150] == k].mean(0) for k in range(10)])
    nearest = torch.cdist(parts[150:], centres).argmin(1)
    assert float((nearest == by_cue.labels[150:]).float().mean()) > 0.8


def test_a_sample_is_the_same_however_many_there_are() -> None:
    every, few = load("shape"), load("shape", n=20)
    rows = torch.isin(every.ids, few.ids)
    assert torch.equal(every.inputs[rows], few.inputs)
    assert not set(load("shape", split="train").ids.tolist()) & set(every.ids.tolist())
    assert load("shape", size=14).shape == (3, 14, 14)


def test_what_cannot_be_planted_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="did you mean 'planted/both'"):
        load_data("planted/bth?base=digits", "test")
    with pytest.raises(DataError, match="one cue is planted at a time"):
        load_data("planted/both?base=planted", "test")
    for split, name in itertools.product(("train", "test"), ("cat", "dog")):
        (tmp_path / split / name).mkdir(parents=True)
        Image.new("RGB", (8, 8)).save(tmp_path / split / name / "0.png")
    with pytest.raises(DataError, match=r"Expected base to have 10 classes, .* has 2"):
        load_data(f"planted/both?base=folder:{tmp_path}", "test")
    with pytest.raises(DataError, match=r"cue .*'place'"):
        load_data("planted/both?base=digits&cue=plase", "test")
