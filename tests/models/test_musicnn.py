"""musicnn's networks: TensorFlow's checkpoint read without it, and the answers that the package's own code gives."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from seamripper.errors import CheckpointError, ModelError
from seamripper.models import load
from seamripper.models.musicnn import MelSpectrogram, slaney_filters
from seamripper.models.tensor_bundle import crc32c, read_bundle

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "models" / "musicnn.json").read_text())


def wave() -> Tensor:
    """Three seconds of a rising tone and one that comes and goes; quiet, as the package overflows on loud ones."""
    t = np.arange(48_000) / 16_000
    tone = 0.3 * np.sin(2 * np.pi * (220 + 80 * t) * t) + 0.1 * np.sin(2 * np.pi * 1760 * t) * (np.floor(4 * t) % 2)
    return torch.from_numpy((0.05 * tone).astype(np.float32))[None, None]


@pytest.mark.slow
@pytest.mark.network
@pytest.mark.parametrize("corpus", ["MSD", "MTT"])
def test_tags_are_those_of_the_package_under_tensorflow(corpus: str) -> None:
    """To 5e-4: the package keeps the logarithm in float16 as well, which rounds by as much."""
    model = load(f"musicnn:{corpus}")
    assert (model.input, model.classes) == ((1, 48_000), 50)
    assert sum(p.numel() for p in model.module.parameters()) == 605_748
    with torch.no_grad():
        tags = model.module(wave()).sigmoid()[0].tolist()
    assert tags == pytest.approx(GOLDEN[corpus], abs=5e-4)
    assert np.argmax(tags) == np.argmax(GOLDEN[corpus])


def test_a_tone_is_loudest_in_its_band() -> None:
    tone = torch.sin(2 * torch.pi * 440 * torch.arange(48_000) / 16_000)[None, None] / 100
    shown = MelSpectrogram()(tone)
    assert shown.shape == (1, 1, 187, 96)
    assert set(shown[0, 0, 5:-5].argmax(1).tolist()) == {int(slaney_filters()[:, round(440 * 512 / 16_000)].argmax())}
    # log10(1 + 10000 M) of silence is 0.
    assert not MelSpectrogram()(0 * tone).any()


def test_other_words_are_refused() -> None:
    with pytest.raises(ModelError, match="There is no musicnn:MTG: did you mean 'MTT'"):
        load("musicnn:MTG")
    with pytest.raises(ModelError, match="musicnn:MSD is one network with its own weights, and has no option 'width'"):
        load("musicnn:MSD?width=2")


# ---- the format


def varint(number: int) -> bytes:
    low, rest = number & 127, number >> 7
    return bytes([low | 128]) + varint(rest) if rest else bytes([low])


def block(rows: list[tuple[bytes, bytes]]) -> bytes:
    """One block of a table, with one restart and no checksum that anybody looks at."""
    body, before = b"", b""
    for key, value in rows:
        shared = next(
            (k for k, (a, b) in enumerate(zip(key, before, strict=False)) if a != b), min(len(key), len(before))
        )
        body += varint(shared) + varint(len(key) - shared) + varint(len(value)) + key[shared:] + value
        before = key
    return body + (0).to_bytes(4, "little") + (1).to_bytes(4, "little")


def bundle(tensors: dict[str, np.ndarray]) -> tuple[bytes, bytes]:
    """Index and data of a checkpoint, written as TensorFlow's documentation of the format has it."""
    data, rows = b"", [(b"", b"\x08\x01")]
    for name, tensor in sorted(tensors.items()):
        raw = tensor.astype("<f4").tobytes()
        crc = crc32c(raw)
        masked = ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
        dims = b"".join(b"\x12" + varint(len(d)) + d for d in (b"\x08" + varint(size) for size in tensor.shape))
        entry = b"\x08\x01\x12" + varint(len(dims)) + dims + b"\x20" + varint(len(data)) + b"\x28" + varint(len(raw))
        rows.append((name.encode(), entry + b"\x35" + masked.to_bytes(4, "little")))
        data += raw
    first = block(rows)
    top = block([(b"z", varint(0) + varint(len(first)))])
    at = len(first) + 5
    footer = varint(0) + varint(0) + varint(at) + varint(len(top))
    magic = (0xDB4775248B80FB57).to_bytes(8, "little")
    return first + bytes(5) + top + bytes(5) + footer.ljust(40, b"\0") + magic, data


def test_a_checkpoint_is_read() -> None:
    tensors = {"layer/kernel": np.arange(6.0).reshape(2, 3), "layer/bias": np.array([0.5]), "step": np.array(3.0)}
    read = read_bundle(*bundle(tensors))
    assert {name: tensor.tolist() for name, tensor in read.items()} == {k: v.tolist() for k, v in tensors.items()}


def test_damaged_checkpoints_are_refused() -> None:
    index, data = bundle({"layer/kernel": np.arange(6.0).reshape(2, 3)})
    with pytest.raises(CheckpointError, match="The numbers of layer/kernel are not those that were written"):
        read_bundle(index, bytes([data[0] ^ 1]) + data[1:])
    with pytest.raises(CheckpointError, match=r"Expected 24 bytes for layer/kernel \(2, 3\), but got 20"):
        read_bundle(index, data[:-4])
    for wrong in (b"", index[:-1], index[20:], bytes(len(index))):
        with pytest.raises(CheckpointError, match="Expected a checkpoint of TensorFlow"):
            read_bundle(wrong, data)
