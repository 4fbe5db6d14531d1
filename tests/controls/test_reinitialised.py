"""A network drawn anew: nothing of the trained one is left in it, and the trained one is not touched."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from seamripper._fingerprint import model_fingerprint, tensors_of
from seamripper.controls.random_sender import reinitialise
from seamripper.models import Model, load
from seamripper.models.zoo.vit import ViT


class Bare(nn.Module):
    """Parameters and buffers that no layer of torch owns, and so no reset reaches."""

    def __init__(self) -> None:
        super().__init__()
        self.token = nn.Parameter(3 + 0.5 * torch.randn(400))
        self.temperature = nn.Parameter(torch.tensor(0.07))
        self.register_buffer("grid", -2 + 0.1 * torch.randn(20, 20))
        self.register_buffer("variance", torch.rand(300) + 0.01)
        self.register_buffer("constant", torch.full((5,), 4.0))
        self.register_buffer("order", torch.randperm(6))
        self.register_buffer("mask", torch.tensor([True, False]), persistent=False)
        self.linear = nn.Linear(400, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(x * self.token / self.variance.mean())


MODELS = {
    "zoo resnet": lambda: load("zoo:R_1111?width=0.0625&classes=4&stem=3x3", input=(3, 16, 16)),
    "zoo vit": lambda: load("zoo:vit_tiny?patch=16&size=32"),
    "resnet without a name": lambda: Model(load("zoo:R_1111?width=0.0625&classes=4").module, "memory"),
    "vit without a name": lambda: Model(ViT(patch=16, size=32), "memory"),
    "attention": lambda: Model(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), "memory"),
    "bare": lambda: Model(Bare(), "memory"),
}


def planted(make, name: str) -> Model:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = MODELS[name]()
    make.moved(model.module)
    return model


def first_values(tensor: Tensor) -> bool:
    """Whether these are zeros or ones throughout: where a bias, a norm's weight or a running statistic begins."""
    return bool((tensor == 0).all()) or bool((tensor == 1).all())


@pytest.mark.parametrize("name", [name for name in MODELS if name != "bare"])
def test_every_number_is_another_or_where_it_begins(make, name: str) -> None:
    model = planted(make, name)
    new, left = reinitialise(model, 0)
    before, after = tensors_of(model.module), tensors_of(new)
    assert left == ()
    assert before.keys() == after.keys()
    for key, tensor in after.items():
        was = before[key]
        assert (tensor.shape, tensor.dtype) == (was.shape, was.dtype), key
        # Not one number of a tensor may stay: half a trained layer would do for a trained sender.
        assert not bool((tensor == was).any()), key
        if tensor.dim() > 1:
            assert not first_values(tensor), key
        elif "bias" not in key:
            assert first_values(tensor), key


@pytest.mark.parametrize("name", MODELS)
def test_the_seed_alone_decides_and_nothing_else_is_touched(make, name: str) -> None:
    model = planted(make, name)
    before, state = model_fingerprint(model.module), torch.get_rng_state()
    prints = [model_fingerprint(reinitialise(model, seed)[0]) for seed in (0, 0, 1)]
    assert prints[0] == prints[1] != prints[2]
    assert model_fingerprint(model.module) == before not in prints
    assert torch.equal(torch.get_rng_state(), state)


def test_what_no_reset_reaches_is_redrawn_with_its_mean_and_spread(make) -> None:
    model = planted(make, "bare")
    new, left = reinitialise(model, 3)
    for name in ("token", "grid", "variance"):
        was, now = getattr(model.module, name).detach(), getattr(new, name)
        assert not bool((was == now).any()), name
        # A permutation, or a copy, would be correlated; 400 and 300 draws are not beyond 0.2.
        assert abs(float(torch.corrcoef(torch.stack([was.flatten(), now.flatten()]))[0, 1])) < 0.2, name
    for name in ("token", "grid"):
        was, now = getattr(model.module, name).detach(), getattr(new, name)
        assert float(now.mean()) == pytest.approx(float(was.mean()), abs=5 * float(was.std()) / 20)
        assert float(now.std()) == pytest.approx(float(was.std()), rel=0.2)
    assert bool((new.variance >= 0).all())
    assert left == ("temperature", "order", "mask")
    assert torch.equal(new.order, model.module.order)


def test_a_constant_stays_and_is_named() -> None:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = Bare()
    new, left = reinitialise(model, 0)
    assert torch.equal(new.constant, model.constant)
    assert left == ("temperature", "constant", "order", "mask")


def test_statistics_that_adapted_are_reset() -> None:
    norm = nn.Sequential(nn.Conv2d(2, 3, 1), nn.BatchNorm2d(3), nn.BatchNorm2d(3, affine=False))
    for _ in range(4):
        norm(4 + 3 * torch.randn(16, 2, 5, 5))
    assert float(norm[1].running_mean.abs().max()) > 0.01
    new, _ = reinitialise(norm, 0)
    for layer in new[1:]:
        assert torch.equal(layer.running_mean, torch.zeros(3))
        assert torch.equal(layer.running_var, torch.ones(3))
        assert int(layer.num_batches_tracked) == 0
        assert not layer.training


def test_the_projections_of_attention_are_reset(make) -> None:
    """Torch's own attention keeps them as parameters of its own, with a reset that has an underscore."""
    attention = make.moved(nn.MultiheadAttention(8, 2))
    new, left = reinitialise(attention, 0)
    assert left == ()
    bound = (6 / (8 + 24)) ** 0.5  # Xavier's for a weight of 24 × 8
    assert 0.8 * bound < float(new.in_proj_weight.abs().max()) <= bound
    assert torch.equal(new.in_proj_bias, torch.zeros(24))
    # As it begins: attention has the last word over the layer inside it, whose own reset draws a bias.
    assert torch.equal(new.out_proj.bias, torch.zeros(8))


def test_a_reset_that_wants_arguments_is_not_called() -> None:
    class Odd(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.arange(50.0))

        def reset_parameters(self, scale: float) -> None:
            raise AssertionError

    odd = Odd()
    new, left = reinitialise(odd, 0)
    assert left == ()
    assert not torch.equal(new.weight, odd.weight)


def test_a_reset_that_writes_the_same_values_has_reached_them() -> None:
    """A table that a module makes anew is not noise afterwards."""

    class Table(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("waves", torch.linspace(0, 6, 40).sin())

        def reset_parameters(self) -> None:
            self.waves.copy_(torch.linspace(0, 6, 40).sin())

    table = Table()
    new, left = reinitialise(table, 0)
    assert left == ()
    assert torch.equal(new.waves, table.waves)


def test_parametrised_weights_are_drawn_anew() -> None:
    """A reset writes to the weight that is computed, not to what it is computed from."""
    layer = nn.utils.parametrizations.weight_norm(nn.Linear(30, 20))
    new, left = reinitialise(layer, 0)
    assert left == ()
    for name, tensor in tensors_of(new).items():
        assert not bool((tensor == tensors_of(layer)[name]).any()), name


def test_a_package_builds_it_as_it_begins(make) -> None:
    """A ViT's weights begin by its own rule; torch's reset of a linear layer would be another."""
    named, bare = (reinitialise(planted(make, name), 0)[0] for name in ("zoo vit", "vit without a name"))
    assert float(named.blocks[0].mlp.fc1.weight.std()) == pytest.approx(0.02, rel=0.05)
    assert float(bare.blocks[0].mlp.fc1.weight.std()) == pytest.approx(1 / (3 * 192) ** 0.5, rel=0.05)


def test_a_network_that_was_changed_is_not_built_from_its_name(make) -> None:
    model = planted(make, "zoo resnet")
    model.module.fc = nn.Linear(model.module.fc.in_features, 7)
    new, left = reinitialise(model, 0)
    assert new.fc.out_features == 7
    assert left == ()


def test_precision_stays(make) -> None:
    for name in ("zoo resnet", "resnet without a name"):
        model = planted(make, name)
        model.module.double()
        new, _ = reinitialise(model, 0)
        assert new.conv1.weight.dtype == new.bn1.running_mean.dtype == torch.float64
        assert new.bn1.num_batches_tracked.dtype == torch.int64


@pytest.mark.parametrize("seed", [0, 1])
def test_it_is_not_the_start_that_the_network_was_trained_from(seed: int) -> None:
    spec = "zoo:lenet?channels=1"
    start = load(f"{spec}&seed={seed}")
    new, _ = reinitialise(start, seed)
    assert not torch.equal(new.state_dict()["conv1.weight"], start.module.state_dict()["conv1.weight"])


def test_libraries_models_are_built_again() -> None:
    model = load("timm:resnet10t?num_classes=3")
    new, left = reinitialise(model, 0)
    assert left == ()
    assert model_fingerprint(new) != model_fingerprint(model.module)
    # Only their own way of beginning sets the last norm of a block to zero.
    assert torch.equal(new.layer1[0].bn2.weight, torch.zeros_like(new.layer1[0].bn2.weight))
