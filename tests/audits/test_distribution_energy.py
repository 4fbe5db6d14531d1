"""The energy detector: its formulas, its networks, and what it is taught."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from planted_activations import LAYOUTS, case, receiver, samples
from torch import nn

from seamripper.audits import Evidence
from seamripper.audits.detectors.energy import EnergyDetector, detector_network, energy, energy_loss
from seamripper.audits.detectors.fast import import_peers
from seamripper.audits.detectors.outliers import auxiliary_samples, change_activations
from seamripper.audits.distribution import Distribution
from seamripper.cut.place import Cut, Layout
from seamripper.data import Samples
from seamripper.errors import AuditError

# ---- formulas


def logits(n: int, *, seed: int, size: float = 12.0) -> torch.Tensor:
    return size * torch.randn(n, 5, generator=torch.Generator().manual_seed(seed))


def test_the_energy_is_that_of_pytorch_ood() -> None:
    import_peers()
    from pytorch_ood.detector import EnergyBased

    assert torch.allclose(energy(logits(20, seed=0)), EnergyBased.score(logits(20, seed=0), t=1.0))


@pytest.mark.parametrize(("m_in", "m_out"), [(-25.0, -7.0), (-5.0, 2.0)])
def test_the_loss_is_that_of_pytorch_ood(m_in: float, m_out: float) -> None:
    import_peers()
    from pytorch_ood.loss import EnergyRegularizedLoss

    native, strange, labels = logits(20, seed=0), logits(13, seed=1), torch.arange(20) % 5
    theirs = EnergyRegularizedLoss(alpha=0.1, margin_in=m_in, margin_out=m_out)
    wanted = theirs(torch.cat([native, strange]), torch.cat([labels, torch.full((13,), -1)]))
    assert torch.allclose(energy_loss(native, labels, strange, m_in=m_in, m_out=m_out), wanted)


def test_energies_beyond_the_margins_cost_nothing() -> None:
    native, strange = torch.tensor([[60.0, 0.0]]), torch.tensor([[0.0, 0.0]])
    assert float(energy_loss(native, torch.tensor([0]), strange)) == 0.0
    assert float(energy_loss(native, torch.tensor([0]), strange + 8)) == pytest.approx(0.1 * (1 + np.log(2)) ** 2)


# ---- networks


@pytest.mark.parametrize(
    ("cut", "width", "parameters"),
    [
        # ResNet-18 with ten classes has 11,181,642 parameters; those of its 7×7 stem are exchanged for a 3×3 one's.
        (Cut("a", (64, 5, 5), "nchw"), 1.0, 11_181_642 - 3 * 49 * 64 + 64 * 9 * 64),
        # ViT-Ti of timm has 12 blocks of 444,864, a norm of 384 and 10 · 193 in the classifier; nothing to embed.
        (Cut("a", (17, 192), "ntd"), 1.0, 12 * 444_864 + 384 + 1930),
        (Cut("a", (17, 192), "ntd"), 0.25, None),
        (Cut("a", (16, 20), "ntd"), 0.25, None),
        (Cut("a", (20,), "nd"), 0.01, 20 * 20 + 20 + 20 * 20 + 20 + 20 * 10 + 10),
    ],
)
def test_networks_are_of_the_papers_size(cut: Cut, width: float, parameters: int | None) -> None:
    native = torch.randn(3, *cut.shape, generator=torch.Generator().manual_seed(0))
    network = detector_network(native, cut, classes=10, width=width, seed=0).eval()
    assert network(native).shape == (3, 10)
    if parameters is not None:
        assert sum(p.numel() for p in network.parameters()) == parameters


def test_a_network_comes_of_its_seed_and_leaves_the_generator_alone() -> None:
    cut, native = Cut("a", (4,), "nd"), torch.randn(5, 4, generator=torch.Generator().manual_seed(0))
    before = torch.get_rng_state()
    one, again, other = (detector_network(native, cut, classes=3, width=0.01, seed=seed) for seed in (0, 0, 1))
    assert torch.equal(one(native), again(native))
    assert not torch.equal(one(native), other(native))
    assert torch.equal(torch.get_rng_state(), before)


def test_units_are_brought_to_one_scale() -> None:
    cut = Cut("a", (2, 6, 6), "nchw")
    native = torch.randn(50, 2, 6, 6, generator=torch.Generator().manual_seed(0)) * 30 + 400
    network = detector_network(native, cut, classes=3, width=0.05, seed=0)
    assert isinstance(network, nn.Sequential)
    standard = network[0](native)
    assert torch.allclose(standard.mean((0, 2, 3)), torch.zeros(2), atol=1e-4)
    assert torch.allclose(standard.std((0, 2, 3), correction=0), torch.ones(2), atol=1e-4)
    # A unit that never moves stays finite.
    dead = torch.cat([native, torch.zeros(50, 1, 6, 6)], 1)
    network = detector_network(dead, Cut("a", (3, 6, 6), "nchw"), classes=3, width=0.05, seed=0)
    assert bool(torch.isfinite(network(dead)).all())


# ---- what it is taught to find strange


def images(n: int) -> Samples:
    """Bytes with smooth slopes."""
    slopes = torch.arange(0, 240, 30).repeat(8, 1) + torch.arange(8)[:, None]
    pixels = slopes.expand(n, 3, 8, 8).to(torch.uint8)
    return Samples("slopes", pixels, torch.zeros(n).long(), torch.arange(n), classes=1, mean=0.5, std=0.5)


def test_auxiliary_images_are_made_of_the_samples() -> None:
    before = images(6)
    made = auxiliary_samples(before, None, seed=0)
    given, found = before.batch(slice(None)), made.batch(slice(None))
    assert isinstance(given, torch.Tensor)
    assert isinstance(found, torch.Tensor)
    assert (found.shape, found.dtype) == (given.shape, given.dtype)
    # Positions in another order, with the channels of each kept together.
    for i in (0, 3):
        torch.testing.assert_close(found[i].flatten(1).sort(1).values, given[i].flatten(1).sort(1).values)
        assert torch.equal(found[i, 0], found[i, 1])
        assert not torch.equal(found[i], given[i])
    assert not torch.equal(found[0], found[3])
    # Uniform noise over the whole range.
    assert float(found[2].max() - found[2].min()) > 0.9 * float(given.max() - given.min())
    assert float(found.min()) >= float(given.min()) - 1e-6
    assert float(found.max()) <= float(given.max()) + 1e-6
    again, other = (auxiliary_samples(before, None, seed=seed).batch(slice(None)) for seed in (0, 1))
    assert torch.equal(torch.as_tensor(again), found)
    assert not torch.equal(torch.as_tensor(other), found)
    assert torch.equal(torch.as_tensor(before.inputs), torch.as_tensor(images(6).inputs))


def test_scrambled_phases_keep_the_spectrum() -> None:
    # Sample 1 is the scrambled one. Within limits that it does not reach, nothing is cut off.
    inputs = torch.randn(3, 1, 8, 8, generator=torch.Generator().manual_seed(0))
    inputs[0] *= 100
    before = Samples("noise", inputs, torch.zeros(3).long(), torch.arange(3), classes=1)
    found = torch.as_tensor(auxiliary_samples(before, None, seed=0).inputs)
    size, was = (torch.fft.fft2(image[1, 0]).abs() for image in (found, inputs))
    assert torch.allclose(size, was, atol=1e-3)
    assert not torch.allclose(found[1], inputs[1], atol=0.1)


@pytest.mark.parametrize("shape", [(9,), (1, 50), (50,), (3, 7, 5)])
def test_auxiliary_inputs_of_any_shape(shape: tuple[int, ...]) -> None:
    inputs = torch.randn(7, *shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    before = Samples("any", inputs, torch.zeros(7).long(), torch.arange(7), classes=1)
    found = torch.as_tensor(auxiliary_samples(before, None, seed=0).inputs)
    assert (found.shape, found.dtype) == (inputs.shape, inputs.dtype)
    assert bool(torch.isfinite(found).all())
    assert not bool((found == inputs).flatten(1).all(1).any())


def test_tokens_are_drawn_from_those_that_occur() -> None:
    ids = torch.tensor([[5, 6, 7, 0], [8, 9, 0, 0]])
    mask = (ids > 0).long()
    before = Samples(
        "text", {"input_ids": ids, "attention_mask": mask}, torch.tensor([0, 1]), torch.arange(2), classes=2
    )
    found = auxiliary_samples(before, None, seed=0).inputs
    assert isinstance(found, dict)
    assert torch.equal(found["attention_mask"], mask)
    assert not torch.equal(found["input_ids"], ids)
    # Words for words: padding stays where it is.
    assert torch.equal(found["input_ids"] > 0, ids > 0)
    assert set(found["input_ids"].flatten().tolist()) <= set(ids.flatten().tolist())
    bare = Samples("text", ids, torch.tensor([0, 1]), torch.arange(2), classes=2)
    drawn = torch.as_tensor(auxiliary_samples(bare, None, seed=0).inputs)
    assert drawn.shape == ids.shape
    assert set(drawn.flatten().tolist()) <= set(ids.flatten().tolist())


def test_auxiliary_samples_may_be_given() -> None:
    mine = replace(images(4), name="mine")
    assert auxiliary_samples(images(6), mine, seed=0) is mine
    named = auxiliary_samples(samples_like_digits(), "digits/digit", seed=0)
    assert (named.name, len(named)) == ("digits/digit", 5)


def samples_like_digits() -> Samples:
    return Samples("mine", torch.zeros(5, 3, 28, 28), torch.zeros(5).long(), torch.arange(5), classes=1)


def test_auxiliary_samples_of_another_shape_are_refused() -> None:
    with pytest.raises(AuditError, match=r"like those of slopes, .*\(3, 8, 8\).* but mine has .*\(3, 28, 28\)"):
        auxiliary_samples(images(6), samples_like_digits(), seed=0)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_changed_activations_are_none_of_the_given(layout: Layout) -> None:
    native = receiver(layout).head(samples(layout, 40).inputs).detach()
    cut, before = receiver(layout).cut, native.clone()
    one, again = (change_activations(native, cut, torch.Generator().manual_seed(0)) for _ in range(2))
    assert torch.equal(native, before)
    assert torch.equal(one, again)
    assert (one.shape, one.dtype) == (native.shape, native.dtype)
    moved = (one - native).flatten(1).norm(dim=1) / (native - native.mean(0)).flatten(1).norm(dim=1)
    assert float(moved.min()) > 0.2


# ---- the detector


def test_a_detector_comes_of_its_seed_and_leaves_the_generator_alone() -> None:
    whole = case("nd", receiver("nd"))
    audit = Distribution(detector="energy", epochs=2, tune_epochs=2)
    before, seen = torch.get_rng_state(), whole.fit.receiver.inputs
    one, again, other = (replace(audit, seed=seed).make_detector(whole, whole.fit.receiver) for seed in (0, 0, 1))
    activations = whole.receiver.head(seen)
    assert torch.equal(one.features(activations), again.features(activations))
    assert not torch.equal(one.features(activations), other.features(activations))
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize(("outliers", "wanted"), [("inputs", 0), ("both", 16)])
def test_half_of_the_outliers_are_changed_at_the_cut(
    outliers: Any, wanted: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = []

    def watched(activations: torch.Tensor, *rest: Any) -> torch.Tensor:
        sizes.append(len(activations))
        return change_activations(activations, *rest)

    monkeypatch.setattr("seamripper.audits.detectors.energy.change_activations", watched)
    whole = case("nd", receiver("nd"))
    Distribution(detector="energy", epochs=1, tune_epochs=1, outliers=outliers).make_detector(whole, whole.fit.receiver)
    assert sizes[:6] == [wanted] * (6 if wanted else 0)


def test_a_training_that_diverges_is_told() -> None:
    whole = case("nd", receiver("nd"))
    options = Distribution(detector="energy", epochs=50, tune_epochs=50, width=0.05, lr=1e6, outliers="inputs")
    with pytest.raises(AuditError, match=r"diverged at step \d+, with learning rate .* Try a smaller one, lr="):
        EnergyDetector(options, whole.receiver, whole.fit.receiver)


def test_a_detector_that_learnt_nothing_does_not_say_no() -> None:
    same = case("nd", receiver("nd"))
    # What is strange to it are the samples themselves.
    audit = Distribution(detector="energy", epochs=1, tune_epochs=1, outliers="inputs", auxiliary=same.fit.receiver)
    found = audit.put(Evidence(same, controls=("self",)))
    assert found.observed.value == 0.5
    assert found.answer == "unknown"
    assert "auxiliary activations of its training from native ones with an AUROC of only 0.500" in found.sentence
