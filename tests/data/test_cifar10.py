"""CIFAR-10 as it is, and by both of its ways: decoded pictures and the official binary records."""

from __future__ import annotations

import io
import sys
import tarfile
from collections.abc import Collection
from pathlib import Path

import numpy as np
import pytest
import torch

from seamripper.data import load_data, sources
from seamripper.data.cifar10 import REMOTE, Decoded, records
from seamripper.data.fetch import Remote
from seamripper.data.sources import Source, UrlTar
from seamripper.errors import DataError, MissingExtraError

Image = pytest.importorskip("PIL.Image")


@pytest.mark.network
def test_it_is_cifar10() -> None:
    train, test = load_data("cifar10"), load_data("cifar10", "test")
    assert torch.bincount(train.labels).tolist() == [5000] * 10
    assert torch.bincount(test.labels).tolist() == [1000] * 10
    assert train.labels[:5].tolist() == [6, 9, 9, 4, 1]
    assert test.labels[:5].tolist() == [3, 8, 8, 0, 6]
    assert isinstance(train.inputs, torch.Tensor)
    assert train.inputs.dtype == torch.uint8
    assert train.shape == (3, 32, 32)
    means = train.inputs.flatten(2).sum(2, dtype=torch.int32).double().mean(0) / 1024
    assert means.tolist() == pytest.approx([125.31, 122.95, 113.87], abs=0.005)
    assert (int(train.ids[-1]), int(test.ids[0])) == (49_999, 50_000)


@pytest.mark.network
def test_it_is_not_normalised() -> None:
    few = load_data("cifar10", "test", n=8)
    assert isinstance(few.inputs, torch.Tensor)
    torch.testing.assert_close(few.batch(slice(0, 8)), few.inputs.float() / 255)


@pytest.mark.network
def test_a_picture_with_an_image_a_row_gives_the_records() -> None:
    official = REMOTE.read("test_batch.bin")[: 50 * 3073]
    rows = np.frombuffer(official, np.uint8).reshape(50, 3073)
    picture = io.BytesIO()
    Image.fromarray(rows[:, 1:].reshape(50, 3, 1024).transpose(0, 2, 1).copy()).save(picture, "png")
    assert records(picture.getvalue(), rows[:, 0].tolist()) == official


def test_pictures_with_the_wrong_checksum_are_refused() -> None:
    class Wrong(Source):
        def files(self, wanted: Collection[str]) -> dict[str, bytes]:
            return dict.fromkeys(wanted, b"not it")

    with pytest.raises(DataError, match=r"data_batch_1.png is not the picture that was expected"):
        Decoded(Wrong()).files(["test_batch.bin"])


def test_without_pillow_the_pictures_are_not_even_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    with pytest.raises(MissingExtraError, match=r"needs the library 'PIL'.*pip install 'seamripper\[vision\]'"):
        REMOTE.sources[0].files(["test_batch.bin"])


@pytest.mark.network
def test_the_official_tar_gives_the_same_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    official = REMOTE.sources[-1]
    assert isinstance(official, UrlTar)
    assert official.url.endswith("cifar-10-binary.tar.gz"), "never the one that is a pickle"
    kept = REMOTE.path("test_batch.bin")
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w") as out:
        out.add(kept, "cifar-10-batches-bin/test_batch.bin")
    monkeypatch.setattr(sources, "_download", lambda url: tar.getvalue())
    monkeypatch.setenv("SEAMRIPPER_CACHE", str(tmp_path))
    one = Remote("cifar10", {"test_batch.bin": REMOTE.files["test_batch.bin"]}, (official,))
    assert one.path("test_batch.bin") == tmp_path / "cifar10" / "test_batch.bin"
    assert one.read("test_batch.bin") == kept.read_bytes()
