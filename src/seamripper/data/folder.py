"""A folder of images, as `folder:PATH`, laid out as `listing.py` draws it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from seamripper._words import need
from seamripper.data.base import DataSet, check_size
from seamripper.data.listing import Files, files_of
from seamripper.data.samples import Samples
from seamripper.errors import DataError

IMAGES = Files("folder", "images", (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".ppm", ".pgm"))


@dataclass(frozen=True)
class Folder(DataSet):
    """Images of a folder: the shorter side is resized to `size` (bilinear), the middle square is kept.

    Pixels are held in memory, up to `limit` bytes; with `n`, only the images that are drawn are read. `mean` and `std`
    are for models that do not say how they want pictures: if they are not given, 0.5 is taken for both, with a warning.
    """

    name: ClassVar[str] = "folder"
    about: ClassVar[str] = "your own images, in a folder a class"
    takes: ClassVar[str] = "path"

    path: str
    size: int = 224
    mean: float | None = None
    std: float | None = None
    limit: int = 4 * 10**9

    def __post_init__(self) -> None:
        super().__post_init__()
        check_scale(*self._scale)

    @property
    def _scale(self) -> tuple[float, float]:
        return 0.5 if self.mean is None else self.mean, 0.5 if self.std is None else self.std

    def load(self, split: str, *, n: int | None, seed: int) -> Samples:
        """The images of a split that are kept; no others are read."""
        listed, paths = files_of(self.path, split, IMAGES)
        kept = self.select(listed, n=n, seed=seed)
        check_size(
            len(kept) * 3 * self.size**2,
            limit=self.limit,
            name=kept.name,
            advice="Draw fewer (n), or take a smaller size.",
        )
        image = need("PIL.Image", extra="vision", what="A folder of images")
        pixels = np.empty((len(kept), 3, self.size, self.size), np.uint8)
        for row, place in enumerate(kept.inputs):
            pixels[row] = _read(paths[int(place)], self.size, image)
        mean, std = self._scale
        assumed = self.mean is None or self.std is None
        return replace(kept, inputs=torch.from_numpy(pixels), mean=mean, std=std, assumed=assumed)


def check_scale(mean: float, std: float) -> None:
    """Refuse a mean and a standard deviation that bytes cannot be normalised with."""
    if not (math.isfinite(mean) and math.isfinite(std) and std > 0):
        raise DataError(f"Expected mean to be finite and std above 0, but got mean {mean} and std {std}.")


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
