"""Sources of models: third parties' own, in Python, on the command line and in a study; and broken ones."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from safetensors.torch import save_file

import seamripper as sr
from seamripper.errors import CheckpointError, ModelError
from seamripper.experiment import table
from seamripper.experiment.identity import Identities
from seamripper.models import Architecture, ModelSource, architectures, recipe_of, save_checkpoint, source_of, sources

PACKAGE = '''
from dataclasses import dataclass
from typing import Literal

from torch import nn

from seamripper.models import Architecture, Model, ModelSource


class Net(nn.Sequential):
    def __init__(self, *, channels=3, classes=10, width=4):
        super().__init__(nn.Conv2d(channels, width, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                         nn.Linear(width, classes))


@dataclass(frozen=True)
class Mine(ModelSource):
    """Networks of somebody else's."""

    name, about, buildable = "mine", "a network of somebody else's", True
    width: int = 4
    act: Literal["relu", "gelu"] = "relu"

    def build(self):
        if self.model != "net":
            raise ValueError(self.model)
        module = Net(width=self.width)
        for parameter in module.parameters():
            nn.init.constant_(parameter, 0.1 * (1 + self.seed))
        return Model(module, self.label, input=(3, 28, 28), classes=10)


@dataclass(frozen=True)
class Theirs(Architecture):
    """A network of somebody else's."""

    name, network = "theirs", Net
    classes: int = 10
    width: int = 4


@dataclass(frozen=True)
class Half(ModelSource):
    name, about = "half", "it builds nothing"
'''
STUDY = """
data = { name = "digits/correlated", n = 64, n_test = 32 }
[models.net]
load = "mine:net?width=8"
[[stitch]]
senders = ["net"]
receivers = ["net"]
matchings = ["direct"]
cuts = ["1"]
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A distribution as pip leaves it, on the path of this process and of others; and entry points that fail."""
    site = tmp_path / "site"
    info = site / "third_models-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "third_models.py").write_text(PACKAGE)
    (site / "third_models_broken.py").write_text("import no_such_library\n")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: third-models\nVersion: 1.0\n")
    bad = "bad = third_models_broken:X"
    (info / "entry_points.txt").write_text(
        f"[seamripper.models]\nmine = third_models:Mine\nhalf = third_models:Half\nzoo = third_models:Mine\n{bad}\n"
        f"[seamripper.models.zoo]\ntheirs = third_models:Theirs\n{bad}\n"
    )
    monkeypatch.syspath_prepend(site)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(site), *sys.path]))
    monkeypatch.chdir(tmp_path)
    for registry in (sources, architectures):
        registry.reload()
    yield tmp_path
    monkeypatch.undo()
    for registry in (sources, architectures):
        registry.reload()


def test_a_third_partys_models_are_loaded_by_their_words(installed: Path) -> None:
    model = sr.load("mine:net?width=8&seed=1")
    assert (model.source, model.input, model.classes) == ("mine:net?width=8&seed=1", (3, 28, 28), 10)
    assert model.module[0].weight.shape[0] == 8  # type: ignore[index]
    assert recipe_of(model) == "mine:net?width=8"
    assert sr.load("mine:net?width=8").fingerprint != model.fingerprint
    save_file(model.module.state_dict(), installed / "w.safetensors")
    assert sr.load("mine:net?width=8", weights=installed / "w.safetensors").fingerprint == model.fingerprint
    source = source_of("mine:net?act=gelu")
    assert (source.name, source.label, isinstance(source, ModelSource)) == ("mine", "mine:net?act=gelu", True)


@pytest.mark.parametrize(
    ("word", "says"),
    [
        ("mine:net?widht=8", "The model source 'mine' has no option 'widht': did you mean 'width'? Its options are"),
        ("mine:net?width=wide", "Expected width of the model source 'mine' to be a whole number, but got 'wide'."),
        ("mine:net?act=tanh", "Expected act of the model source 'mine' to be 'relu' or 'gelu', but got 'tanh'."),
        ("mine:", "The model source 'mine' needs a model: 'mine:MODEL'."),
        ("mien:net", "For 'mien', did you mean 'mine'"),
        ("bad:net", "The model source 'bad' cannot be used: third_models_broken:X could not be imported: Module"),
        (
            "half:net",
            "The model source 'half' cannot be used: third_models:Half is not a complete model source: it does not",
        ),
        ("zoo:thiers", "There is no zoo network 'thiers': did you mean 'theirs'"),
        ("zoo:bad", "The zoo network 'bad' cannot be used: third_models_broken:X could not be imported: Module"),
    ],
)
def test_wrong_words_get_the_messages_of_every_choice(installed: Path, word: str, says: str) -> None:
    with pytest.raises(ModelError) as caught:
        sr.load(word)
    assert says in str(caught.value)


def test_a_network_of_the_zoo_can_be_a_third_partys(installed: Path) -> None:
    samples = sr.load_data("digits", "train", n=32)
    trained = sr.train("theirs?width=8", samples, training="smith?epochs=1", out=installed / "theirs.safetensors")
    assert sr.load(installed / "theirs.safetensors").fingerprint == trained.fingerprint
    assert recipe_of(sr.load("zoo:theirs?width=8")) == Architecture.parse("theirs", width=8).spec


@pytest.mark.slow
def test_third_partys_models_on_the_command_line(installed: Path) -> None:
    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "seamripper", *words]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    listed = json.loads(run("list", "models", "--json").stdout)
    assert listed["models"]["mine:MODEL"]["about"] == "a network of somebody else's"
    assert listed["models"]["mine:MODEL"]["options"]["width"] == 4
    assert listed["models"]["zoo:theirs"]["options"] == {"channels": 3, "classes": 10, "width": 4}
    assert listed["broken"]["zoo"] == "third_models:Mine registers it, but the name is taken."
    assert {"bad", "half", "zoo:bad"} <= set(listed["broken"])
    cuts = run("cuts", "mine:net?width=8", "--json")
    assert cuts.returncode == 0, cuts.stderr
    assert [8, 26, 26] in [cut["shape"] for cut in json.loads(cuts.stdout)["cuts"]]


@pytest.mark.slow
def test_third_partys_models_in_a_study(installed: Path) -> None:
    (installed / "study.toml").write_text(STUDY)
    study = sr.Experiment.read(installed / "study.toml")
    # Neither its name nor that of a folder beside it is taken for a path.
    outcome = sr.run(study, installed / "store", engine="local?workers=1")
    assert not outcome.failed
    with sr.Store(installed / "store") as store:
        values = {row["figure"]: row["value"] for row in table(store)[1]}
    assert values["agreement"] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("word", "path"),
    [
        *(("zoo:net", False), ("timm:net", False), ("torchvision:net", False), ("imagenet:net", False)),
        *(("musicnn:net", False), ("hf:net", True), ("hf:nowhere", False), ("mine:net", True), ("mine:nowhere", False)),
        *(("bad:net", True), ("bad:nowhere", False), ("checkpoint:nowhere", True), ("folder:nowhere", True)),
    ],
)
def test_a_source_declares_whether_a_path_follows_its_colon(installed: Path, word: str, path: bool) -> None:
    """A study may be run from anywhere: its paths are made absolute, and its names are left as they are."""
    (installed / "net").mkdir(exist_ok=True)
    scheme, _, name = word.partition(":")
    located = f"{scheme}:{(installed / name).resolve()}" if path else word
    assert Identities({}, folder=str(installed)).absolute_name(f"{word}?k=1") == f"{located}?k=1"


def test_a_checkpoint_cannot_name_a_file_of_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of results must not have whoever opens it run what another file says."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "trap.py").write_text("import os\nos.mkdir('sprung')\n")
    model = sr.load("zoo:lenet")
    for word in ("zoo:trap.py:Net", "trap.py:Net"):
        with pytest.raises(ModelError, match=r"There is no zoo network 'trap\.py:Net'"):
            Architecture.parse(word)
    monkeypatch.setattr(Architecture, "spec", property(lambda self: "zoo:trap.py:Net"))
    save_checkpoint(model, tmp_path / "trap.safetensors")
    with pytest.raises(CheckpointError, match=r"There is no zoo network 'trap\.py:Net'"):
        sr.load(tmp_path / "trap.safetensors")
    assert not (tmp_path / "sprung").exists()


def test_a_switch_is_read_alike_everywhere() -> None:
    for word in ("1", "true", "True"):
        assert source_of(f"timm:resnet18?pretrained={word}") == source_of("timm:resnet18?pretrained=1")
    assert source_of("timm:resnet18?pretrained=0") == source_of("timm:resnet18")


def test_options_that_a_source_does_not_know_go_to_its_library() -> None:
    source = source_of("timm:resnet18?in_chans=1&seed=3&drop=0.5")
    assert source.architecture == "timm:resnet18?drop=0.5&in_chans=1"
    assert source_of(source.label) == source
    assert source_of("nets.py:make?width=3").architecture == "nets.py:make?width=3"
