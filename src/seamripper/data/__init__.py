"""Data sets as Samples, by name. A data set is one file here, or an entry point in `seamripper.data`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from seamripper._doors import require, require_whole
from seamripper._options import changed_options
from seamripper.data.base import DataSet, check_seed, check_split, datasets
from seamripper.data.digits8 import FallbackWarning
from seamripper.data.noise import clustered_noise
from seamripper.data.paired import Paired
from seamripper.data.samples import Inputs, Samples
from seamripper.errors import DataError

__all__ = ["DataSet", "FallbackWarning", "Inputs", "Paired", "Samples", "clustered_noise", "datasets", "load_data"]


def load_data(
    name: str,
    split: str = "train",
    *,
    n: int | None = None,
    seed: int = 0,
    classes: int | None = None,
    **options: Any,
) -> Samples:
    """The "train" or "test" samples of a data set; `n` of them, if given.

    `name` is a word that `datasets` knows: `mnist`, `mnist/digit`, `cifar10`, `folder:PATH` … `seed` draws the
    `n` samples and whatever else is random about the set. `classes` keeps the first so many classes, before any are
    drawn; `options` are the set's own. Options may also stand in the name: `mnist/digit?size=32&classes=5`.

    >>> few = load_data("digits/digit", "test", n=4)
    >>> few.name, few.shape, few.labels.tolist()
    ('digits/digit', (3, 28, 28), [1, 6, 4, 2])
    >>> two = load_data("digits?classes=2", "test")
    >>> two.name, two.classes, len(two)
    ('digits/greyscale?classes=2', 2, 66)
    """
    check_split(split)
    seed = check_seed(seed)
    require(name, str, "name", error=DataError, advice="Images in a folder go by 'folder:PATH', say.")
    if n is not None:
        n = require_whole(n, "n", least=1, error=DataError)
    chosen = datasets.make(name, **(options if classes is None else {**options, "classes": classes}))
    samples = chosen.select(chosen.load(split, n=n, seed=seed), n=n, seed=seed)
    samples = replace(samples, ready=True) if chosen.ready else samples
    changed = _options_in_words(chosen)
    return replace(samples, name=f"{samples.name}?{changed}") if changed else samples


def _options_in_words(chosen: DataSet) -> str:
    """The options that differ from their defaults, in alphabetical order: "classes=5&size=32"."""
    taken = ("variant", chosen.takes)
    changed = {name: text for name, text in changed_options(chosen).items() if name not in taken}
    return "&".join(f"{name}={text}" for name, text in sorted(changed.items()))
