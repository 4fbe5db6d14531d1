"""Head and tail make the model, bit for bit, for any batch size; and neither runs the other's part."""

from __future__ import annotations

import pytest
import torch
from cut_models import Case, Parts, case, planted, signed
from cut_proofs import assert_apart, assert_whole, calls
from torch import Tensor, nn

from seamripper.cut import cuts, split
from seamripper.cut.split import Way
from seamripper.cut.values import probes
from seamripper.data.samples import Inputs
from seamripper.errors import CutError

SPREAD = {
    "resnet18": [
        "before:conv1", "bn1", "before:layer1.0.relu#2", "before:layer2", "layer2.0", "before:layer3.1.relu#2",
        "layer3", "layer4", "before:fc", "fc",
    ],
    "resnet50": ["maxpool", "before:layer2.0.relu#3", "layer3.2"],
    "vgg19": ["features.0", "before:features.20", "before:classifier"],
    "mobilenet_v2": ["features.0.0", "features.2.conv.1.1", "before:features.8", "features.14", "features"],
    "efficientnet_b0": ["before:features", "features.1.0.block.2.0", "features.4.1", "before:features.6"],
    "timm_efficientnet": ["conv_stem", "before:blocks.1.0.bn2.drop", "before:blocks.4", "conv_head"],
    "vit_tiny": [
        "before:patch_embed", "patch_embed", "before:pos_drop", "before:blocks.0.norm2", "before:blocks.8", "norm",
    ],
    "convnext_tiny": ["features.1.0", "before:features.3", "features.5.4", "classifier.0"],
    "minilm": ["encoder.layer.1", "before:encoder.layer.3.output.LayerNorm"],
}  # fmt: skip
"""Large models, at cuts of every kind; `before:` names are the values between the modules."""


@pytest.mark.slow
@pytest.mark.parametrize(("name", "cut"), [(name, cut) for name, some in SPREAD.items() for cut in some])
def test_large_models_at_a_spread_of_cuts(name: str, cut: str) -> None:
    known = case(name)
    halves = split(known.module, cut, known.example)
    assert_whole(known, halves)
    assert_apart(known, halves)


# The three ways


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "way"),
    [
        ("lenet", "fx"), ("lenet", "hooks"), ("autoencoder", "fx"), ("narrow_resnet", "fx"),
        ("narrow_resnet", "hooks"), ("short_vit", "fx"), ("short_vit", "hooks"), ("bert", "hooks"), ("swin", "hooks"),
    ],
)  # fmt: skip
def test_small_models_at_every_cut_by_a_named_way(name: str, way: Way) -> None:
    known = case(name)
    listed = cuts(known.module, known.example)
    assert len(listed) > 6
    for cut in listed:
        halves = split(known.module, cut.name, known.example, way=way)
        assert (halves.way, halves.cut) == (way, cut)
        assert halves.as_record()["way"] == way
        assert_whole(known, halves)
        assert_apart(known, halves)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "cut"),
    [("resnet18", "layer2"), ("resnet18", "before:layer3.1.relu#2"), ("vgg19", "features.20"),
     ("mobilenet_v2", "features.5"), ("efficientnet_b0", "features.4"), ("vit_tiny", "patch_embed"),
     ("vit_tiny", "before:blocks.8"), ("convnext_tiny", "features.3")],
)  # fmt: skip
def test_hooks_on_large_models(name: str, cut: str) -> None:
    known = case(name)
    halves = split(known.module, cut, known.example, way="hooks")
    assert halves.way == "hooks"
    assert_whole(known, halves)
    assert_apart(known, halves)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "cut"),
    [
        ("lenet", "pool1"),
        ("lenet", "before:fc1"),
        ("autoencoder", "encoder"),
        ("narrow_resnet", "before:layer3.0.relu#2"),
        ("short_vit", "before:blocks.1.norm2"),
        ("bert", "bert.encoder.layer.0"),
    ],
)
def test_export_when_asked_for(name: str, cut: str) -> None:
    known = case(name)
    halves = split(known.module, cut, known.example, way="export")
    assert (halves.way, halves.as_record()["way"]) == ("export", "export")
    assert_whole(known, halves)
    assert_apart(known, halves)


@pytest.mark.slow
def test_without_asking_fx_comes_first_then_hooks_and_never_export() -> None:
    for name, cut, way in [("lenet", "pool1", "fx"), ("bert", "bert.encoder.layer.0", "hooks")]:
        known = case(name)
        assert split(known.module, cut, known.example).way == way


def test_a_way_that_cannot_be_gone_says_why_and_an_unknown_one_is_refused() -> None:
    known = case("ChoosesInBack")
    with pytest.raises(CutError, match=r"'b' could not be cut\. By fx: .*control flow\.$"):
        split(known.module, "b", known.example, way="fx")
    with pytest.raises(CutError, match="By export: Could not guard on data-dependent expression"):
        split(known.module, "b", known.example, way="export")
    with pytest.raises(
        CutError, match="Expected argument `way` to be 'auto', 'fx', 'hooks' or 'export', but got 'fix'"
    ):
        split(known.module, "b", known.example, way="fix")  # type: ignore[arg-type]


# Control flow that depends on the data


def path(known: Case, batch: Inputs) -> tuple[str, ...]:
    called: list[str] = []
    with calls(known.module, called.append):
        known.answer(batch)
    return tuple(called)


@pytest.mark.parametrize(
    ("name", "places"),
    [
        ("ChoosesInFront", ["c", "before:d", "d", "head"]),
        ("LoopsInFront", ["before:a", "a", "c", "before:d", "d", "head"]),
        ("ChoosesInBack", ["before:a", "a", "before:b", "b", "before:head", "head"]),
    ],
)
def test_data_dependent_control_flow(name: str, places: list[str]) -> None:
    known = case(name)
    assert len({path(known, known.batch(n)) for n in (1, 2, 3, 4, 5, 8)}) >= 2, "more than one path must be tested"
    assert set(places) <= {cut.name for cut in cuts(known.module, known.example)}
    for cut in places:
        halves = split(known.module, cut, known.example)
        assert halves.way == "hooks"
        assert_whole(known, halves, sizes=(1, 2, 3, 4, 5, 8))


def test_control_flow_beside_the_ancestors_of_the_cut_is_no_matter_to_fx() -> None:
    known = case("ChoosesInside")
    for cut in ("before:front", "front", "middle", "back"):
        halves = split(known.module, cut, known.example)
        assert halves.way == "fx"
        assert_whole(known, halves, sizes=(1, 2, 3, 4, 5, 8))
        assert_apart(known, halves)


def test_a_split_may_be_verified_on_two_paths() -> None:
    known = case("ChoosesInFront")
    first, second = (path(known, batch) for batch in probes(known.example))
    assert first != second
    assert_whole(known, split(known.module, "c", known.example))


class Tries(nn.Module):
    """A part that fails, and whose failure its parent catches."""

    class Part(Parts):
        def forward(self, x: Tensor) -> Tensor:
            try:
                return self.head(self.a(x))
            except RuntimeError:
                return self.b(x[:, :4])

    def __init__(self) -> None:
        super().__init__()
        self.front, self.part, self.back = nn.Linear(4, 5), Tries.Part(), nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.back(self.part(self.front(x)))


def test_a_part_that_fails_and_is_caught_confuses_nothing() -> None:
    known = planted(Tries())
    listed = {cut.name: cut.aliases for cut in cuts(known.module, known.example)}
    assert listed["part"] == ("before:back", "part.b")
    assert "part.a" not in listed
    for way in ("fx", "hooks"):
        assert_whole(known, split(known.module, "part", known.example, way=way))  # type: ignore[arg-type]


class ExitsEarly(Parts):
    def forward(self, x: Tensor) -> Tensor:
        h = self.a(x)
        return self.head(h if h.sum() > 50 else self.d(self.c(h)))


def test_inputs_that_do_not_reach_the_cut_are_an_error_of_the_head_and_not_a_wrong_answer() -> None:
    known = planted(ExitsEarly())
    halves = split(known.module, "c", known.example)
    assert_whole(known, halves)
    far = next(x for x in (1e3 * signed(1), -1e3 * signed(1)) if known.module.get_submodule("a")(x).sum() > 50)
    with pytest.raises(CutError, match="did not reach 'c' on these inputs, though it did on the example"):
        halves.head(far)


# What the result says of itself


def test_a_split_says_what_it_was_made_from() -> None:
    known = case("bert")
    halves = split(known.module, "bert.encoder.layer.0", known.example)
    assert halves.context == ("attention_mask",)
    record = halves.as_record()
    assert record["cut"] == {"name": "bert.encoder.layer.0", "shape": [8, 16], "layout": "ntd"}
    assert record["input"] == [8]
    assert torch.equal(halves.answer(known.batch(3)), known.answer(known.batch(3)))
    assert record["fingerprint"] == halves.fingerprint == halves.again().fingerprint


@pytest.mark.parametrize("n", [1, 2, 7])
def test_the_example_may_have_any_number_of_samples(n: int) -> None:
    known = case("lenet")
    assert_whole(known, split(known.module, "conv2", known.batch(n)))


@pytest.mark.parametrize("shape", [(3, 20, 20), (4, 28, 28)])
def test_an_example_of_another_shape_is_told_from_a_fault_of_the_model(shape: tuple[int, ...]) -> None:
    shown = "x".join(map(str, shape))
    with pytest.raises(CutError, match=f"does not run on inputs of shape {shown}: .*Give inputs of the shape"):
        cuts(case("lenet").module, torch.zeros(2, *shape))


def test_a_models_own_check_of_its_input_is_told_as_well() -> None:
    with pytest.raises(CutError, match=r"does not run on inputs of shape 3x48x48: Input height \(48\)"):
        cuts(case("short_vit").module, torch.zeros(2, 3, 48, 48))
    with pytest.raises(CutError, match="at least one sample"):
        cuts(case("lenet").module, torch.zeros(0, 3, 28, 28))
