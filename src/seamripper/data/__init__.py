"""Data sets as Samples, by name. A data set is one file here, or an entry point in `seamripper.data`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, overload

from seamripper._doors import require_whole
from seamripper._options import changed_options
from seamripper.data.base import DataSet, check_seed, check_split, datasets
from seamripper.data.digits8 import FallbackWarning
from seamripper.data.noise import clustered_noise
from seamripper.data.own import own_data
from seamripper.data.padding import padded_length, tokens_that_count, trim, trim_pair
from seamripper.data.paired import Paired
from seamripper.data.samples import Inputs, Samples, batches_in
from seamripper.data.stream import Stream
from seamripper.data.yours import as_data, as_samples, stream_of
from seamripper.errors import DataError

__all__ = [
    "DataSet",
    "FallbackWarning",
    "Inputs",
    "Paired",
    "Samples",
    "Stream",
    "as_data",
    "as_samples",
    "batches_in",
    "check_seed",
    "clustered_noise",
    "datasets",
    "load_data",
    "padded_length",
    "stream_of",
    "tokens_that_count",
    "trim",
    "trim_pair",
]


@overload
def load_data(
    data: Any,
    split: str = "train",
    *,
    n: int | None = None,
    seed: int = 0,
    stream: Literal[False] = False,
    **options: Any,
) -> Samples: ...


@overload
def load_data(data: Any, split: str = "train", *, seed: int = 0, stream: Literal[True], **options: Any) -> Stream: ...


def load_data(
    data: Any, split: str = "train", *, n: int | None = None, seed: int = 0, stream: bool = False, **options: Any
) -> Samples | Stream:
    """The "train" or "test" samples of a data set; `n` of them, if given.

    `data` is a word that `datasets` knows: `mnist`, `mnist/digit`, `cifar10`, `folder:PATH`, `text:FILE` … `seed` draws
    the `n` samples and whatever else is random about the set. `options` are the set's own, and may also be written in
    the word: `mnist/digit?size=32`. Every set has `classes`, which keeps that many classes, the first ones, before any
    samples are drawn.

    Or it is your own data, which has no splits: a Dataset, a DataLoader, an array, a generator … (see
    `seamripper.data.yours`, also for its options). With `stream`, samples are not taken into memory, but read as they
    are passed over.

    >>> few = load_data("digits/digit", "test", n=4)
    >>> few.name, few.shape, few.labels.tolist()
    ('digits/digit', (3, 28, 28), [1, 6, 4, 2])
    >>> two = load_data("digits?classes=2", "test")
    >>> two.name, two.classes, len(two)
    ('digits/greyscale?classes=2', 2, 66)
    """
    check_split(split)
    seed = check_seed(seed)
    if n is not None:
        n = require_whole(n, "n", least=1, error=DataError)
        if stream:
            raise DataError(
                "A stream gives all samples: leave n out, or leave stream out to draw n of them into memory."
            )
    options = {name: value for name, value in options.items() if name != "classes" or value is not None}
    if not isinstance(data, str):
        return _load_yours(data, split, n=n, seed=seed, stream=stream, options=options)
    own = own_data(data, split, options)
    if own is not None:
        return _load_yours(own, "train", n=n, seed=seed, stream=stream, options={})
    chosen = datasets.make(data, **options)
    # The options that differ from their defaults, in alphabetical order.
    changed = changed_options(chosen)
    words = "&".join(sorted(f"{key}={changed[key]}" for key in changed.keys() - {"variant", chosen.takes}))
    if stream:
        given = chosen.stream(split, seed=seed)
        given.name += words and f"?{words}"
        return given
    samples = chosen.select(chosen.load(split, n=n, seed=seed), n=n, seed=seed)
    samples = chosen.relabel(samples, split, seed=seed)
    samples = replace(samples, ready=True) if chosen.ready else samples
    name = f"{samples.name}?{words}" if words else samples.name
    # A class of a user's own file is found by the word that names the file.
    more = "&".join(f"{key}={value}" for key, value in options.items())
    written = f"{data}{'&' if '?' in data else '?'}{more}" if more else data
    word = chosen.label if datasets.get(chosen.name) is type(chosen) else written
    return replace(samples, name=name, recipe={"data": word, "split": split, "n": n, "seed": seed})


def _load_yours(
    data: Any, split: str, *, n: int | None, seed: int, stream: bool, options: dict[str, Any]
) -> Samples | Stream:
    if split != "train":
        raise DataError("Your own data has no splits: divide it yourself, and load each part by itself.")
    known = as_data(data, "data")
    if options and known is not data:
        known = stream_of(data, **options)
    elif options:
        raise DataError("Samples and streams are loaded already, so they take no options. Use dataclasses.replace.")
    if isinstance(known, Samples):
        return known if n is None else known.draw(n, seed=seed)
    return known if stream else known.load(n, seed=seed)
