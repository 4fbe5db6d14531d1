"""Families of mixtures: what the mask takes and what it leaves make the whole, for every family and form of inputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import torch
from torch import Tensor

from seamripper.audits.mixtures import Mixture, chosen_mixtures, mixtures
from seamripper.audits.mixtures.base import form_of
from seamripper.data import Samples
from seamripper.data.samples import Inputs
from seamripper.errors import AuditError, InapplicableError

NAMES = {
    "image": {"amplitude", "centre", "chrominance", "frequencies", "grid", "mean", "rectangle"},
    "text": {"span", "words"},
    "wave": {"amplitude", "frequencies", "segment"},
    "vector": {"columns", "frequencies", "segment"},
    "sequence": {"columns", "segment"},
}


def samples(inputs: Inputs, **more: Any) -> Samples:
    n = len(inputs) if isinstance(inputs, Tensor) else len(inputs["input_ids"])
    return Samples("toy", inputs, torch.arange(n) % 3, torch.arange(50, 50 + n), classes=3, **more)


def of_form(form: str, seed: int) -> Samples:
    """Eight inputs of a form."""
    g = torch.Generator().manual_seed(seed)
    shapes = {"image": (8, 3, 14, 11), "wave": (8, 1, 65), "vector": (8, 12), "sequence": (8, 9, 6)}
    if form != "text":
        return samples(torch.randn(*shapes[form], generator=g))
    ids = torch.randint(10, 99, (8, 12), generator=g)
    ends = 6 + torch.arange(8) % 5 + seed % 2
    ids = ids.masked_fill(torch.arange(12) >= ends[:, None], 0)
    return samples({"input_ids": ids, "attention_mask": (ids > 0).long()})


def tensor(inputs: Inputs) -> Tensor:
    return inputs["input_ids"] if isinstance(inputs, Mapping) else inputs


MEMBERS = [(form, mixture) for form in NAMES for mixture in chosen_mixtures("default", of_form(form, 1))]


@pytest.mark.parametrize("form", NAMES)
def test_each_form_has_its_families(form: str) -> None:
    assert {mixture.name for mixture in chosen_mixtures("default", of_form(form, 1))} == NAMES[form]
    assert form_of(of_form(form, 1)) == form
    # A family may have several members, and no two members have one name.
    labels = [mixture.label for mixture in chosen_mixtures("default", of_form(form, 1))]
    assert len(set(labels)) == len(labels)


@pytest.mark.parametrize(("form", "mixture"), MEMBERS, ids=lambda value: getattr(value, "label", value))
def test_what_is_taken_and_what_is_left_make_the_whole(form: str, mixture: Mixture) -> None:
    first, second = (of_form(form, seed) for seed in (1, 2))
    a, b = first.batch(slice(None)), second.batch(slice(None))
    for strength in mixture.strengths:
        ours, theirs = (mixture.mix(*two, first.ids, strength=strength, seed=3) for two in ((a, b), (b, a)))
        for mixed, whole in ((ours, a), (theirs, b)):
            assert tensor(mixed).shape == tensor(whole).shape
            assert tensor(mixed).dtype == tensor(whole).dtype
            assert not torch.equal(tensor(mixed), tensor(whole)), "nothing was taken"
        assert not torch.equal(tensor(ours), tensor(b)), "everything was taken"
        # The same mask once more gives back what there was.
        torch.testing.assert_close(
            tensor(mixture.mix(ours, theirs, first.ids, strength=strength, seed=3)), tensor(a), atol=1e-4, rtol=1e-4
        )
        if mixture.name != "amplitude":
            torch.testing.assert_close(tensor(ours) + tensor(theirs), tensor(a) + tensor(b), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize(("form", "mixture"), MEMBERS, ids=lambda value: getattr(value, "label", value))
def test_a_mask_depends_on_id_and_seed_alone(form: str, mixture: Mixture) -> None:
    first, second, rows = of_form(form, 1), of_form(form, 2), torch.tensor([5, 0, 3])
    before = first.fingerprint
    whole = mixture.apply(first, second, seed=4)
    part = mixture.apply(first.take(rows), second.take(rows), seed=4)
    torch.testing.assert_close(tensor(part.batch(slice(None))), tensor(whole.batch(slice(None)))[rows])
    assert torch.equal(whole.ids, first.ids)
    assert Samples(**vars_of(first)).fingerprint == before
    other = mixture.apply(first, second, seed=5)
    fixed = mixture.name in ("amplitude", "centre", "chrominance", "frequencies", "mean")
    assert torch.equal(tensor(other.batch(slice(None))), tensor(whole.batch(slice(None)))) == fixed


def vars_of(samples: Samples) -> dict[str, Any]:
    return {name: getattr(samples, name) for name in ("name", "inputs", "labels", "ids", "classes")}


def test_a_weaker_mask_takes_less() -> None:
    a, b = (samples(fill(40, 3, 20, 20)) for fill in (torch.zeros, torch.ones))
    for name in ("rectangle", "rectangle?size=large", "centre", "grid"):
        shares = [mixtures.make(name).apply(a, b, strength=s).inputs.mean() for s in mixtures.make(name).strengths]
        assert shares == sorted(shares, reverse=True), name
    small, large = (mixtures.make(f"rectangle?size={size}").apply(a, b).inputs.mean() for size in ("small", "large"))
    assert small == pytest.approx(0.25, abs=0.05)
    assert large == pytest.approx(0.55, abs=0.05)
    assert mixtures.make("centre").apply(a, b).inputs.mean() == pytest.approx(0.6, abs=0.05)
    assert mixtures.make("grid").apply(a, b).inputs.mean() == pytest.approx(0.5, abs=0.05)


def test_pictures_stay_within_black_and_white() -> None:
    g = torch.Generator().manual_seed(0)
    a, b = (
        samples(torch.randint(0, 256, (6, 3, 9, 9), generator=g, dtype=torch.uint8), mean=0.5, std=0.5) for _ in "ab"
    )
    for mixture in chosen_mixtures("default", a):
        shown = mixture.apply(a, b).batch(slice(None))
        assert float(shown.min()) >= -1 - 1e-5, mixture.label
        assert float(shown.max()) <= 1 + 1e-5, mixture.label


def test_only_words_that_both_texts_have_are_exchanged() -> None:
    first, second = of_form("text", 1), of_form("text", 2)
    a, b = first.inputs["input_ids"], second.inputs["input_ids"]
    for name in ("span", "words"):
        mixed = mixtures.make(name).apply(first, second).inputs
        changed = mixed["input_ids"] != a
        last = torch.minimum((a > 0).sum(1), (b > 0).sum(1)) - 1
        place = torch.arange(12)
        assert not (changed & ((place == 0) | (place >= last[:, None]))).any()
        assert torch.equal(mixed["attention_mask"], first.inputs["attention_mask"])


def test_other_inputs_are_refused() -> None:
    bare = samples({"pixels": torch.zeros(2, 3), "input_ids": torch.zeros(2, 3)})
    with pytest.raises(InapplicableError, match="without `input_ids`"):
        chosen_mixtures("default", Samples("x", {"pixels": torch.zeros(2, 3)}, torch.arange(2), torch.arange(2), 2))
    with pytest.raises(InapplicableError, match="no mixture is for"):
        form_of(samples(torch.zeros(3, 1, 2, 2, 2)))
    with pytest.raises(InapplicableError, match="'rectangle' is for floats with 4 axes, but the inputs have named"):
        mixtures.make("rectangle").apply(bare, bare)
    with pytest.raises(InapplicableError, match="'span' is for texts"):
        mixtures.make("span").apply(of_form("vector", 1), of_form("vector", 2))
    with pytest.raises(InapplicableError, match="3 channels, not 1"):
        mixtures.make("chrominance").apply(samples(torch.zeros(2, 1, 4, 4)), samples(torch.zeros(2, 1, 4, 4)))
    with pytest.raises(AuditError, match="but got both"):
        chosen_mixtures("none,mean", of_form("image", 1))
    assert chosen_mixtures("none", of_form("image", 1)) == ()
    assert [one.label for one in chosen_mixtures("mean,rectangle?size=large", of_form("image", 1))] == [
        "mean",
        "rectangle?size=large",
    ]
