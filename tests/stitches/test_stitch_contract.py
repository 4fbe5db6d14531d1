"""Every stitch, on every pair of layouts that it joins, is held to the contract; so are planted ones."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings, strategies as st
from stitch_contract import (
    TABLE,
    activations,
    case_id,
    check_layer,
    check_linear,
    maps,
    tokens,
    vector,
)
from torch import Tensor, nn

from seamripper.cut.place import Cut
from seamripper.stitches import Layer, LinearLayer, Stitch, auto, stitches, to_rows
from seamripper.stitches.linear import PatchLayer, install_map
from seamripper.stitches.positions import usual

CUTS = [maps(8, 4, 4), maps(9, 2, 2), maps(8, 6, 9), tokens(16, 8), tokens(10, 9), tokens(12, 8), vector(10)]


@pytest.mark.parametrize(("stitch", "source", "target"), TABLE, ids=case_id)
def test_contract(stitch: Stitch, source: Cut, target: Cut) -> None:
    layer = stitch.build(source, target).double()
    check_layer(layer, source, target)
    if isinstance(layer, LinearLayer):
        check_linear(layer, source, target)


def test_the_table_holds_every_stitch() -> None:
    assert {stitch.name for stitch, _, _ in TABLE} == set(stitches)


def test_only_these_are_not_linear() -> None:
    built = {(stitch, type(stitch.build(a, b))) for stitch, a, b in TABLE}
    nonlinear = {str(stitch) for stitch, layer in built if not issubclass(layer, LinearLayer)}
    convs = {f"Conv(kernel={k}, norm=True)" for k in (1, 3, 5)}
    assert nonlinear == {"Identity()", "BnAffine()", *convs}


def test_only_these_are_pointwise() -> None:
    layers = [(stitch, stitch.build(a, b)) for stitch, a, b in TABLE]
    pointwise = {stitch.name for stitch, layer in layers if isinstance(layer, LinearLayer) and layer.pointwise}
    assert pointwise == {"affine", "low_rank", "orthogonal", "conv", "strided"}
    kernels = {layer.kernel for _, layer in layers if isinstance(layer, PatchLayer) and layer.pointwise}
    assert kernels == {(1, 1)}


@pytest.mark.parametrize("name", stitches)
def test_fits_and_keeps_the_contract_or_says_why_not(name: str) -> None:
    stitch = stitches[name]()
    fitted = 0
    for source, target in itertools.product(CUTS, CUTS):
        why = stitch.misfit(source, target)
        if why is None:
            layer = stitch.build(source, target).double()
            check_layer(layer, source, target)
            if isinstance(layer, LinearLayer):
                check_linear(layer, source, target)
            fitted += 1
        else:
            assert not why.endswith(".")
            assert any(word in why for word in ("; use ", "; choose "))
    assert fitted > 0


@pytest.mark.parametrize(("stitch", "source", "target"), TABLE, ids=case_id)
def test_gradients_reach_every_parameter_and_the_input(stitch: Stitch, source: Cut, target: Cut) -> None:
    torch.manual_seed(0)
    layer = stitch.build(source, target).double().train()
    x = activations(6, source).requires_grad_()
    (layer(x) * activations(6, target, seed=3)).sum().backward()
    assert x.grad is not None
    for name, parameter in layer.named_parameters():
        assert parameter.grad is not None, name
        if "parametrizations" in name and parameter.numel() == 1:
            continue  # an orthogonal 1×1 matrix is a sign: it has no direction to move in
        assert bool(parameter.grad.abs().sum() > 0), name


@pytest.mark.parametrize(("stitch", "source", "target"), TABLE, ids=case_id)
def test_record_round_trip(stitch: Stitch, source: Cut, target: Cut) -> None:
    assert stitches.from_record(stitch.as_record()) == stitch


# ---- the contract itself ----


class _Planted(LinearLayer):
    """A correct 1×1 stitch, written apart from the library's; its children break one clause each."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.conv(x)

    def rows(self, x: Tensor) -> Tensor:
        return to_rows(x, "nchw")

    def targets(self, y: Tensor) -> Tensor:
        return to_rows(y, "nchw")

    def install(self, weight: Tensor, bias: Tensor) -> None:
        install_map(self.conv, weight, bias)

    def map(self) -> tuple[Tensor, Tensor]:
        return self.conv.weight.detach().flatten(1).clone(), self.conv.bias.detach().clone()


class _ColumnsFirst(_Planted):
    def rows(self, x: Tensor) -> Tensor:
        return to_rows(x.mT, "nchw")


class _Pooled(_Planted):
    def rows(self, x: Tensor) -> Tensor:
        return x.mean((2, 3))


class _NoBias(_Planted):
    def install(self, weight: Tensor, bias: Tensor) -> None:
        super().install(weight, torch.zeros_like(bias))


class _StaleMap(_Planted):
    def __init__(self) -> None:
        super().__init__()
        self.first = super().map()

    def map(self) -> tuple[Tensor, Tensor]:
        return self.first[0].double(), self.first[1].double()


class _Alias(_Planted):
    def map(self) -> tuple[Tensor, Tensor]:
        return self.conv.weight.detach().flatten(1), self.conv.bias.detach()


class _Curved(_Planted):
    def forward(self, x: Tensor) -> Tensor:
        return self.conv(x).relu()


class _HalfTheTargets(_Planted):
    def rows(self, x: Tensor) -> Tensor:
        return super().rows(x)[::2]

    def targets(self, y: Tensor) -> Tensor:
        return super().targets(y)[::2]


class _Coloured(_Planted):
    """Says that it is pointwise, but weighs the positions."""

    pointwise = True

    def forward(self, x: Tensor) -> Tensor:
        return self.conv(x * self.weigh(x))

    def rows(self, x: Tensor) -> Tensor:
        return to_rows(x * self.weigh(x), "nchw")

    def weigh(self, x: Tensor) -> Tensor:
        return torch.arange(x.shape[3], dtype=x.dtype)


class _Unchecked(_Planted):
    def install(self, weight: Tensor, bias: Tensor) -> None:
        self.conv.weight.data[:, : weight.shape[1]] = weight[..., None, None]
        self.conv.bias.data[:] = bias


SOURCE, TARGET = maps(3, 2, 4), maps(2, 2, 4)


def test_the_contract_passes_a_planted_good_one() -> None:
    layer = _Planted().double()
    check_layer(layer, SOURCE, TARGET)
    check_linear(layer, SOURCE, TARGET)


@pytest.mark.parametrize(
    ("bad", "clause"),
    [
        (_ColumnsFirst, "not close"),
        (_Pooled, "as many rows as targets"),
        (_NoBias, "not close"),
        (_StaleMap, "not close"),
        (_Alias, "map is a copy"),
        (_Curved, "not close"),
        (_HalfTheTargets, "'shape' do not match"),
        (_Unchecked, "DID NOT RAISE"),
        (_Coloured, "not close"),
    ],
)
def test_the_contract_fails_a_planted_violator(bad: type[LinearLayer], clause: str) -> None:
    with pytest.raises((AssertionError, pytest.fail.Exception), match=clause):
        check_linear(bad().double(), SOURCE, TARGET)


class _WholeBatch(_Planted):
    def forward(self, x: Tensor) -> Tensor:
        return self.conv(x - x.mean(0))


class _WrongShape(_Planted):
    def forward(self, x: Tensor) -> Tensor:
        return self.conv(x).mT


@pytest.mark.parametrize("bad", [_WholeBatch, _WrongShape])
def test_the_contract_fails_a_planted_bad_layer(bad: type[Layer]) -> None:
    with pytest.raises(AssertionError):
        check_layer(bad().double(), SOURCE, TARGET)


# ---- random cuts ----

sizes = st.integers(1, 6)
squares = st.builds(lambda side, cls: side * side + cls, st.integers(1, 4), st.integers(0, 1))
cuts = st.one_of(st.builds(maps, sizes, sizes, sizes), st.builds(tokens, squares, sizes), st.builds(vector, sizes))


@settings(max_examples=80, deadline=None)
@given(source=cuts, target=cuts)
def test_auto_fits_and_keeps_the_contract_on_random_cuts(source: Cut, target: Cut) -> None:
    stitch = auto(source, target)
    assert stitch.name == usual(source, target)
    layer = stitch.build(source, target).double()
    check_layer(layer, source, target)
    assert isinstance(layer, LinearLayer)
    check_linear(layer, source, target)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(p=sizes, q=sizes, make=st.sampled_from([lambda d: maps(d, 2, 3), lambda d: tokens(5, d), vector]))
def test_constrained_stitches_on_random_widths(p: int, q: int, make: Callable[[int], Cut]) -> None:
    source, target = make(p), make(q)
    for stitch in (stitches.make("orthogonal"), stitches.make("low_rank", rank=(min(p, q) + 1) // 2)):
        layer = stitch.build(source, target).double()
        check_layer(layer, source, target)
        check_linear(layer, source, target)
