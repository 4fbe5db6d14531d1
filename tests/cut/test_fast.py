"""The optimised tail is the plain one within its tolerance, and touches nothing that the plain one is made of."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from cut_models import Case, Parts, case, images, noise, planted
from cut_proofs import assert_whole
from torch import Tensor, fx, nn
from torch.nn import functional as F

from seamripper.cut import Split, split
from seamripper.cut.fast import TOLERANCE, Fast, fast, plain

CUTS = {
    "resnet18": ["conv1", "before:layer1.1.relu#2", "layer3.0", "layer4"],
    "mobilenet_v2": ["features.0.0", "features.7.conv.1.1"],
    "vit_tiny": ["patch_embed.proj", "before:blocks.6.norm2", "norm"],
    "vgg19": ["features.10", "features", "classifier.0"],
}
EACH = [(name, cut) for name, some in CUTS.items() for cut in some]


def gap(got: Tensor, expected: Tensor) -> float:
    return float((got - expected).abs().max() / expected.abs().max())


def gradient(tail: Any, activations: Tensor) -> Tensor:
    leaf = activations.detach().clone().requires_grad_(True)
    weights = noise(*tail(leaf).shape[:1], tuple(tail(leaf).shape[1:]), seed=7).to(leaf)
    (found,) = torch.autograd.grad((tail(leaf) * weights).sum(), leaf)
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("name", "cut"), EACH)
def test_answers_are_within_the_tolerance_and_nothing_else_is_touched(name: str, cut: str) -> None:
    known = case(name)
    halves = split(known.module, cut, known.example)
    before = {key: value.clone() for key, value in halves.model.module.state_dict().items()}
    with torch.no_grad():
        activations = halves.head(known.batch(3))
        expected = halves.tail(activations)
        quick = fast(halves)
        assert quick.difference <= TOLERANCE
        own = {p.data_ptr() for p in quick.tail.parameters()}
        assert own.isdisjoint(p.data_ptr() for p in halves.model.module.parameters())
        assert not any(p.requires_grad for p in quick.tail.parameters())
        assert not any(part.training for part in quick.tail.modules())
        for given in formats(activations):
            kept, version = given.clone(), given._version
            assert gap(quick.tail(given), expected) <= TOLERANCE
            assert torch.equal(given, kept)
            assert given._version == version
        assert torch.equal(halves.tail(activations), expected)
    assert all(torch.equal(before[key], value) for key, value in halves.model.module.state_dict().items())
    assert_whole(known, halves, sizes=(2,))


def formats(activations: Tensor) -> list[Tensor]:
    """As the head gives them, and in another layout."""
    return [activations, *([activations.to(memory_format=torch.channels_last)] if activations.dim() == 4 else [])]


def in_double(known: Case) -> Case:
    """The same model in float64, where a ReLU that flips does not hide how exact the arithmetic is."""
    assert isinstance(known.example, Tensor)
    return Case(copy.deepcopy(known.module).double(), known.example.double(), lambda n: known.batch(n).double())  # type: ignore[union-attr]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "cut"),
    [
        ("resnet18", "layer2"),
        ("mobilenet_v2", "features.7"),
        ("vit_tiny", "before:blocks.6.norm2"),
        ("vgg19", "features.20"),
    ],
)
def test_gradients_agree_in_float64(name: str, cut: str) -> None:
    known = in_double(case(name))
    halves = split(known.module, cut, known.example)
    quick = fast(halves)
    activations = halves.head(known.batch(2))
    expected = gradient(halves.tail, activations)
    assert expected.dtype == torch.float64
    assert expected.abs().max() > 0
    assert gap(gradient(quick.tail, activations), expected) < 1e-8
    assert gap(quick.tail(activations), halves.tail(activations)) < 1e-10
    assert quick.difference < 1e-10


# What was done, and what it says


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "cut", "steps"),
    [
        ("narrow_resnet", "layer2", ("BN folded",)),
        ("narrow_resnet", "layer4", ()),
        ("short_vit", "before:blocks.1.norm2", ()),
        ("vgg19", "classifier.0", ()),
    ],
)
def test_only_steps_that_apply_are_named(name: str, cut: str, steps: tuple[str, ...]) -> None:
    known = case(name)
    quick = fast(split(known.module, cut, known.example))
    assert quick.steps == steps
    said = f"{', '.join(steps)} (differs from the plain tail by {quick.difference:.0e} at most)"
    assert str(quick) == (said if steps else "plain")


def called(quick: Fast) -> list[nn.Module]:
    """The modules that the graph of an optimised tail calls."""
    graph = quick.tail.get_submodule("graph")
    assert isinstance(graph, fx.GraphModule)
    return [graph.get_submodule(str(node.target)) for node in graph.graph.nodes if node.op == "call_module"]


def test_every_norm_behind_a_convolution_is_folded() -> None:
    known = case("narrow_resnet")
    halves = split(known.module, "layer2", known.example)
    assert "BatchNorm2d" in str(halves.tail)
    assert "BatchNorm2d" not in {type(part).__name__ for part in called(fast(halves))}
    assert fast(halves).steps == ("BN folded",)


def test_tracing_alone_changes_no_bit() -> None:
    known = case("narrow_resnet")
    halves = split(known.module, "layer4", known.example)
    quick, activations = fast(halves), halves.head(known.batch(3))
    assert quick.steps == ()
    assert quick.tail is not halves.tail
    assert torch.equal(quick.tail(activations), halves.tail(activations))


def test_the_plain_tail_is_the_splits_own() -> None:
    known = case("narrow_resnet")
    halves = split(known.module, "layer2", known.example)
    assert_plain(halves, plain(halves))
    assert str(plain(halves)) == "plain"


class Blocks(nn.Module):
    """Norms that must not be folded: after a shared convolution, one used twice, a second user, a plain operation."""

    def __init__(self) -> None:
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(2)
            self.first, self.shared, self.seen, self.far = (nn.Conv2d(3, 3, 1) for _ in range(4))
            self.once, self.twice, self.after_seen, self.after_far, self.unaffine = (
                nn.BatchNorm2d(3, affine=k < 4) for k in range(5)
            )
            self.last = nn.Conv2d(3, 3, 1, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x)
        x = self.once(self.shared(x)) + self.twice(self.shared(x.relu()))
        x = self.twice(x)
        seen = self.seen(x)
        x = self.after_seen(seen) + seen
        x = self.after_far(self.far(x).tanh())
        return self.unaffine(self.last(x)).mean((2, 3))


def test_a_norm_is_folded_only_into_a_convolution_that_it_alone_follows() -> None:
    known = images(Blocks(), (3, 5, 5))
    halves = split(known.module, "first", known.example)
    quick = fast(halves)
    assert quick.steps == ("BN folded",)
    # Only `unaffine` is gone: it has no weights of its own, as the norms that are left have.
    norms = [part for part in called(quick) if isinstance(part, nn.BatchNorm2d)]
    assert len(norms) == 5
    assert all(part.affine for part in norms)
    activations = halves.head(known.batch(5))
    assert gap(quick.tail(activations), halves.tail(activations)) <= TOLERANCE


# pools_first


@pytest.mark.slow
def test_only_a_tail_that_sees_nothing_but_averages_pools_first() -> None:
    pools = {
        (name, cut): fast(split(case(name).module, cut, case(name).example)).pools_first
        for name, cut in [
            ("narrow_resnet", "layer3"), ("narrow_resnet", "layer4"), ("narrow_resnet", "avgpool"),
            ("narrow_resnet", "before:fc"), ("mobilenet_v2", "features"), ("mobilenet_v2", "features.17"),
            ("vgg19", "features"), ("short_vit", "norm"),
        ]
    }  # fmt: skip
    assert {key for key, yes in pools.items() if yes} == {("narrow_resnet", "layer4"), ("mobilenet_v2", "features")}


@pytest.mark.parametrize(("name", "cut"), [("resnet18", "layer4"), ("mobilenet_v2", "features")])
def test_and_then_its_answer_depends_on_the_averages_alone(name: str, cut: str) -> None:
    larger = noise(2, (3, 64, 64), seed=1)
    halves = split(case(name).module, cut, larger)
    assert fast(halves).pools_first
    activations = halves.head(larger)
    assert activations.shape[2] > 1
    flat = activations.mean((2, 3), keepdim=True).expand_as(activations)
    assert gap(halves.tail(flat), halves.tail(activations)) < 1e-5


class Looks(nn.Module):
    def __init__(self, head: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.conv, self.see = nn.Conv2d(3, 4, 1), head

    def forward(self, x: Tensor) -> Tensor:
        return self.see(self.conv(x)).flatten(1)


@pytest.mark.parametrize(
    ("head", "pools"),
    [
        (lambda x: F.adaptive_avg_pool2d(x, 1), True),
        (lambda x: F.adaptive_avg_pool2d(x, output_size=[1, 1]), True),
        (lambda x: F.adaptive_avg_pool2d(x, 2), False),
        (lambda x: F.adaptive_avg_pool2d(x, (1, None)), False),
        (lambda x: F.adaptive_avg_pool2d(x, 1) + x.amax((2, 3), keepdim=True), False),
        (lambda x: F.adaptive_max_pool2d(x, 1), False),
        (lambda x: F.adaptive_avg_pool2d(x.relu(), 1), False),
        (lambda x: x.relu(), False),
    ],
)
def test_a_pooling_that_is_a_function_counts_as_well(head: Callable[[Tensor], Tensor], pools: bool) -> None:
    known = images(Looks(head), (3, 6, 6))
    assert fast(split(known.module, "conv", known.example)).pools_first is pools


# readout


class Ends(nn.Module):
    """A convolution, an average, and then `flat` and `head`."""

    def __init__(self, flat: Callable[[Tensor], Tensor], head: nn.Module) -> None:
        super().__init__()
        self.conv, self.pool, self.flat, self.head = nn.Conv2d(3, 4, 1), nn.AdaptiveAvgPool2d(1), flat, head

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.flat(self.pool(self.conv(x))))


class Scaled(nn.Linear):
    def forward(self, x: Tensor) -> Tensor:
        return 2 * super().forward(x)


@pytest.mark.parametrize(
    ("flat", "head", "is_one"),
    [
        (nn.Flatten(), nn.Linear(4, 3), True),
        (lambda x: torch.flatten(x, 1), nn.Linear(4, 3, bias=False), True),
        (lambda x: x.flatten(1), nn.Linear(4, 3), True),
        (lambda x: x.flatten(1).relu(), nn.Linear(4, 3), False),
        (nn.Flatten(2), nn.Linear(1, 3), False),
        (lambda x: x.flatten(2), nn.Linear(1, 3), False),
        (nn.Flatten(), Scaled(4, 3), False),
        (nn.Flatten(), nn.Sequential(nn.Linear(4, 3), nn.ReLU()), False),
    ],
)
def test_a_readout_is_an_average_and_one_linear_map(
    flat: Callable[[Tensor], Tensor], head: nn.Module, is_one: bool
) -> None:
    known = images(Ends(flat, head), (3, 6, 6))
    halves = split(known.module, "conv", known.example)
    readout = fast(halves).readout
    assert (readout is not None) is is_one
    if readout is not None:
        activations = halves.head(known.batch(5))
        torch.testing.assert_close(readout(activations.mean((2, 3))), halves.tail(activations))


# Activations, and tails that stay as they are


class Overwrites(nn.Module):
    """An in-place function, which no flag of a module can turn off, comes first."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm, self.more, self.head = (
            nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Conv2d(4, 4, 3), nn.Linear(4, 3),
        )  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        x = self.conv(x)
        x += 1
        x = F.relu(self.norm(self.more(x)), inplace=True)
        return self.head(x.mean((2, 3)))


def test_an_in_place_function_behind_the_cut_overwrites_nothing() -> None:
    known = images(Overwrites(), (3, 8, 8))
    halves = split(known.module, "conv", known.example)
    quick = fast(halves)
    assert "BN folded" in quick.steps
    activations = halves.head(known.batch(3))
    kept, version = activations.clone(), activations._version
    quick.tail(activations)
    assert torch.equal(activations, kept)
    assert activations._version == version


@pytest.mark.slow
def test_a_tail_that_cannot_be_traced_stays_plain() -> None:
    for name, cut in [("ChoosesInBack", "b"), ("ChoosesInside", "middle"), ("bert", "bert.encoder.layer.0")]:
        halves = split(case(name).module, cut, case(name).example)
        assert_plain(halves, fast(halves))
    hooked = split(case("narrow_resnet").module, "layer2", case("narrow_resnet").example, way="hooks")
    assert_plain(hooked, fast(hooked))


def test_a_tail_with_context_stays_plain() -> None:
    class Masked(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.word, self.mix, self.head = nn.Embedding(9, 4), nn.Linear(4, 4), nn.Linear(4, 3)

        def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
            return self.head((self.mix(self.word(ids)) * mask.unsqueeze(-1)).sum(1))

    ids = torch.arange(12).reshape(2, 6) % 9
    halves = split(Masked(), "mix", {"ids": ids, "mask": (ids > 3).long()})
    assert (halves.way, halves.context) == ("fx", ("mask",))
    assert_plain(halves, fast(halves))


class ReliesOnInPlace(Parts):
    """Right only if its ReLU works in place: made out of place, to spare the activations, it does nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        self.relu(x)
        return self.head(self.c(x))


def test_a_tail_that_would_be_another_function_stays_plain() -> None:
    known = planted(nn.Sequential(nn.Linear(4, 4), ReliesOnInPlace()))
    halves = split(known.module, "0", known.example)
    assert halves.way == "fx"
    assert_plain(halves, fast(halves))
    assert_whole(known, halves)


def test_folding_that_overflows_is_not_used() -> None:
    net = nn.Sequential(nn.Conv2d(2, 2, 1), nn.Conv2d(2, 2, 1), nn.BatchNorm2d(2, eps=1e-30), nn.Flatten())
    with torch.no_grad():
        for k, size in [(0, 1e-30), (1, 1e30)]:
            nn.init.constant_(net[k].weight, size)
            nn.init.zeros_(net[k].bias)
        net[1].weight[:, 1] *= -0.5  # Two infinities of either sign: the folded answer is NaN.
        net[2].running_var.fill_(1e-30)
    halves = split(net, "0", noise(2, (2, 2, 2), seed=0))
    assert halves.tail(halves.head(noise(2, (2, 2, 2), seed=1))).isfinite().all()
    assert_plain(halves, fast(halves))


def assert_plain(halves: Split, quick: Fast) -> None:
    assert quick.tail is halves.tail
    assert (quick.steps, quick.difference, quick.pools_first) == ((), 0.0, False)
    assert quick.readout is None
