"""diff: an identical copy is the same, planted noise is found where it was planted, and what cannot be had is said."""

from __future__ import annotations

import copy
import math
import warnings

import pytest
import torch
from torch import nn

import seamripper as sr
from seamripper.comparing import Difference, diff
from seamripper.comparing.functional import fit_and_held_out
from seamripper.comparing.request import as_rule
from seamripper.data import Samples
from seamripper.report.difference import difference_page

CNN, VIT = "zoo:R_1111?width=0.125", "zoo:vit_tiny?dim=24&depth=2&heads=3"
LAYERS = {
    CNN: ("conv1", "bn1", "layer1.0.conv2", "layer3.0.bn1", "layer4.0.conv1", "fc"),
    VIT: ("patch_embed.proj", "blocks.0.norm1", "blocks.0.attn.qkv", "blocks.1.attn.proj", "blocks.1.mlp.fc2", "head"),
}


def network(spec: str) -> nn.Module:
    return sr.load(spec).module


def images(spec: str, n: int = 24) -> Samples:
    return sr.load_data("digits/digit" if spec == CNN else "digits/digit?size=32", "test", n=n)


def with_noise(module: nn.Module, layer: str, share: float = 0.05, seed: int = 0) -> nn.Module:
    """A copy with noise of a share of its own size on the weights of one layer."""
    other = copy.deepcopy(module)
    weight = other.get_submodule(layer).weight
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        weight += share * weight.norm() / math.sqrt(weight.numel()) * torch.randn(weight.shape, generator=generator)
    return other


def chain(width: int = 8) -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 3))


def points(n: int = 60) -> Samples:
    inputs = torch.randn(n, 4, generator=torch.Generator().manual_seed(1))
    return Samples("toy", inputs, torch.arange(n) % 3, torch.arange(n), classes=3)


def errors(difference: Difference) -> dict[str, float]:
    return {layer.name: layer.error.value for layer in difference.layers}


@pytest.mark.parametrize("spec", LAYERS)
def test_an_identical_copy_is_the_same_everywhere(spec: str) -> None:
    net = network(spec)
    copied = diff(net, copy.deepcopy(net), images(spec), null=0)
    assert copied.same
    assert copied.first is None
    assert set(errors(copied).values()) == {0.0}
    assert all(cut.spliced is not None and cut.spliced.kl is not None for cut in copied.cuts)
    assert {cut.spliced.kl.value for cut in copied.cuts if cut.spliced and cut.spliced.kl} == {0.0}
    assert all(cut.cka is not None and cut.cka.value == pytest.approx(1) for cut in copied.cuts)
    assert copied.answers is not None
    assert (copied.answers.agreement.value, copied.answers.penalty.value) == (1.0, 0.0)
    assert not any(cut.failed for cut in copied.cuts)


@pytest.mark.parametrize(("spec", "layer"), [(spec, layer) for spec, layers in LAYERS.items() for layer in layers])
def test_noise_in_a_layer_names_that_layer(spec: str, layer: str) -> None:
    net, cut = network(spec), "layer1" if spec == CNN else "blocks.0"
    changed = diff(net, with_noise(net, layer), images(spec), null=0, cuts=[cut])
    assert changed.first is not None
    assert changed.first.name == layer
    names = [each.name for each in changed.layers]
    assert all(each.error.value == 0 for each in changed.layers[: names.index(layer)])
    assert "is the first of" in changed.verdict
    assert layer in changed.verdict


def test_the_error_is_what_was_planted() -> None:
    """A layer that is 1 % larger differs by 0.01 in every sample, and the interval knows it."""
    net = chain()
    other = copy.deepcopy(net)
    with torch.no_grad():
        other[2].weight *= 1.01
        other[2].bias *= 1.01
    difference = diff(net, other, points(), null=0)
    assert difference.first is not None
    assert difference.first.name == "2"
    error = difference.first.error
    assert (error.value, error.low, error.high) == pytest.approx((0.01, 0.01, 0.01), rel=1e-4)
    assert diff(net, other, points(), null=0, tolerance=0.02).same
    assert not diff(net, other, points(), null=0, tolerance=0.009).same


def test_the_consequence_has_a_sign_that_says_better_or_worse() -> None:
    """A base that is right everywhere, and a changed model that is right on two thirds: a third is lost."""
    inputs = torch.eye(3).repeat(20, 1)
    right = Samples("toy", inputs, torch.arange(60) % 3, torch.arange(60), classes=3)
    base = nn.Sequential(nn.Linear(3, 3, bias=False), nn.ReLU(), nn.Linear(3, 3, bias=False))
    with torch.no_grad():
        base[0].weight.copy_(torch.eye(3))
        base[2].weight.copy_(torch.eye(3))
    other = copy.deepcopy(base)
    with torch.no_grad():
        other[2].weight.copy_(torch.tensor([[1.0, 0, 0], [0, 1, 1.1], [0, 0, 1]]))
    worse, better = diff(base, other, right, null=0), diff(other, base, right, null=0)
    assert "20 of 60 answers change" in worse.consequence
    assert "Accuracy changes by -0.333 [-" in worse.consequence
    assert "from 1.000 to 0.667" in worse.consequence
    assert "Accuracy changes by +0.333 [+" in better.consequence


def test_what_a_linear_map_can_undo_the_stitch_undoes() -> None:
    net = chain()
    other = copy.deepcopy(net)
    turn = torch.linalg.qr(torch.randn(8, 8, generator=torch.Generator().manual_seed(2)))[0]
    with torch.no_grad():
        # In the wide space before the ReLU: the answers change, and nothing is lost there.
        other[2].weight.copy_(turn @ net[2].weight)
        other[2].bias.copy_(turn @ net[2].bias)
    (cut,) = diff(net, other, points(200), cuts=["2"]).cuts
    assert cut.spliced is not None
    assert cut.stitched is not None
    assert cut.spliced.kl is not None
    assert cut.stitched.kl is not None
    assert cut.spliced.kl.value > 1e-3
    assert cut.stitched.kl.value < 1e-9
    assert cut.cka is not None
    assert cut.cka.value == pytest.approx(1)
    assert cut.cka.null is not None
    assert cut.cka.null.p == pytest.approx(1 / 201)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_the_same_within_its_own_rounding(dtype: torch.dtype) -> None:
    net = network(CNN)
    half = diff(net, copy.deepcopy(net).to(dtype), images(CNN), null=0, cuts=["layer4"])
    assert half.same
    assert min(errors(half).values()) > 1e-5
    assert half.tolerance == 16 * torch.finfo(dtype).eps
    assert not any(cut.failed for cut in half.cuts)
    assert not diff(net, copy.deepcopy(net).to(dtype), images(CNN), null=0, tolerance=1e-6, cuts=["layer1"]).same
    noisy = diff(net, with_noise(net, "layer2.0.conv1", 0.5).to(dtype), images(CNN), null=0, cuts=["layer1"])
    assert noisy.first is not None
    assert noisy.first.name == "layer2.0.conv1"


@pytest.mark.parametrize(("spec", "layer"), [(CNN, "fc"), (VIT, "blocks.0.attn.qkv")])
def test_dynamic_quantisation_diverges_at_the_first_linear_layer(spec: str, layer: str) -> None:
    net = network(spec)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        quantised = torch.ao.quantization.quantize_dynamic(net, {nn.Linear}, dtype=torch.qint8)
        cuts = ["layer4"] if spec == CNN else ["blocks.1"]
        difference = diff(net, quantised, images(spec), null=0, cuts=cuts)
    assert difference.first is not None
    assert difference.first.name == layer
    assert 1e-4 < difference.first.error.value < 0.1
    assert difference.unaligned == {}
    assert not any(cut.failed for cut in difference.cuts)


def test_a_fused_layer_is_no_divergence() -> None:
    """Batch normalisation folded into a convolution: conv1 differs, and behind bn1 nothing of that is left."""
    torch.manual_seed(0)
    pool = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())
    net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), pool, nn.Linear(4, 10))
    net[1].running_mean.uniform_(-1, 1)
    folded = copy.deepcopy(net).eval()
    folded[0] = torch.nn.utils.fusion.fuse_conv_bn_eval(folded[0], folded[1])
    folded[1] = nn.Identity()
    same = diff(net, folded, images(CNN), null=0)
    assert same.same
    assert [layer.name for layer in same.undone] == ["0"]
    assert "fused" in same.doubt
    folded[4] = with_noise(folded, "4")[4]
    changed = diff(net, folded, images(CNN), null=0)
    assert changed.first is not None
    assert changed.first.name == "4"


def test_a_wrapped_model_is_aligned_by_the_names_inside() -> None:
    class Wrapped(nn.Module):
        def __init__(self, inner: nn.Module) -> None:
            super().__init__()
            self.module = inner

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.module(x)

    net = chain()
    same = diff(net, Wrapped(copy.deepcopy(net)), points(), null=0)
    assert same.same
    assert len(same.layers) == 5
    changed = diff(net, Wrapped(with_noise(net, "2")), points(), null=0)
    assert changed.first is not None
    assert changed.first.name == "2"


def test_layers_of_another_width_diverge_and_are_stitched_all_the_same() -> None:
    """Structured pruning: the hidden layers are narrower, so no error can be given, but a stitch can."""
    pruned = diff(chain(8), chain(6), points(), null=0, cuts=["2"])
    assert pruned.first is not None
    assert pruned.first.note == "8 in the base, 6 in the changed model"
    (cut,) = pruned.cuts
    assert cut.spliced is None
    assert cut.stitched is not None
    assert cut.cka is not None
    assert pruned.as_record()["layers"][0]["value"] is None


def test_a_layer_of_another_layout_diverges_and_has_nothing_more() -> None:
    maps = nn.Sequential(nn.Linear(4, 4), nn.Unflatten(1, (2, 2)), nn.Flatten(), nn.Linear(4, 3))
    flat = nn.Sequential(maps[0], nn.ReLU(), nn.Flatten(), maps[3])
    (cut,) = diff(maps, flat, points(), null=0, cuts=["1"]).cuts
    assert (cut.cka, cut.spliced, cut.stitched, cut.error.value) == (None, None, None, math.inf)


def test_layers_that_only_one_has_are_named() -> None:
    longer = nn.Sequential(*copy.deepcopy(list(chain())), nn.Linear(3, 3))
    difference = diff(chain(), longer, points(), null=0)
    assert difference.unaligned == {"5": "only the changed model has this layer"}
    assert "'5'" in difference.doubt


def test_a_cut_that_no_layer_returns_is_said_and_not_left_out_silently() -> None:
    net = network(VIT)
    difference = diff(net, copy.deepcopy(net), images(VIT), null=0, cuts=["before:blocks", "blocks.0"])
    assert [cut.name for cut in difference.cuts] == ["blocks.0"]
    assert difference.unaligned == {"before:blocks": "no layer of both models returns the value at this cut"}


def test_overflow_in_half_precision_is_a_divergence_and_not_a_crash() -> None:
    net = chain()
    with torch.no_grad():
        net[2].weight *= 1e5
        net[4].weight *= 1e-5
    half = diff(net, copy.deepcopy(net).half(), points(), null=0)
    assert half.first is not None
    assert half.first.name == "2"
    assert "NaN or Inf in the changed model" in half.verdict
    assert half.answers is None
    assert "NaN or Inf" in half.consequence


def test_answers_that_are_no_classes_leave_the_layers_to_compare() -> None:
    net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Conv2d(4, 2, 3))
    difference = diff(net, with_noise(net, "0"), images(CNN), null=0)
    assert difference.answers is None
    assert "score for each class" in difference.consequence
    assert difference.first is not None
    assert difference.first.name == "0"


def test_padding_does_not_count() -> None:
    class Reader(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            torch.manual_seed(0)
            self.embed, self.mix, self.out = nn.Embedding(9, 6), nn.Linear(6, 6), nn.Linear(6, 2)

        def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
            tokens = self.mix(self.embed(input_ids)) * attention_mask[:, :, None]
            return self.out(tokens.sum(1))

    ids = torch.randint(1, 9, (40, 5), generator=torch.Generator().manual_seed(0))
    mask = torch.ones(40, 5, dtype=torch.long)
    mask[::2, 3:] = 0
    ids = ids * mask
    texts = Samples("texts", {"input_ids": ids, "attention_mask": mask}, ids[:, 0] % 2, torch.arange(40), classes=2)
    reader = Reader()
    other = copy.deepcopy(reader)
    with torch.no_grad():
        other.embed.weight[0] += 5
    assert diff(reader, other, texts, null=0).same
    with torch.no_grad():
        other.embed.weight[1] += 5
    changed = diff(reader, other, texts, null=0)
    assert changed.first is not None
    assert changed.first.name == "embed"


@pytest.mark.parametrize("long", ["fit", "held out"])
def test_the_longest_text_may_be_one_that_is_fitted_on(long: str) -> None:
    """The samples that are held out are then shorter than the answers that the base gave to all of them."""

    class Reader(nn.Module):
        def __init__(self, seed: int) -> None:
            super().__init__()
            torch.manual_seed(seed)
            self.embed, self.mix, self.head = nn.Embedding(9, 6), nn.Linear(6, 6), nn.Linear(6, 9)

        def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
            return self.head(self.mix(self.embed(input_ids)))

    ids = torch.randint(1, 9, (60, 8), generator=torch.Generator().manual_seed(0))
    fit, held_out = fit_and_held_out(Samples("ids", ids), as_rule(None, 60))
    mask = torch.arange(8).expand(60, 8) < 5
    mask[(fit if long == "fit" else held_out).ids[0]] = True
    texts = Samples("texts", {"input_ids": ids * mask, "attention_mask": mask.long()})
    found = diff(Reader(0), Reader(1), texts, null=0, cuts="mix").cuts[0]
    assert found.failed == ()
    assert found.spliced is not None
    assert found.spliced.tokens == int(mask[held_out.ids].sum()) - len(held_out)


def test_an_interval_that_contains_the_tolerance_is_no_proof_of_sameness() -> None:
    net = chain()
    other = with_noise(net, "0", 0.1)
    error = next(layer.error for layer in diff(net, other, points(), null=0).layers)
    assert error.low < error.value < error.high
    between = (error.value + error.high) / 2
    undecided = diff(net, other, points(), null=0, tolerance=between)
    assert undecided.first is not None
    assert undecided.first.name == "0"
    assert "do not decide" in undecided.doubt
    assert undecided.layers[0].within(error.high)


def test_the_page_has_the_verdict_and_runs_nothing_of_the_names() -> None:
    net = chain()
    difference = diff(net, with_noise(net, "2"), points(), null=0)
    page = difference_page(difference)
    assert "2 is the first of 5 layers to diverge" in page
    assert "Relative error by layer" in page
    assert "What changed from Sequential to Sequential?" in page
