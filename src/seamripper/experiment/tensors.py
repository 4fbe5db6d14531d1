"""Tensors of a store: safetensors files named by the sha256 of their bytes."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from seamripper._files import sha256_of
from seamripper.errors import DamagedError, FileError, StoreError

TENSORS, WORK, DAMAGED = "tensors", "work", "damaged"
_SUFFIX = ".safetensors"


class Tensors:
    """The tensors of a store. A file is there whole, under the name of its content, or it is not there."""

    def __init__(self, store: Path) -> None:
        self.folder, self.aside = store / TENSORS, store / DAMAGED

    def path(self, name: str) -> Path:
        """Where the file of this name is, or would be."""
        return self.folder / name[:2] / f"{name}{_SUFFIX}"

    def has(self, name: str) -> bool:
        """Whether there is such a file; not whether it is whole."""
        return self.path(name).is_file()

    def put(self, write: Callable[[Path], None]) -> str:
        """Keep what `write` writes to the path that it is given; the name that it goes by from then on.

        The same content has the same name, so that what is written twice is there once.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        draft = self.folder / f"draft-{os.getpid()}-{os.urandom(4).hex()}{_SUFFIX}"
        try:
            write(draft)
            name = sha256_of(draft)
            place = self.path(name)
            place.parent.mkdir(exist_ok=True)
            draft.replace(place)
        except OSError as e:
            raise FileError(f"Could not write a tensor to {self.folder}: {e.strerror or e}.") from e
        finally:
            with contextlib.suppress(OSError):
                draft.unlink()
        return name

    def get(self, name: str) -> Path:
        """The path of a file whose bytes are what its name says."""
        path = self.path(name)
        try:
            sha = sha256_of(path)
        except FileNotFoundError:
            raise DamagedError(f"The tensor {name[:12]} of the store is gone: {path}.", name=name) from None
        except OSError as e:
            raise StoreError(f"The tensor {path} cannot be read: {e.strerror or e}.") from e
        if sha != name:
            raise DamagedError(f"The tensor {name[:12]} of the store is not as it was written: {path}.", name=name)
        return path

    def set_aside(self, name: str) -> Path | None:
        """Move a damaged file out of the way, where it can be looked at; None if there is none."""
        path = self.path(name)
        if not path.exists():
            return None
        self.aside.mkdir(parents=True, exist_ok=True)
        place = self.aside / f"{path.stem}-{os.urandom(4).hex()}{_SUFFIX}"
        path.replace(place)
        return place

    def drop(self, name: str) -> int:
        """Remove a file; the bytes that this freed."""
        path = self.path(name)
        try:
            size = path.stat().st_size
            path.unlink()
        except FileNotFoundError:
            return 0
        return size

    def names(self) -> Iterator[str]:
        """Every file that there is, by name."""
        yield from sorted(path.stem for path in self.folder.glob(f"??/*{_SUFFIX}"))

    def drafts(self) -> Iterator[Path]:
        """What writers that were killed have left behind."""
        yield from self.folder.glob(f"draft-*{_SUFFIX}")
        yield from self.folder.glob(".draft-*.tmp")
