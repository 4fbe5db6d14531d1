"""Images: brought to another size, and read from files in the format of MNIST (IDX)."""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from seamripper.data.base import check_size
from seamripper.data.fetch import Remote
from seamripper.data.samples import Samples
from seamripper.errors import DataError

_AT_ONCE = 1_024  # images that are floats at a time
_LIMIT = 4 * 10**9


def require_eight_bits(picture: Any, who: str) -> None:
    """Refuse a picture of Pillow with more than 8 bits per channel: made one of bytes, it would be cut off at 255."""
    if picture.mode.startswith(("I", "F")):
        raise DataError(
            f"{who} has more than 8 bits per channel ({picture.mode}). Convert it to 8 bits, by the range that its "
            "values have."
        )


def resize(pixels: Tensor, side: int) -> Tensor:
    """Images (n, c, h, w) of bytes → (n, c, side, side): bilinear, corners not aligned, rounded to bytes again.

    Pixel i of a new row is read at (i + 1/2) · w / side − 1/2 of the old one.

    >>> resize(torch.tensor([[[[0, 100]]]], dtype=torch.uint8), 3).tolist()
    [[[[0, 50, 100], [0, 50, 100], [0, 50, 100]]]]
    """
    if pixels.shape[2:] == (side, side):
        return pixels
    resized = torch.empty(*pixels.shape[:2], side, side, dtype=torch.uint8)
    for start in range(0, len(pixels), _AT_ONCE):
        rows = pixels[start : start + _AT_ONCE].float()
        larger = F.interpolate(rows, (side, side), mode="bilinear", align_corners=False, antialias=False)
        resized[start : start + _AT_ONCE] = larger.round_()
    return resized


def resize_samples(samples: Samples, side: int | None) -> Samples:
    """The same samples with images of side × side; as they are if `side` is None."""
    if side is None:
        return samples
    assert isinstance(samples.inputs, Tensor)
    size = len(samples) * samples.shape[0] * side**2
    check_size(size, limit=_LIMIT, name=samples.name, advice="Draw fewer (n), or take a smaller size.")
    return replace(samples, inputs=resize(samples.inputs, side))


FILES = {
    "train": ("train-images-idx3-ubyte", "train-labels-idx1-ubyte"),
    "test": ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"),
}


def read_idx(payload: bytes) -> NDArray[np.uint8]:
    """The array of bytes that an IDX file holds: 0, 0, type 8, rank, sizes as big-endian words, bytes.

    >>> read_idx(bytes([0, 0, 8, 1, 0, 0, 0, 3, 7, 8, 9])).tolist()
    [7, 8, 9]
    """
    if payload[:3] != b"\0\0\x08" or len(payload) < 4 or len(payload) < 4 + 4 * payload[3]:
        raise DataError("Expected an IDX file of bytes, but it does not start like one.")
    start = 4 + 4 * payload[3]
    shape = struct.unpack(f">{payload[3]}I", payload[4:start])
    if len(payload) - start != int(np.prod(shape)):
        raise DataError(f"Expected an IDX file of shape {shape}, but it holds {len(payload) - start} bytes.")
    # A copy, because the array of a bytes object cannot be written to and torch warns of that.
    return np.frombuffer(payload, np.uint8, offset=start).reshape(shape).copy()


@dataclass(frozen=True, eq=False)
class Grey:
    """Grey images (n, h, w) and their labels, with what their Samples will say of themselves."""

    name: str
    images: NDArray[np.uint8]
    labels: NDArray[np.int64]
    first_id: int
    mean: float
    std: float
    source: str


def read_grey(remote: Remote, split: str, *, mean: float, std: float, title: str) -> Grey:
    """A split of 60,000 or 10,000 images that is kept as IDX files."""
    images, labels = (read_idx(remote.read(file)) for file in FILES[split])
    first_id = 0 if split == "train" else 60_000
    source = f"{title}, held to its sha256"
    return Grey(remote.name, images, labels.astype(np.int64), first_id, mean, std, source)
