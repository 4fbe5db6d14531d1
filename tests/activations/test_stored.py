"""Stored activations: what was saved comes back; plain arrays are taken; nothing is unpickled."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from seamripper._files import read_record, save_tensors
from seamripper.activations import Activations, collect
from seamripper.cut import Cut, split
from seamripper.data import Samples
from seamripper.errors import DataError, FileError


def some(n: int = 6, *, dtype: torch.dtype = torch.float32) -> Activations:
    g = torch.Generator().manual_seed(0)
    values = torch.randn(n, 2, 3, 4, generator=g).to(dtype)
    cut = Cut("layer2", (2, 3, 4), "nchw", before=10, after=20)
    known = {"model": "zoo:lenet", "data": "toy"}
    return Activations(cut, values, torch.arange(n) % 3, torch.arange(50, 50 + n), made_from=known)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_what_was_saved_comes_back(tmp_path: Path, dtype: torch.dtype) -> None:
    saved = some(dtype=dtype)
    saved.save(tmp_path / "a.safetensors")
    found = Activations.load(tmp_path / "a.safetensors")
    assert torch.equal(found.values, saved.values)
    assert found.values.dtype == dtype
    assert torch.equal(found.labels, saved.labels)
    assert torch.equal(found.ids, saved.ids)
    assert (found.cut.name, found.cut.shape, found.cut.layout) == ("layer2", (2, 3, 4), "nchw")
    assert found.made_from == saved.made_from
    assert found.context == {}


def test_what_passes_beside_the_cut_is_saved_too(tmp_path: Path) -> None:
    mask = torch.ones(6, 3, dtype=torch.int64)
    plain = some()
    Activations(plain.cut, plain.values, plain.labels, plain.ids, {"mask": mask}).save(tmp_path / "a.safetensors")
    assert torch.equal(Activations.load(tmp_path / "a.safetensors").context["mask"], mask)


def test_collected_ones_say_what_they_are_of(tmp_path: Path) -> None:
    data = Samples("toy", torch.randn(9, 5), torch.zeros(9, dtype=torch.int64), torch.arange(30, 39), classes=1)
    half = split(nn.Sequential(nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, 3)), "1", torch.zeros(2, 5))
    collect(half, data).save(tmp_path / "a.safetensors")
    kind, record = read_record(tmp_path / "a.safetensors")
    assert kind == "set of activations"
    assert record["cut"] == {"name": "1", "shape": [4], "layout": "nd"}
    assert record["made_from"] == {"model": half.model.source, "data": "toy"}
    found = Activations.load(tmp_path / "a.safetensors")
    assert found.ids.tolist() == list(range(30, 39))
    torch.testing.assert_close(found.values, half.head(data.inputs))


@pytest.mark.parametrize(("shape", "layout"), [((6, 3), "nd"), ((6, 4, 3), "ntd"), ((6, 3, 2, 2), "nchw")])
def test_an_array_is_read_by_its_axes(tmp_path: Path, shape: tuple[int, ...], layout: str) -> None:
    array = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    np.save(tmp_path / "a.npy", array)
    found = Activations.load(tmp_path / "a.npy")
    assert (found.cut.layout, found.cut.shape, found.cut.name) == (layout, shape[1:], "a")
    assert torch.equal(found.values, torch.from_numpy(array))
    assert set(found.ids.tolist()) == set(found.labels.tolist()) == {-1}


@pytest.mark.parametrize(
    ("dtype", "kept"),
    [
        ("<f2", torch.float16),
        ("<f4", torch.float32),
        (">f4", torch.float32),
        ("<f8", torch.float64),
        (">f8", torch.float64),
        (np.longdouble, torch.float64),
        ("i2", torch.float64),
        (">i8", torch.float64),
        ("u1", torch.float64),
        ("u2", torch.float64),
        ("?", torch.float64),
    ],
)
@pytest.mark.parametrize("order", ["C", "F"])
def test_numbers_of_any_kind(tmp_path: Path, dtype: str, kept: torch.dtype, order: str) -> None:
    array = np.array([[0, 1, 1], [1, 0, 1]], dtype=dtype, order=order)  # type: ignore[call-overload]
    np.save(tmp_path / "a.npy", array)
    found = Activations.load(tmp_path / "a.npy").values
    assert found.dtype == kept
    assert found.tolist() == [[0, 1, 1], [1, 0, 1]]


class Bomb:
    """Makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)

    def __reduce__(self) -> tuple[Callable[..., object], tuple[str, str]]:
        return open, (self.path, "w")


def test_no_pickle_is_opened(tmp_path: Path) -> None:
    np.save(tmp_path / "bomb.npy", np.array([Bomb(tmp_path / "burst")], dtype=object), allow_pickle=True)
    (tmp_path / "bare.npy").write_bytes(pickle.dumps(Bomb(tmp_path / "burst")))
    with pytest.raises(FileError, match=r"bomb.npy holds pickled Python objects. It was not opened"):
        Activations.load(tmp_path / "bomb.npy")
    with pytest.raises(FileError, match=r"bare.npy is not a .npy file"):
        Activations.load(tmp_path / "bare.npy")
    assert not (tmp_path / "burst").exists()
    np.load(tmp_path / "bomb.npy", allow_pickle=True)[0].close()
    assert (tmp_path / "burst").exists()


def shelf(folder: Path) -> None:
    """Files that are not what they say."""
    np.save(folder / "good.npy", np.zeros((20, 3)))
    (folder / "short.npy").write_bytes((folder / "good.npy").read_bytes()[:-9])
    (folder / "start.npy").write_bytes((folder / "good.npy").read_bytes()[:40])
    (folder / "empty.npy").write_bytes(b"")
    (folder / "text.npy").write_text("1, 2, 3\n")
    np.savez(folder / "many.npz", a=np.zeros((20, 3)))
    (folder / "many.npz").rename(folder / "many.npy")
    np.save(folder / "one.npy", np.zeros(()))
    np.save(folder / "flat.npy", np.zeros(20))
    np.save(folder / "five.npy", np.zeros((2, 2, 2, 2, 2)))
    np.save(folder / "none.npy", np.zeros((0, 3)))
    np.save(folder / "complex.npy", np.zeros((4, 3), dtype=complex))
    np.save(folder / "words.npy", np.array([["a", "b"]]))
    save_file({"values": torch.zeros(4, 3)}, folder / "elsewhere.safetensors")
    save_tensors(folder / "model.safetensors", {}, {}, kind="model")
    good = some()
    tensors = {"values": good.values, "labels": good.labels, "ids": good.ids}
    kind = "set of activations"
    save_tensors(folder / "bare.safetensors", tensors, {}, kind=kind)
    save_tensors(folder / "fewer.safetensors", {**tensors, "ids": good.ids[:-1]}, good.as_record(), kind=kind)
    save_tensors(folder / "other.safetensors", {**tensors, "values": good.values[0]}, good.as_record(), kind=kind)
    save_tensors(folder / "no_ids.safetensors", {"values": good.values}, good.as_record(), kind=kind)
    good.save(folder / "good.safetensors")
    whole = bytearray((folder / "good.safetensors").read_bytes())
    whole[-1] ^= 1
    (folder / "changed.safetensors").write_bytes(whole)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("nowhere.npy", r"There is no file .*nowhere.npy. In that folder there are: complex.npy, "),
        (
            "nowhere.safetensors",
            r"There is no file .*nowhere.safetensors. In that folder there are: bare.safetensors, ",
        ),
        ("good.csv", r"Expected activations in a .npy or .safetensors file, but got .*good.csv"),
        ("short.npy", r"short.npy could not be read: .*Was it cut short"),
        ("start.npy", r"start.npy could not be read: .*Was it cut short"),
        ("empty.npy", r"empty.npy is not a .npy file"),
        ("text.npy", r"text.npy is not a .npy file. Write one with numpy.save"),
        ("many.npy", r"many.npy is not a .npy file"),
        ("one.npy", r"Expected .*one.npy to hold rows .* but its shape is 1"),
        ("flat.npy", r"Expected .*flat.npy to hold rows \(n, d\), tokens .* but its shape is 20"),
        ("five.npy", r"but its shape is 2x2x2x2x2"),
        ("none.npy", r"but its shape is 0x3"),
        ("complex.npy", r"Expected .*complex.npy to hold real numbers, but it holds complex128"),
        ("words.npy", r"Expected .*words.npy to hold real numbers, but it holds <U1"),
        (
            "elsewhere.safetensors",
            r"to hold a set of activations, but it is a safetensors file that seamripper did not",
        ),
        ("model.safetensors", r"Expected .*model.safetensors to hold a set of activations, but it holds a model"),
        ("bare.safetensors", r"bare.safetensors is a file of activations whose record cannot be read"),
        ("fewer.safetensors", r"fewer.safetensors does not hold what its record says"),
        ("other.safetensors", r"other.safetensors does not hold what its record says"),
        ("no_ids.safetensors", r"no_ids.safetensors is a file of activations whose record cannot be read"),
        ("changed.safetensors", r"changed.safetensors is not as it was written"),
    ],
)
def test_a_file_that_is_not_what_it_says(tmp_path: Path, name: str, says: str) -> None:
    shelf(tmp_path)
    with pytest.raises(FileError, match=says):
        Activations.load(tmp_path / name)


def test_the_good_ones_of_that_shelf_are_read(tmp_path: Path) -> None:
    shelf(tmp_path)
    assert len(Activations.load(tmp_path / "good.npy")) == 20
    assert len(Activations.load(tmp_path / "good.safetensors")) == 6


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_what_is_not_finite_is_told_with_its_sample(tmp_path: Path, bad: float) -> None:
    array = np.zeros((5, 2, 3))
    array[3, 1, 2] = array[4, 0, 0] = bad
    np.save(tmp_path / "a.npy", array)
    with pytest.raises(DataError, match=r"a.npy holds NaN or Inf, first in sample 3, counted from 0"):
        Activations.load(tmp_path / "a.npy")
    sick = some()
    sick.values[2, 0, 0, 0] = bad
    sick.save(tmp_path / "a.safetensors")
    with pytest.raises(DataError, match=r"a.safetensors holds NaN or Inf, first in sample 2 \(id 52\)"):
        Activations.load(tmp_path / "a.safetensors")


def test_saving_is_whole_or_not_at_all(tmp_path: Path) -> None:
    some(3).save(tmp_path / "a.safetensors")
    with pytest.raises(FileError, match="Could not write"):
        some().save(tmp_path / "a.safetensors" / "b.safetensors")
    assert len(Activations.load(tmp_path / "a.safetensors")) == 3
    assert [path.name for path in tmp_path.iterdir()] == ["a.safetensors"]
