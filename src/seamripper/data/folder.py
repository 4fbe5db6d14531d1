"""A folder of images, as `folder:PATH`.

::

    PATH/train/<class>/*  and  PATH/test/<class>/*   the splits as they are
    PATH/<class>/*                                   one image in five, by a hash of its path, is for the test
    PATH/*                                           the same, with one class
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from seamripper._words import listed, need
from seamripper.data.base import DataSet, check_size, check_split
from seamripper.data.samples import Samples
from seamripper.errors import DataError

ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".ppm", ".pgm")


@dataclass(frozen=True)
class Folder(DataSet):
    """Images of a folder: the shorter side is resized to `size` (bilinear), the middle square is kept.

    Pixels are held in memory, up to `limit` bytes; with `n`, only the images that are drawn are read.
    """

    name: ClassVar[str] = "folder"
    about: ClassVar[str] = "your own images, in a folder a class"
    takes: ClassVar[str] = "path"

    path: str
    size: int = 224
    mean: float = 0.5
    std: float = 0.5
    limit: int = 4 * 10**9

    def __post_init__(self) -> None:
        if not isinstance(self.size, int) or self.size < 1:
            raise DataError(f"Expected size to be a whole number of pixels, 1 or more, but got {self.size!r}.")
        if not (math.isfinite(self.mean) and math.isfinite(self.std) and self.std > 0):
            raise DataError(f"Expected mean to be finite and std above 0, but got mean {self.mean} and std {self.std}.")

    def load(self, split: str, *, n: int | None, seed: int) -> Samples:
        """The images of a split, or `n` of them."""
        train, test, classes = _listing(Path(self.path).expanduser())
        chosen, first_id = (train, 0) if check_split(split) == "train" else (test, len(train))
        name = f"folder:{self.path}"
        if not chosen:
            raise DataError(
                f"{name} has no images in its {split} split ({len(train)} train, {len(test)} test). "
                "Add images, or lay them out as train/<class>/ and test/<class>/."
            )
        ids = torch.arange(first_id, first_id + len(chosen))
        number = {kind: k for k, kind in enumerate(classes)}
        labels = torch.tensor([number[kind] for kind, _ in chosen])
        drawn = Samples(name, torch.arange(len(chosen)), labels, ids, classes=len(classes))
        drawn = drawn if n is None else drawn.draw(n, seed=seed)
        check_size(
            len(drawn) * 3 * self.size**2,
            limit=self.limit,
            name=name,
            advice="Draw fewer (n), or take a smaller size.",
        )
        image = need("PIL.Image", extra="vision", what="A folder of images")
        pixels = np.empty((len(drawn), 3, self.size, self.size), np.uint8)
        for row, index in enumerate(drawn.ids - first_id):
            pixels[row] = _read(chosen[int(index)][1], self.size, image)
        return Samples(
            name,
            torch.from_numpy(pixels),
            drawn.labels,
            drawn.ids,
            len(classes),
            self.mean,
            self.std,
            source=name,
        )


_Listing = list[tuple[str, Path]]


def _listing(root: Path) -> tuple[_Listing, _Listing, list[str]]:
    """(class, image) of train and of test, and the classes, all sorted."""
    if not root.is_dir():
        raise DataError(f"There is no folder {root}. Say which one after the colon: 'folder:PATH'.")
    if (root / "train").is_dir() and (root / "test").is_dir():
        train, test = _images(root / "train"), _images(root / "test")
        classes = sorted({kind for kind, _ in train})
        unknown = sorted({kind for kind, _ in test} - set(classes))
        if unknown:
            raise DataError(
                f"{root / 'test'} has classes that {root / 'train'} has not: {listed(unknown)}. "
                "The folders of both must bear the same names."
            )
        return train, test, classes
    if (root / "train").is_dir() and _folders(root / "train"):
        raise DataError(f"{root} has a folder 'train' but no folder 'test'. Rename or link the one that is to be it.")
    every = _images(root)
    tested = [_held_out(path.relative_to(root)) for _, path in every]
    train = [item for item, out in zip(every, tested, strict=True) if not out]
    test = [item for item, out in zip(every, tested, strict=True) if out]
    return train, test, sorted({kind for kind, _ in every})


def _images(root: Path) -> _Listing:
    """(class, image) of a folder of class folders, or of images without a class."""
    loose, folders = _pictures(root), _folders(root)
    found = [(folder.name, path) for folder in folders for path in _pictures(folder)]
    if loose and found:
        raise DataError(
            f"{root} has images beside folders of images ({loose[0].name}). Put them into a folder, or away."
        )
    if not loose and not found:
        raise DataError(f"{root} has no images, nor folders of images ({', '.join(ENDINGS)}).")
    return found or [("", path) for path in loose]


def _folders(root: Path) -> list[Path]:
    return sorted(path for path in root.iterdir() if path.is_dir() and not path.name.startswith("."))


def _pictures(root: Path) -> list[Path]:
    return sorted(
        path
        for path in root.iterdir()
        if path.suffix.lower() in ENDINGS and not path.name.startswith(".") and path.is_file()
    )


def _held_out(path: Path) -> bool:
    """Whether the image is one of the test split: the same on every machine, and when others come or go.

    >>> [k for k in range(15) if _held_out(Path("cat", f"{k}.png"))]
    [3, 13]
    """
    first = hashlib.sha256(path.as_posix().encode()).digest()[:8]
    return int.from_bytes(first) % 5 == 0


def _read(path: Path, size: int, image: Any) -> NDArray[np.uint8]:
    """The middle square of an image as (3, size, size); rounded as torchvision's Resize and CenterCrop."""
    try:
        with image.open(path) as opened:
            if opened.mode.startswith(("I", "F")):
                raise DataError(f"{path} has more than 8 bits a channel ({opened.mode}). Convert it to 8 bits.")
            # By way of RGBA, because Pillow warns of palettes that hold transparency.
            plain = opened.convert("RGBA") if opened.mode == "P" else opened
            picture = plain.convert("RGB")
            short = min(picture.size)
            width, height = (int(size * side / short) for side in picture.size)
            left, top = round((width - size) / 2), round((height - size) / 2)
            picture = picture.resize((width, height), image.Resampling.BILINEAR)
            return np.asarray(picture.crop((left, top, left + size, top + size))).transpose(2, 0, 1)
    except DataError:
        raise
    # Pillow's decoders raise whatever they come across: OSError, ValueError, SyntaxError, zlib.error, …
    except Exception as e:
        raise DataError(f"{path} could not be read as an image: {e}. Repair it or take it out of the folder.") from e
