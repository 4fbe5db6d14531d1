"""Files made by hand: their seals are right, and their records lie; headers and records that are nested without end."""

from __future__ import annotations

import hashlib
import json
import struct
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from seamripper import load
from seamripper._files import load_tensors, save_tensors
from seamripper.comparing import Comparison
from seamripper.errors import CheckpointError, ExperimentError, FileError, ModelError, SeamripperError
from seamripper.experiment import Experiment
from seamripper.experiment.journal import open_line
from seamripper.matching import Match
from seamripper.models import Architecture, Model

SPEC = "zoo:R_1111?width=0.03125"
RECORD: dict[str, Any] = {"architecture": SPEC, "input": None, "classes": 10, "training": {}, "versions": {}}
DEEP = "[" * 100_000 + "]" * 100_000


@pytest.fixture(scope="module")
def weights() -> dict[str, torch.Tensor]:
    return dict(load(SPEC).module.state_dict())


@pytest.mark.parametrize(
    ("lie", "said"),
    [
        ({"architecture": 5}, "its record is not one that seamripper writes"),
        ({"architecture": None}, "its record is not one that seamripper writes"),
        ({"architecture": ["zoo"]}, "its record is not one that seamripper writes"),
        ({"architecture": "zoo:nope", "versions": [1]}, "its record is not one that seamripper writes"),
        ({"architecture": "zoo:R_1111?width=1000"}, r"has [\d,]+ GB of weights, and this machine has"),
        ({"input": 5}, "its record is not one that seamripper writes"),
        ({"input": ["a", "b"]}, "to be sizes of at least 1"),
        ({"input": [-3, 2, 2]}, "to be sizes of at least 1"),
        ({"classes": "ten"}, "to have at least 1 class, but got classes = 'ten'"),
        ({"classes": -4}, "to have at least 1 class, but got classes = -4"),
        ({"training": [1]}, "its record is not one that seamripper writes"),
        ({"training": "word"}, "its record is not one that seamripper writes"),
    ],
    ids=str,
)
def test_a_checkpoint_whose_record_lies(
    tmp_path: Path, weights: dict[str, torch.Tensor], lie: dict[str, Any], said: str
) -> None:
    path = tmp_path / "model.safetensors"
    save_tensors(path, weights, {**RECORD, **lie}, kind="model")
    with pytest.raises(ModelError, match=said):
        load(str(path))


def raw(path: Path, header: bytes | dict[str, Any], data: bytes = b"") -> Path:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    return path


@pytest.mark.parametrize("seal", [5, None, ["a"], {"a": 1}, "0" * 64], ids=str)
def test_a_seal_that_is_none(tmp_path: Path, weights: dict[str, torch.Tensor], seal: Any) -> None:
    path = tmp_path / "model.safetensors"
    save_tensors(path, weights, RECORD, kind="model")
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    note = {**json.loads(header["__metadata__"]["seamripper"]), "seal": seal}
    raw(path, {**header, "__metadata__": {"seamripper": json.dumps(note)}}, data[8 + length :])
    with pytest.raises(FileError, match="is not as it was written"):
        load(str(path))


@pytest.mark.parametrize(
    "header",
    [
        DEEP.encode(),
        {"__metadata__": {"seamripper": DEEP}},
        {"__metadata__": {"seamripper": f'{{"kind": "model", "record": {{"architecture": {DEEP}}}, "seal": ""}}'}},
        {"__metadata__": {"seamripper": f'{{"kind": "model", "record": {{}}, "seal": {DEEP}}}'}},
        {"weight": {"dtype": "F32", "shape": [10**12], "data_offsets": [0, 0]}},
    ],
    ids=["header", "note", "record", "seal", "a shape beyond all memory"],
)
def test_a_header_without_end(tmp_path: Path, header: Any) -> None:
    path = raw(tmp_path / "model.safetensors", header)
    for read in (lambda: load(str(path)), lambda: load(f"{SPEC}&weights={path}")):
        with pytest.raises(SeamripperError):
            read()
    with pytest.raises(FileError):
        load_tensors(path, kind="model")


def test_other_files_that_are_nested_without_end(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(f"data = {DEEP}\n")
    with pytest.raises(ExperimentError, match="is nested too deeply to be a study"):
        Experiment.read(tmp_path / "study.toml")
    (tmp_path / "comparison.json").write_text(DEEP)
    with pytest.raises(FileError, match="is damaged, or not a comparison that seamripper wrote"):
        Comparison.load(tmp_path)
    body = f"{DEEP},{{}}".encode()
    assert open_line(b'["%b",%b]\n' % (hashlib.sha256(body).hexdigest().encode(), body)) is None


@pytest.mark.parametrize("record", [{}, {"sender": 5, "receiver": 5}, {"sender": {}, "receiver": {}, "stitch": 3}])
def test_a_match_whose_record_lies(tmp_path: Path, record: dict[str, Any]) -> None:
    path = tmp_path / "match.safetensors"
    save_tensors(path, {"fitted": torch.zeros(1)}, record, kind="match")
    with pytest.raises(FileError, match="its record is not one that seamripper writes"):
        Match.load(path)


@pytest.mark.parametrize("kind", [torch.int64, torch.int8, torch.bool, torch.complex64], ids=str)
def test_weights_that_are_no_floating_point(tmp_path: Path, weights: dict[str, torch.Tensor], kind: Any) -> None:
    path = tmp_path / "weights.safetensors"
    save_file({name: weight.to(kind) for name, weight in weights.items()}, path)
    with pytest.raises(CheckpointError, match=rf"\d+ not of floating point: conv1.weight \({kind}\)"):
        load(f"{SPEC}&weights={path}")


def test_weights_of_another_floating_point_are_taken(tmp_path: Path, weights: dict[str, torch.Tensor]) -> None:
    path = tmp_path / "weights.safetensors"
    save_file({k: v.double() if v.is_floating_point() else v for k, v in weights.items()}, path)
    assert load(f"{SPEC}&weights={path}").fingerprint == load(str(saved(tmp_path, weights))).fingerprint


def saved(folder: Path, weights: dict[str, torch.Tensor]) -> Path:
    save_tensors(folder / "model.safetensors", weights, RECORD, kind="model")
    return folder / "model.safetensors"


def test_a_module_whose_weights_are_whole_numbers(tmp_path: Path) -> None:
    code = "from torch import nn\ndef net():\n    net = nn.Linear(4, 3).requires_grad_(False)\n"
    (tmp_path / "mine.py").write_text(code + "    net.weight.data = net.weight.data.long()\n    return net\n")
    with pytest.raises(ModelError, match=r"the weight weight holds whole numbers \(torch.int64\)"):
        load(f"{tmp_path / 'mine.py'}:net")


@pytest.mark.parametrize("option", ["width=1e9", "classes=1000000000000000", f"classes={10**23}"])
def test_a_network_beyond_all_memory_is_refused_before_it_is_built(option: str) -> None:
    with pytest.raises(ModelError, match=r"GB of weights, and this machine has|cannot be built"):
        load(f"zoo:R_1111?{option}")


def test_counting_its_bytes_draws_nothing() -> None:
    state = torch.get_rng_state()
    Architecture.parse("R_1111?width=0.0625&classes=7")._require_room()
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("classes", [-4, 0, 2.5, "ten"])
def test_a_model_has_classes_or_none(classes: Any) -> None:
    with pytest.raises(ModelError, match="Expected memory to have at least 1 class, but got"):
        Model(torch.nn.Linear(4, 2), "memory", classes=classes)
