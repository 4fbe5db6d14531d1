"""IDX: the file format of MNIST and of the sets made in its likeness."""

from __future__ import annotations

import struct

import numpy as np
from numpy.typing import NDArray

from seamripper.data.fetch import Remote
from seamripper.errors import DataError

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


def read_split(remote: Remote, split: str) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Images (n, h, w) and labels (n) of a split."""
    images, labels = (read_idx(remote.read(file)) for file in FILES[split])
    return images, labels.astype(np.int64)
