"""What a data set is: a choice, frozen with its options, that loads a split as Samples."""

from __future__ import annotations

import abc
from dataclasses import dataclass, field
from typing import ClassVar

from seamripper._doors import require_whole
from seamripper.data.samples import Samples
from seamripper.errors import DataError
from seamripper.registry import Choice, Registry

SPLITS = ("train", "test")


@dataclass(frozen=True)
class DataSet(Choice):
    """The choice of a data set. A leaf is a frozen dataclass; its fields are its options.

    `mnist/digit` is the leaf named `mnist` with `variant="digit"`; `folder:cats` is the leaf named `folder`,
    whose `takes` names the option that stands after the colon.
    """

    what, error, least = "data set", DataError, {"size": 1}
    about: ClassVar[str]
    """One line for a list."""
    variants: ClassVar[dict[str, str]] = {}
    """Variant → what it is, for a leaf that has an option `variant`."""
    takes: ClassVar[str] = ""

    classes: int | None = field(default=None, kw_only=True)
    """The samples of the first so many classes only; None is all of them. Every set has this option."""
    ready: bool = field(default=False, kw_only=True)
    """Whether every model is shown them as this set is normalised, even one that was trained on another's scale."""

    @abc.abstractmethod
    def load(self, split: str, *, n: int | None, seed: int) -> Samples:
        """All samples of "train" or "test"; ids are unique over both.

        The caller keeps what `select` gives, `n` samples drawn with `seed`: a set that reads or computes
        sample by sample may ask it first, all others leave `n` and `classes`.
        """

    def select(self, samples: Samples, *, n: int | None, seed: int) -> Samples:
        """Of the first `classes` classes, `n` drawn with `seed`. Of samples that were kept, it keeps all."""
        few = samples if self.classes is None else samples.first_classes(self.classes)
        return few if n is None else few.draw(n, seed=seed)


datasets: Registry[DataSet] = Registry(DataSet, "seamripper.data", what="data set", error=DataError)
"""Every data set by name."""


def check_split(split: str) -> str:
    """The split, if it is one.

    >>> check_split("validation")
    Traceback (most recent call last):
      ...
    seamripper.errors.DataError: Expected split to be 'train' or 'test', but got 'validation'.
    """
    if split not in SPLITS:
        raise DataError(f"Expected split to be 'train' or 'test', but got {split!r}.")
    return split


def check_seed(seed: int) -> int:
    """The seed, if every generator takes it.

    >>> check_seed(-1)
    Traceback (most recent call last):
      ...
    seamripper.errors.DataError: Expected seed to be a whole number from 0 to 4294967295, but got -1.
    """
    return require_whole(seed, "seed", least=0, most=2**32 - 1, error=DataError)


def check_size(size: int, *, limit: int, name: str, advice: str) -> None:
    """Refuse what would take more than `limit` bytes of memory, before it is made.

    >>> check_size(6 * 10**9, limit=4 * 10**9, name="cats", advice="Draw fewer.")
    Traceback (most recent call last):
      ...
    seamripper.errors.DataError: cats would take 6.0 GB of memory, and the limit is 4.0 GB. Draw fewer.
    """
    if size > limit:
        raise DataError(
            f"{name} would take {size / 1e9:.1f} GB of memory, and the limit is {limit / 1e9:.1f} GB. {advice}"
        )
