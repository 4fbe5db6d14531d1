"""What a data set is: a choice, frozen with its options, that loads a split as Samples."""

from __future__ import annotations

import abc
from dataclasses import dataclass, field
from typing import ClassVar

from seamripper._doors import require_whole
from seamripper.data.relabel import rotate, with_label_noise
from seamripper.data.samples import Samples
from seamripper.data.stream import Stream
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

    classes: int | None = field(default=None, kw_only=True)
    """How many classes to take, from the first one on; None takes all of them. Every set has this option."""
    ready: bool = field(default=False, kw_only=True)
    """Whether every model is shown them as this set is normalised, even one that was trained on another's scale."""
    label_noise: float = field(default=0.0, kw_only=True)
    """The share of the train labels that are drawn anew by the seed, from all classes; test labels stay right."""
    rotate: bool = field(default=False, kw_only=True)
    """Whether images are turned by 0 to 3 quarter turns, and labelled by them: a task that needs no labels."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.label_noise <= 1:
            raise DataError(
                f"Expected label_noise of the data set {self.name!r} to be a share from 0 to 1, but got "
                f"{self.label_noise!r}."
            )

    @abc.abstractmethod
    def load(self, split: str, *, n: int | None, seed: int) -> Samples:
        """All samples of "train" or "test"; ids are unique over both.

        The caller takes what `select` gives of them, `n` samples drawn with `seed`. A set that reads or computes sample
        by sample may select first; all others ignore `n` and `classes`.
        """

    def stream(self, split: str, *, seed: int) -> Stream:
        """The same samples, read as they are passed over; a leaf that cannot do so refuses."""
        raise DataError(
            f"The data set {self.name!r} is read into memory as a whole, and cannot be streamed: leave stream out."
        )

    def require_plain(self) -> None:
        """Refuse what changes the samples of a set after they were read: a stream gives them as they are."""
        for name in ("classes", "label_noise", "rotate"):
            if getattr(self, name):
                raise DataError(
                    f"A stream gives the samples of {self.name!r} as they are: leave {name} out, or leave stream out."
                )

    def select(self, samples: Samples, *, n: int | None, seed: int) -> Samples:
        """Of the first `classes` classes, `n` drawn with `seed`. From samples that it selected, it takes all."""
        few = samples if self.classes is None else samples.first_classes(self.classes)
        return few if n is None else few.draw(n, seed=seed)

    def relabel(self, samples: Samples, split: str, *, seed: int) -> Samples:
        """The samples that were selected, with the labels, and the turns, that are asked for."""
        if self.label_noise and split == "train":
            samples = with_label_noise(samples, self.label_noise, seed=seed)
        return rotate(samples, seed=seed) if self.rotate else samples


datasets: Registry[DataSet] = Registry(DataSet, "seamripper.data", what="data set", error=DataError)
"""Every data set by name."""


def check_split(split: str) -> str:
    """The split, if it is one."""
    if split not in SPLITS:
        raise DataError(f"Expected split to be 'train' or 'test', but got {split!r}.")
    return split


def check_seed(seed: int) -> int:
    """The seed, if every generator takes it."""
    return require_whole(seed, "seed", least=0, most=2**32 - 1, error=DataError)


def check_size(size: int, *, limit: int, name: str, advice: str) -> None:
    """Refuse what would take more than `limit` bytes of memory, before it is made."""
    if size > limit:
        raise DataError(
            f"{name} would take {size / 1e9:.1f} GB of memory, and the limit is {limit / 1e9:.1f} GB. {advice}"
        )
