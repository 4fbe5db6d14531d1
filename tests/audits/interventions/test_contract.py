"""Every intervention is held to one contract, and so are planted ones that break it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import FrozenInstanceError, dataclass, fields, replace
from typing import Any, ClassVar

import pytest
import torch
from torch import Tensor

from seamripper.audits.interventions import Intervention, interventions
from seamripper.audits.interventions.greyscale import Greyscale
from seamripper.audits.interventions.inputs import Kind, images, limits
from seamripper.data import Samples
from seamripper.data.samples import Inputs
from seamripper.errors import AuditError, InapplicableError

NAMES = {
    "image": {
        "channel_swap",
        "greyscale",
        "high_pass",
        "hue_rotation",
        "low_pass",
        "mix",
        "occlusion",
        "patch_shuffle",
    },
    "text": {"entity_swap", "word_shuffle"},
    "audio": {"pitch_shift", "time_reversal"},
}
OF_COLOUR = {"channel_swap", "greyscale", "hue_rotation"}
OF_TWO = {"mix", "entity_swap"}
"""Those that take something from another sample, so that it matters which others are there."""
ALL = sorted(name for names in NAMES.values() for name in names)


def test_there_are_these() -> None:
    assert {kind: {name for name, cls in interventions.items() if cls.kind == kind} for kind in NAMES} == NAMES
    assert len(interventions) == len(ALL)


def of_kind(make: Any, kind: Kind) -> list[Samples]:
    """Samples that an intervention of this kind is for."""
    return {
        "image": [make.bytes(), make.floats(), make.floats(dtype=torch.float64), make.bytes(height=9, width=14)],
        "text": [make.texts()],
        "audio": [make.waves(), make.waves(dtype=torch.float64), make.of(make.waves().inputs[:, None])],
    }[kind]


def columns(inputs: Inputs) -> dict[str, Tensor]:
    return dict(inputs) if isinstance(inputs, Mapping) else {"inputs": inputs}


def check(intervention: Intervention, samples: Samples) -> None:
    """All that must hold for any intervention on samples of its kind."""
    before, state = replace(samples).fingerprint, torch.get_rng_state()
    changed = intervention.apply(samples, seed=3)
    assert replace(samples).fingerprint == before, "the samples themselves were changed"
    assert torch.equal(torch.get_rng_state(), state), "the global generator was used"
    assert changed.name == f"{samples.name}, {intervention.label}"
    assert torch.equal(changed.labels, samples.labels)
    assert torch.equal(changed.ids, samples.ids)
    old, new = (columns(one.batch(slice(None))) for one in (samples, changed))
    assert list(old) == list(new)
    for key in old:
        assert (old[key].shape, old[key].dtype) == (new[key].shape, new[key].dtype), "another shape or dtype"
    assert any(not torch.equal(old[key], new[key]) for key in old), "nothing was changed"
    if intervention.kind == "image":
        low, high = limits(samples)
        assert float(new["inputs"].min()) >= low - 1e-6, "pixels below black"
        assert float(new["inputs"].max()) <= high + 1e-6, "pixels above white"
    again = columns(intervention.apply(samples, seed=3).batch(slice(None)))
    assert all(torch.equal(new[key], again[key]) for key in new), "the same seed gave something else"


def alone(intervention: Intervention, samples: Samples) -> None:
    """A sample is changed in the same way whatever others there are, and in whatever order."""
    whole = columns(intervention.change(samples, seed=3))
    index = torch.tensor([4, 0, 2])
    part = columns(intervention.change(samples.take(index), seed=3))
    for key in whole:
        torch.testing.assert_close(part[key], whole[key][index], msg="it matters which others are there")


@pytest.mark.parametrize("name", ALL)
def test_contract(name: str, make: Any) -> None:
    intervention = interventions[name]()
    for samples in of_kind(make, intervention.kind):
        check(intervention, samples)


@pytest.mark.parametrize("name", sorted(set(ALL) - OF_TWO))
def test_a_sample_is_changed_in_the_same_way_in_any_company(name: str, make: Any) -> None:
    cls = interventions[name]
    # Of bytes, as the range of floats is what occurs among them.
    alone(cls(), {"image": make.bytes, "text": make.texts, "audio": lambda: make.waves(6)}[cls.kind]())


@pytest.mark.parametrize("name", sorted({"patch_shuffle", "occlusion", "word_shuffle"} | OF_TWO))
def test_another_seed_draws_otherwise(name: str, make: Any) -> None:
    intervention = interventions[name]()
    samples = of_kind(make, intervention.kind)[0]
    one, other = (columns(intervention.change(samples, seed=seed)) for seed in (0, 1))
    assert any(not torch.equal(one[key], other[key]) for key in one)


@pytest.mark.parametrize("name", ALL)
def test_it_says_what_it_is(name: str) -> None:
    cls = interventions[name]
    assert cls.name == name
    assert re.fullmatch(r"[a-z]+(_[a-z]+)*", name)
    assert cls.__module__.endswith(f".{name}"), "a file is one intervention, and bears its name"
    assert re.fullmatch(r".+[^.\n]", cls.about), "one line, no sentence"
    assert ">>>" in str(cls.__doc__)
    assert cls().label == name
    with pytest.raises((FrozenInstanceError, TypeError)):
        cls().name = "other"  # type: ignore[misc]


@pytest.mark.parametrize("name", ALL)
def test_what_is_of_another_kind_is_refused_with_what_came(name: str, make: Any) -> None:
    intervention = interventions[name]()
    rows = make.of(torch.arange(12).view(4, 3), name="rows")
    named = make.of({"input_ids": torch.rand(3, 4)}, name="vectors")
    others = {"image": [make.texts(), make.waves(), rows], "text": [make.bytes(), make.waves(), rows, named]}
    for samples in others.get(intervention.kind, [make.texts(), rows, named]):
        with pytest.raises(InapplicableError, match=f"{name} is for .*, but {samples.name} has .*"):
            intervention.apply(samples)


@pytest.mark.parametrize("name", sorted(NAMES["image"]))
def test_images_of_one_channel(name: str, make: Any) -> None:
    grey = make.bytes(channels=1)
    if name in OF_COLOUR:
        with pytest.raises(InapplicableError, match=f"{name} is for images with 3 channels"):
            interventions[name]().apply(grey)
    else:
        check(interventions[name](), grey)


@pytest.mark.parametrize("name", sorted(NAMES["image"]))
def test_bytes_and_the_floats_that_a_model_takes_are_alike(name: str, make: Any) -> None:
    stored = make.bytes()
    pixels = stored.batch(slice(None))
    # Black and white occur, so that the range of floats is that of bytes.
    stored.inputs[0, 0, 0, :2] = torch.tensor([0, 255], dtype=torch.uint8)
    pixels[0, 0, 0, :2] = torch.tensor([-1.0, 1.0])
    floats = Samples("floats", pixels, stored.labels, stored.ids, classes=3)
    one, other = (interventions[name]().change(samples, seed=0) for samples in (stored, floats))
    torch.testing.assert_close(one, other, rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", ALL)
def test_half_precision(name: str, make: Any) -> None:
    cls = interventions[name]
    if cls.kind != "text":
        samples = make.floats(dtype=torch.float16) if cls.kind == "image" else make.waves(dtype=torch.float16)
        halves = cls().change(samples, seed=0)
        exact = cls().change(replace(samples, inputs=samples.inputs.double()), seed=0)
        assert halves.dtype == torch.float16
        torch.testing.assert_close(halves.double(), exact, rtol=0, atol=0.02)


@pytest.mark.parametrize("name", [n for n in ALL if fields(interventions[n])])
def test_an_option_of_another_type_is_refused(name: str) -> None:
    option = fields(interventions[name])[0].name
    with pytest.raises(AuditError, match=f"Expected {option} of the intervention '{name}' to be .*, but got 'no'"):
        interventions[name](**{option: "no"})


@pytest.mark.parametrize(
    ("name", "option", "bad"),
    [
        ("hue_rotation", "degrees", [0.0, 360.0, -90.0, float("nan"), float("inf")]),
        ("patch_shuffle", "grid", [1, 0, -2]),
        ("low_pass", "cutoff", [0.0, -1.0, float("nan"), float("inf")]),
        ("high_pass", "cutoff", [0.0, -1.0, float("nan"), float("inf")]),
        ("mix", "cutoff", [0.0, -1.0, float("nan"), float("inf")]),
        ("occlusion", "share", [0.0, 1.0, -0.5, float("nan")]),
        ("entity_swap", "n", [0, -1]),
        ("pitch_shift", "semitones", [36.0, -36.0, float("nan")]),
    ],
)
def test_an_option_out_of_bounds_is_refused(name: str, option: str, bad: list[float]) -> None:
    for value in bad:
        with pytest.raises(
            AuditError, match=rf"Expected {option} of the intervention '{name}' to be .*, but got {value}"
        ):
            interventions[name](**{option: value})


# ---- the contract itself


@dataclass(frozen=True)
class Planted(Intervention):
    """Inverts images; subclasses break one rule each."""

    name: ClassVar[str] = "planted"
    about: ClassVar[str] = "for this test"
    kind: ClassVar[Kind] = "image"

    def change(self, samples: Samples, *, seed: int) -> Inputs:
        return -images(samples, self.name)


class InPlace(Planted):
    def change(self, samples: Samples, *, seed: int) -> Inputs:
        assert isinstance(samples.inputs, Tensor)
        return samples.inputs.neg_()


class Chance(Planted):
    def change(self, samples: Samples, *, seed: int) -> Inputs:
        return torch.rand_like(images(samples, self.name))


class Nothing(Planted):
    def change(self, samples: Samples, *, seed: int) -> Inputs:
        return images(samples, self.name)


class Smaller(Planted):
    def change(self, samples: Samples, *, seed: int) -> Inputs:
        return images(samples, self.name)[..., 1:]


class Brighter(Planted):
    def change(self, samples: Samples, *, seed: int) -> Inputs:
        return images(samples, self.name) + 1


class Unseeded(Planted):
    def change(self, samples: Samples, *, seed: int) -> Inputs:
        generator = torch.Generator()
        generator.seed()
        pixels = images(samples, self.name)
        return pixels * torch.rand(pixels.shape, generator=generator)


class ByTheRest(Planted):
    def change(self, samples: Samples, *, seed: int) -> Inputs:
        return images(samples, self.name).flip(0)


def test_the_contract_accepts_what_keeps_it(make: Any) -> None:
    check(Planted(), make.bytes())
    alone(Planted(), make.bytes())
    check(Greyscale(), make.bytes())


@pytest.mark.parametrize(
    ("cls", "why"),
    [
        (InPlace, "themselves were changed"),
        (Chance, "global generator"),
        (Nothing, "nothing was changed"),
        (Smaller, "another shape"),
        (Brighter, "above white"),
        (Unseeded, "the same seed"),
    ],
)
def test_the_contract_refuses_what_breaks_it(cls: type[Planted], why: str, make: Any) -> None:
    with pytest.raises(AssertionError, match=why):
        check(cls(), make.floats() if cls is InPlace else make.bytes())


def test_the_contract_refuses_what_depends_on_the_other_samples(make: Any) -> None:
    with pytest.raises(AssertionError, match="which others"):
        alone(ByTheRest(), make.bytes())
