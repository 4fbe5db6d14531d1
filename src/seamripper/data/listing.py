"""Files laid out in folders, a folder a class: what `folder:PATH` and `recordings:PATH` have in common.

::

    PATH/train/<class>/*  and  PATH/test/<class>/*   the splits as they are
    PATH/<class>/*                                   one file in five, by a hash of its path, is for the test
    PATH/*                                           the same, with one class
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import torch

from seamripper._words import word_list
from seamripper.data.base import check_split
from seamripper.data.samples import Samples
from seamripper.errors import DataError


@dataclass(frozen=True)
class Files:
    """A kind of file: the word before the colon, what messages call such files, and how their names end."""

    word: str
    what: str
    endings: tuple[str, ...]


_Listing = list[tuple[str, Path]]


def files_of(path: str, split: str, kind: Files) -> tuple[Samples, list[Path]]:
    """The files of a split and, for each, its place among them as the input of a sample, unread."""
    train, test, classes = _listing(Path(path).expanduser(), kind)
    chosen, first_id = (train, 0) if check_split(split) == "train" else (test, len(train))
    name = f"{kind.word}:{path}"
    if not chosen:
        raise DataError(
            f"{name} has no {kind.what} in its {split} split ({len(train)} train, {len(test)} test). "
            f"Add {kind.what}, or lay them out as train/<class>/ and test/<class>/."
        )
    number = {label: k for k, label in enumerate(classes)}
    samples = Samples(
        name,
        inputs=torch.arange(len(chosen)),
        labels=torch.tensor([number[label] for label, _ in chosen]),
        ids=torch.arange(first_id, first_id + len(chosen)),
        classes=len(classes),
        source=name,
    )
    return samples, [file for _, file in chosen]


def held_out(key: str) -> bool:
    """Whether what goes by `key` is of the test split: the same on every machine, and when others come or go.

    >>> [k for k in range(15) if held_out(f"cat/{k}.png")]
    [3, 13]
    """
    first = hashlib.sha256(key.encode()).digest()[:8]
    return int.from_bytes(first) % 5 == 0


def _listing(root: Path, kind: Files) -> tuple[_Listing, _Listing, list[str]]:
    """(class, file) of train and of test, and the classes, all sorted."""
    if not root.is_dir():
        raise DataError(f"There is no folder {root}. Say which one after the colon: '{kind.word}:PATH'.")
    if (root / "train").is_dir() and (root / "test").is_dir():
        train, test = _files(root / "train", kind), _files(root / "test", kind)
        classes = sorted({label for label, _ in train})
        unknown = sorted({label for label, _ in test} - set(classes))
        if unknown:
            raise DataError(
                f"{root / 'test'} has classes that {root / 'train'} has not: {word_list(unknown)}. "
                "The folders of both must bear the same names."
            )
        return train, test, classes
    if (root / "train").is_dir() and _folders(root / "train"):
        raise DataError(f"{root} has a folder 'train' but no folder 'test'. Rename or link the one that is to be it.")
    every = _files(root, kind)
    tested = [held_out(path.relative_to(root).as_posix()) for _, path in every]
    train = [item for item, out in zip(every, tested, strict=True) if not out]
    test = [item for item, out in zip(every, tested, strict=True) if out]
    return train, test, sorted({label for label, _ in every})


def _files(root: Path, kind: Files) -> _Listing:
    """(class, file) of a folder of class folders, or of files without a class."""
    loose, folders = _inside(root, kind), _folders(root)
    listing = [(folder.name, path) for folder in folders for path in _inside(folder, kind)]
    if loose and listing:
        raise DataError(
            f"{root} has {kind.what} beside folders of {kind.what} ({loose[0].name}). Put them into a folder, or away."
        )
    if not loose and not listing:
        raise DataError(f"{root} has no {kind.what}, nor folders of {kind.what} ({', '.join(kind.endings)}).")
    return listing or [("", path) for path in loose]


def _folders(root: Path) -> list[Path]:
    return sorted(path for path in root.iterdir() if path.is_dir() and not path.name.startswith("."))


def _inside(root: Path, kind: Files) -> list[Path]:
    return sorted(
        path
        for path in root.iterdir()
        if path.suffix.lower() in kind.endings and not path.name.startswith(".") and path.is_file()
    )
