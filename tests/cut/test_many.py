"""Heads: all cuts from one forward pass show just what each head alone shows, the plain way and the fused one."""

from __future__ import annotations

import pytest
import torch
from cut_models import case, images, noise
from torch import Tensor, nn

from seamripper.cut import split
from seamripper.cut.fast import TOLERANCE
from seamripper.cut.many import heads
from seamripper.errors import CutError, LeakError

SOME = {
    "narrow_resnet": ["layer1", "layer2", "layer3", "layer4"],
    "resnet18": ["layer1.0", "before:layer2", "layer4"],
    "vgg19": ["features.0", "features.1", "features.7", "classifier.0"],
    "mobilenet_v2": ["features.0", "features.4", "features.17"],
    "short_vit": ["blocks.0", "norm"],
    "bert": ["bert.encoder.layer.0", "bert.encoder.layer.1"],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", list(SOME))
def test_each_cut_shows_what_its_own_head_shows(name: str) -> None:
    known = case(name)
    many = heads(known.module, SOME[name], known.example)
    assert many.way == "plain"
    inputs = known.batch(3)
    for cut, values in zip(many.cuts, many(inputs), strict=True):
        assert torch.equal(values, split(known.module, cut.name, known.example).head(inputs))
        assert values.shape[1:] == cut.shape


@pytest.mark.slow
@pytest.mark.parametrize("name", ["narrow_resnet", "resnet18", "vgg19", "mobilenet_v2", "short_vit"])
def test_the_fused_way_is_the_plain_one_within_the_tolerance(name: str) -> None:
    """Also where a ReLU in place would overwrite a cut's value, as behind vgg19's features.0."""
    known = case(name)
    names = [cut for cut in SOME[name] if not cut.startswith("before:")]
    plain, fused = (heads(known.module, names, known.example, optimise=optimise) for optimise in (False, True))
    assert fused.way.startswith("fused (differs from the plain one by ")
    for n in (1, 5):
        for a, b in zip(plain(known.batch(n)), fused(known.batch(n)), strict=True):
            assert float((a - b).abs().max() / a.abs().max()) <= TOLERANCE
    assert not any(values.requires_grad for values in fused(known.batch(2)))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "names"),
    [
        ("resnet18", ["before:layer2"]),
        ("bert", ["bert.encoder.layer.0"]),
        ("ChoosesInBack", ["a"]),
    ],
)
def test_what_cannot_be_fused_stays_plain(name: str, names: list[str]) -> None:
    """Inputs of modules, token models and control flow are not traced."""
    known = case(name)
    many = heads(known.module, names, known.example, optimise=True)
    assert many.way == "plain"
    alone = split(known.module, many.cuts[0].name, known.example).head(known.batch(2))
    assert torch.equal(many(known.batch(2))[0], alone)


def test_by_default_the_cuts_are_behind_the_blocks() -> None:
    names = [cut.name for cut in heads(case("resnet18").module, None, case("resnet18").example).cuts]
    assert names == [f"layer{k}{block}" for k in (1, 2, 3, 4) for block in (".0", "")]


def test_a_chain_of_layers_is_cut_behind_each() -> None:
    net = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 2))
    assert [cut.name for cut in heads(net, None, torch.zeros(2, 4)).cuts] == ["0", "1", "2", "3"]


def test_names_may_hold_stars_and_come_in_the_order_of_the_model() -> None:
    known = case("narrow_resnet")
    many = heads(known.module, ["layer4", "layer*", "relu"], known.example)
    names = [cut.name for cut in many.cuts]
    assert names[0] == "relu"
    assert names.count("layer4") == 1
    assert names[-1] == "layer4"
    assert {"layer1", "layer2", "layer3"} < set(names)
    shapes = [tuple(v.shape[1:]) for v in many(known.batch(2))]
    assert shapes == [cut.shape for cut in many.cuts]


def test_it_stops_behind_the_last_cut() -> None:
    class Fails(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            if len(x) > 4:
                raise RuntimeError("ran behind the last cut")
            return x + 0

    net = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), Fails(), nn.Linear(3, 2))
    (values,) = heads(net, ["1"], noise(2, (4,), seed=0))(noise(9, (4,), seed=1))
    assert values.shape == (9, 3)


def test_the_model_that_was_given_is_left_alone() -> None:
    known = images(nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten()), (3, 5, 5))
    net = known.module.train()
    before = {key: value.clone() for key, value in net.state_dict().items()}
    many = heads(net, ["0", "2"], known.example, optimise=True)
    first = [v.clone() for v in many(known.batch(3))]
    with torch.no_grad():
        net[0].weight.zero_()
    assert all(torch.equal(a, b) for a, b in zip(first, many(known.batch(3)), strict=True))
    assert net.training
    assert not any(module._forward_hooks for module in net.modules())
    assert all(torch.equal(net.state_dict()[key], value) for key, value in before.items() if key != "0.weight")


def test_names_that_are_no_cut() -> None:
    known = case("narrow_resnet")
    with pytest.raises(CutError, match="No cut matches 'stage\\*'"):
        heads(known.module, ["stage*"], known.example)
    with pytest.raises(CutError, match="did you mean 'layer2'"):
        heads(known.module, ["layer22"], known.example)
    with pytest.raises(LeakError):
        heads(known.module, ["layer1.0.conv1"], known.example)
    with pytest.raises(CutError, match="at least one cut"):
        heads(known.module, [], known.example)


def test_a_path_that_depends_on_the_data() -> None:
    class Skips(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

        def forward(self, x: Tensor) -> Tensor:
            x = self.a(x)
            return self.b(x) if len(x) < 5 else x

    many = heads(Skips(), ["b"], noise(2, (4,), seed=0))
    with pytest.raises(CutError, match="did not reach 'b' on these inputs"):
        many(noise(6, (4,), seed=1))


class _Standardised(nn.Module):
    """Divides each image by its own deviation, which an image of one colour does not have."""

    def __init__(self, relu: str) -> None:
        super().__init__()
        self.relu = relu
        self.one = nn.Conv2d(3, 8, 3, padding=1)
        self.two = nn.Sequential(nn.Conv2d(8, 8, 3, padding=1), nn.ReLU(inplace=True))
        self.pool = nn.MaxPool2d(3, 2, 1)
        self.out = nn.Conv2d(8, 4, 1)

    def forward(self, images: Tensor) -> Tensor:
        values = self.one(images / images.std(dim=(1, 2, 3), keepdim=True, correction=0))
        if self.relu == "max_pool":
            values = nn.functional.max_pool2d(values, 2)
        elif self.relu == "pool module":
            values = self.pool(values)
        else:
            values = {
                "functional": nn.functional.relu,
                "torch": torch.relu,
                "torch in place": torch.relu_,
                "method": lambda v: v.relu(),
                "method in place": lambda v: v.relu_(),
            }[self.relu](values)
        return self.out(self.two(values))


@pytest.mark.parametrize(
    "relu", ["functional", "torch", "torch in place", "method", "method in place", "max_pool", "pool module"]
)
def test_what_is_not_finite_stays_so_when_fused(relu: str) -> None:
    """Fused kernels answer 0 for a NaN in ReLU and max pool: a division by zero would be a number at every cut."""
    torch.manual_seed(0)
    net, images = _Standardised(relu), torch.randn(3, 3, 16, 16)
    fused = heads(net, ["one", "two", "out"], images, optimise=True)
    plain = heads(net, ["one", "two", "out"], images)
    assert fused.way.startswith("fused")
    images[1] = 0.0
    for a, b in zip(plain(images), fused(images), strict=True):
        assert a.isfinite().flatten(1).all(1).tolist() == [True, False, True]
        assert torch.equal(a.isfinite().flatten(1).all(1), b.isfinite().flatten(1).all(1))
        assert torch.allclose(a[0], b[0], atol=1e-5)


def test_a_fused_way_that_hides_nan_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """If a kernel still swallows NaN, the plain way runs."""
    monkeypatch.setattr("seamripper.cut.fused.keep_not_finite", lambda graph: 0)
    assert heads(_Standardised("functional"), ["two"], torch.randn(2, 3, 16, 16), optimise=True).way == "plain"
