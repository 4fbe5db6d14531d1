"""Checkpoints: written, read by name alone, refused when they are something else."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from seamripper._files import load_tensors, read_record, save_tensors
from seamripper.errors import CheckpointError, FileError, ModelError
from seamripper.models import Model, load, recipe_of
from seamripper.models.checkpoint import load_checkpoint, save_checkpoint


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    model = load("zoo:R_1111?width=0.125&classes=3&seed=5", input=(3, 16, 16))
    trained = Model(model.module, model.source, model.input, model.classes, {"data": "toy", "seed": 5})
    save_checkpoint(trained, tmp_path / "toy-5.safetensors")
    return tmp_path / "toy-5.safetensors"


def test_a_checkpoint_is_loaded_by_its_name_alone(saved: Path) -> None:
    model, original = load(str(saved)), load("zoo:R_1111?width=0.125&classes=3&seed=5")
    assert model.fingerprint == original.fingerprint
    assert (model.input, model.classes, model.source) == ((3, 16, 16), 3, str(saved))
    assert model.record == {"architecture": "zoo:R_1111?classes=3&width=0.125", "data": "toy", "seed": 5}
    assert recipe_of(model) == "zoo:R_1111?classes=3&width=0.125"
    assert not model.module.training


def test_the_record_says_what_it_is(saved: Path) -> None:
    kind, record = read_record(saved)
    assert kind == "model"
    assert record["architecture"] == "zoo:R_1111?classes=3&width=0.125"
    assert set(record["versions"]) == {"seamripper", "torch"}


def test_a_loaded_checkpoint_can_be_saved_again(saved: Path, tmp_path: Path) -> None:
    save_checkpoint(load(str(saved)), tmp_path / "again.safetensors")
    assert (tmp_path / "again.safetensors").read_bytes() == saved.read_bytes()


def test_a_checkpoint_serves_as_weights_too(saved: Path) -> None:
    model = load(f"zoo:R_1111?width=0.125&classes=3&weights={saved}")
    assert model.fingerprint == load(str(saved)).fingerprint


def test_a_raw_state_dict_needs_its_architecture(tmp_path: Path) -> None:
    file = tmp_path / "raw.safetensors"
    save_file({"w": torch.zeros(2)}, file)
    with pytest.raises(CheckpointError) as told:
        load(str(file))
    assert f"zoo:resnet18?weights={file}" in str(told.value)


def test_other_files_of_ours_are_refused(tmp_path: Path) -> None:
    for kind, message in (("stitch", "holds a stitch"), ("training", "not finished")):
        file = tmp_path / f"{kind}.safetensors"
        save_tensors(file, {"w": torch.zeros(2)}, {}, kind=kind)
        with pytest.raises(CheckpointError, match=message):
            load(str(file))
        with pytest.raises(CheckpointError, match=f"holds a {kind}"):
            load("zoo:lenet", weights=file)


def test_an_architecture_from_elsewhere_is_not_followed(saved: Path) -> None:
    tensors, record = load_tensors(saved, kind="model")
    for architecture in ("zoo:resnet99", "evil.py:make", "torchvision:resnet18"):
        save_tensors(saved, tensors, {**record, "architecture": architecture}, kind="model")
        with pytest.raises(CheckpointError, match="its record cannot be read here"):
            load_checkpoint(saved)


def test_tensors_that_do_not_fit_the_record_are_told(saved: Path) -> None:
    tensors, record = load_tensors(saved, kind="model")
    tensors.pop("fc.bias")
    save_tensors(saved, tensors, record, kind="model")
    with pytest.raises(CheckpointError, match=r"1 missing: fc\.bias"):
        load_checkpoint(saved)


def test_a_file_cut_short_is_told(saved: Path) -> None:
    saved.write_bytes(saved.read_bytes()[:-5])
    with pytest.raises(FileError, match="cut short"):
        load(str(saved))


def test_weights_that_are_not_finite_are_told(saved: Path) -> None:
    tensors, record = load_tensors(saved, kind="model")
    tensors["fc.bias"][0] = torch.nan
    save_tensors(saved, tensors, record, kind="model")
    with pytest.raises(ModelError, match=r"fc\.bias holds NaN"):
        load(str(saved))


def test_only_zoo_models_are_saved(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="Expected a model of the zoo"):
        save_checkpoint(Model(nn.Identity(), "nets.py:make"), tmp_path / "a.safetensors")
    with pytest.raises(CheckpointError, match=r"to end in \.safetensors"):
        save_checkpoint(load("zoo:lenet"), tmp_path / "a.pt")


def test_a_checkpoint_takes_no_options(saved: Path) -> None:
    with pytest.raises(ModelError, match="by its name alone"):
        load(f"{saved}?width=2")
    with pytest.raises(ModelError, match="by its name alone"):
        load(str(saved), weights=saved)


def test_a_missing_checkpoint_is_told_with_its_neighbours(saved: Path) -> None:
    with pytest.raises(FileError, match=r"there are: toy-5\.safetensors"):
        load(str(saved.with_name("toy-6.safetensors")))
