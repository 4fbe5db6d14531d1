"""Data sets as Samples, by name. A data set is one file here, or an entry point in `seamripper.data`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from seamripper._doors import require, require_whole
from seamripper._options import changed_options
from seamripper.data.base import DataSet, check_seed, check_split, datasets
from seamripper.data.digits8 import FallbackWarning
from seamripper.data.noise import clustered_noise
from seamripper.data.padding import padded_length, tokens_that_count, trim, trim_pair
from seamripper.data.paired import Paired, require_samples
from seamripper.data.samples import Inputs, Samples, batches_in
from seamripper.errors import DataError

__all__ = [
    "DataSet",
    "FallbackWarning",
    "Inputs",
    "Paired",
    "Samples",
    "batches_in",
    "check_seed",
    "clustered_noise",
    "datasets",
    "load_data",
    "padded_length",
    "require_samples",
    "tokens_that_count",
    "trim",
    "trim_pair",
]


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

    `name` is a word that `datasets` knows: `mnist`, `mnist/digit`, `cifar10`, `folder:PATH` … `seed` draws the `n`
    samples and whatever else is random about the set. `classes` keeps that many classes, the first ones, before any
    samples are drawn; `options` are the set's own. They may also be written in the name: `mnist/digit?size=32`.

    >>> few = load_data("digits/digit", "test", n=4)
    >>> few.name, few.shape, few.labels.tolist()
    ('digits/digit', (3, 28, 28), [1, 6, 4, 2])
    >>> two = load_data("digits?classes=2", "test")
    >>> two.name, two.classes, len(two)
    ('digits/greyscale?classes=2', 2, 66)
    """
    check_split(split)
    seed = check_seed(seed)
    require(name, str, "name", error=DataError, advice="Images in a folder, for example, are 'folder:PATH'.")
    if n is not None:
        n = require_whole(n, "n", least=1, error=DataError)
    chosen = datasets.make(name, **(options if classes is None else {**options, "classes": classes}))
    samples = chosen.select(chosen.load(split, n=n, seed=seed), n=n, seed=seed)
    samples = chosen.relabel(samples, split, seed=seed)
    samples = replace(samples, ready=True) if chosen.ready else samples
    # The options that differ from their defaults, in alphabetical order.
    changed = changed_options(chosen)
    words = sorted(f"{key}={changed[key]}" for key in changed.keys() - {"variant", chosen.takes})
    return replace(samples, name=f"{samples.name}?{'&'.join(words)}") if words else samples
