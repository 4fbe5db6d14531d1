"""Files that are whole or not there, on disks that are full and with writers that are killed."""

from __future__ import annotations

import json
import os
import signal
import struct
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from seamripper._files import atomic, load_tensors, read_header, read_record, save_tensors, sha256_of
from seamripper.errors import FileError


def names(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


def python(code: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)


# ---- atomic ----


def test_a_file_appears_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "file.bin"
    with atomic(path) as file:
        file.write(b"half")
        file.flush()
        assert not path.exists()
        file.write(b" and half")
    assert path.read_bytes() == b"half and half"
    assert names(path.parent) == ["file.bin"]


def test_an_old_file_is_replaced_at_once(tmp_path: Path) -> None:
    path = tmp_path / "file.bin"
    path.write_bytes(b"old")
    with atomic(path) as file:
        file.write(b"new")
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_whatever_interrupts_leaves_the_old_file(tmp_path: Path, error: type[BaseException]) -> None:
    path = tmp_path / "file.bin"
    path.write_bytes(b"old")

    def write() -> None:
        with atomic(path) as file:
            file.write(b"half of the ne")
            raise error("stop")

    with pytest.raises(error, match="stop"):
        write()
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["file.bin"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs Linux's /dev/full")
def test_a_full_disk(tmp_path: Path) -> None:
    """The temporary file is /dev/full, by a link that stands there before: the kernel's own ENOSPC."""
    path = tmp_path / "file.safetensors"
    path.write_bytes(b"old")
    (tmp_path / f".{path.name}.{os.getpid()}.tmp").symlink_to("/dev/full")
    full = r"The disk is full \(No space left on device\): .*file\.safetensors could not be written and nothing of it"
    with pytest.raises(FileError, match=full):
        save_tensors(path, {"w": torch.zeros(1000)}, {}, kind="toy")
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["file.safetensors"]


@pytest.mark.slow
def test_a_disk_that_fills_half_way(tmp_path: Path) -> None:
    """In a process that may write 64 kB a file: what was written of the rest is gone again."""
    path = tmp_path / "file.safetensors"
    save_tensors(path, {"w": torch.zeros(10)}, {}, kind="toy")
    before = path.read_bytes()
    done = python(f"""
import resource, torch
from seamripper._files import save_tensors
from seamripper.errors import FileError
resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))
try:
    save_tensors({str(path)!r}, {{"w": torch.zeros(100_000)}}, {{}}, kind="toy")
except FileError as e:
    print(e)
""")
    assert done.stdout.startswith(f"The disk is full (File too large): {path} could not be written"), done.stderr
    assert path.read_bytes() == before
    assert names(tmp_path) == ["file.safetensors"]


def test_a_place_that_cannot_be_written_to(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    told = pytest.raises(FileError, match=r"Could not write .*file/inside: (Not a directory|File exists)")
    with told, atomic(tmp_path / "file" / "inside") as file:
        file.write(b"nowhere")


def test_temporaries_of_killed_writers_are_swept(tmp_path: Path) -> None:
    path = tmp_path / "file[1].bin"  # a name that means something else as a pattern
    done = python(f"""
import os, signal
from seamripper._files import atomic
with atomic({str(path)!r}) as file:
    file.write(b"half of it")
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
""")
    assert done.returncode == -signal.SIGKILL
    assert len(names(tmp_path)) == 1
    assert not path.exists()
    (tmp_path / f".other.bin.{os.getpid()}.tmp").touch()  # another file's, of a writer that lives
    (tmp_path / f".{path.name}.{os.getppid()}.tmp").touch()  # this file's, of a writer that lives
    with atomic(path) as file:
        file.write(b"whole")
    assert names(tmp_path) == sorted([f".other.bin.{os.getpid()}.tmp", f".{path.name}.{os.getppid()}.tmp", path.name])


# ---- tensors with a record ----


def test_tensors_and_record_come_back(tmp_path: Path) -> None:
    shared = torch.arange(6.0)
    tensors = {
        "a": shared.reshape(2, 3).T,  # not contiguous
        "b": shared,  # shares memory with a
        "c": torch.tensor(3),
        "d": torch.zeros(0, 4),
        "e": torch.ones(3, dtype=torch.bfloat16),
        "f": torch.ones(2, dtype=torch.float64, requires_grad=True),
    }
    record = {"n": 3, "x": 0.1, "names": ("a", "b"), "none": None, "Größe": {"7": [1.5, True]}}
    save_tensors(tmp_path / "toy.safetensors", tensors, record, kind="toy")
    loaded, told = load_tensors(tmp_path / "toy.safetensors", kind="toy")
    assert told == {**record, "names": ["a", "b"]}
    assert read_record(tmp_path / "toy.safetensors") == ("toy", told)
    assert loaded.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert loaded[name].dtype == tensor.dtype
        assert torch.equal(loaded[name], tensor.detach())


def test_the_same_is_written_to_the_byte(tmp_path: Path) -> None:
    tensors = {name: torch.full((3,), float(k)) for k, name in enumerate("zyxwv")}
    prints = set()
    for k in range(3):
        save_tensors(tmp_path / f"{k}.safetensors", tensors, {"b": 1, "a": 2}, kind="toy")
        prints.add(sha256_of(tmp_path / f"{k}.safetensors"))
    assert len(prints) == 1


def test_a_record_that_json_cannot_hold_writes_nothing(tmp_path: Path) -> None:
    for record in ({"x": float("nan")}, {"x": float("inf")}):
        with pytest.raises(ValueError, match="JSON"):
            save_tensors(tmp_path / "toy.safetensors", {}, record, kind="toy")
    assert names(tmp_path) == []


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    save_tensors(tmp_path / "toy.safetensors", {"w": torch.arange(100.0)}, {"seed": 3}, kind="toy")
    return tmp_path / "toy.safetensors"


def test_another_kind(saved: Path) -> None:
    with pytest.raises(FileError, match="to hold a match, but it holds a toy"):
        load_tensors(saved, kind="match")


def test_from_elsewhere(tmp_path: Path) -> None:
    save_file({"w": torch.zeros(2)}, tmp_path / "raw.safetensors", {"format": "pt"})
    assert read_record(tmp_path / "raw.safetensors") == (None, {})
    with pytest.raises(FileError, match="seamripper did not write"):
        load_tensors(tmp_path / "raw.safetensors", kind="toy")


def test_every_flipped_byte_is_refused(saved: Path) -> None:
    """Wherever it is, header, record or tensor; sixty places over the file."""
    whole = saved.read_bytes()
    for at in range(0, len(whole), len(whole) // 60):
        raw = bytearray(whole)
        raw[at] ^= 0x10
        saved.write_bytes(raw)
        with pytest.raises(FileError):
            load_tensors(saved, kind="toy")
    saved.write_bytes(whole)
    assert torch.equal(load_tensors(saved, kind="toy")[0]["w"], torch.arange(100.0))


def test_every_length_but_its_own_is_refused(saved: Path) -> None:
    whole = saved.read_bytes()
    for keep in (*range(0, len(whole), 37), len(whole) - 1):
        saved.write_bytes(whole[:keep])
        with pytest.raises(FileError, match=r"cut short|There is no file|is not a safetensors file"):
            load_tensors(saved, kind="toy")
    saved.write_bytes(whole + b"\0")
    with pytest.raises(FileError, match="cut short or added to"):
        load_tensors(saved, kind="toy")


def test_a_missing_file_is_told_with_its_neighbours(saved: Path) -> None:
    with pytest.raises(
        FileError, match=r"There is no file .*tox\.safetensors. In that folder there are: toy\.safetensors"
    ):
        read_header(saved.with_name("tox.safetensors"))
    with pytest.raises(FileError, match="There is no file"):
        read_header(saved.parent / "nowhere" / "toy.safetensors")
    with pytest.raises(FileError, match="There is no file"):
        read_header(saved.parent)


@pytest.mark.parametrize(
    "header",
    [
        b"[]",
        b"3 ",
        b"{}}",
        b'{"w": 3}',
        b'{"w": {"dtype": "F32"}}',
        b'{"w": {"data_offsets": []}}',
        b"\xff\xfe",
        b'{"__metadata__": {"seamripper": "not json"}}',
        b'{"__metadata__": {"seamripper": "[]"}}',
        b'{"__metadata__": {"seamripper": "{}"}}',
        b'{"__metadata__": []}',
    ],
    ids=repr,
)
def test_headers_that_are_none(tmp_path: Path, header: bytes) -> None:
    file = tmp_path / "odd.safetensors"
    file.write_bytes(struct.pack("<Q", len(header)) + header)
    with pytest.raises(FileError, match=r"not a safetensors file|cannot be read"):
        load_tensors(file, kind="toy")


def test_a_record_without_its_seal(tmp_path: Path) -> None:
    note = json.dumps({"kind": "toy", "record": {}})
    save_file({"w": torch.zeros(2)}, tmp_path / "toy.safetensors", {"seamripper": note})
    with pytest.raises(FileError, match="is not as it was written"):
        load_tensors(tmp_path / "toy.safetensors", kind="toy")
