"""The proof is on the model that is used: every public call seals its networks, and looks at the first real batch."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import seamripper as sr
from seamripper.cut.frozen import seal
from seamripper.errors import CutError, FrozenError, MatchError, ModelError
from seamripper.matching import Direct, Regression, Task

EXAMPLE = torch.randn(2, 6, generator=torch.Generator().manual_seed(0))


class Net(nn.Module):
    """Two layers, with room for a fault between them."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.front, self.norm, self.back = nn.Linear(6, 5), nn.BatchNorm1d(5), nn.Linear(5, 3)
            self.drop = nn.Dropout(0.0)
            self.extra = [nn.Parameter(torch.zeros(5))]
            self.plain = {"shift": torch.zeros(5)}

    def forward(self, x: Tensor) -> Tensor:
        return self.back(self.norm(self.front(x)).relu() + self.extra[0] + self.plain["shift"])


class Untrue(Net):
    """Its `forward` puts its own batch normalisation into training mode."""

    def forward(self, x: Tensor) -> Tensor:
        self.norm.train()
        return super().forward(x)


class Drifts(Net):
    """Changes something of itself once it is shown more than 100 samples: no example shows that."""

    def __init__(self, what: str) -> None:
        super().__init__()
        self.what = what

    def forward(self, x: Tensor) -> Tensor:
        if len(x) > 100:
            with torch.no_grad():
                if self.what == "buffer":
                    self.norm.running_mean.add_(1e-3)
                elif self.what == "mode":
                    # One without statistics that would tell of it, and which does nothing.
                    self.drop.train()
                elif self.what == "unregistered":
                    self.extra[0].add_(1e-12)
                else:
                    self.plain["shift"].add_(1e-12)
        return super().forward(x)


class Branches(Net):
    """Takes another path on large batches, or on large values."""

    def __init__(self, at: str) -> None:
        super().__init__()
        self.at = at

    def forward(self, x: Tensor) -> Tensor:
        if len(x) > 100 if self.at == "batch" else bool(x.abs().max() > 50):
            return self.back(2 - self.front(-x).relu())
        return super().forward(x)


class Forgets(Net):
    """Counts its calls in a number that nothing else holds, and answers by it."""

    calls = 0

    def forward(self, x: Tensor) -> Tensor:
        self.calls += len(x) > 100
        return super().forward(x) + self.calls


def samples(n: int = 300, *, first: int = 0, scale: float = 1.0) -> sr.Samples:
    inputs = scale * torch.randn(n, 6, generator=torch.Generator().manual_seed(1))
    return sr.Samples("toy", inputs, torch.arange(n) % 3, torch.arange(first, first + n), classes=3)


def halves(model: nn.Module, cut: str = "norm", **options: Any) -> sr.Split:
    return sr.split(model, cut, EXAMPLE, **options)


def other() -> sr.Split:
    return halves(Net(1))


# The proof is made in eval mode


@pytest.mark.parametrize("make", [lambda m: sr.split(m, "front", EXAMPLE), lambda m: sr.cuts(m, EXAMPLE)])
def test_a_forward_that_calls_train_is_refused_by_name(make: Callable[[nn.Module], object]) -> None:
    with pytest.raises(FrozenError, match=r"'norm\.running_mean'.*changed while it was run") as caught:
        make(Untrue())
    assert "norm.training" in caught.value.changed
    assert "norm.running_mean" in caught.value.changed


def test_compare_refuses_it_as_well() -> None:
    with pytest.raises(FrozenError, match=r"norm\.running_mean"):
        sr.compare(Untrue(), Net(), samples())


# Every public call is sealed


def drifting(what: str) -> sr.Split:
    """A split of a network that changes itself on real batches."""
    return halves(Drifts(what), way="hooks")


CALLS: dict[str, Callable[[sr.Split], object]] = {
    "match": lambda half: sr.match(half, other(), samples(), matching=Direct()),
    "receiver of a match": lambda half: sr.match(other(), half, samples(), matching=Direct()),
    "collect": lambda half: sr.collect(half, samples()),
    "audit": lambda half: sr.audit(half, other(), samples(), samples(first=1000), seeds=(0,)),
}
NAMES = {"buffer": "norm.running_mean", "mode": "drop.training", "unregistered": "extra[0]", "plain": "plain['shift']"}


@pytest.mark.parametrize("what", NAMES)
@pytest.mark.parametrize("call", CALLS)
def test_what_changes_during_a_call_is_named(call: str, what: str) -> None:
    half = drifting(what)
    with pytest.raises(FrozenError) as caught:
        CALLS[call](half)
    assert NAMES[what] in caught.value.changed


@pytest.mark.parametrize("what", NAMES)
def test_the_seal_names_a_buffer_a_mode_and_what_is_not_registered(what: str) -> None:
    model = Drifts(what).eval().requires_grad_(False)
    with pytest.raises(FrozenError) as caught, seal({"sender": model}):
        model(samples().batch(slice(0, 200)))
    assert NAMES[what] in caught.value.changed


@pytest.mark.parametrize("what", NAMES)
def test_evaluate_and_a_called_match_are_sealed(what: str) -> None:
    first, second = (sr.match(drifting(what), other(), samples(60), matching=Direct()) for _ in range(2))
    with pytest.raises(FrozenError) as caught:
        sr.evaluate(first, samples(first=1000))
    assert NAMES[what] in caught.value.changed
    with pytest.raises(FrozenError) as caught:
        second(samples().batch(slice(0, 200)))
    assert NAMES[what] in caught.value.changed


def test_compare_is_sealed() -> None:
    class Slowly(Net):
        """Changes itself when it is shown more samples than a proof has."""

        def forward(self, x: Tensor) -> Tensor:
            if len(x) > 3:
                with torch.no_grad():
                    self.norm.running_var.add_(1e-3)
            return super().forward(x)

    with pytest.raises(FrozenError, match=r"norm\.running_var"):
        sr.compare(Slowly(), Net(1), samples())


def test_three_evaluations_give_the_same() -> None:
    match = sr.match(other(), halves(Net()), samples(), matching=Direct())
    results = [sr.evaluate(match, samples(first=1000)) for _ in range(3)]
    assert results[0] == results[1] == results[2]


# The first real batch is looked at, too


@pytest.mark.parametrize(("at", "scale"), [("batch", 1.0), ("value", 100.0)])
@pytest.mark.parametrize("role", ["sender", "receiver"])
def test_a_branch_that_only_real_data_takes_is_refused(at: str, scale: float, role: str) -> None:
    branching = halves(Branches(at))
    pair = (branching, other()) if role == "sender" else (other(), branching)
    with pytest.raises(CutError, match=rf"halves of the {role} .* answer depends"):
        sr.match(*pair, samples(scale=scale), matching=Direct())


class Plain(Net):
    """Without what a change of precision does not reach."""

    def forward(self, x: Tensor) -> Tensor:
        answer: Tensor = self.back(self.norm(self.front(x)).relu())
        return answer


class Shrinks(Plain):
    """Answers a fifth less where the inputs are large, which the values at the cut do not tell its back."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x) * (0.8 if bool(x.abs().max() > 50) else 1.0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_a_fifth_of_the_answer_is_no_rounding_in_any_precision(dtype: torch.dtype) -> None:
    """In bfloat16 a number has 8 bits: a hundred times that precision would be 0.78 of the answer."""
    shrinking, honest = (sr.split(net.to(dtype), "norm", EXAMPLE.to(dtype)) for net in (Shrinks(), Plain()))
    data = samples(scale=100.0)
    with pytest.raises(CutError, match="give other answers than the model"):
        sr.match(other(), shrinking, data, matching=Direct())
    assert sr.match(other(), honest, data, matching=Direct()).status


def test_evaluate_looks_at_its_own_first_batch() -> None:
    match = sr.match(halves(Branches("batch")), other(), samples(60), matching=Direct())
    with pytest.raises(CutError, match="answer depends"):
        sr.evaluate(match, samples(first=1000))


def test_an_example_from_the_data_mends_it() -> None:
    data = samples()
    half = sr.split(Branches("batch"), "front", data.batch(slice(0, 256)), way="hooks")
    match = sr.match(half, half, data, stitch="identity")
    assert sr.evaluate(match, samples(first=1000)).agreement.value == 1.0


def test_functional_matrices_look_at_real_data() -> None:
    from seamripper.comparing import Rule

    data = samples(600, scale=100.0)
    data.inputs[:2] = 0.1  # what the receiver is cut by does not show the path that the rest takes
    found = sr.compare(
        Net(1), Branches("value"), data, measures=["direct_functional"], receiver_cuts=["front"], rule=Rule(batch=120)
    )
    reasons = found["direct_functional"].failed
    assert len(reasons) == len(found.senders)
    assert all("does not give the receiver's answers" in why for why in reasons.values())


def test_a_model_that_keeps_a_memory_nobody_sees_is_refused() -> None:
    with pytest.raises(CutError, match="what it was shown before"):
        sr.match(halves(Forgets(), way="hooks"), other(), samples(), matching=Direct())


# Fingerprints are of what runs


def test_a_fingerprint_tells_of_an_edited_weight() -> None:
    half, model = halves(Net()), sr.Model(Net(), "net")
    before = half.fingerprint, model.fingerprint
    for module in (half.model.module, model.module):
        with torch.no_grad():
            module.back.weight.add_(1.0)
    assert half.fingerprint != before[0]
    assert model.fingerprint != before[1]
    edited = half.fingerprint
    assert sr.match(half, other(), samples(), matching=Direct()).made_from["sender"] == edited


def test_unregistered_parameters_are_part_of_a_fingerprint_and_get_no_gradient() -> None:
    net = Net()
    half, before = halves(net), halves(net).fingerprint
    with torch.no_grad():
        net.extra[0].add_(1.0)
    assert halves(net).fingerprint != before
    assert not half.model.module.extra[0].requires_grad
    net.extra[0].data.fill_(float("nan"))
    with pytest.raises(ModelError, match=r"first in 'extra\[0\]'"):
        halves(net)


# What passes no gradient


def quantised(net: nn.Module) -> nn.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.ao.quantization.quantize_dynamic(net.eval(), {nn.Linear}, dtype=torch.qint8)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_stitch_that_no_gradient_reaches_is_an_error_that_advises_direct() -> None:
    half = halves(quantised(nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 3))), "1")
    sender = halves(nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 3)), "1")
    with pytest.raises(MatchError, match=r"no gradient reached the stitch.*'direct'"):
        sr.match(sender, half, samples(), matching=Task(training=sr.Training(epochs=2)))
    assert sr.match(sender, half, samples(), matching=Direct()).status == "ok"


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_packed_weights_are_fingerprinted() -> None:
    one, same, another = (
        quantised(nn.Sequential(nn.Linear(6, 3))) for seed in (0, 0, 1) if torch.manual_seed(seed) is not None
    )
    prints = [sr.Model(net, "quantised").fingerprint for net in (one, same, another)]
    assert prints[0] == prints[1] != prints[2]


def test_a_loss_that_runs_away_is_diverged() -> None:
    training = sr.Training(optimiser="sgd", lr=0.05, momentum=0.0, weight_decay=0.0, epochs=2, batch=100)
    wild = samples(scale=30.0)
    match = sr.match(halves(Net(1), "front"), halves(Net(), "front"), wild, matching=Regression(training=training))
    assert match.status.startswith("diverged: the loss rose from")
    assert match.diverged


def test_a_task_loss_that_runs_away_is_diverged_too() -> None:
    training = sr.Training(optimiser="sgd", lr=1e20, momentum=0.0, weight_decay=0.0, epochs=1, batch=100)
    wild = samples(scale=30.0)
    match = sr.match(halves(Net(1), "front"), halves(Net(), "front"), wild, matching=Task(training=training))
    assert match.figures["loss_end"] > 1e20
    assert match.diverged
