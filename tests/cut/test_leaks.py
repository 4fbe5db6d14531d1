"""Cuts that something goes around are refused, by name; and the list of legal cuts agrees with plain references."""

from __future__ import annotations

import functools
import operator
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from cut_models import Case, Parts, case, noise, planted
from cut_proofs import assert_apart, assert_whole
from hypothesis import given, settings, strategies as st
from torch import Tensor, nn

from seamripper.cut import Cut, cuts, split
from seamripper.data.samples import Inputs
from seamripper.errors import CutError, LeakError


def names_of(listed: tuple[Cut, ...]) -> set[str]:
    return {name for cut in listed for name in (cut.name, *cut.aliases)}


# Planted skips


class Skip(Parts):
    """`b` has a skip from `a` to `c`."""

    def forward(self, x: Tensor) -> Tensor:
        h = self.a(x)
        return self.head(self.c(self.b(h).relu() + h))


class InputSkip(Parts):
    """The input itself goes around `a` and `b`, and the sum of `a` and it around `b`."""

    def forward(self, x: Tensor) -> Tensor:
        h = self.a(x) + x
        return self.head(self.c(self.b(h) * h) - x)


class TwoSkips(Parts):
    """Both `a` and a function of `b` go around `c`."""

    def forward(self, x: Tensor) -> Tensor:
        first = self.a(x)
        second = self.b(first).tanh()
        return self.head(self.d(self.c(second) + second.exp() + first))


class Chunks(Parts):
    """One operation returns two values, of which one is cut and the other goes around."""

    def forward(self, x: Tensor) -> Tensor:
        left, right = self.a(x).chunk(2, dim=1)
        left = self.b(torch.cat([left, left], 1))
        return self.head(self.c(left) + torch.cat([right, right], 1))


class NoSkip(Parts):
    """Branches that join again before the next layer."""

    def forward(self, x: Tensor) -> Tensor:
        h = self.a(x)
        h = self.b(h + h.relu())
        return self.head(self.d(h) * self.c(h))


@pytest.mark.parametrize(
    ("module", "cut", "around", "offered"),
    [
        (Skip(), "b", ("a",), ("a", "before:c")),
        (InputSkip(), "a", ("the input",), ("before:a", "before:head")),
        (InputSkip(), "b", ("the input", "before:b"), ("before:a", "before:head")),
        (TwoSkips(), "c", ("a", "before:c"), ("a", "before:d")),
        (TwoSkips(), "b", ("a",), ("a", "before:d")),
        (Chunks(), "b", ("Split(a, …)",), ("a", "before:head")),
        (NoSkip(), "c", ("d",), ("b", "before:head")),
    ],
)
def test_a_skip_is_named_with_the_nearest_places_that_can_be_cut(
    module: nn.Module, cut: str, around: tuple[str, ...], offered: tuple[str, str]
) -> None:
    with pytest.raises(LeakError) as told:
        split(module, cut, noise(2, (4,), seed=0))
    assert sorted(told.value.around) == sorted(around)
    message = str(told.value)
    assert message.startswith(f"{cut!r} cannot be cut: ")
    assert all(f"'{value}'" in message for value in around)
    assert message.endswith(f"The nearest places that can: '{offered[0]}' and '{offered[1]}'.")
    for name in offered:
        known = planted(module)
        assert_whole(known, split(module, name, known.example))


def test_a_residual_branch_of_a_real_network_is_named() -> None:
    known = case("resnet18")
    with pytest.raises(LeakError, match=r"'layer2\.1\.conv1' cannot be cut: 'layer2\.0' goes around it") as told:
        split(known.module, "layer2.1.conv1", known.example)
    assert told.value.around == ("layer2.0",)
    assert "The nearest places that can: 'layer2.0' and 'before:layer2.1.relu#2'." in str(told.value)
    with pytest.raises(LeakError) as told:
        split(case("vit_tiny").module, "blocks.3.mlp.fc1", case("vit_tiny").example)
    assert told.value.around == ("before:blocks.3.norm2",)


# References


def goes_around(known: Case, name: str, occurrence: int) -> bool:
    """Taint the input, detach at the cut: an answer that still wants gradients was reached another way."""
    module, calls = known.module, 0

    def detach(_: nn.Module, __: Any, output: Any) -> Any:
        nonlocal calls
        calls += 1
        return output.detach() if calls == occurrence else None

    handle = module.get_submodule(name).register_forward_hook(detach)
    wanted = [(p, p.requires_grad) for p in module.parameters()]
    try:
        module.requires_grad_(False)
        assert isinstance(known.example, Tensor)
        return bool(module(known.example.clone().requires_grad_(True)).requires_grad)
    finally:
        handle.remove()
        for p, was in wanted:
            p.requires_grad_(was)


def outputs(known: Case) -> Iterator[tuple[str, int, Any, Any]]:
    """Every module call of one run: its name, which call it is, its first argument and what it returned."""
    seen: list[tuple[str, int, Any, Any]] = []
    counts: Counter[str] = Counter()

    def note(name: str, args: tuple[Any, ...], output: Any) -> None:
        counts[name] += 1
        seen.append((name, counts[name], args[0], output))

    handles = [
        child.register_forward_hook(lambda _, args, output, name=name: note(name, args, output))
        for name, child in known.module.named_modules()
        if name
    ]
    try:
        known.answer(known.example)
    finally:
        for handle in handles:
            handle.remove()
    for name, occurrence, given_, output in seen:
        yield (name if counts[name] == 1 else f"{name}#{occurrence}"), occurrence, given_, output


PLANTED = {cls.__name__: planted(cls()) for cls in (Skip, InputSkip, TwoSkips, Chunks, NoSkip)}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["resnet18", "mobilenet_v2", "vit_tiny", *PLANTED])
def test_the_list_agrees_with_autograds_taint_at_every_module_output(name: str) -> None:
    known = PLANTED[name] if name in PLANTED else case(name)
    legal = names_of(cuts(known.module, known.example))
    tried: Counter[bool] = Counter()
    for place, occurrence, before, output in outputs(known):
        if not isinstance(output, Tensor) or output.dim() not in (2, 3, 4) or len(output) != len(known.example):
            continue
        if output is before and type(known.module.get_submodule(place.partition("#")[0])) in (nn.Identity, nn.Dropout):
            continue  # It passes its input on: see the third trap. An in-place ReLU returns its input too, changed.
        around = goes_around(known, place.partition("#")[0], occurrence)
        assert (place not in legal) == around, place
        tried[around] += 1
    assert tried[True] > 0
    assert tried[False] > 0


# What autograd does not see


class Detached(Parts):
    def forward(self, x: Tensor) -> Tensor:
        h = self.a(x)
        return self.head(self.c(self.b(h)) + h.detach())


class DetachedInput(Parts):
    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.c(self.b(self.a(x))) + x.detach())


class Number(Parts):
    def forward(self, x: Tensor) -> Tensor:
        h = self.a(x)
        scale = h.abs().mean().item()
        return self.head(self.c(self.b(h)) * scale)


class Index(Parts):
    def forward(self, x: Tensor) -> Tensor:
        h = self.a(x)
        largest = h.argmax(1)
        return self.head(self.c(self.b(h))) + nn.functional.one_hot(largest, 4)[:, :3]


class Choice(Parts):
    """With the weights set as below, `a` of a negative example is negative, and a blank is not positive either."""

    def forward(self, x: Tensor) -> Tensor:
        h = self.a(x)
        up = bool(h.sum() > 0)
        h = self.b(h)
        return self.head(self.c(h) if up else self.d(h))


class Stash(Parts):
    """`a` leaves a value in the model, which `c` picks up."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.c = Leaves(), Takes()
        self.c.a = [self.a]  # In a list, so that it is no part of `c`.

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.c(self.b(self.a(x))))


class Leaves(nn.Linear):
    left: Tensor

    def __init__(self) -> None:
        super().__init__(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        self.left = x.detach().mean()
        return super().forward(x)


class Takes(nn.Linear):
    a: list[Leaves]

    def __init__(self) -> None:
        super().__init__(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x) + self.a[0].left


@pytest.mark.parametrize(
    ("way", "sign"), [("auto", -1.0), ("auto", 1.0), ("hooks", -1.0), ("fx", 1.0), ("export", 1.0)]
)
@pytest.mark.parametrize("cls", [Detached, DetachedInput, Number, Index, Choice, Stash])
@pytest.mark.filterwarnings("ignore:The tensor attribute self.a.left was assigned during export:UserWarning")
def test_values_that_autograd_does_not_see_are_refused(cls: type[Parts], way: Any, sign: float) -> None:
    module = cls().eval()
    with torch.no_grad():
        module.a.weight.copy_(torch.eye(4))
        module.a.bias.zero_()
    example = sign * noise(2, (4,), seed=0).abs()
    assert "b" in names_of(cuts(module, example)), "autograd sees nothing"
    refusal = LeakError if way == "auto" else CutError
    with pytest.raises(refusal, match="'b' c") as told:
        split(module, "b", example, way=way)
    if way == "auto":
        assert "something that autograd does not see" in str(told.value)
    if way == "auto" and cls is not Index:
        halves = split(module, "before:head", example)  # After its last use there is nothing to go around.
        assert torch.equal(halves.tail(halves.head(example)), module(example))


# Names


def test_mistyped_names_get_the_nearest() -> None:
    known = case("lenet")
    with pytest.raises(CutError, match=r"There is no layer 'conv3' to cut: did you mean .*'conv[12]'"):
        split(known.module, "conv3", known.example)
    with pytest.raises(CutError, match=r"There is no layer 'before:convl' to cut: did you mean .*'before:conv1'"):
        split(known.module, "before:convl", known.example)
    with pytest.raises(CutError, match=r"There is no layer 'zzz' to cut: there are: before:conv1, conv1, .* more"):
        split(known.module, "zzz", known.example)
    with pytest.raises(CutError, match=r"did you mean .*'layer2\.0'"):
        split(case("narrow_resnet").module, "layer2.O", case("narrow_resnet").example)


def test_a_layer_that_is_not_called_is_told_from_one_that_does_not_exist() -> None:
    module = Skip()
    with pytest.raises(CutError, match="'d' is part of the model but was not called on the example"):
        split(module, "d", noise(2, (4,), seed=0))


def test_a_model_without_any_place_to_cut_says_so() -> None:
    class Constant(Parts):
        def forward(self, x: Tensor) -> Tensor:
            return self.head(self.a(torch.ones(len(x), 4)))

    assert cuts(Constant(), torch.zeros(2, 4)) == ()
    with pytest.raises(CutError, match=r"'a' cannot be cut: .*constant.* This model has no place that can be cut"):
        split(Constant(), "a", torch.zeros(2, 4))


# Context


def test_masks_of_an_encoder_pass_beside_the_cut_and_are_no_leaks() -> None:
    known = case("bert")
    listed = cuts(known.module, known.example)
    for k in (0, 1):
        assert {f"bert.encoder.layer.{k}.attention"} <= names_of(listed)
        halves = split(known.module, f"bert.encoder.layer.{k}.attention", known.example)
        assert halves.context == (("attention_mask",) if k == 0 else ())  # The last layer's mask has been used.
    first = split(known.module, "bert.embeddings.word_embeddings", known.example)
    assert first.context == ("attention_mask", "token_type_ids"), "types that are all 0 in the example count as well"


def test_a_tail_is_given_nothing_that_it_need_not_see() -> None:
    known = case("bert")
    batch = known.batch(5)
    assert isinstance(batch, dict)
    context = split(known.module, "bert.encoder.layer.0", known.example).beside(batch)
    assert torch.equal(context["attention_mask"], batch["attention_mask"])
    assert not context["input_ids"].any()
    assert not context["token_type_ids"].any()


class Reader(nn.Module):
    """A plain encoder that fx can trace. Its tokens go through an operation before they are looked up.

    With `odd` it cannot be traced, and what `place` returns is used on both sides of a cut by hooks.
    """

    def __init__(self, *, skip: bool, odd: bool) -> None:
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(3)
            self.place, self.word = nn.Embedding(20, 4), nn.Embedding(9, 4)
            self.mix, self.head = nn.Linear(4, 4), nn.Linear(4, 3)
        self.skip, self.odd = skip, odd

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        n = int(ids.shape[1]) if self.odd else ids.shape[1]
        where = self.place(torch.arange(n))
        word = self.word(ids.clamp(max=8))
        h = self.mix(word).tanh() + where
        if self.skip:
            h = h + word
        return self.head((h * mask.unsqueeze(-1)).mean(1))


def reading(*, skip: bool, odd: bool) -> Case:
    def batch(n: int) -> Inputs:
        ids = torch.randint(9, (n, 6), generator=torch.Generator().manual_seed(n))
        return {"ids": ids, "mask": (ids > 2).long()}

    return Case(Reader(skip=skip, odd=odd).eval(), batch(2), batch)


@pytest.mark.parametrize(("odd", "way"), [(False, "fx"), (True, "hooks")])
def test_tokens_are_followed_to_where_they_are_looked_up(odd: bool, way: str) -> None:
    known = reading(skip=False, odd=odd)
    assert [cut.name for cut in cuts(known.module, known.example)] == ["word", "mix", "before:head", "head"]
    for cut, context in [("word", ("mask",)), ("mix", ("mask",)), ("before:head", ())]:
        halves = split(known.module, cut, known.example)
        assert (halves.context, halves.way) == (context, way)
        assert_whole(known, halves)
    known = reading(skip=True, odd=odd)
    assert [cut.name for cut in cuts(known.module, known.example)] == ["word", "before:head", "head"]
    with pytest.raises(LeakError, match="'mix' cannot be cut: 'word' goes around it"):
        split(known.module, "mix", known.example)


def test_floats_that_are_given_beside_the_cut_are_leaks() -> None:
    class Weighed(Parts):
        def forward(self, x: Tensor, weight: Tensor) -> Tensor:
            return self.head(self.b(self.a(x)) * weight)

    example = {"x": noise(2, (4,), seed=0), "weight": noise(2, (4,), seed=1)}
    with pytest.raises(LeakError, match="'b' cannot be cut: 'the input' goes around it"):
        split(Weighed(), "b", example)
    assert split(Weighed(), "before:head", example).way == "fx"


# What a cut says


@pytest.mark.parametrize(
    "name", ["resnet18", "vgg19", "mobilenet_v2", "vit_tiny", "convnext_tiny", "lenet", "autoencoder", "swin"]
)
def test_parameters_before_and_after_add_up(name: str) -> None:
    known = case(name)
    listed = cuts(known.module, known.example)
    total = sum(p.numel() for p in known.module.parameters())
    assert {cut.before + cut.after for cut in listed} == {total}
    before = [cut.before for cut in listed]
    assert before == sorted(before)
    assert (before[0], listed[-1].after) == (0, 0)


@pytest.mark.parametrize(
    ("name", "cut", "shape", "layout"),
    [
        ("resnet18", "before:conv1", (3, 48, 48), "nchw"),
        ("resnet18", "layer2", (128, 6, 6), "nchw"),
        ("resnet18", "avgpool", (512, 1, 1), "nchw"),
        ("resnet18", "before:fc", (512,), "nd"),
        ("vit_tiny", "patch_embed", (16, 192), "ntd"),
        ("vit_tiny", "before:blocks.0", (17, 192), "ntd"),
        ("vit_tiny", "head", (1000,), "nd"),
        ("convnext_tiny", "features.3", (192, 4, 4), "nchw"),
        ("autoencoder", "encoder", (128,), "nd"),
        ("bert", "bert.embeddings", (8, 16), "ntd"),
        ("swin", "before:layers.0.blocks.0.norm2", (196, 24), "ntd"),
    ],
)
def test_shapes_and_layouts(name: str, cut: str, shape: tuple[int, ...], layout: str) -> None:
    known = case(name)
    found = next(c for c in cuts(known.module, known.example) if cut in (c.name, *c.aliases))
    assert (found.shape, found.layout) == (shape, layout)


def test_one_value_is_listed_once_and_can_be_cut_by_each_of_its_names() -> None:
    known = case("narrow_resnet")
    listed = cuts(known.module, known.example)
    every = [name for cut in listed for name in (cut.name, *cut.aliases)]
    assert len(every) == len(set(every))
    stage = next(cut for cut in listed if cut.name == "layer1")
    assert set(stage.aliases) == {
        "layer1.0", "layer1.0.relu#2", "before:layer2", "before:layer2.0", "before:layer2.0.conv1",
        "before:layer2.0.downsample", "before:layer2.0.downsample.0",
    }  # fmt: skip
    for name in ("layer1", *stage.aliases):
        halves = split(known.module, name, known.example)
        assert (halves.cut.name, halves.cut.before, halves.cut.shape) == (name, stage.before, stage.shape)
        assert_whole(known, halves, sizes=(2,))
        assert_apart(known, halves)


def test_a_channels_last_map_is_not_taken_for_a_map() -> None:
    known = case("swin")
    maps = [cut for cut in cuts(known.module, known.example) if cut.layout == "nchw"]
    assert [cut.shape for cut in maps] == [(3, 56, 56), (24, 14, 14)]
    for place in ("patch_embed", "layers.0", "before:norm", "norm"):
        with pytest.raises(CutError, match=f"'{place}' cannot be cut: it is a channels-last map"):
            split(known.module, place, known.example)


class OwnNorm(nn.LayerNorm):
    """As timm's LayerNorm: a class of its own, along the last axis."""


class MapNorm(nn.LayerNorm):
    """As timm's and torchvision's LayerNorm2d: takes n, c, h, w, and moves the channels itself."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


def test_a_librarys_own_layer_norm_is_judged_by_what_it_is_given() -> None:
    class Last(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv, self.map_norm, self.norm = nn.Conv2d(3, 5, 1), MapNorm(5), OwnNorm(5)

        def forward(self, x: Tensor) -> Tensor:
            return self.norm(self.map_norm(self.conv(x)).permute(0, 2, 3, 1)).mean((1, 2))

    listed = {cut.name: cut.shape for cut in cuts(Last(), torch.randn(2, 3, 4, 6))}
    assert listed == {"before:conv": (3, 4, 6), "conv": (5, 4, 6), "map_norm": (5, 4, 6)}


# Random wiring

Wiring = list[list[int]]
"""For each layer, the values that it takes the sum of: 0 is the input, k the output of the k-th layer."""


class Wired(nn.Module):
    def __init__(self, wiring: Wiring) -> None:
        super().__init__()
        self.wiring = wiring
        self.layers = nn.ModuleList(nn.Linear(3, 3) for _ in wiring)

    def forward(self, x: Tensor) -> Tensor:
        values = [x]
        for taken, layer in zip(self.wiring, self.layers, strict=True):
            values.append(layer(functools.reduce(operator.add, [values[k] for k in taken])))
        return values[-1]


def wirings() -> st.SearchStrategy[Wiring]:
    def layer(k: int) -> st.SearchStrategy[list[int]]:
        return st.lists(st.integers(max(0, k - 3), k), min_size=1, max_size=3, unique=True)

    return st.integers(2, 8).flatmap(lambda n: st.tuples(*(layer(k) for k in range(n))).map(list))


def reaches(wiring: Wiring, start: int, *, without: int | None = None) -> bool:
    """Whether the answer can be reached from value `start` along the wires, not passing value `without`."""
    if start == without:
        return False
    return start == len(wiring) or any(
        reaches(wiring, k + 1, without=without) for k, taken in enumerate(wiring) if start in taken
    )


def fed(wiring: Wiring, value: int) -> bool:
    """Whether value `value` depends on the input."""
    return value == 0 or any(fed(wiring, k) for k in wiring[value - 1])


def around(wiring: Wiring, cut: int) -> set[str]:
    """The values made before value `cut` that a later layer with a way to the answer takes."""
    later = [k for k in range(cut, len(wiring)) if reaches(wiring, k + 1)]
    crossing = {value for k in later for value in wiring[k] if value < cut}
    return {"the input" if value == 0 else f"layers.{value - 1}" for value in crossing}


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(wirings(), st.data())
def test_random_wiring_agrees_with_reachability(wiring: Wiring, data: st.DataObject) -> None:
    torch.manual_seed(0)
    module = Wired(wiring).eval()
    x = noise(2, (3,), seed=0)
    legal = names_of(cuts(module, x))
    places = {f"layers.{k - 1}": k for k in range(1, len(wiring) + 1)}
    expected = {name for name, k in places.items() if reaches(wiring, k) and not reaches(wiring, 0, without=k)}
    assert {name for name in legal if not name.startswith("before:")} == expected
    for name, k in places.items():
        # The sum that a layer takes is a value of its own, and as good as the layer's; a single one is that very value.
        taken = wiring[k - 1][0] if len(wiring[k - 1]) == 1 else k
        assert (f"before:{name}" in legal) == (reaches(wiring, taken) and not reaches(wiring, 0, without=taken))
        if reaches(wiring, k) and name not in legal:
            with pytest.raises(LeakError) as told:
                split(module, name, x)
            assert set(told.value.around) == around(wiring, k)
            assert all(place in legal for place in re.findall(r"'([^']+)'", str(told.value).split("that can: ")[1]))
    cut = data.draw(st.sampled_from(sorted(legal)))
    way = data.draw(st.sampled_from(["auto", "hooks"]))
    known = Case(module, x, lambda n: noise(n, (3,), seed=n))
    halves = split(module, cut, x, way=way)
    assert_whole(known, halves)
    assert_apart(known, halves)
