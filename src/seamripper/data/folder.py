"""A folder of images, as `folder:PATH`, laid out as `listing.py` draws it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from seamripper.data.images import require_eight_bits
from seamripper.data.listing import FileSet
from seamripper.errors import DataError


@dataclass(frozen=True)
class Folder(FileSet):
    """Images of a folder: the shorter side is resized to `size` (bilinear), and the middle square is taken."""

    name: ClassVar[str] = "folder"
    about: ClassVar[str] = "your own images, one folder per class"
    files, library = "images", ("PIL.Image", "vision")
    endings = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".ppm", ".pgm")

    def read(self, path: Path, library: ModuleType) -> NDArray[np.uint8]:
        """The middle square of an image as (3, size, size); rounded as torchvision's Resize and CenterCrop."""
        size = self.size
        try:
            with library.open(path) as opened:
                require_eight_bits(opened, str(path))
                # By way of RGBA, because Pillow warns of palettes that hold transparency.
                plain = opened.convert("RGBA") if opened.mode == "P" else opened
                picture = plain.convert("RGB")
                short = min(picture.size)
                width, height = (int(size * side / short) for side in picture.size)
                left, top = round((width - size) / 2), round((height - size) / 2)
                picture = picture.resize((width, height), library.Resampling.BILINEAR)
                return np.asarray(picture.crop((left, top, left + size, top + size))).transpose(2, 0, 1)
        except DataError:
            raise
        # Pillow's decoders raise whatever they come across: OSError, ValueError, SyntaxError, zlib.error, …
        except Exception as e:
            raise DataError(
                f"{path} could not be read as an image: {e}. Repair it or take it out of the folder."
            ) from e
