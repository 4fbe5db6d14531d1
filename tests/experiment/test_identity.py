"""What words stand for: files by what is in them, wherever they are, and answers that are remembered no longer than
they hold."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image
from torch import nn

from seamripper.errors import CutError, ExperimentError
from seamripper.experiment import Experiment, Network, identity as identity_module, job as job_module
from seamripper.experiment.identity import Identities, identity_of
from seamripper.experiment.plan import expand
from seamripper.models import Model, load
from seamripper.models.checkpoint import save_checkpoint

R = "zoo:R_1111?width=0.125"
MINE = """
from dataclasses import dataclass

import torch
from torch.nn import functional as F

import seamripper as sr
from seamripper.measures import Measure


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Conv2d(3, 4, 8, 8)
        self.last = torch.nn.Linear(4, 10)

    def forward(self, x):
        return self.last(F.relu(self.first(x)).mean((2, 3)))


def net():
    return Net()


@dataclass(frozen=True)
class Mine(Measure):
    name = "mine"
    paper = "nobody 2025"

    @property
    def claims(self):
        return sr.Claims("distance", True, (0.0, float("inf")), 0.0, frozenset(), varying=False)

    def of(self, pair):
        return 0.0


def figures(x):
    return {"x": x}
"""
STUDY = """
data = {name = "folder:photos"}
[models.checkpoint]
load = "theirs.safetensors"
[models.weights]
load = "zoo:R_1111?width=0.125&weights=weights.pt"
[models.factory]
load = "mine.py:net"
[[compare]]
senders = ["checkpoint"]
receivers = ["checkpoint"]
cuts = ["layer1"]
[[compare]]
senders = ["weights"]
receivers = ["weights"]
cuts = ["layer1"]
[[compare]]
senders = ["factory"]
receivers = ["factory"]
cuts = ["first"]
[[compare]]
senders = ["weights"]
receivers = ["weights"]
cuts = ["layer2"]
measures = ["mine.py:Mine"]
[[call]]
function = "mine.py:figures"
args = {x = 1}
"""
JOBS = ("call", "checkpoint", "weights", "factory", "measure")


def write_weights(folder: Path, *, seed: int) -> None:
    save_checkpoint(load(f"{R}&seed={seed}"), folder / "theirs.safetensors")


def photo(path: Path, grey: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (8, 8), (grey, grey, grey)).save(path)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study's folder, with files of every kind that it may name."""
    folder = tmp_path_factory.mktemp("made") / "study"
    for k in range(3):
        photo(folder / "photos" / "train" / "cats" / f"{k}.png", 10 * k)
        photo(folder / "photos" / "test" / "cats" / f"{k}.png", 10 * k + 5)
    write_weights(folder, seed=1)
    torch.save(load(f"{R}&seed=2").module.state_dict(), folder / "weights.pt")
    (folder / "mine.py").write_text(MINE)
    (folder / "study.toml").write_text(STUDY)
    return folder


@pytest.fixture
def study(made: Path, tmp_path: Path) -> Path:
    """The same, to be changed."""
    return shutil.copytree(made, tmp_path / "study")


def keys(folder: Path, memo: dict[str, Any]) -> dict[str, str]:
    """The key of each job of the study."""
    experiment = Experiment.read(folder / "study.toml")
    graph = expand(experiment, Identities(memo, folder=experiment.folder))
    assert len(graph) == len(JOBS)
    return dict(zip(JOBS, graph.jobs, strict=True))


def later(path: Path) -> None:
    """Files change at another time than they were made at, even if a test is too quick for the clock."""
    stat = path.stat()
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns + 1_000_000))


# ---- files


def test_moving_the_folder_keeps_the_keys(study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memo: dict[str, Any] = {}
    before = keys(study, memo)
    assert len(set(before.values())) == len(JOBS)
    moved = tmp_path / "else where" / "deeper"
    moved.parent.mkdir()
    study.rename(moved)
    monkeypatch.chdir(tmp_path)
    assert keys(moved, memo) == before
    # And with nothing remembered, as on another machine.
    assert keys(Path("else where/deeper"), {}) == before


def test_what_a_job_is_told_of_where_things_are_holds_from_anywhere(study: Path) -> None:
    experiment = Experiment.read(study / "study.toml")
    for job in expand(experiment, Identities({}, folder=experiment.folder)):
        assert str(study) not in json.dumps(job.content)
        assert str(study) not in json.dumps(job.labels)
        places = [at.get("load", at.get("name")) for at in job.where.values() if isinstance(at, dict)]
        assert all(str(study.resolve()) in place for place in places)


CHANGES = {
    "a comment in the user's file": ("mine.py", {"factory", "measure", "call"}),
    "an image": ("photos/test/cats/1.png", {"checkpoint", "weights", "factory", "measure"}),
    "one more image": ("photos/test/cats/9.png", {"checkpoint", "weights", "factory", "measure"}),
    "the checkpoint's weights": ("theirs.safetensors", {"checkpoint"}),
    "the file of weights": ("weights.pt", {"weights", "measure"}),
    "an image of the other split": ("photos/train/cats/1.png", set()),
    "the time alone": (None, set()),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", CHANGES)
def test_a_file_that_was_changed_makes_other_jobs_of_those_that_use_it(study: Path, what: str) -> None:
    memo: dict[str, Any] = {}
    before = keys(study, memo)
    name, changed = CHANGES[what]
    if name is None:
        for path in study.rglob("*.*"):
            later(path)
    else:
        path = study / name
        if name == "mine.py":
            path.write_text(MINE + "# a comment\n")
        elif name == "theirs.safetensors":
            write_weights(study, seed=7)
        elif name == "weights.pt":
            torch.save(load(f"{R}&seed=7").module.state_dict(), path)
        else:
            photo(path, 77)
        later(path)
    after = keys(study, memo)
    assert {job for job in JOBS if after[job] != before[job]} == changed
    assert keys(study, {}) == after


def test_what_the_code_of_a_model_does_counts_even_if_no_weight_and_no_module_tells_of_it(study: Path) -> None:
    one = identity_of(load(f"{study / 'mine.py'}:net"))
    (study / "mine.py").write_text(MINE.replace("F.relu", "F.gelu"))
    assert identity_of(load(f"{study / 'mine.py'}:net")) != one


def test_modules_without_weights_count() -> None:
    def of(*more: nn.Module) -> str:
        torch.manual_seed(0)
        return identity_of(Model(nn.Sequential(nn.Linear(3, 2), *more), "memory"))

    assert of(nn.ReLU()) == of(nn.ReLU())
    assert len({of(), of(nn.ReLU()), of(nn.GELU()), of(nn.Dropout(0.1)), of(nn.Dropout(0.2))}) == 5


def test_the_place_of_an_object_in_memory_does_not_count() -> None:
    class Odd(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.thing = object()

        def extra_repr(self) -> str:
            return repr(self.thing)

    one, other = (Model(nn.Sequential(Odd()), "memory") for _ in range(2))
    assert repr(one.module) != repr(other.module)
    assert identity_of(one) == identity_of(other)


def test_a_loaded_model_is_known_by_what_it_is_not_by_how_it_was_asked_for(tmp_path: Path) -> None:
    torch.save(load(R).module.state_dict(), tmp_path / "w.pt")
    words = Identities({}, folder=str(tmp_path))
    found = {words.loaded_model(spec)["fingerprint"] for spec in (R, f"{R}&seed=0", f"{R}&seed=1&weights=w.pt")}
    assert len(found) == 1
    assert words.loaded_model(f"{R}&seed=1")["fingerprint"] not in found


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "mine.py").touch()
    with pytest.raises(ExperimentError) as e:
        Identities({}, folder=str(tmp_path)).file("mien.py")
    assert str(e.value) == f"There is no file {tmp_path.resolve()}/mien.py. In that folder there are: mine.py."


def test_too_many_files_to_look_at(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = Identities({}, folder=str(study))
    assert words.data("folder:photos", "test", None, 0)["n"] == 3
    monkeypatch.setattr(identity_module, "_MOST", 5)
    with pytest.raises(ExperimentError, match="photos has more than 5 files: too many to see whether any has changed"):
        words.data("folder:photos", "test", None, 0)


# ---- names with paths in them


@pytest.mark.parametrize(
    ("name", "located"),
    [
        ("digits/digit", "digits/digit"),
        ("mnist", "mnist"),
        (R, R),
        ("timm:resnet18?pretrained=1", "timm:resnet18?pretrained=1"),
        ("torchvision:resnet18", "torchvision:resnet18"),
        ("imagenet:mobilenet_v2", "imagenet:mobilenet_v2"),
        ("imagenet:mobilenet_v2?input=3x64x64", "imagenet:mobilenet_v2?input=3x64x64"),
        ("recordings:words", "recordings:{0}/words"),
        ("folder:photos", "folder:{0}/photos"),
        ("folder:../photos", "folder:{1}/photos"),
        ("folder:/photos", "folder:/photos"),
        ("theirs.safetensors", "{0}/theirs.safetensors"),
        ("sub/theirs.safetensors", "{0}/sub/theirs.safetensors"),
        ("mine.py:net", "{0}/mine.py:net"),
        ("mine.py:net?depth=2", "{0}/mine.py:net?depth=2"),
        ("mine.py:net?depth=2&weights=w.pt", "{0}/mine.py:net?depth=2&weights={0}/w.pt"),
        ("zoo:lenet?weights=sub/w.pt&channels=1", "zoo:lenet?weights={0}/sub/w.pt&channels=1"),
        ("timm:resnet18?weights=/w.pt", "timm:resnet18?weights=/w.pt"),
        ("hf:there", "hf:{0}/there"),
        ("hf:there?head=causal-lm", "hf:{0}/there?head=causal-lm"),
        ("hf:prajjwal1/bert-tiny", "hf:prajjwal1/bert-tiny"),
    ],
)
def test_paths_count_from_the_studys_folder(tmp_path: Path, name: str, located: str) -> None:
    folder = (tmp_path / "study").resolve()
    (folder / "there").mkdir(parents=True)
    found = Identities({}, folder=str(folder)).absolute_name(name)
    assert found == located.format(folder, folder.parent)
    # What is found once is found again from anywhere.
    assert Identities({}, folder="/").absolute_name(found) == found


def test_the_users_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert Identities({}, folder="/study").absolute_name("folder:~/photos") == f"folder:{tmp_path.resolve()}/photos"


# ---- answers that are remembered


def test_what_a_model_is_made_for_and_how_many_classes_it_tells_apart() -> None:
    memo: dict[str, Any] = {}
    words = Identities(memo)
    assert words.made_for("zoo:lenet?channels=1") == {"input": [1, 28, 28]}
    assert words.made_for(R) == {"input": []}
    assert words.made_for(f"{R}&input=3x20x20") == {"input": [3, 20, 20]}
    assert words.classes({"loaded": "x"}, f"{R}&classes=7", [3, 28, 28]) == 7
    asked = len(memo)
    # Remembered, by what the model is and not by what it is called.
    assert words.made_for(R) == {"input": []}
    assert words.classes({"loaded": "x"}, "zoo:no such", [3, 28, 28]) == 7
    assert len(memo) == asked
    assert json.loads(json.dumps(memo)) == memo


def test_what_a_model_is_made_for_is_asked_again_of_a_file_that_has_changed(study: Path) -> None:
    words = Identities({}, folder=str(study))
    assert words.made_for("theirs.safetensors") == {"input": []}
    save_checkpoint(load("zoo:lenet"), study / "theirs.safetensors")
    later(study / "theirs.safetensors")
    assert words.made_for("theirs.safetensors") == {"input": [3, 28, 28]}


@pytest.mark.parametrize(
    ("spec", "shape", "message"),
    [
        (
            R,
            [1, 28, 28],
            r"does not run on inputs of shape 1x28x28: .* to have 3 channels, but got 1 channels instead\.$",
        ),
        ("zoo:autoencoder?channels=1", [1, 28, 28], r"answers with shape \[1, 28, 28\], and not with classes\.$"),
    ],
)
def test_a_model_that_tells_no_classes_apart(spec: str, shape: list[int], message: str) -> None:
    memo: dict[str, Any] = {}
    # That no path follows "zoo:" is remembered before.
    Identities(memo).absolute_name(spec)
    before = dict(memo)
    for _ in range(2):
        with pytest.raises(ExperimentError, match=message):
            Identities(memo).classes({"loaded": "x"}, spec, shape)
    assert memo == before


def test_an_answer_is_looked_for_once_and_kept_as_json() -> None:
    memo: dict[str, Any] = {}
    first = Identities(memo).data("digits/digit", "test", 16, 0)
    assert first["n"] == 16
    assert first["shape"] == [3, 28, 28]
    assert first["classes"] == 10
    kept = json.loads(json.dumps(memo))
    assert kept == memo
    (question,) = kept
    kept[question] = {**first, "n": 17}
    assert Identities(kept).data("digits/digit", "test", 16, 0)["n"] == 17


def test_questions_that_differ_have_answers_of_their_own() -> None:
    words = Identities({})
    asked = [("digits/digit", "test", 16, 0), ("digits/colour", "test", 16, 0), ("digits/digit", "train", 16, 0)]
    asked += [("digits/digit", "test", 17, 0), ("digits/digit", "test", 16, 1), ("digits/digit", "test", None, 0)]
    assert len({words.data(*one)["fingerprint"] for one in asked}) == len(asked)
    assert len(words.memo) == len(asked)


def test_what_could_not_be_found_is_looked_for_again() -> None:
    words, found = Identities({}), []

    def look() -> str:
        found.append(1)
        if len(found) == 1:
            raise ExperimentError("not yet")
        return "there"

    with pytest.raises(ExperimentError, match="not yet"):
        words.remember(["thing", "x"], look)
    assert [words.remember(["thing", "x"], look) for _ in range(3)] == ["there"] * 3
    assert len(found) == 2
    words.remember(["thing", "y"], look)
    words.remember(["other thing", "x"], look)
    assert len(found) == 4


def test_what_another_version_has_answered_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    words = Identities({})
    assert words.remember(["thing", "x"], lambda: "old") == "old"
    monkeypatch.setattr(job_module, "NUMBERS", job_module.NUMBERS + 1)
    job_module.decides.cache_clear()
    try:
        assert words.remember(["thing", "x"], lambda: "new") == "new"
    finally:
        monkeypatch.undo()
        job_module.decides.cache_clear()
    assert words.remember(["thing", "x"], lambda: "newer") == "old"


def test_a_network_is_its_architecture_and_the_whole_recipe() -> None:
    words = Identities({})
    found = words.network(Network(train="R_1111?width=0.125&classes=10", data="digits", training="?lr=0.5", seeds=(4,)))
    assert found["architecture"] == R
    assert found["training"] == {
        "optimiser": "sgd",
        "lr": 0.5,
        "momentum": 0.9,
        "weight_decay": 1e-4,
        "batch": 128,
        "epochs": 4,
        "schedule": "constant",
        "warmup": 0.0,
        "drops": [1 / 3, 2 / 3],
        "l1": 0.0,
    }
    assert words.network(Network(train=R, data="mnist", training="?lr=0.5")) == found


def test_cuts_are_looked_for_in_the_model_that_they_are_of() -> None:
    words = Identities({})
    model, shape = {"architecture": R}, [3, 28, 28]
    words.require_cuts(model, R, ["layer1", "fc"], shape)
    words.cut_names(model, R, ["layer*", "fc"], shape)
    words.cut_names(model, R, None, shape)
    for _ in range(2):
        with pytest.raises(CutError, match="did you mean 'layer4'"):
            words.require_cuts(model, R, ["layer1", "layer5"], shape)
        with pytest.raises(CutError, match=r"No cut matches 'layr\*'"):
            words.cut_names(model, R, ["layr*"], shape)
