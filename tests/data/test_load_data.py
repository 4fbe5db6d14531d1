"""Names, splits and options: what `load_data` takes, and what it says to everything else."""

from __future__ import annotations

import inspect
from pathlib import Path

import numpy as np
import pytest

from seamripper.data import DataSet, datasets, load_data
from seamripper.errors import DataError

VARIANTS = ("greyscale", "correlated", "digit", "colour", "colour-only", "mix")


def test_every_name_is_listed_with_a_line() -> None:
    expected = {"cifar10", "cifar10/stylised", "folder:PATH", "fortunes", "recordings:PATH", "speech"}
    expected |= {"svhn:FOLDER", "npy:PATH", "parquet:PATH", "text:PATH"}
    for name in ("mnist", "fashion", "digits"):
        expected |= {name, *(f"{name}/{variant}" for variant in VARIANTS)}
    expected |= {"planted", *(f"planted/{variant}" for variant in ("both", "shape", "cue", "plain"))}
    listed = datasets.words()
    assert set(listed) == expected
    assert all(datasets.describe(name) for name in datasets)


@pytest.mark.network
@pytest.mark.parametrize("name", [name for name in datasets.words() if ":" not in name])
def test_every_listed_name_loads(name: str) -> None:
    few = load_data(name, "test", n=5)
    assert (len(few), few.classes) == (5, 8 if name in ("fortunes", "speech") else 10)
    assert few.name in (name, f"{name}/greyscale", f"{name}/both")


@pytest.mark.network
@pytest.mark.parametrize("name", ["mnist", "mnist/mix", "fashion/colour", "cifar10", "digits", "digits/digit"])
def test_splits_never_overlap(name: str) -> None:
    train, test = load_data(name, "train"), load_data(name, "test")
    ids = [*train.ids.tolist(), *test.ids.tolist()]
    assert len(set(ids)) == len(ids) == len(train) + len(test)
    assert int(test.ids.min()) == len(train)
    assert train.name == test.name
    assert train.classes == test.classes == 10


@pytest.mark.parametrize(
    ("name", "options", "complaint"),
    [
        ("mnst", {}, "There is no data set 'mnst': did you mean 'mnist'"),
        ("mnist/digits", {}, "There is no data set 'mnist/digits': did you mean 'mnist/digit'"),
        ("mnist/", {}, "There is no data set 'mnist/': did you mean 'mnist'"),
        ("mnist:here", {}, "There is no data set 'mnist:here': did you mean 'mnist'"),
        ("cifar10/grey", {}, "There is no data set 'cifar10/grey'"),
        ("foldr:x", {}, "There is no data set 'foldr:x': did you mean 'folder:PATH'"),
        ("", {}, "There is no data set '': there are: "),
        ("digits", {"split": "validation"}, "split to be 'train' or 'test', but got 'validation'"),
        ("digits", {"n": 0}, "n to be a whole number of at least 1, but got 0"),
        ("digits", {"seed": -1}, "seed to be a whole number from 0 to 4294967295, but got -1"),
        ("digits", {"seed": 0.5}, "seed to be a whole number from 0 to 4294967295, but got 0.5"),
        (
            "digits",
            {"rate": 32},
            "The data set 'digits' has no option 'rate': did you mean 'rotate'. Its options are 'classes'",
        ),
        ("digits", {"variant": "mix"}, "The data set 'digits' has no option 'variant'"),
    ],
)
def test_what_makes_no_sense_is_refused(name: str, options: dict[str, object], complaint: str) -> None:
    with pytest.raises(DataError, match=complaint):
        load_data(name, **options)  # type: ignore[arg-type]


def test_more_than_there_are_gives_all() -> None:
    assert len(load_data("digits", "test", n=10_000)) == 360


def test_one_sample_can_be_drawn() -> None:
    assert len(load_data("digits", "test", n=1)) == 1


def test_the_seed_draws() -> None:
    one = load_data("digits", n=50, seed=1)
    assert one.fingerprint == load_data("digits", n=50, seed=1).fingerprint
    assert one.fingerprint != load_data("digits", n=50, seed=2).fingerprint


def test_a_seed_may_be_numpys() -> None:
    assert load_data("digits", n=9, seed=np.int64(3)).fingerprint == load_data("digits", n=9, seed=3).fingerprint


def test_a_third_party_adds_a_set_by_an_entry_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "toyset.py").write_text(
        "from dataclasses import dataclass\n"
        "from seamripper.data.base import DataSet\n"
        "@dataclass(frozen=True)\n"
        "class Toy(DataSet):\n"
        "    name = 'toy'\n"
        "    about = 'a toy'\n"
        "    def load(self, split, *, n, seed):\n"
        "        raise NotImplementedError\n"
    )
    info = tmp_path / "toyset-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: toyset\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[seamripper.data]\ntoy = toyset:Toy\n")
    assert "toy" not in datasets
    monkeypatch.syspath_prepend(tmp_path)
    datasets.reload()
    assert datasets.describe("toy") == "a toy"
    with pytest.raises(NotImplementedError):
        load_data("toy")
    monkeypatch.undo()
    datasets.reload()


def test_a_data_set_is_an_interface_or_a_leaf() -> None:
    for cls in DataSet.__subclasses__():
        assert inspect.isabstract(cls) or not cls.__subclasses__(), f"{cls.__name__} is a leaf"
