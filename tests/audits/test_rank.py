"""The audit `rank`: the first layer behind the cut however it was cut, ranks against numpy, planted low ranks."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from seamripper.audits.rank import Rank
from seamripper.audits.rank_reading import RankReader, Ranks, first_layer, side_of
from seamripper.cut import split
from seamripper.errors import AuditError
from seamripper.matching import Direct
from seamripper.measures import Side
from seamripper.models import load
from seamripper.stitches import stitches


def low_rank(n: int, columns: int, rank: int, *, seed: int = 0, mean: float = 0.0) -> Tensor:
    """Rows that span so many directions, all of like weight, about a mean."""
    g = torch.Generator().manual_seed(seed)
    return torch.randn(n, rank, generator=g) @ torch.randn(rank, columns, generator=g) + mean


def by_numpy(rows: Tensor, threshold: float = 1e-3) -> tuple[int, float]:
    """Smith's rank by the singular values of numpy's covariance, and Roy's effective rank by those of the rows."""
    wide = rows.double().numpy()
    values = np.linalg.svd(np.cov(wide, rowvar=False), compute_uv=False)
    sigma = np.linalg.svd(wide - wide.mean(0), compute_uv=False)
    shares = sigma[sigma > 1e-6 * sigma[0]] / sigma[sigma > 1e-6 * sigma[0]].sum()
    return int((values > threshold * values[0]).sum()), float(np.exp(-(shares * np.log(shares)).sum()))


# ---- ranks


@pytest.mark.parametrize(("n", "columns"), [(60, 20), (20, 20), (20, 60), (20, 5000)])
@pytest.mark.parametrize("mean", [0.0, 300.0])
def test_ranks_are_those_of_numpy(n: int, columns: int, mean: float) -> None:
    rows = low_rank(n, columns, 7, mean=mean)
    found = RankReader(n, 1e-3).of(rows)
    rank, effective = by_numpy(rows) if columns < 5000 else (7, found.effective)
    assert found.rank == rank == 7
    assert found.effective == pytest.approx(effective, rel=1e-3)
    assert (found.n, found.columns) == (n, columns)


@pytest.mark.parametrize("threshold", [1e-4, 1e-3, 1e-2, 0.1])
def test_the_threshold_is_a_share_of_the_covariances_largest_singular_value(threshold: float) -> None:
    """Scales 1, 1/2, 1/4 …: the covariance has their squares."""
    scales = 0.5 ** torch.arange(12)
    rows = torch.linalg.qr(torch.randn(400, 13, generator=torch.Generator().manual_seed(1)).double())[0]
    rows = (rows - rows.mean(0))[:, :12] * scales
    assert RankReader(400, threshold).of(rows).rank == by_numpy(rows, threshold)[0]
    expected = sum(0.25**k > threshold for k in range(12))
    assert RankReader(400, threshold).of(rows).rank == pytest.approx(expected, abs=1)


def test_more_columns_than_samples_have_the_same_spectrum_by_products() -> None:
    rows = torch.randn(30, 90, generator=torch.Generator().manual_seed(2))
    ours, theirs = side_of(rows), Side.of(rows).compact
    assert ours.width == 30
    assert torch.allclose(ours.eigen[0][:29], theirs.eigen[0][:29])
    assert ours.noise == pytest.approx(Side.of(rows).noise)


def test_constant_outputs_have_no_direction() -> None:
    found = RankReader(9, 1e-3).of(torch.full((9, 4), 0.1))
    assert found.rank == 0
    assert math.isnan(found.effective)


def test_no_more_directions_than_samples() -> None:
    full = RankReader(10, 1e-3).of(torch.randn(10, 50, generator=torch.Generator().manual_seed(0)))
    assert full.full
    assert not Ranks(8, 8.0, 10, 50, "a").full


# ---- the first layer


class Block(nn.Module):
    """A residual block that calls its shortcut first, and lists it last."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(4, 6, 3, padding=1)
        self.norm = nn.BatchNorm2d(6)
        self.shortcut = nn.Sequential(nn.Conv2d(4, 6, 1), nn.BatchNorm2d(6))

    def forward(self, x: Tensor) -> Tensor:
        aside = self.shortcut(x)
        return F.relu(self.norm(self.conv(x)) + aside)


def residual() -> nn.Module:
    stem = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(inplace=True))
    return nn.Sequential(stem, Block(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(6, 3))


class Branching(nn.Module):
    """A constant goes through a layer of its own behind the cut, before the activations meet their first."""

    def __init__(self) -> None:
        super().__init__()
        self.front, self.aside, self.back = nn.Linear(8, 4), nn.Linear(5, 4), nn.Linear(4, 3)
        self.token = nn.Parameter(torch.ones(1, 5))

    def forward(self, x: Tensor) -> Tensor:
        x = self.front(x)
        return self.back(x + self.aside(self.token))


class Choosy(nn.Module):
    """Not traceable: only hooks can cut it. The cut `front` is itself a layer."""

    def __init__(self) -> None:
        super().__init__()
        self.front, self.back, self.out = nn.Linear(8, 4), nn.Linear(4, 4), nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        x = self.front(x)
        if float(x.detach().abs().sum()) >= 0:
            x = F.relu(self.back(x))
        return self.out(x)


DRAWN = torch.Generator().manual_seed(5)
VECTORS, IMAGES = torch.randn(5, 8, generator=DRAWN), torch.randn(5, 1, 6, 6, generator=DRAWN)


@pytest.mark.parametrize(
    ("net", "cut", "way", "example", "layer"),
    [
        (residual(), "0", "fx", IMAGES, "1.conv"),
        (residual(), "0", "hooks", IMAGES, "1.conv"),
        (residual(), "before:1", "fx", IMAGES, "1.conv"),
        (residual(), "before:1", "hooks", IMAGES, "1.conv"),
        (residual(), "0.0", "hooks", IMAGES, "1.conv"),
        (residual(), "1", "fx", IMAGES, "4"),
        (residual(), "before:1.conv", "auto", IMAGES, "1.conv"),
        (Branching(), "front", "fx", VECTORS, "back"),
        (Branching(), "front", "hooks", VECTORS, "back"),
        (Choosy(), "front", "auto", VECTORS, "back"),
        (Choosy(), "before:back", "auto", VECTORS, "back"),
        (Choosy(), "back", "auto", VECTORS, "out"),
    ],
)
def test_the_first_layer_behind_the_cut(net: nn.Module, cut: str, way: str, example: Tensor, layer: str) -> None:
    """Its output is what that layer puts out in the whole network, seen by a hook."""
    halves = split(net.eval(), cut, example, way=way)
    seen = []
    handle = net.get_submodule(layer).register_forward_hook(
        lambda _, args, output: seen.append(output.detach().clone())
    )
    with torch.no_grad():
        net(example)
    handle.remove()
    with torch.no_grad():
        activations = halves.head(example)
    before = activations.clone()
    name, output = first_layer(halves, activations)
    assert name == layer
    assert torch.allclose(output, seen[0], atol=1e-6)
    assert not output.requires_grad
    assert torch.equal(activations, before)
    assert not activations.requires_grad
    assert all(not module._forward_hooks for module in halves.model.module.modules())
    # The tail is as it was.
    with torch.no_grad():
        assert torch.equal(halves.tail(activations), halves.answer(example))


def test_the_way_of_hooks_was_needed() -> None:
    assert split(Choosy(), "front", VECTORS).way == "hooks"


def test_a_tail_without_layers_is_read_at_the_cut() -> None:
    net = nn.Sequential(nn.Linear(8, 3), nn.Softmax(1))
    activations = torch.randn(5, 3)
    name, output = first_layer(split(net, "0", VECTORS), activations)
    assert name is None
    assert output is activations


class Functional(nn.Module):
    """Its second map is a weight of its own, and no module."""

    def __init__(self) -> None:
        super().__init__()
        self.front, self.back = nn.Linear(8, 4), nn.Parameter(torch.ones(3, 4))

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(F.relu(self.front(x)), self.back)


def test_so_is_one_whose_maps_are_no_modules(case, evidence, make) -> None:
    receiver = make.cut(Functional(), "vectors", "front")
    assert first_layer(receiver, torch.randn(5, 4))[0] is None
    found = Rank().put(evidence(case(receiver=receiver, matching=Direct()), controls=()))
    assert "At the cut itself, as the receiver's tail calls no layer by name, the stitched" in found.sentence
    assert (found.figures["layer"], found.figures["columns"]) == (None, 4)


def test_a_residual_network_of_the_zoo() -> None:
    model = load("zoo:R_1111?width=0.125&classes=3&stem=3x3&seed=0", input=(3, 16, 16))
    inputs = torch.randn(4, 3, 16, 16, generator=torch.Generator().manual_seed(0))
    halves = split(model, "layer2", inputs)
    name, output = first_layer(halves, halves.head(inputs))
    assert name == "layer3.0.conv1"
    assert torch.allclose(output, model.module.get_submodule(name)(halves.head(inputs)), atol=1e-6)


# ---- the audit


def narrow(make, directions: int):
    """A sender whose activations at its cut span so many directions."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        net = nn.Sequential(nn.Linear(8, directions), nn.Linear(directions, 16), nn.Linear(16, 3))
    return make.cut(net, "vectors", "1")


def test_a_sender_of_one_direction_is_told_from_the_receivers_own(case, evidence, make) -> None:
    found = Rank().put(evidence(case(sender=narrow(make, 1), matching=Direct(), seeds=(0, 1, 2))))
    native = found.controls["native"][0].value
    assert [one.value for one in found.controls["self"]] == [native] * 3
    assert found.observed.value == 1
    assert (found.effect.value, found.effect.high) == (1 - native, 1 - native)
    assert found.answer == "no"
    assert found.p is None
    assert "more than the stitch by itself changes for the same information" in found.sentence
    assert f"rank 1.0, the receiver's own {native}, 'self' has {native:.1f} (150 samples, 16 columns)" in found.sentence
    assert (found.figures["layer"], found.figures["threshold"]) == ("2", 1e-3)
    assert found.figures["effective_rank"]["sender"].value == pytest.approx(1.0, abs=1e-3)
    assert json.dumps(found.as_record(), allow_nan=False)


def test_native_and_stitched_ranks_by_hand(case, evidence) -> None:
    given = evidence(case("maps", matching=Direct()))
    found = Rank().put(given)
    receiver, inputs = given.case.receiver, given.case.test.receiver.inputs
    conv = receiver.model.module.b[0]
    with torch.no_grad():
        native = conv(receiver.head(inputs)).flatten(1)
        sent = [conv(one.match.layer(given.case.sender.head(inputs))).flatten(1) for one in given.observed]
    assert found.figures["layer"] == "b.0"
    assert found.controls["native"][0].value == by_numpy(native)[0]
    assert [r["rank"] for r in found.figures["ranks"]["sender"]] == [by_numpy(rows)[0] for rows in sent]
    assert found.figures["effective_rank"]["native"].value == pytest.approx(by_numpy(native)[1], rel=1e-3)


def test_what_the_stitch_does_itself_is_no_difference(case, evidence) -> None:
    """A stitch of rank 2 leaves 2 directions of any sender, the receiver itself included."""
    given = case(stitch=stitches.make("low_rank", rank=2), matching=Direct())
    found = Rank().put(evidence(given))
    assert (found.observed.value, [one.value for one in found.controls["self"]]) == (2, [2, 2])
    assert found.effect.value < 0
    assert found.answer == "yes"
    assert "Equal ranks are no evidence of equal information" in found.sentence


def test_without_a_control_a_difference_may_be_the_stitchs_own(case, evidence, make) -> None:
    found = Rank().put(evidence(case(sender=narrow(make, 1), matching=Direct(), seeds=(0, 1, 2)), controls=()))
    assert found.answer == "unknown"
    assert "no control with the same information shows by how much" in found.sentence


def test_one_seed_decides_no_difference(case, evidence, make) -> None:
    found = Rank().put(evidence(case(sender=narrow(make, 1), matching=Direct(), seeds=(0,))))
    assert math.isnan(found.effect.low)
    assert found.answer == "unknown"


def test_too_few_samples_are_said(case, evidence) -> None:
    found = Rank(n=5, threshold=1e-6).put(evidence(case("maps")))
    assert found.answer == "unknown"
    assert "5 centred samples have no more than 4 directions" in found.sentence


def test_noise_is_shown_to_its_own_stitch(case, evidence) -> None:
    given = evidence(case(), controls=("self", "clustered_noise", "random_sender"))
    found = Rank().put(given)
    assert list(found.controls) == ["native", "self", "clustered_noise"]
    control, layer = given.controls["clustered_noise"], given.case.receiver.model.module[2]
    for one, counterpart, ranks in zip(
        given.of("clustered_noise"), control.counterparts(given.case), found.controls["clustered_noise"], strict=True
    ):
        with torch.no_grad():
            rows = layer(one.match.layer(counterpart.test.sender.inputs))
        assert ranks.value == by_numpy(rows)[0]


def test_at_most_n_samples_are_read_and_always_the_same(case, make, monkeypatch) -> None:
    samples, receiver = make.samples("vectors", 150, first_id=5000), make.halves()
    assert RankReader(60, 1e-3).native_ranks(receiver, samples).n == 60
    assert RankReader(60, 1e-3).native_ranks(receiver, samples) == RankReader(60, 1e-3).native_ranks(receiver, samples)
    # Of maps with many columns fewer are kept.
    monkeypatch.setattr("seamripper.audits.rank_reading._NUMBERS", 16 * 40)
    assert RankReader(60, 1e-3).native_ranks(receiver, samples).n == 40


def test_options_are_checked() -> None:
    with pytest.raises(AuditError, match="Expected n of the audit 'rank' to be a whole number of at least 3"):
        Rank(n=1)
    with pytest.raises(AuditError, match=r"threshold of the audit 'rank' to be .* above 0 and below 1, but got 2\.0"):
        Rank(threshold=2.0)
