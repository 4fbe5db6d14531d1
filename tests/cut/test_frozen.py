"""Frozen means frozen: the copy that is cut, the proof that it did not move, and the user's model as it was."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from cut_models import Parts, case, noise
from torch import Tensor, nn

from seamripper.cut import cuts, split
from seamripper.cut.frozen import adapting, frozen_copy, seal, statistics_of
from seamripper.errors import CutError, FrozenError, LeakError, ModelError


class Net(nn.Module):
    """Batch normalisation, a skip, a buffer of its own that is not saved, and one of integers."""

    def __init__(self) -> None:
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(0)
            self.conv, self.norm = nn.Conv2d(3, 4, 1), nn.BatchNorm2d(4)
            self.mix, self.head = nn.Conv2d(4, 4, 1), nn.Linear(4, 3)
        self.register_buffer("scale", torch.ones(4, 1, 1), persistent=False)
        self.register_buffer("count", torch.tensor(7))

    def forward(self, x: Tensor) -> Tensor:
        h = self.norm(self.conv(x)) * self.scale
        return self.head((self.mix(h).relu() + h).mean((2, 3)))


EXAMPLE = noise(2, (3, 4, 4), seed=0)


# The user's model comes back as it was


def bits(model: nn.Module) -> dict[str, Any]:
    """Every parameter and buffer, to the bit."""
    tensors = (*model.named_parameters(), *model.named_buffers())
    return {name: (t.dtype, t.shape, t.detach().numpy().tobytes()) for name, t in tensors}


def state_of(model: nn.Module) -> dict[str, Any]:
    """Everything about a model that cutting it could disturb."""
    return {
        "modes": {name: part.training for name, part in model.named_modules()},
        "wanted": {name: p.requires_grad for name, p in model.named_parameters()},
        "gradients": {name: p.grad is None for name, p in model.named_parameters()},
        "hooks": {
            name: (list(part._forward_hooks), list(part._forward_pre_hooks), list(part._backward_hooks))
            for name, part in model.named_modules()
        },
        "objects": {name: id(t) for name, t in (*model.named_parameters(), *model.named_buffers())},
        "attributes": {name: sorted(vars(part)) for name, part in model.named_modules()},
        "forwards": {name: "forward" in vars(part) for name, part in model.named_modules()},
        "bits": bits(model),
    }


def odd_net() -> Net:
    """A net in the middle of a user's work: modes and wishes mixed, gradients there, hooks of their own."""
    net = Net().train()
    net.norm.eval()
    net.conv.requires_grad_(False)
    net(EXAMPLE).sum().backward()
    net.mix.register_forward_hook(lambda *_: None)
    net.head.register_forward_pre_hook(lambda *_: None)
    return net


@pytest.mark.slow
@pytest.mark.parametrize("way", ["fx", "hooks", "export"])
def test_a_model_is_as_it_was_after_it_was_cut_and_its_halves_were_used(way: Any) -> None:
    net = odd_net()
    before = state_of(net)
    assert before["modes"][""]
    assert not before["modes"]["norm"]
    cuts(net, EXAMPLE)
    halves = split(net, "norm", EXAMPLE, way=way)
    leaf = halves.head(EXAMPLE).detach().requires_grad_(True)
    halves.tail(leaf).sum().backward()
    with adapting(halves.model.module):
        halves.answer(EXAMPLE)
    assert state_of(net) == before


@pytest.mark.parametrize(
    ("fail", "error"),
    [
        (lambda net: split(net, "mix", EXAMPLE), LeakError),
        (lambda net: split(net, "nrom", EXAMPLE), CutError),
        (lambda net: cuts(net, torch.zeros(2, 5, 4, 4)), CutError),
        (lambda net: split(net, "norm", torch.zeros(0, 3, 4, 4)), CutError),
    ],
)
def test_and_after_an_exception(fail: Callable[[nn.Module], object], error: type[Exception]) -> None:
    net = odd_net()
    before = state_of(net)
    with pytest.raises(error):
        fail(net)
    assert state_of(net) == before


def test_and_after_an_exception_of_its_own_in_the_middle_of_a_run() -> None:
    class Bursts(Parts):
        def forward(self, x: Tensor) -> Tensor:
            h = self.a(x)
            if len(x) == 3:
                raise RuntimeError("three is too many")
            return self.head(self.b(h))

    net = Bursts().train()
    before = state_of(net)
    with pytest.raises(CutError, match="three is too many"):
        split(net, "b", noise(2, (4,), seed=0))
    assert state_of(net) == before


@pytest.mark.parametrize("way", ["fx", "hooks"])
def test_the_halves_leave_their_own_model_as_it_was_too(way: Any) -> None:
    known = case("narrow_resnet")
    halves = split(known.module, "before:layer2.0.relu#2", known.example, way=way)
    before = state_of(halves.model.module)
    activations = halves.head(known.batch(5))
    halves.tail(activations)
    with pytest.raises(RuntimeError):
        halves.tail(activations[:, :3])
    with pytest.raises(RuntimeError):
        halves.head(known.batch(2)[:, :1])  # type: ignore[index]
    assert state_of(halves.model.module) == before


def test_hooks_that_are_part_of_a_model_stay_part_of_its_copy() -> None:
    net = Net().eval()
    net.mix.register_forward_hook(lambda _, args, output: output * 2)
    halves = split(net, "norm", EXAMPLE)
    with torch.no_grad():
        assert torch.equal(halves.tail(halves.head(EXAMPLE)), net(EXAMPLE))


# The copy


def test_the_copy_is_in_eval_mode_wants_no_gradients_and_shares_nothing() -> None:
    net = odd_net()
    twin = frozen_copy(net)
    assert not any(part.training for part in twin.modules())
    assert not any(p.requires_grad for p in twin.parameters())
    assert bits(twin) == bits(net)
    ours = {t.data_ptr() for t in (*twin.parameters(), *twin.buffers())}
    assert ours.isdisjoint(t.data_ptr() for t in (*net.parameters(), *net.buffers()))


def test_training_goes_on_without_the_split() -> None:
    net = Net()
    halves = split(net, "norm", EXAMPLE)
    fingerprint = halves.fingerprint
    optimiser = torch.optim.SGD(net.parameters(), lr=0.1)
    net.train()(EXAMPLE).sum().backward()
    optimiser.step()
    assert split(net, "norm", EXAMPLE).fingerprint != fingerprint
    assert halves.fingerprint == fingerprint


def test_no_half_wants_gradients_but_lets_them_through() -> None:
    halves = split(Net(), "norm", EXAMPLE)
    assert not any(p.requires_grad for half in (halves.head, halves.tail) for p in half.parameters())
    assert not any(part.training for half in (halves.head, halves.tail) for part in half.modules())
    leaf = halves.head(EXAMPLE).requires_grad_(True)
    (gradient,) = torch.autograd.grad(halves.tail(leaf).sum(), leaf)
    assert gradient.abs().sum() > 0


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("name", ["head.weight", "norm.running_var", "scale"])
def test_weights_and_buffers_that_are_not_finite_are_refused_by_name(name: str, value: float) -> None:
    net = Net()
    owner, _, leaf = name.rpartition(".")
    getattr(net.get_submodule(owner), leaf).data.view(-1)[-1] = value
    for use in (lambda: cuts(net, EXAMPLE), lambda: split(net, "norm", EXAMPLE)):
        with pytest.raises(ModelError, match=f"hold NaN or Inf, first in '{name}'"):
            use()


def test_finite_weights_with_an_infinite_sum_are_finite() -> None:
    net = Net()
    net.scale.data.fill_(3e38)
    assert bits(frozen_copy(net)) == bits(net)
    net.scale[0], net.scale[1] = float("inf"), -float("inf")
    with pytest.raises(ModelError, match="first in 'scale'"):
        frozen_copy(net)


def test_a_model_that_cannot_be_copied_says_so() -> None:
    net = Net()
    net.last = net(EXAMPLE)  # A tensor with a history, which PyTorch does not copy.
    with pytest.raises(ModelError, match="The model Net cannot be copied"):
        split(net, "norm", EXAMPLE)


# The seal


class Drifts(nn.Module):
    """A batch normalisation whose statistics follow its inputs, in eval mode as well."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm2d(3)
        self.head = nn.Linear(3, 2)

    def forward(self, x: Tensor) -> Tensor:
        self.norm.train()
        h = self.norm(x)
        self.norm.eval()
        return self.head(h.mean((2, 3)))


STATISTICS = ("norm.num_batches_tracked", "norm.running_mean", "norm.running_var")


def test_a_drift_of_batch_norm_is_caught_and_named() -> None:
    net = frozen_copy(Drifts())
    with pytest.raises(FrozenError) as told, seal({"receiver": net}):
        net(EXAMPLE)
    assert told.value.changed == STATISTICS
    message = str(told.value)
    assert message.startswith(
        "The receiver should have stayed frozen, but 'norm.num_batches_tracked', 'norm.running_mean' and"
    )
    assert "freeze='weights'" in message


def test_a_model_that_keeps_still_passes_the_seal() -> None:
    net = frozen_copy(Net())
    before = bits(net)
    with seal({"sender": net, "receiver": net}):
        net(EXAMPLE)
    assert bits(net) == before


def test_the_seal_names_whose_model_it_was() -> None:
    still, drifting = frozen_copy(Net()), frozen_copy(Drifts())
    with (
        pytest.raises(FrozenError, match="The sender should have stayed frozen"),
        seal({"receiver": still, "sender": drifting}),
    ):
        drifting(EXAMPLE)


def test_statistics_may_adapt_when_only_the_weights_are_frozen() -> None:
    net = frozen_copy(Drifts())
    before = bits(net)
    with seal({"receiver": net}, freeze="weights"):
        net(EXAMPLE)
    after = bits(net)
    assert {name for name in before if before[name] != after[name]} == set(STATISTICS)


def _one(net: nn.Module, name: str) -> None:
    owner, _, leaf = name.rpartition(".")
    getattr(net.get_submodule(owner), leaf).data.view(-1)[0] += 1


@pytest.mark.parametrize("freeze", ["all", "weights"])
@pytest.mark.parametrize("name", ["conv.weight", "head.bias", "norm.weight", "norm.bias", "scale", "count"])
def test_but_nothing_else_may(name: str, freeze: Any) -> None:
    net = frozen_copy(Net())
    with pytest.raises(FrozenError) as told, seal({"receiver": net}, freeze=freeze):
        _one(net, name)
    assert told.value.changed == (name,)


def test_a_tensor_that_appears_or_goes_is_a_change() -> None:
    net = frozen_copy(Net())
    with pytest.raises(FrozenError) as told, seal({"receiver": net}):
        net.register_buffer("late", torch.zeros(1))
    assert told.value.changed == ("late",)
    with pytest.raises(FrozenError) as told, seal({"receiver": net}):
        del net.late
    assert told.value.changed == ("late",)


def test_many_changes_are_counted() -> None:
    net = frozen_copy(Net())
    with pytest.raises(FrozenError, match="and 4 more changed"), seal({"receiver": net}):
        torch._foreach_add_([p.data for p in net.parameters()], 1.0)


def test_an_exception_inside_the_seal_is_not_hidden_by_it() -> None:
    net = frozen_copy(Net())
    with pytest.raises(RuntimeError, match="channels"), seal({"receiver": net}):
        net(EXAMPLE[:, :1])
    with pytest.raises(KeyboardInterrupt), seal({"receiver": net}):
        raise KeyboardInterrupt


def test_statistics_adapt_inside_the_block_only() -> None:
    known = case("narrow_resnet")
    halves = split(known.module, "layer2", known.example)
    module = halves.model.module
    assert len(statistics_of(module)) == 3 * sum(isinstance(part, nn.BatchNorm2d) for part in module.modules())
    before = bits(module)
    with adapting(halves.tail):
        assert {part.training for part in halves.tail.modules() if isinstance(part, nn.BatchNorm2d)} == {True}
        assert not any(part.training for part in halves.tail.modules() if not isinstance(part, nn.BatchNorm2d))
        halves.tail(halves.head(known.batch(5)))
    assert not any(part.training for part in halves.tail.modules())
    after = bits(module)
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {name for name in statistics_of(module) if name.startswith(("layer3", "layer4"))}
    with pytest.raises(ZeroDivisionError), adapting(halves.tail):
        raise ZeroDivisionError
    assert not any(part.training for part in halves.tail.modules())


# Fingerprints


@pytest.mark.parametrize("name", ["conv.weight", "norm.running_mean", "scale", "count"])
def test_one_bit_of_one_tensor_changes_the_fingerprint(name: str) -> None:
    halves = split(Net(), "norm", EXAMPLE)
    before, net = halves.fingerprint, halves.model.module
    owner, _, leaf = name.rpartition(".")
    raw = getattr(net.get_submodule(owner), leaf).data.view(-1).view(torch.uint8)
    with pytest.raises(FrozenError) as told, seal({"model": net}):
        raw[0] ^= 1
    assert told.value.changed == (name,)
    assert halves.fingerprint != before
    raw[0] ^= 1
    assert halves.fingerprint == before


def test_fingerprints_tell_minus_zero_from_zero_and_one_shape_from_another() -> None:
    net = nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 2))
    prints = set()
    for value in (torch.zeros(2, 2), -torch.zeros(2, 2), torch.zeros(1, 4), torch.zeros(2, 2, dtype=torch.float64)):
        net.register_buffer("extra", value)
        prints.add(split(net, "0", torch.zeros(1, 4)).fingerprint)
    assert len(prints) == 4


def test_splits_of_one_model_have_one_fingerprint() -> None:
    net = Net()
    assert split(net, "norm", EXAMPLE).fingerprint == split(net, "conv", EXAMPLE).again().fingerprint
