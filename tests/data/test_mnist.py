"""MNIST as it is, and the digits that stand in for it where it cannot be had."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import pytest
import torch

from seamripper.data import FallbackWarning, Samples, load_data
from seamripper.data.colour import VARIANTS
from seamripper.data.images import read_idx
from seamripper.errors import DataError, MissingExtraError, UnfetchedError


def inputs(samples: Samples) -> torch.Tensor:
    assert isinstance(samples.inputs, torch.Tensor)
    return samples.inputs


@pytest.mark.network
def test_it_is_mnist() -> None:
    train, test = load_data("mnist"), load_data("mnist", "test")
    assert (len(train), len(test)) == (60_000, 10_000)
    assert torch.bincount(train.labels).tolist() == [
        5923,
        6742,
        5958,
        6131,
        5842,
        5421,
        5918,
        6265,
        5851,
        5949,
    ]
    assert torch.bincount(test.labels).tolist() == [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
    assert train.labels[:5].tolist() == [5, 0, 4, 1, 9]
    assert test.labels[:5].tolist() == [7, 2, 1, 0, 4]
    pixels = inputs(train)[:, 0].float() / 255
    assert float(pixels.mean()) == pytest.approx(0.1307, abs=5e-5)
    assert float(pixels.std()) == pytest.approx(0.3081, abs=5e-5)
    assert train.source == "MNIST, held to its sha256"


@pytest.mark.network
def test_its_short_name_is_greyscale() -> None:
    short, long = load_data("mnist", "test", n=20), load_data("mnist/greyscale", "test", n=20)
    assert short.fingerprint == long.fingerprint
    assert short.name == "mnist/greyscale"
    assert torch.equal(inputs(short)[:, 0], inputs(short)[:, 2])


@pytest.mark.parametrize("payload", [b"", b"\0\0\x08", b"\x1f\x8b\x08\x01", b"\0\0\x08\x01\0\0\0\x05abc"])
def test_a_file_that_is_not_idx_is_refused(payload: bytes) -> None:
    with pytest.raises(DataError, match="Expected an IDX file"):
        read_idx(payload)


@pytest.fixture
def nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No network and an empty cache."""
    monkeypatch.setenv("SEAMRIPPER_OFFLINE", "1")
    monkeypatch.setenv("SEAMRIPPER_CACHE", str(tmp_path))


@pytest.mark.usefixtures("nothing")
def test_the_stand_in_is_warned_of_and_says_so() -> None:
    with pytest.warns(FallbackWarning, match="stands in for mnist") as caught:
        samples = load_data("mnist/correlated", "test")
    assert caught[0].filename == __file__, "the warning points at whoever asked"
    assert "not asked, because SEAMRIPPER_OFFLINE is set" in str(caught[0].message)
    assert samples.name == "digits/correlated"
    assert "standing in for mnist, which could not be fetched" in samples.source
    assert len(samples) == 360
    assert samples.shape == (3, 28, 28)


@pytest.mark.usefixtures("nothing")
def test_with_warnings_as_errors_nothing_stands_in() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(FallbackWarning):
            load_data("mnist")


@pytest.mark.usefixtures("nothing")
def test_without_scikit_learn_the_fetching_is_what_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(UnfetchedError, match="mnist could not be fetched") as caught:
        load_data("mnist")
    assert isinstance(caught.value.__cause__, MissingExtraError)


@pytest.mark.usefixtures("nothing")
@pytest.mark.parametrize("name", ["fashion", "cifar10", "speech"])
def test_nothing_stands_in_for_other_sets(name: str) -> None:
    with pytest.raises(UnfetchedError, match=f"{name} could not be fetched"):
        load_data(name)


def test_digits_are_all_of_scikit_learns() -> None:
    train, test = load_data("digits"), load_data("digits", "test")
    assert (len(train), len(test)) == (1437, 360)
    both = torch.bincount(torch.cat([train.labels, test.labels])).tolist()
    assert both == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
    assert sorted(train.ids.tolist() + test.ids.tolist()) == list(range(1797))
    assert int(inputs(train).max()) == 255
    assert float(inputs(train).double().mean()) / 255 == pytest.approx(train.mean, abs=5e-5)
    assert float(inputs(train).double().std()) / 255 == pytest.approx(train.std, abs=5e-5)


def test_digits_hold_the_pixels_of_scikit_learn() -> None:
    from sklearn.datasets import load_digits

    known = {image.tobytes() for image in load_digits().images.astype("uint8")}
    # The middle of each of the 8 × 8 blocks: 28 / 8 = 3.5 pixels wide.
    middles = torch.tensor([1, 5, 8, 12, 15, 19, 22, 26])
    small = inputs(load_data("digits", "test"))[:, 0][:, middles][:, :, middles]
    back = (small.double() * 16 / 255).round().byte()
    assert all(image.numpy().tobytes() in known for image in back)


@pytest.mark.parametrize("variant", VARIANTS)
def test_digits_have_the_same_variants(variant: str) -> None:
    samples = load_data(f"digits/{variant}", "test", n=30)
    assert samples.name == f"digits/{variant}"
    assert len(samples) == 30
