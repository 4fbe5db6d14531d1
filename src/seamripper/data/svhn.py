"""SVHN: 73,257 and 26,032 digits of house numbers, 32×32 (Netzer et al. 2011), as `svhn:FOLDER`.

No package registry carries it, so the folder is the user's own copy of the cropped digits: `train_32x32.mat` and
`test_32x32.mat`, in MATLAB's format of version 5. There X is (32, 32, 3, n) and y is (n, 1), and 10 stands for the
digit 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from seamripper.data.base import DataSet, check_split
from seamripper.data.images import resize_samples
from seamripper.data.samples import Samples
from seamripper.errors import DataError

_FILES = {"train": "train_32x32.mat", "test": "test_32x32.mat"}
_FIRST_ID = {"train": 0, "test": 1_000_000}
"""Above the number of any file of SVHN: the largest, `extra_32x32.mat`, has 531,131 digits."""
_ADVICE = (
    "The cropped digits of SVHN (train_32x32.mat and test_32x32.mat, Format 2) can be had from "
    "http://ufldl.stanford.edu/housenumbers/."
)


@dataclass(frozen=True)
class Svhn(DataSet):
    """SVHN's cropped digits, not normalised: inputs are x / 255 (Balogh & Jelasity 2025)."""

    name: ClassVar[str] = "svhn"
    about: ClassVar[str] = "digits of house numbers, 73,257 + 26,032 of 32x32; your own copy of the .mat files"
    takes: ClassVar[str] = "folder"

    folder: str
    size: int | None = None
    """Images of size x size, resized (bilinear); None leaves them as they are."""

    def load(self, split: str, *, n: int | None, seed: int) -> Samples:
        """The split, or what is selected of it, (n, 3, 32, 32)."""
        return resize_samples(self.select(self._digits(check_split(split)), n=n, seed=seed), self.size)

    def _digits(self, split: str) -> Samples:
        path = Path(self.folder).expanduser() / _FILES[split]
        if not path.is_file():
            raise DataError(f"There is no file {path}. {_ADVICE} Say where they are after the colon: 'svhn:FOLDER'.")
        pixels, labels = _arrays(path)
        first_id = _FIRST_ID[split]
        return Samples(
            name=f"{self.name}:{self.folder}",
            inputs=torch.from_numpy(np.ascontiguousarray(pixels.transpose(3, 2, 0, 1))),
            labels=torch.from_numpy(labels % 10),
            ids=torch.arange(first_id, first_id + len(labels)),
            classes=10,
            source=f"SVHN, {path.name} of the user's own copy",
        )


def _arrays(path: Path) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Pixels (32, 32, 3, n) and labels (n), from 1 to 10, of a file; one that holds anything else is refused."""
    # Imported here: it takes a while, and few data sets are MATLAB's.
    from scipy.io import loadmat

    try:
        contents: dict[str, Any] = loadmat(path, variable_names=["X", "y"])
    # Its readers raise whatever they come across: ValueError, NotImplementedError (version 7.3), zlib.error, …
    except Exception as e:
        raise DataError(f"{path} could not be read as a MATLAB file of version 5: {e}. {_ADVICE}") from e
    pixels, labels = (np.asarray(contents.get(name, ())) for name in ("X", "y"))
    n = pixels.shape[-1] if pixels.ndim == 4 else 0
    if pixels.dtype != np.uint8 or pixels.shape != (32, 32, 3, n) or labels.size != n or n == 0:
        raise DataError(
            f"Expected {path} to hold X, bytes of (32, 32, 3, n), and y, n labels, but got X of {pixels.dtype} "
            f"{pixels.shape} and y of {labels.shape}. {_ADVICE}"
        )
    flat = labels.flatten()
    if flat.dtype.kind not in "iuf" or not np.isin(flat, np.arange(1, 11)).all():
        raise DataError(
            f"Expected the labels of {path} to be whole numbers from 1 to 10, where 10 is the digit 0, but got others. "
            f"{_ADVICE}"
        )
    return pixels, flat.astype(np.int64)
