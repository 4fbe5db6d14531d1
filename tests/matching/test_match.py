"""A match: a frozen value that answers, is written to one file, and is read back to the bit or refused."""

from __future__ import annotations

import copy
import dataclasses
import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from seamripper._files import load_tensors, save_tensors
from seamripper.cut import split
from seamripper.data import Samples
from seamripper.errors import CheckpointError, DataError, FileError, MatchError
from seamripper.matching import (
    ClassMapping,
    Direct,
    EmbeddingMapping,
    Match,
    Matching,
    Regression,
    Task,
    Training,
    evaluate,
    match,
    matchings,
)
from seamripper.models import Model, load
from seamripper.stitches import stitches

QUICK = Training(epochs=2, batch=32)


def same(a: Match, b: Match, inputs: Tensor) -> None:
    """All that a match says and does."""
    assert torch.equal(a(inputs), b(inputs))
    assert a.as_record() == b.as_record()
    assert (a.stitch, a.matching, a.freeze, a.status) == (b.stitch, b.matching, b.freeze, b.status)
    assert a.curves.keys() == b.curves.keys()
    assert all(torch.equal(a.curves[k], b.curves[k]) for k in a.curves)
    assert torch.equal(a.fitted, b.fitted)


# ---- a value ----


def test_answers_as_the_stitched_network(make, stitched: Match) -> None:
    inputs = make.blobs(30, seed=4).inputs
    by_hand = stitched.receiver.tail(stitched.layer(stitched.sender.head(inputs)))
    assert torch.equal(stitched(inputs), by_hand)
    assert not stitched(inputs).requires_grad


def test_does_not_change_with_the_users_model(make) -> None:
    nets, fit = [make.trained(0), make.trained(1)], make.blobs(100)
    found = match(*(make.halves(net, "1", fit) for net in nets), fit, matching=Task(QUICK))
    before = found(fit.inputs)
    for net in nets:
        with torch.no_grad():
            for parameter in net.parameters():
                parameter.add_(1.0)
        net.train()
    assert torch.equal(found(fit.inputs), before)


def test_the_users_model_comes_back_as_it_was(make) -> None:
    net, fit = make.trained(0), make.blobs(100)
    net.train()
    net[0].weight.requires_grad_(False)
    seen: list[int] = []
    net[1].register_forward_hook(lambda *args: seen.append(1))
    state = copy.deepcopy(net.state_dict())
    halves = make.halves(net, "1", fit)
    match(halves, halves, fit, matching=Task(QUICK))
    assert all(module.training for module in net.modules())
    assert [p.requires_grad for p in net.parameters()] == [False, True, True, True, True, True]
    assert len(net[1]._forward_hooks) == 1
    assert all(torch.equal(state[k], v) for k, v in net.state_dict().items())


def test_cannot_be_assigned_to(stitched: Match) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        stitched.status = "better"  # type: ignore[misc]


def test_the_record_is_json_and_says_what_it_was_made_from(make, pair, stitched: Match) -> None:
    record = json.loads(json.dumps(stitched.as_record()))
    assert record["stitch"] == {"name": "affine", "bias": True}
    assert record["matching"]["name"] == "task"
    assert record["made_from"]["seed"] == 0
    assert record["made_from"]["fit"]["n"] == 300
    assert record["made_from"]["fit"]["fingerprint"] == make.blobs(300).fingerprint
    assert record["made_from"]["sender"] == pair[0].fingerprint == record["sender"]["fingerprint"]
    assert record["made_from"]["torch"] == torch.__version__


# ---- to a file and back ----


@pytest.mark.slow
@pytest.mark.parametrize("freeze", ["all", "weights"])
@pytest.mark.parametrize("stitch", ["affine", "bn_affine", "orthogonal", "low_rank"])
def test_zoo_models_load_by_name_alone(make, tmp_path: Path, stitch: str, freeze: str) -> None:
    fit = make.images(64)
    sender, receiver = (make.halves(make.resnet(seed), "layer2", fit) for seed in (0, 1))
    choice = stitches.make("low_rank", rank=3) if stitch == "low_rank" else stitch
    found = match(sender, receiver, fit, stitch=choice, matching=Task(QUICK), freeze=freeze)
    found.save(tmp_path / "match.safetensors")
    same(Match.load(tmp_path / "match.safetensors"), found, make.images(20, seed=3).batch(slice(None)))


@pytest.mark.slow
@pytest.mark.parametrize("stitch", ["identity", "affine", "bn_affine", "conv", "orthogonal"])
def test_loading_leaves_the_global_generator_alone(make, tmp_path: Path, stitch: str) -> None:
    fit = make.images(20)
    sender, receiver = (make.halves(make.resnet(seed), "layer2", fit) for seed in (0, 1))
    match(sender, receiver, fit, stitch=stitch, matching=Task(Training(epochs=0))).save(tmp_path / "match.safetensors")
    for seed in (5, 6):
        torch.manual_seed(seed)
        before = torch.get_rng_state()
        Match.load(tmp_path / "match.safetensors")
        assert torch.equal(torch.get_rng_state(), before)


def test_timm_models_load_by_name_alone(make, tmp_path: Path) -> None:
    fit = make.images(40, side=32)
    sender, receiver = (
        split(load(f"timm:test_resnet?num_classes=3&seed={seed}", input=(3, 32, 32)), "layer2") for seed in (0, 1)
    )
    found = match(sender, receiver, fit, matching=Direct())
    found.save(tmp_path / "match.safetensors")
    same(Match.load(tmp_path / "match.safetensors"), found, make.images(20, seed=3, side=32).batch(slice(None)))


def test_a_zoo_sender_into_a_timm_vit(make, tmp_path: Path) -> None:
    """Maps into tokens, two libraries, double precision: the file keeps each as it was."""
    fit = make.images(40, side=32)
    vit = load("timm:test_vit?num_classes=3&img_size=32")
    resnet = make.resnet(0)
    for model in (vit, resnet):
        model.module.double()
    inputs = fit.batch(slice(None)).double()
    doubles = Samples("doubles", inputs, fit.labels, fit.ids, classes=3)
    found = match(split(resnet, "layer1", inputs), split(vit, "blocks.1", inputs), doubles, matching=Direct())
    found.save(tmp_path / "match.safetensors")
    loaded = Match.load(tmp_path / "match.safetensors")
    assert loaded(inputs).dtype == torch.float64
    same(loaded, found, inputs)


def test_bare_modules_are_given(make, tmp_path: Path, stitched: Match) -> None:
    path = tmp_path / "match.safetensors"
    stitched.save(path)
    with pytest.raises(FileError, match=r"sender that seamripper cannot build by itself \(Sequential\): pass it"):
        Match.load(path)
    given = make.mlp(55), make.mlp(56)
    with pytest.raises(FileError, match=r"Match.load\(path, receiver=model\)"):
        Match.load(path, sender=given[0])
    states = [copy.deepcopy(net.state_dict()) for net in given]
    loaded = Match.load(path, sender=given[0], receiver=Model(given[1], "mine"))
    same(loaded, stitched, make.blobs(30, seed=4).inputs)
    for net, state in zip(given, states, strict=True):
        assert all(torch.equal(state[k], v) for k, v in net.state_dict().items()), "the given module was changed"
        assert all(p.requires_grad for p in net.parameters())


def test_bare_modules_that_do_not_fit(make, tmp_path: Path, stitched: Match) -> None:
    stitched.save(tmp_path / "match.safetensors")
    with pytest.raises(CheckpointError, match=r"do not fit Sequential.*of another shape: 0\.weight"):
        Match.load(tmp_path / "match.safetensors", sender=make.mlp(0, width=12), receiver=make.mlp(1))


def test_regression_and_label_maps_survive(make, pair, tmp_path: Path) -> None:
    fit = make.blobs(100)
    ways = (
        Regression(Training(epochs=1, schedule="steps", drops=(0.5,))),
        Task(Training(epochs=1, optimiser="sgd", l1=1e-3), label_map=(1, 2, 0), loss="bce", init="identity"),
        Direct(rank=3, ridge=0.5),
    )
    for way in ways:
        found = match(*pair, fit, matching=way)
        found.save(tmp_path / "match.safetensors")
        given = {"sender": make.mlp(0), "receiver": make.mlp(1)}
        same(Match.load(tmp_path / "match.safetensors", **given), found, fit.inputs)


def test_a_loaded_match_still_knows_its_samples(make, tmp_path: Path, stitched: Match) -> None:
    stitched.save(tmp_path / "match.safetensors")
    loaded = Match.load(tmp_path / "match.safetensors", sender=make.mlp(0), receiver=make.mlp(1))
    with pytest.raises(DataError, match="50 of the 50 samples"):
        evaluate(loaded, make.blobs(50))
    assert evaluate(loaded, make.blobs(50, seed=3, first_id=7000)).n == 50


# ---- files that are not what they say ----


@pytest.fixture
def saved(make, tmp_path: Path) -> Path:
    fit = make.images(40)
    sender, receiver = (make.halves(make.resnet(seed), "layer2", fit) for seed in (0, 1))
    match(sender, receiver, fit, matching=Direct()).save(tmp_path / "match.safetensors")
    return tmp_path / "match.safetensors"


@pytest.mark.parametrize("tensor", ["sender.conv1.weight", "receiver.fc.bias", "stitch.linear.weight", "fitted"])
def test_a_flipped_bit_is_refused(saved: Path, tensor: str) -> None:
    raw = bytearray(saved.read_bytes())
    length = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8 : 8 + length])
    raw[8 + length + header[tensor]["data_offsets"][0]] ^= 1
    saved.write_bytes(raw)
    with pytest.raises(FileError, match="is not as it was written: its tensors or its record were changed"):
        Match.load(saved)


def test_a_changed_record_is_refused(saved: Path) -> None:
    raw = saved.read_bytes()
    forged = raw.replace(rb"\"seed\": 0", rb"\"seed\": 1", 1)
    assert forged != raw
    saved.write_bytes(forged)
    with pytest.raises(FileError, match="is not as it was written"):
        Match.load(saved)


def forge(path: Path, change: Callable[[dict, dict], None]) -> None:
    """Change a match and seal it again, as one who means it would."""
    tensors, record = load_tensors(path, kind="match")
    change(tensors, record)
    save_tensors(path, tensors, record, kind="match")


def test_other_weights_than_the_match_was_made_with(saved: Path) -> None:
    forge(saved, lambda tensors, record: tensors["sender.conv1.weight"].add_(1e-3))
    with pytest.raises(FileError, match=r"sender's weights in .* are not those that the match was made with"):
        Match.load(saved)


def test_weights_that_are_missing(saved: Path) -> None:
    forge(saved, lambda tensors, record: tensors.pop("receiver.fc.bias"))
    with pytest.raises(CheckpointError, match=r"1 missing: fc\.bias"):
        Match.load(saved)


def test_a_file_cut_short(saved: Path) -> None:
    whole = saved.read_bytes()
    for keep in (0, 5, 100, len(whole) // 2, len(whole) - 1):
        saved.write_bytes(whole[:keep])
        with pytest.raises(FileError, match=r"cut short|not a safetensors file"):
            Match.load(saved)


def test_other_kinds_of_files(make, tmp_path: Path) -> None:
    file = tmp_path / "other.safetensors"
    save_tensors(file, {"w": torch.zeros(2)}, {}, kind="model")
    with pytest.raises(FileError, match="to hold a match, but it holds a model"):
        Match.load(file)
    save_file({"w": torch.zeros(2)}, file)
    with pytest.raises(FileError, match="a safetensors file that seamripper did not write"):
        Match.load(file)
    file.write_bytes(b"PK\x03\x04 not at all" * 10)
    with pytest.raises(FileError, match="is not a safetensors file"):
        Match.load(file)
    with pytest.raises(FileError, match="There is no file"):
        Match.load(tmp_path / "nothing.safetensors")


# ---- nothing that a file names is run ----


@pytest.fixture
def evil(tmp_path: Path) -> tuple[Path, Path]:
    """A Python file that leaves a mark whenever it is run, and the mark."""
    mark, file = tmp_path / "mark", tmp_path / "nets.py"
    file.write_text(
        f"from pathlib import Path\nPath({str(mark)!r}).touch()\n"
        "from torch import nn\n"
        "def make():\n    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))\n"
    )
    return file, mark


def test_a_file_of_code_is_not_run_on_load(make, pair, tmp_path: Path, evil: tuple[Path, Path]) -> None:
    file, mark = evil
    fit = make.blobs(60)
    factory = load(f"{file}:make")
    assert mark.exists()
    found = match(make.halves(factory, "1", fit), make.halves(factory, "1", fit), fit, matching=Direct())
    found.save(tmp_path / "match.safetensors")
    mark.unlink()
    with pytest.raises(FileError, match=r"cannot build by itself \(.*nets\.py:make\): pass it"):
        Match.load(tmp_path / "match.safetensors")
    assert not mark.exists()
    loaded = Match.load(tmp_path / "match.safetensors", sender=factory, receiver=factory)
    same(loaded, found, fit.inputs)
    assert not mark.exists()


@pytest.mark.parametrize(
    "recipe",
    [
        "{file}:make",
        "hf:{folder}?pretrained=0",
        "{folder}/match.safetensors",
        "zoo:R_1111?weights={folder}/match.safetensors",
        "timm:test_resnet?pretrained=1",
        "torchvision:resnet18?pretrained=1",
    ],
)
def test_a_forged_recipe_is_not_followed(saved: Path, evil: tuple[Path, Path], recipe: str) -> None:
    file, mark = evil
    named = recipe.format(file=file, folder=file.parent)
    forge(saved, lambda tensors, record: record["sender"].update(recipe=named))
    with pytest.raises(FileError, match="sender that seamripper cannot build by itself"):
        Match.load(saved)
    assert not mark.exists()


# ---- choosing ----


def test_all_matchings_are_found() -> None:
    assert list(matchings) == ["class_mapping", "direct", "downstream", "embedding_mapping", "regression", "task"]
    assert all(cls.name == name for name, cls in matchings.items())


@pytest.mark.parametrize(
    "way",
    [
        Direct(),
        Direct(form="orthogonal", rtol=1e-8),
        Regression(Training(lr=0.5), init="direct"),
        Task(Training(schedule="cosine", warmup=0.2), label_map=(2, 0, 1), augment="flip_crop"),
        ClassMapping(),
        ClassMapping(Training(lr=0.5), label_map=(2, 0, 1)),
        EmbeddingMapping(Training(epochs=3), squared=False),
    ],
    ids=str,
)
def test_records_survive_json(way: Matching) -> None:
    assert matchings.from_record(json.loads(json.dumps(way.as_record()))) == way


@pytest.mark.parametrize(
    ("name", "rate"), [("class_mapping", 1e-2), ("embedding_mapping", 1e-5), ("task", 1e-3), ("regression", 1e-3)]
)
def test_what_a_record_does_not_say_of_a_training_is_the_matchings_own(name: str, rate: float) -> None:
    way = matchings.from_record({"name": name, "training": {"epochs": 2, "schedule": "cosine"}})
    assert way.training == dataclasses.replace(matchings[name]().training, epochs=2, schedule="cosine")
    assert way.training.lr == rate


def test_wrong_names_and_options() -> None:
    with pytest.raises(MatchError, match="no matching 'tusk': did you mean 'task'"):
        matchings.make("tusk")
    with pytest.raises(MatchError, match="The matching 'direct' has no option 'rigde': did you mean 'ridge'"):
        matchings.make("direct", rigde=0.1)


class Halve(nn.Module):
    """Not of any package."""

    def forward(self, x: Tensor) -> Tensor:
        return x / 2


def test_an_unknown_source_is_given_too(make, tmp_path: Path) -> None:
    """A `Model` that was made in memory says where from in its own words; no recipe can be read from them."""
    fit = make.blobs(60)
    net = nn.Sequential(Halve(), nn.Linear(8, 4), nn.ReLU(), nn.Linear(4, 3))
    found = match(make.halves(Model(net, "memory"), "2", fit), make.halves(net, "2", fit), fit, matching=Direct())
    found.save(tmp_path / "match.safetensors")
    with pytest.raises(FileError, match=r"\(memory\): pass it"):
        Match.load(tmp_path / "match.safetensors")
    same(Match.load(tmp_path / "match.safetensors", sender=net, receiver=net), found, fit.inputs)
