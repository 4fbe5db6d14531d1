"""Files laid out in folders, one folder per class: what `folder:PATH` and `recordings:PATH` have in common.

::

    PATH/train/<class>/*  and  PATH/test/<class>/*   the splits as they are
    PATH/train/<class>/*  and  PATH/val/<class>/*    the same: ImageNet calls what is scored `val`
    PATH/<class>/*                                   one file in five, by a hash of its path, is for the test
    PATH/*                                           the same, with one class
"""

from __future__ import annotations

import abc
import hashlib
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from seamripper._words import need, word_list
from seamripper.data.base import DataSet, check_size, check_split
from seamripper.data.samples import Samples
from seamripper.data.stream import Rows, Stream
from seamripper.errors import DataError

_AT_ONCE = 32
"""Files that a stream reads before it hands them on."""
_Listing = list[tuple[str, Path]]


@dataclass(frozen=True)
class FileSet(DataSet):
    """Files of one kind in folders; a leaf reads one of them as an image of `size`.

    Pixels are held in memory, up to `limit` bytes; with `n`, only the files that are drawn are read. `mean` and `std`
    are for models that do not say how they want pictures: if they are None, 0.5 is taken for both, with a warning.
    """

    takes: ClassVar[str] = "path"
    files: ClassVar[str]
    """What messages call such files."""
    endings: ClassVar[tuple[str, ...]]
    """How their names end."""
    library: ClassVar[tuple[str, str]]
    """What reads them, and the extra that it comes with."""

    path: str
    size: int = 224
    mean: float | None = None
    std: float | None = None
    limit: int = 4 * 10**9

    def __post_init__(self) -> None:
        super().__post_init__()
        mean, std = self._scale
        if not (math.isfinite(mean) and math.isfinite(std) and std > 0):
            raise DataError(f"Expected mean to be finite and std above 0, but got mean {mean} and std {std}.")

    @property
    def _scale(self) -> tuple[float, float]:
        return 0.5 if self.mean is None else self.mean, 0.5 if self.std is None else self.std

    @abc.abstractmethod
    def read(self, path: Path, library: ModuleType) -> NDArray[np.uint8]:
        """The image of a file, (3, size, size), or (size, size) if its channels are equal."""

    def load(self, split: str, *, n: int | None, seed: int) -> Samples:
        """The files of a split that are selected; no others are read."""
        module, extra = self.library
        library = need(module, extra=extra, what=f"A folder of {self.files}")
        every, paths = self._split(split)
        few = self.select(every, n=n, seed=seed)
        advice = "Draw fewer (n), take a smaller size, or read them as they are passed over: stream=True."
        check_size(len(few) * 3 * self.size**2, limit=self.limit, name=few.name, advice=advice)
        pixels = np.empty((len(few), 3, self.size, self.size), np.uint8)
        for row, place in enumerate(few.inputs):
            pixels[row] = self.read(paths[int(place)], library)
        mean, std = self._scale
        assumed = self.mean is None or self.std is None
        return replace(few, inputs=torch.from_numpy(pixels), mean=mean, std=std, assumed=assumed)

    def stream(self, split: str, *, seed: int) -> Stream:
        """The files of a split, each read when the pass comes to it."""
        self.require_plain()
        module, extra = self.library
        library = need(module, extra=extra, what=f"A folder of {self.files}")
        every, paths = self._split(split)
        mean, std = self._scale

        def read() -> Iterator[Rows]:
            for start in range(0, len(paths), _AT_ONCE):
                part = paths[start : start + _AT_ONCE]
                pixels = np.empty((len(part), 3, self.size, self.size), np.uint8)
                for row, path in enumerate(part):
                    pixels[row] = self.read(path, library)
                yield torch.from_numpy(pixels), every.labels[start : start + len(part)]

        view = {"mean": mean, "std": std, "assumed": self.mean is None or self.std is None, "source": every.source}
        view |= {"ready": True} if self.ready else {}
        return Stream(every.name, read, ids=every.ids, classes=every.classes, view=view)

    def _split(self, split: str) -> tuple[Samples, list[Path]]:
        """The files of a split and, for each, its place among them as the input of a sample, unread."""
        train, test, classes = self._listing(Path(self.path).expanduser())
        chosen, first_id = (train, 0) if check_split(split) == "train" else (test, len(train))
        name, numbers = f"{self.name}:{self.path}", {label: number for number, label in enumerate(classes)}
        if not chosen:
            raise DataError(
                f"{name} has no {self.files} in its {split} split ({len(train)} train, {len(test)} test). "
                f"Add {self.files}, or lay them out as train/<class>/ and test/<class>/."
            )
        samples = Samples(
            name,
            inputs=torch.arange(len(chosen)),
            labels=torch.tensor([numbers[label] for label, _ in chosen]),
            ids=torch.arange(first_id, first_id + len(chosen)),
            classes=len(classes),
            source=name,
        )
        return samples, [file for _, file in chosen]

    def _listing(self, root: Path) -> tuple[_Listing, _Listing, list[str]]:
        """(class, file) of train and of test, and the classes, all sorted."""
        if not root.is_dir():
            raise DataError(f"There is no folder {root}. Say which one after the colon: '{self.name}:PATH'.")
        scored = _test_folder(root)
        if (root / "train").is_dir() and scored is not None:
            train, test = self._files(root / "train"), self._files(scored)
            classes = sorted({label for label, _ in train})
            unknown = sorted({label for label, _ in test} - set(classes))
            if unknown == [""]:
                raise DataError(
                    f"{scored} has {self.files} in no class folder, and {root / 'train'} has class folders. Sort them "
                    f"into folders of the same names: {scored.name}/<class>/."
                )
            if unknown:
                raise DataError(
                    f"{scored} has classes that {root / 'train'} does not have: {word_list(unknown)}. "
                    "Both must have folders with the same names."
                )
            return train, test, classes
        if (root / "train").is_dir() and _folders(root / "train"):
            raise DataError(
                f"{root} has a folder 'train' but no folder 'test' or 'val'. Rename the folder of test files to 'test'."
            )
        every = self._files(root)
        tested = [held_out(path.relative_to(root).as_posix()) for _, path in every]
        train = [item for item, out in zip(every, tested, strict=True) if not out]
        test = [item for item, out in zip(every, tested, strict=True) if out]
        return train, test, sorted({label for label, _ in every})

    def _files(self, root: Path) -> _Listing:
        """(class, file) of a folder of class folders, or of files without a class."""
        loose = self._inside(root)
        listing = [(folder.name, path) for folder in _folders(root) for path in self._inside(folder)]
        if loose and listing:
            raise DataError(
                f"{root} has both {self.files} and folders of {self.files} (loose: {loose[0].name}). Move the loose "
                "ones into a folder, or elsewhere."
            )
        if not loose and not listing:
            raise DataError(f"{root} has neither {self.files} nor folders of {self.files} ({', '.join(self.endings)}).")
        return listing or [("", path) for path in loose]

    def _inside(self, root: Path) -> list[Path]:
        return sorted(
            path
            for path in root.iterdir()
            if path.suffix.lower() in self.endings and not path.name.startswith(".") and path.is_file()
        )


def held_out(key: str) -> bool:
    """Whether what goes by `key` is of the test split: the same on every machine, and when others come or go.

    >>> [k for k in range(15) if held_out(f"cat/{k}.png")]
    [3, 13]
    """
    first = hashlib.sha256(key.encode()).digest()[:8]
    return int.from_bytes(first) % 5 == 0


def _test_folder(root: Path) -> Path | None:
    """The folder of the test split: `test`, or `val` where there is none, or where only `val` has class folders.

    ImageNet's own `test` has no classes: its labels were never published.
    """
    there = [root / name for name in ("test", "val") if (root / name).is_dir()]
    return next((folder for folder in there if _folders(folder)), there[0] if there else None)


def _folders(root: Path) -> list[Path]:
    return sorted(path for path in root.iterdir() if path.is_dir() and not path.name.startswith("."))
