"""Data sets as Samples, by name. A data set is one file here, or an entry point in `seamripper.data`."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from seamripper._plugins import discover
from seamripper._words import did_you_mean
from seamripper.data.base import DataSet, check_seed, check_split
from seamripper.data.digits8 import FallbackWarning
from seamripper.data.noise import clustered_noise
from seamripper.data.samples import Inputs, Samples
from seamripper.errors import DataError

__all__ = ["DataSet", "FallbackWarning", "Inputs", "Samples", "clustered_noise", "datasets", "load_data"]


def load_data(name: str, split: str = "train", *, n: int | None = None, seed: int = 0, **options: Any) -> Samples:
    """The "train" or "test" samples of a data set; `n` of them, if given.

    `name` is one that `datasets()` lists: `mnist`, `mnist/digit`, `cifar10`, `folder:PATH` … `seed` draws the
    `n` samples and whatever else is random about the set; `options` are the set's own.

    >>> few = load_data("digits/digit", "test", n=4)
    >>> few.name, few.shape, few.labels.tolist()
    ('digits/digit', (3, 28, 28), [1, 6, 4, 2])
    """
    check_split(split)
    seed = check_seed(seed)
    if n is not None and n < 1:
        raise DataError(f"Expected n to be at least 1, but got {n}.")
    samples = _named(name, options).load(split, n=n, seed=seed)
    return samples if n is None else samples.draw(n, seed=seed)


def datasets() -> dict[str, str]:
    """Every name that `load_data` takes, with a line on what it is.

    >>> datasets()["cifar10"]
    'photographs of ten kinds of things, 50,000 + 10,000 of 32x32'
    """
    names = {}
    for name, cls in _known().items():
        names[f"{name}:{cls.takes.upper()}" if cls.takes else name] = cls.about
        names.update({f"{name}/{variant}": what for variant, what in cls.variants.items()})
    return names


def _known() -> dict[str, type[DataSet]]:
    return discover(__name__, DataSet)  # type: ignore[type-abstract]


def _named(name: str, options: dict[str, Any]) -> DataSet:
    word, colon, argument = name.partition(":")
    key, slash, variant = word.partition("/")
    cls = _known().get(key)
    if cls is None or (slash and variant not in cls.variants) or (colon and not cls.takes):
        raise DataError(f"There is no data set {name!r}: {did_you_mean(word, list(datasets()))}")
    if cls.takes and not argument:
        raise DataError(f"The data set {key!r} needs a {cls.takes}: '{key}:{cls.takes.upper()}'.")
    taken = {"variant": variant} if slash else {}
    taken |= {cls.takes: argument} if cls.takes else {}
    allowed = [f.name for f in fields(cls) if f.name not in ("variant", cls.takes)]
    for option in options:
        if option not in allowed:
            hint = did_you_mean(option, allowed) if allowed else "it has none."
            raise DataError(f"The data set {key!r} has no option {option!r}: {hint}")
    return cls(**taken, **options)
