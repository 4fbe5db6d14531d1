"""Digits: the 1,797 digits of 8×8 that scikit-learn carries, enlarged to 28×28 (Alpaydin & Kaynak 1998).

Nothing has to be fetched for them, so they stand in for MNIST where nothing can be; never without a warning.
"""

from __future__ import annotations

import importlib.util
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from seamripper._words import need
from seamripper.data.base import check_split
from seamripper.data.colour import GreySet
from seamripper.data.images import Grey
from seamripper.errors import DataError, MissingExtraError

TRAIN = 1_437  # four fifths; the other 360 are the test split


class FallbackWarning(UserWarning):
    """Another data set stands in for the one that was asked for."""


@dataclass(frozen=True)
class Digits(GreySet):
    """scikit-learn's digits in one of Smith's variants."""

    name: ClassVar[str] = "digits"
    about: ClassVar[str] = "scikit-learn's digits, 1,437 + 360 of 8x8 enlarged to 28x28; nothing to fetch"

    def grey(self, split: str) -> Grey:
        """A split of the digits."""
        return grey_digits(split)


def grey_digits(split: str, *, source: str = "scikit-learn's 8x8 digits") -> Grey:
    """A split of the digits, 28×28. The order is drawn once and for all, so the splits never change.

    >>> test = grey_digits("test")
    >>> test.images.shape, test.labels[:5].tolist()
    ((360, 28, 28), [7, 9, 4, 7, 0])
    """
    table = _table()
    order = np.random.RandomState(0).permutation(len(table))
    first_id = 0 if check_split(split) == "train" else TRAIN
    rows = order[:TRAIN] if split == "train" else order[TRAIN:]
    images, labels = enlarge(table[rows, :-1].reshape(-1, 8, 8)), table[rows, -1].astype(np.int64)
    # Mean and standard deviation of its own train pixels, as 0.1307 and 0.3081 are MNIST's.
    return Grey("digits", images, labels, first_id, 0.3058, 0.3756, source)


def _table() -> NDArray[np.float64]:
    """One row per digit: its 64 pixels and its class.

    They are read from scikit-learn's own file where it is found, because importing the library takes seconds.
    """
    package = importlib.util.find_spec("sklearn")
    for folder in (package and package.submodule_search_locations) or ():
        file = Path(folder, "datasets", "data", "digits.csv.gz")
        if file.is_file():
            return np.loadtxt(file, delimiter=",")
    digits = need("sklearn.datasets", extra="digits", what="The data set 'digits'").load_digits()
    return np.column_stack([digits.data, digits.target])


def enlarge(images: NDArray[np.float64]) -> NDArray[np.uint8]:
    """Images (n, 8, 8) of 0 … 16 → (n, 28, 28) of 0 … 255, each pixel from the nearest.

    >>> enlarge(np.array([[[0.0, 16.0], [8.0, 1.0]]]))[0, ::7, ::7].tolist()
    [[0, 0, 255, 255], [0, 0, 255, 255], [128, 128, 16, 16], [128, 128, 16, 16]]
    """
    near = np.arange(28) * images.shape[1] // 28
    bytes_ = ((images.astype(np.int64) * 255 + 8) // 16).astype(np.uint8)
    return np.ascontiguousarray(bytes_[:, near][:, :, near])


def stand_in(split: str, *, name: str, why: DataError) -> Grey:
    """The digits in place of a set that could not be fetched: warned of, and said in `source`."""
    source = f"scikit-learn's 8x8 digits standing in for {name}, which could not be fetched"
    try:
        grey = grey_digits(split, source=source)
    except MissingExtraError as e:
        raise why from e
    warnings.warn(
        f"The data set 'digits' (1,797 small images) stands in for {name}: no result is one of {name}. {why}",
        FallbackWarning,
        stacklevel=5,
    )
    return grey
