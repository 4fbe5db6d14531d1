"""The eight ways in which a cut goes wrong silently, as ECOSYSTEM.md numbers them."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
import torch
from cut_models import Case, Parts, case, images, noise, planted
from cut_proofs import assert_apart, assert_whole, stitched
from torch import Tensor, nn
from torch.nn import functional as F

from seamripper.cut import cuts, split
from seamripper.cut.frozen import adapting
from seamripper.cut.split import Way
from seamripper.errors import CutError, LeakError
from seamripper.models import load
from seamripper.models.libraries import import_timm, import_torchvision

WAYS: list[Way] = ["fx", "hooks", "export"]


def copied(known: Case) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in known.module.state_dict().items()}


# 1. A crossing value is not always a leak.


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_1_constants_and_expressions_of_parameters_are_computed_again(way: Way) -> None:
    known = case("short_vit")
    halves = split(known.module, "patch_embed", known.example, way=way)
    # The class token is expanded to the batch, and the positions added, behind the cut.
    assert halves.cut.shape == (4, 192)
    assert halves.cut.after > sum(p.numel() for p in known.module.get_submodule("blocks").parameters())
    assert_whole(known, halves)
    assert_apart(known, halves)


def test_1_masks_and_shapes_are_context_that_the_tail_takes() -> None:
    known = case("bert")
    halves = split(known.module, "bert.embeddings", known.example)
    batch = known.batch(5)
    assert isinstance(batch, dict)
    activations, context = halves.head(batch), halves.beside(batch)
    assert halves.context == ("attention_mask",)
    full = {**context, "attention_mask": torch.ones_like(context["attention_mask"])}
    assert not torch.equal(halves.tail(activations, context), halves.tail(activations, full))
    assert_whole(known, halves)


@pytest.mark.parametrize("cut", ["model.layers.0", "before:model.layers.1.post_attention_layernorm"])
def test_1_rotary_tables_are_computed_again(cut: str) -> None:
    import_torchvision()
    import transformers

    config = transformers.LlamaConfig(
        vocab_size=50, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32, pad_token_id=0
    )
    with torch.random.fork_rng():
        torch.manual_seed(5)
        module = transformers.LlamaForCausalLM(config).eval()

    def batch(n: int) -> dict[str, Tensor]:
        ids = torch.randint(1, 50, (n, 7), generator=torch.Generator().manual_seed(n))
        return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}

    known = Case(module, batch(2), batch)
    halves = split(module, cut, known.example)
    assert_whole(known, halves)
    assert_apart(known, halves)


class Scaled(Parts):
    """A number that depends on the input scales what comes after `b`."""

    def forward(self, x: Tensor) -> Tensor:
        h = self.a(x)
        return self.head(self.b(h) * h.abs().mean())


def test_1_a_float_that_depends_on_the_input_is_a_leak() -> None:
    with pytest.raises(LeakError, match="'b' cannot be cut: 'a' goes around it"):
        split(Scaled(), "b", noise(2, (4,), seed=0))


# 2. In-place operations vanish from a graph that is cut by data flow.


class InPlace(Parts):
    """Changes values in place, through a slice and through a name that is used again."""

    def forward(self, x: Tensor) -> Tensor:
        h = self.b(self.a(x))
        h[:, 0] = h[:, 1] * 2
        h = self.c(h)
        g = self.d(h)
        g.mul_(3)
        g[:, 2:].add_(1)
        return self.head(g)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["auto", "hooks", "export"])
def test_2_in_place_operations_are_kept(way: Any) -> None:
    known = planted(InPlace())
    listed = [cut.name for cut in cuts(known.module, known.example)]
    assert listed == ["before:a", "a", "b", "before:c", "c", "d", "before:head", "head"]
    for cut in listed[3:6] if way == "export" else listed:
        assert_whole(known, split(known.module, cut, known.example, way=way))


class Unused(Parts):
    """What the operation returns is not used: by data flow alone it is not there."""

    def forward(self, x: Tensor) -> Tensor:
        h = self.a(x)
        h.mul_(3)
        return self.head(self.b(h))


class Reused(Parts):
    """The value that `b` takes is the one that `a` returned, and no longer what it was."""

    def forward(self, x: Tensor) -> Tensor:
        h = self.a(x)
        positive = h.relu_()
        return self.head(self.b(h) + positive)


@pytest.mark.parametrize("cut", ["before:a", "a", "before:b", "b"])
def test_2_fx_refuses_a_graph_in_which_one_would_vanish(cut: str) -> None:
    known = planted(Unused())
    with pytest.raises(CutError, match="By fx: The operation 'mul_' may change a value in place"):
        split(known.module, cut, known.example, way="fx")
    assert_whole(known, split(known.module, cut, known.example))


def test_2_fx_refuses_a_head_that_shows_the_value_as_it_was() -> None:
    known = planted(Reused())
    with pytest.raises(CutError, match="By fx: the head returns another value than the one that passes there"):
        split(known.module, "before:b", known.example, way="fx")
    halves = split(known.module, "before:b", known.example)
    assert halves.head(known.batch(5)).min() >= 0
    assert_whole(known, halves)
    assert split(known.module, "a", known.example).head(known.batch(5)).min() < 0


@pytest.mark.slow
def test_2_the_model_that_was_wrong_by_2e_2_is_right_by_export() -> None:
    known = case("swin")
    halves = split(known.module, "before:layers.0.blocks.1.norm2", known.example, way="export")
    assert_whole(known, halves)
    assert_apart(known, halves)


# 3. Identity, Dropout and DropPath return their very input in eval mode.


class Aliases(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        import_torchvision()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 3)
        self.identity, self.dropout = nn.Identity(), nn.Dropout(0.5)
        self.drop_path = import_timm().layers.DropPath(0.5)

    def forward(self, x: Tensor) -> Tensor:
        h = self.drop_path(self.dropout(self.identity(self.a(x))))
        return self.b(h.relu())


@pytest.mark.parametrize("name", ["identity", "dropout", "drop_path"])
def test_3_a_name_that_does_nothing_is_refused_and_the_real_one_offered(name: str) -> None:
    module, example = Aliases(), noise(2, (4,), seed=0)
    with pytest.raises(
        CutError, match=f"'{name}' cannot be cut: it does nothing .* cut at 'a', the value it passes on"
    ):
        split(module, name, example)
    listed = {cut.name: cut.aliases for cut in cuts(module, example)}
    assert name not in listed
    assert all(name not in aliases for aliases in listed.values())
    assert listed["a"] == ("before:identity", "before:dropout", "before:drop_path")


# 4. An in-place operation right after the cut overwrites the activations.


class Overwrites(Parts):
    def forward(self, x: Tensor) -> Tensor:
        h = F.relu(self.a(x), inplace=True)
        h = self.b(h)
        h += 1
        return self.head(self.c(h).view(-1, 2, 2).relu_().flatten(1))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("cut", ["a", "b", "c"])
def test_4_activations_are_as_they_were_after_the_tail(cut: str, way: Way) -> None:
    known = planted(Overwrites())
    halves = split(known.module, cut, known.example, way=way)
    assert_whole(known, halves)
    assert_kept(known, halves.head(known.batch(5)), halves)


@pytest.mark.parametrize("cut", ["conv1", "bn1", "before:layer2.0.relu#2", "before:layer4.1.relu#2"])
def test_4_so_are_those_of_a_network_with_in_place_relus(cut: str) -> None:
    known = case("resnet18")
    halves = split(known.module, cut, known.example)
    assert_kept(known, halves.head(known.batch(2)), halves)


def assert_kept(known: Case, activations: Tensor, halves: Any) -> None:
    kept = activations.clone()
    version = activations._version
    first = halves.tail(activations)
    assert torch.equal(activations, kept)
    assert activations._version == version
    assert torch.equal(halves.tail(activations), first)
    # With gradients too, as a stitch is trained.
    leaf = kept.clone().requires_grad_(True)
    halves.tail(leaf).sum().backward()
    assert leaf.grad is not None
    assert leaf.grad.abs().sum() > 0


# 5. A module that is called twice needs an occurrence.


class Twice(Parts):
    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.b(self.a(self.b(self.a(x)).tanh())))


@pytest.mark.parametrize("way", WAYS)
def test_5_the_calls_of_a_module_are_places_of_their_own(way: Way) -> None:
    known = planted(Twice())
    places = ["before:a#1", "a#1", "b#1", "before:a#2", "a#2", "b#2"]
    assert [cut.name for cut in cuts(known.module, known.example)] == [*places, "head"]
    shown = []
    for cut in places[2:4] if way == "export" else places:
        halves = split(known.module, cut, known.example, way=way)
        assert halves.cut.name == cut
        assert_whole(known, halves)
        shown.append(halves.head(known.batch(2)))
    assert not any(torch.equal(x, y) for i, x in enumerate(shown) for y in shown[:i])


def test_5_its_name_alone_is_refused_with_the_choices() -> None:
    module, example = Twice(), noise(2, (4,), seed=0)
    with pytest.raises(CutError, match=r"'a' is called 2 times in one run.* Say which call: 'a#1' or 'a#2'\."):
        split(module, "a", example)
    with pytest.raises(CutError, match=r"Say which call: 'before:b#1' or 'before:b#2'\."):
        split(module, "before:b", example)
    with pytest.raises(CutError, match=r"There is no layer 'a#3' to cut: did you mean .*'a#[12]'"):
        split(module, "a#3", example)


def test_5_one_module_under_two_names_is_one_module() -> None:
    class Shared(Parts):
        def __init__(self) -> None:
            super().__init__()
            self.b = self.a

        def forward(self, x: Tensor) -> Tensor:
            return self.head(self.b(self.a(x).tanh()))

    known = planted(Shared())
    cut = next(cut for cut in cuts(known.module, known.example) if cut.name == "a#1")
    # Its 20 parameters are on either side.
    assert (cut.before, cut.after) == (20, 20 + 15)
    assert_whole(known, split(known.module, "a#1", known.example))


# 6. A trace shares its leaves with the model, and freezes `training` as it was.


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_6_the_statistics_of_the_users_model_are_not_those_of_the_halves(way: Way) -> None:
    known = case("narrow_resnet")
    before = copied(known)
    halves = split(known.module, "layer2", known.example, way=way)
    with adapting(halves.head, halves.tail, halves.model.module):
        halves.tail(halves.head(known.batch(5)))
        halves.answer(known.batch(5))
    assert all(torch.equal(before[name], value) for name, value in known.module.state_dict().items())
    adapted = halves.model.module.state_dict()
    assert any(not torch.equal(before[name], adapted[name]) for name in before if "running" in name)


class FunctionalDropout(Parts):
    def forward(self, x: Tensor) -> Tensor:
        h = F.dropout(self.a(x), 0.5, training=self.training)
        return self.head(F.dropout(self.b(h), 0.5, self.training))


@pytest.mark.parametrize("way", WAYS)
def test_6_a_model_in_training_mode_is_cut_as_in_eval_mode(way: Way) -> None:
    module = FunctionalDropout().train()
    x = noise(5, (4,), seed=1)
    halves = split(module, "b", noise(2, (4,), seed=0), way=way)
    assert module.training
    assert torch.equal(stitched(halves, x), stitched(halves, x))
    with torch.no_grad():
        assert torch.equal(stitched(halves, x), module.eval()(x))


# 7. The batch is not always the first axis; a cache is a second way past; tuples are cut at their first tensor.


def test_7_windows_are_no_batch() -> None:
    known = case("swin")
    place = "layers.0.blocks.0.attn"
    assert place not in {name for cut in cuts(known.module, known.example) for name in (cut.name, *cut.aliases)}
    with pytest.raises(
        CutError, match=rf"'{place}' cannot be cut: its first axis is not the batch \(shape \(8, 49, 24\)"
    ):
        split(known.module, place, known.example)


class TimeFirst(nn.Module):
    """Tokens first, then the batch, as PyTorch's own transformers take them."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.head = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        h = self.b(self.a(x).transpose(0, 1))
        return self.head(h.mean(0))


def test_7_an_example_with_as_many_samples_as_tokens_does_not_hide_it() -> None:
    module = TimeFirst()
    assert [cut.name for cut in cuts(module, noise(2, (2, 4), seed=0))] == ["before:a", "a", "before:head", "head"]
    with pytest.raises(CutError, match="'b' cannot be cut: its first axis is not the batch"):
        split(module, "b", noise(2, (2, 4), seed=0))


def test_7_a_language_model_is_cut_without_its_cache_and_keeps_its_own_setting() -> None:
    import_torchvision()
    import transformers

    config = transformers.GPT2Config(
        vocab_size=50, n_embd=16, n_layer=2, n_head=2, n_positions=16, bos_token_id=1, eos_token_id=1
    )
    with torch.random.fork_rng():
        torch.manual_seed(5)
        module = transformers.GPT2LMHeadModel(config).eval()
    assert module.config.use_cache
    ids = torch.randint(2, 50, (2, 6), generator=torch.Generator().manual_seed(0))
    halves = split(module, "transformer.h.0", {"input_ids": ids})
    assert torch.equal(stitched(halves, {"input_ids": ids[:1]}), module(input_ids=ids[:1], use_cache=False).logits)
    assert not halves.model.module.config.use_cache
    assert module.config.use_cache


class Tuples(nn.Module):
    """A part returns a tuple of which the second value is not used."""

    class Part(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(4, 4)

        def forward(self, x: Tensor) -> tuple[Tensor, Tensor, None]:
            h = self.linear(x).tanh()
            return h, h.mean(), None

    def __init__(self) -> None:
        super().__init__()
        self.part, self.head = Tuples.Part(), nn.Linear(4, 3)

    def forward(self, x: Tensor) -> tuple[Tensor, str]:
        return self.head(self.part(x)[0]), "the answer is the first tensor"


def test_7_a_tuple_is_cut_at_its_first_tensor() -> None:
    known = planted(Tuples())
    (cut,) = (cut for cut in cuts(known.module, known.example) if "part" in (cut.name, *cut.aliases))
    assert (cut.shape, cut.layout) == ((4,), "nd")
    for way in ("auto", "hooks"):
        halves = split(known.module, "part", known.example, way=way)  # type: ignore[arg-type]
        assert torch.equal(halves.head(known.batch(2)), known.module.get_submodule("part")(known.batch(2))[0])
        assert_whole(known, halves)


# 8. Graph modules are not to be pickled: a worker splits again.


@pytest.mark.slow
def test_8_a_split_is_made_again_from_its_record_in_another_process() -> None:
    model = load("zoo:lenet?channels=1")
    halves = split(model, "conv2")
    record = halves.as_record()
    code = f"""
import torch
from seamripper.cut import split
from seamripper.models import load
record = {record!r}
again = split(load(record["recipe"], input=tuple(record["input"])), record["cut"]["name"], way=record["way"])
assert again.fingerprint == record["fingerprint"] and again.cut.as_record() == record["cut"]
print(again.tail(again.head(torch.ones(3, *record["input"]))).double().sum().item())
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert float(ran.stdout) == pytest.approx(
        float(stitched(halves, torch.ones(3, 1, 28, 28)).double().sum()), rel=1e-5
    )


@pytest.mark.parametrize(("way", "cut"), [("fx", "layer2"), ("hooks", "before:layer3.0.relu#2")])
def test_8_again_is_the_same_split_of_a_copy_of_its_own(way: Way, cut: str) -> None:
    known = case("narrow_resnet")
    halves = split(known.module, cut, known.example, way=way)
    again = halves.again()
    assert (again.way, again.cut, again.fingerprint) == (way, halves.cut, halves.fingerprint)
    assert_whole(known, again)
    mine = {p.data_ptr() for p in halves.model.module.parameters()}
    assert mine.isdisjoint(p.data_ptr() for p in again.model.module.parameters())


# And found on the way: blanks lie in memory as the real values did, or kernels round differently.


def test_blanks_have_the_strides_of_what_they_stand_for() -> None:
    class Turned(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.turn, self.mix, self.norm = Turn(), nn.Conv1d(6, 6, 1), nn.LayerNorm(6)
            self.head = nn.Linear(6, 3)

        def forward(self, x: Tensor) -> Tensor:
            n = int(x.shape[1])  # Not to be traced.
            h = self.turn(x)
            h = h + self.mix(h.transpose(1, 2)).transpose(1, 2)
            return self.head(self.norm(h)).sum(1) / n

    class Turn(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x.contiguous().transpose(1, 2)

    known = images(Turned(), (6, 32))
    halves = split(known.module, "before:norm", known.example)
    assert halves.way == "hooks"
    given: list[tuple[int, ...]] = []
    norm = halves.model.module.get_submodule("norm")
    handle = norm.register_forward_pre_hook(lambda _, args: given.append(args[0].stride()))
    batch = known.batch(3)
    halves.answer(batch)
    halves.tail(halves.head(batch))
    handle.remove()
    assert given[0] == given[-1] != (32 * 6, 6, 1)
    assert_whole(known, halves)
