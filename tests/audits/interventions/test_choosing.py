"""Choosing interventions: by name, with options, and by the kind of the samples."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from seamripper.audits.interventions import chosen_interventions, interventions
from seamripper.audits.interventions.hue_rotation import HueRotation
from seamripper.audits.interventions.inputs import kind_of
from seamripper.audits.interventions.pitch_shift import PitchShift
from seamripper.data import Samples
from seamripper.errors import AuditError, InapplicableError


def labels(words: list[str], samples: Any) -> list[str]:
    return [one.label for one in chosen_interventions(words, samples)]


@pytest.mark.parametrize(
    ("which", "names"),
    [
        (
            "bytes",
            "channel_swap greyscale high_pass hue_rotation low_pass mix occlusion patch_shuffle",
        ),
        ("texts", "entity_swap word_shuffle"),
        ("waves", "pitch_shift time_reversal"),
    ],
)
def test_default_is_all_of_the_kind(which: str, names: str, make: Any) -> None:
    assert labels(["default"], getattr(make, which)()) == names.split()


def test_default_and_more(make: Any) -> None:
    found = labels(["mix?cutoff=2, greyscale", "default", "mix"], make.bytes())
    assert found[:2] == ["mix?cutoff=2.0", "greyscale"]
    assert sorted(found[1:]) == sorted(n for n, cls in interventions.items() if cls.kind == "image")


def test_options_are_read(make: Any) -> None:
    assert interventions.make("hue_rotation?degrees=180") == HueRotation(degrees=180.0)
    assert interventions.make("pitch_shift?axis=2&semitones=-3") == PitchShift(semitones=-3.0, axis=2)
    assert PitchShift(axis=2).label == "pitch_shift?axis=2"
    assert HueRotation(degrees=90.0).label == "hue_rotation"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("chanel_swap", "There is no intervention 'chanel_swap': did you mean 'channel_swap'"),
        ("word_shufle", "There is no intervention 'word_shufle': did you mean 'word_shuffle'"),
        ("lowpass", "There is no intervention 'lowpass': did you mean 'low_pass'"),
        ("xyz", "There is no intervention 'xyz': there are: channel_swap, "),
        ("low_pass?cutof=2", "no option 'cutof': did you mean 'cutoff'"),
        ("channel_swap?order=rgb", "Expected order .* to be 'gbr', 'brg' or 'bgr', but got 'rgb'"),
        ("patch_shuffle?grid=2.5", "Expected grid .* to be a whole number of at least 2, but got '2.5'"),
        ("greyscale?x=1", "no option 'x': It has none"),
    ],
)
def test_wrong_words_get_the_right_ones(words: str, message: str) -> None:
    with pytest.raises(AuditError, match=message):
        interventions.make(words)


def test_kinds(make: Any) -> None:
    assert [kind_of(s) for s in (make.bytes(), make.texts(), make.waves())] == ["image", "text", "audio"]
    assert kind_of(make.of(torch.rand(3, 1, 20))) == "audio"


def test_what_no_intervention_is_for(make: Any) -> None:
    with pytest.raises(InapplicableError, match=r"shape \(4, 5\).* Give a conflict set"):
        kind_of(make.of(torch.rand(3, 4, 5)))
    named = {"pixel_values": torch.rand(3, 3, 4, 4)}
    with pytest.raises(InapplicableError, match="pictures has named inputs without `input_ids`"):
        kind_of(Samples("pictures", named, torch.arange(3), torch.arange(3), classes=3))
