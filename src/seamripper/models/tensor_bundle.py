"""TensorFlow's checkpoints, read without TensorFlow: a table of names in `.index`, and the numbers in `.data`.

The index is a table of LevelDB: blocks of sorted keys, each key with the part left out that it shares with the one
before, and at the end of the file where the block is that lists the others. A value is a protobuf message that says
type, shape, place and CRC-32C of a tensor. Nothing of a file is run.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from seamripper.errors import CheckpointError

_MAGIC = 0xDB4775248B80FB57
_FOOTER = 48
_FLOAT = 1
_TYPE, _SHAPE, _OFFSET, _SIZE, _SUM = 1, 2, 4, 5, 6


def read_bundle(index: bytes, data: bytes) -> dict[str, Tensor]:
    """The float32 tensors of a checkpoint of one part, by name; tensors of other types are left out."""
    try:
        tensors = {}
        for name, value in _table(memoryview(index)):
            entry = dict(protobuf_fields(value))
            # The first entry, without a name, is about the file itself.
            if name and entry.get(_TYPE) == _FLOAT:
                tensors[name.decode()] = _tensor(name.decode(), entry, data)
    except (IndexError, ValueError, TypeError, KeyError) as e:
        raise CheckpointError(
            f"Expected a checkpoint of TensorFlow, an index and its data, but it cannot be read as one "
            f"({type(e).__name__}: {e}). Fetch it again."
        ) from e
    return tensors


def _tensor(name: str, entry: dict[int, int | memoryview], data: bytes) -> Tensor:
    offset, size, shape = entry.get(_OFFSET, 0), entry.get(_SIZE, 0), entry.get(_SHAPE, memoryview(b""))
    assert isinstance(offset, int)
    assert isinstance(size, int)
    assert not isinstance(shape, int)
    # A dimension of size 0 leaves its field out, as protobuf does with zeros.
    sizes = [_number(dict(protobuf_fields(_bytes(dim))).get(1, 0)) for _, dim in protobuf_fields(shape)]
    raw = data[offset : offset + size]
    if len(raw) != size or size != 4 * math.prod(sizes):
        raise CheckpointError(
            f"Expected {4 * math.prod(sizes):,} bytes for {name} {tuple(sizes)}, but got {len(raw):,}."
        )
    if int.from_bytes(_bytes(entry[_SUM]), "little") != _mask_checksum(crc32c(raw)):
        raise CheckpointError(f"The numbers of {name} are not those that were written: their checksum differs.")
    return torch.from_numpy(np.frombuffer(raw, "<f4").reshape(sizes).copy())


def _number(value: int | memoryview) -> int:
    assert isinstance(value, int)
    return value


def _bytes(value: int | memoryview) -> memoryview:
    assert not isinstance(value, int)
    return value


def _table(file: memoryview) -> Iterator[tuple[bytes, memoryview]]:
    """Keys and values of a table, in order."""
    if len(file) < _FOOTER or int.from_bytes(file[-8:], "little") != _MAGIC:
        raise ValueError("it does not end as a table does")
    at, footer = 0, file[-_FOOTER:]
    handles = []
    for _ in range(4):
        number, at = varint(footer, at)
        handles.append(number)
    for _, handle in _block(file, *handles[2:]):
        start, at = varint(handle, 0)
        yield from _block(file, start, varint(handle, at)[0])


def _block(file: memoryview, start: int, size: int) -> Iterator[tuple[bytes, memoryview]]:
    """Keys and values of one block; behind it is a byte that says whether it is packed, and a checksum."""
    if file[start + size] != 0:
        raise ValueError("its blocks are packed")
    block = file[start : start + size]
    restarts = int.from_bytes(block[-4:], "little")
    end, at, key = len(block) - 4 - 4 * restarts, 0, b""
    while at < end:
        shared, at = varint(block, at)
        rest, at = varint(block, at)
        length, at = varint(block, at)
        key = key[:shared] + bytes(block[at : at + rest])
        yield key, block[at + rest : at + rest + length]
        at += rest + length


def varint(message: memoryview, at: int) -> tuple[int, int]:
    """The number that begins at a place, seven bits per byte and the lowest first; and where it ends.

    >>> varint(memoryview(bytes([0xAC, 0x02, 7])), 0)
    (300, 2)
    """
    value = shift = 0
    while True:
        byte = message[at]
        at, value, shift = at + 1, value | (byte & 127) << shift, shift + 7
        if byte < 128:
            return value, at


def protobuf_fields(message: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """The fields of a protobuf message: number and value.

    >>> [(field, value if isinstance(value, int) else bytes(value)) for field, value in protobuf_fields(
    ...     memoryview(bytes([8, 1, 18, 2]) + b"ab"))]
    [(1, 1), (2, b'ab')]
    """
    at = 0
    while at < len(message):
        key, at = varint(message, at)
        if key & 7 == 0:
            value, at = varint(message, at)
            yield key >> 3, value
            continue
        size = {1: 8, 5: 4}.get(key & 7)
        if size is None:
            size, at = varint(message, at)
        yield key >> 3, message[at : at + size]
        at += size


def crc32c(raw: bytes) -> int:
    """The Castagnoli checksum of bytes.

    >>> hex(crc32c(b"123456789"))
    '0xe3069283'
    """
    # Eight lanes would be faster; a checkpoint of a few megabytes takes a second like this.
    table, crc = _castagnoli(), 0xFFFFFFFF
    for byte in raw:
        crc = table[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


def _castagnoli() -> list[int]:
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


def _mask_checksum(crc: int) -> int:
    """As TensorFlow stores checksums of bytes that may hold checksums."""
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
