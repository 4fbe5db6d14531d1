"""SVHN from the user's own files: the layout of the arrays, the digit 0, and files that are something else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.io import savemat

from seamripper.data import load_data
from seamripper.errors import DataError

LABELS = [10, 1, 2, 9, 10, 5]


def arrays(n: int = 6) -> dict[str, Any]:
    """The first n digits in the form of SVHN's files."""
    pixels = np.random.RandomState(0).randint(0, 256, (32, 32, 3, n), dtype=np.uint8)
    return {"X": pixels, "y": np.array(LABELS[:n], np.uint8)[:, None]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    savemat(tmp_path / "train_32x32.mat", arrays())
    savemat(tmp_path / "test_32x32.mat", arrays(4), do_compression=True)
    return tmp_path


def test_pixels_and_digits_are_those_of_the_file(folder: Path) -> None:
    train = load_data(f"svhn:{folder}")
    assert isinstance(train.inputs, torch.Tensor)
    pixels = arrays()["X"]
    for k in (0, 5):
        for channel in range(3):
            assert train.inputs[k, channel].tolist() == pixels[:, :, channel, k].tolist()
    assert train.labels.tolist() == [0, 1, 2, 9, 0, 5]
    assert (train.classes, train.shape, train.mean, train.std) == (10, (3, 32, 32), 0.0, 1.0)
    assert train.name == f"svhn:{folder}"


def test_no_id_is_in_both_splits(folder: Path) -> None:
    train, test = load_data(f"svhn:{folder}"), load_data(f"svhn:{folder}", "test")
    assert (len(train), len(test)) == (6, 4)
    assert not set(train.ids.tolist()) & set(test.ids.tolist())


def test_options(folder: Path) -> None:
    small = load_data(f"svhn:{folder}?size=8&classes=3", "train")
    assert small.shape == (3, 8, 8)
    assert small.labels.tolist() == [0, 1, 2, 0]
    assert len(load_data(f"svhn:{folder}", n=2)) == 2


def test_a_file_that_is_missing_is_named_with_where_to_have_it(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"There is no file .*test_32x32\.mat.*ufldl\.stanford\.edu/housenumbers"):
        load_data(f"svhn:{tmp_path}", "test")
    with pytest.raises(DataError, match="needs a folder: 'svhn:FOLDER'"):
        load_data("svhn")


@pytest.mark.parametrize(
    ("contents", "complaint"),
    [
        ({"X": arrays()["X"]}, r"but got X of uint8 \(32, 32, 3, 6\) and y of \(0,\)"),
        ({**arrays(), "X": arrays()["X"].transpose(3, 0, 1, 2)}, r"bytes of \(32, 32, 3, n\)"),
        ({**arrays(), "X": arrays()["X"] / 255}, "but got X of float64"),
        ({**arrays(), "y": arrays(4)["y"]}, r"y of \(4, 1\)"),
        ({**arrays(), "y": arrays()["y"] + 1}, "whole numbers from 1 to 10, where 10 is the digit 0"),
        ({**arrays(), "y": arrays()["y"] - 1}, "whole numbers from 1 to 10, where 10 is the digit 0"),
        ({**arrays(), "y": arrays()["y"] / 2}, "whole numbers from 1 to 10, where 10 is the digit 0"),
        ({"digitStruct": np.zeros(3)}, "but got X of float64"),
    ],
)
def test_arrays_of_another_kind_are_refused(tmp_path: Path, contents: dict[str, Any], complaint: str) -> None:
    savemat(tmp_path / "train_32x32.mat", contents)
    with pytest.raises(DataError, match=complaint) as e:
        load_data(f"svhn:{tmp_path}")
    assert "ufldl.stanford.edu/housenumbers" in str(e.value)


@pytest.mark.parametrize("how", ["cut short", "another format", "version 7.3", "empty"])
def test_a_file_that_is_no_file_of_matlab_is_refused(folder: Path, how: str) -> None:
    path = folder / "train_32x32.mat"
    whole = path.read_bytes()
    header = b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM" + b"\x89HDF\r\n\x1a\n" + bytes(600)
    path.write_bytes(
        {"cut short": whole[:3000], "another format": b"\x80\x04]." * 99, "version 7.3": header, "empty": b""}[how]
    )
    with pytest.raises(DataError, match=r"could not be read as a MATLAB file of version 5.*housenumbers"):
        load_data(f"svhn:{folder}")
