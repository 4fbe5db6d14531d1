"""Tensors of a store: named by what is in them, whole or not there, looked at when they are read."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from seamripper._files import load_tensors, save_tensors
from seamripper.errors import DamagedError, FileError, StoreError
from seamripper.experiment.tensors import Tensors


@pytest.fixture
def tensors(tmp_path: Path) -> Tensors:
    return Tensors(tmp_path)


def writes(data: bytes) -> Callable[[Path], None]:
    return lambda path: path.write_bytes(data) and None


def saves(*numbers: float) -> Callable[[Path], None]:
    return lambda path: save_tensors(path, {"x": torch.tensor(numbers)}, {"n": len(numbers)}, kind="test")


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def test_a_file_is_named_by_the_hash_of_its_bytes(tensors: Tensors) -> None:
    name = tensors.put(saves(1, 2, 3))
    path = tensors.get(name)
    assert hashlib.sha256(path.read_bytes()).hexdigest() == name
    assert path == tensors.path(name)
    assert path.suffix == ".safetensors"
    found, record = load_tensors(path, kind="test")
    assert found["x"].tolist() == [1, 2, 3]
    assert record == {"n": 3}
    assert list(tensors.names()) == [name]
    assert files(tensors.folder) == [path.name]


def test_the_same_content_is_there_once(tensors: Tensors) -> None:
    first, again, other = tensors.put(saves(1, 2)), tensors.put(saves(1, 2)), tensors.put(saves(1, 3))
    assert first == again != other
    assert list(tensors.names()) == sorted([first, other])


def test_nothing_is_there_until_it_is_whole(tensors: Tensors) -> None:
    seen: list[list[str]] = []

    def write(path: Path) -> None:
        path.write_bytes(b"half")
        seen.append(list(tensors.names()))
        path.write_bytes(b"half and half")

    name = tensors.put(write)
    assert seen == [[]]
    assert name == hashlib.sha256(b"half and half").hexdigest()


def test_it_is_synced_before_it_gets_its_name(tensors: Tensors) -> None:
    done: list[str] = []

    def look(_: object, event: str, argument: Any) -> None:
        if event == "c_call" and argument in (os.fsync, os.replace):
            done.append(argument.__name__)

    sys.setprofile(look)
    try:
        tensors.put(saves(1, 2))
    finally:
        sys.setprofile(None)
    assert done == ["fsync", "replace", "replace"]


def test_readers_never_see_half_a_file(tensors: Tensors) -> None:
    stop, wrong, looked = threading.Event(), list[str](), list[str]()

    def read() -> None:
        while not stop.is_set():
            for name in tensors.names():
                if hashlib.sha256(tensors.path(name).read_bytes()).hexdigest() != name:
                    wrong.append(name)
                looked.append(name)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for k in range(40):
        # The content of every third is there already, and is written once more while it is read.
        tensors.put(saves(*range(5000 + k % 3)))
    stop.set()
    for reader in readers:
        reader.join()
    assert len(set(looked)) == 3
    assert not wrong


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, OSError])
def test_a_writer_that_fails_leaves_nothing(tensors: Tensors, error: type[BaseException]) -> None:
    def write(path: Path) -> None:
        path.write_bytes(b"half")
        raise error("in the middle")

    with pytest.raises(FileError if error is OSError else error, match="in the middle"):
        tensors.put(write)
    assert files(tensors.folder) == []


KILLED = """
import os, signal, sys
from pathlib import Path
from seamripper.experiment.tensors import Tensors
def write(path):
    path.write_bytes(b"half")
    os.kill(os.getpid(), signal.SIGKILL)
Tensors(Path(sys.argv[1]).parent).put(write)
"""


def test_a_writer_that_is_killed_leaves_a_draft_that_no_reader_takes_for_a_tensor(tensors: Tensors) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, tensors.folder])
    assert done.returncode == -signal.SIGKILL
    assert list(tensors.names()) == []
    assert [path.name for path in tensors.drafts()] == files(tensors.folder)
    assert len(files(tensors.folder)) == 1


def test_damage_is_seen_when_a_tensor_is_read(tensors: Tensors) -> None:
    name = tensors.put(saves(*range(100)))
    path, data = tensors.path(name), tensors.path(name).read_bytes()
    changed = bytearray(data)
    changed[-1] ^= 1
    for wrong in (data[:-1], data[: len(data) // 2], b"", data + b"\0", bytes(changed)):
        path.write_bytes(wrong)
        assert tensors.has(name)
        with pytest.raises(DamagedError, match=f"The tensor {name[:12]} of the store is not as it was written") as told:
            tensors.get(name)
        assert told.value.name == name
        assert str(path) in str(told.value)
    path.write_bytes(data)
    assert tensors.get(name) == path


def test_a_tensor_that_is_gone(tensors: Tensors) -> None:
    name = tensors.put(saves(1))
    tensors.path(name).unlink()
    assert not tensors.has(name)
    with pytest.raises(DamagedError, match="is gone") as told:
        tensors.get(name)
    assert told.value.name == name
    assert tensors.set_aside(name) is None
    assert tensors.drop(name) == 0


def test_a_tensor_that_cannot_be_read_is_not_taken_for_damaged(tensors: Tensors) -> None:
    tensors.path("ab" * 32).mkdir(parents=True)
    with pytest.raises(StoreError, match="cannot be read: Is a directory") as told:
        tensors.get("ab" * 32)
    assert not isinstance(told.value, DamagedError)


def test_what_is_set_aside_is_kept_and_out_of_the_way(tensors: Tensors) -> None:
    name = tensors.put(saves(1))
    places = []
    for wrong in (b"one", b"two"):
        tensors.path(name).write_bytes(wrong)
        places.append(tensors.set_aside(name))
        assert not tensors.has(name)
    assert [place.read_bytes() for place in places if place] == [b"one", b"two"]
    assert {place.parent for place in places if place} == {tensors.aside}
    assert tensors.put(saves(1)) == name
    assert tensors.get(name)


def test_what_is_dropped_is_gone(tensors: Tensors) -> None:
    name, other = tensors.put(writes(b"12345")), tensors.put(writes(b"other"))
    assert tensors.drop(name) == 5
    assert list(tensors.names()) == [other]


def test_a_full_disk_leaves_nothing_of_it(disk: Callable[..., Path]) -> None:
    place = disk(256 << 10)
    tensors = Tensors(place)
    name = tensors.put(saves(1, 2, 3))
    for write in (saves(*range(100_000)), writes(b"x" * 300_000)):
        with pytest.raises(FileError, match=r"[Ff]ull|No space left on device"):
            tensors.put(write)
    assert list(tensors.names()) == [name]
    assert tensors.get(name)
    assert files(place) == [f"{name}.safetensors"]
