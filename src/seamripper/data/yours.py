"""Your data: whatever holds samples, as Samples in memory or as a Stream that is read as it is passed over.

Taken are a torch Dataset, IterableDataset or DataLoader, a Hugging Face dataset, numpy arrays and memmaps, tensors, a
list of samples, a generator, and a function that returns one of these.
"""

from __future__ import annotations

import copy
import inspect
import itertools
import mmap
import operator
import os
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import BatchSampler, DataLoader, Dataset, IterableDataset, SequentialSampler, Subset

from seamripper._doors import in_words, require, require_whole
from seamripper._words import word_list
from seamripper.data.items import Reader
from seamripper.data.samples import Samples
from seamripper.data.stream import Rows, Stream
from seamripper.data.tokens import Tokenizer
from seamripper.errors import DataError

_BLOCK = 64
"""Rows of an array, or of a Hugging Face dataset, that are read at once."""
_TOKENS = 128
"""Tokens that a text is padded to, or cut off behind."""
_VIEW = ("mean", "std", "range", "ready", "source")
_numbers: dict[int, tuple[weakref.ref[Any], int]] = {}
_counter = itertools.count(1)


def as_data(value: object, name: str) -> Samples | Stream:
    """Samples and streams as they are, and other data as a stream; what is no data is refused.

    >>> as_data("mnist", "fit")
    Traceback (most recent call last):
      ...
    seamripper.errors.DataError: Expected fit to be Samples, but got 'mnist'. Load them: load_data('mnist', 'train').
    """
    if isinstance(value, (Samples, Stream)):
        return value
    if hasattr(value, "sender") and hasattr(value, "receiver"):
        advice = "Here both networks are shown the same: give one side of it, such as `pair.receiver`."
    elif isinstance(value, str):
        advice = f"Load them: load_data({value!r}, 'train')."
    elif isinstance(value, tuple):
        advice = "Inputs and labels make samples: Samples('mine', inputs, labels)."
    elif isinstance(value, os.PathLike):
        advice = f"Say what it is: load_data('folder:{value}') for pictures, 'npy:{value}', 'text:{value}' …"
    elif _readable(value):
        return stream_of(value)
    else:
        advice = "Load some, load_data('mnist', 'train'), or make some: Samples(name, inputs)."
    require(value, Samples, name, error=DataError, advice=advice)
    assert isinstance(value, Samples)
    return value


def as_samples(value: object, name: str) -> Samples:
    """What `as_data` gives, in memory: for all that needs its samples more than once, or in another order."""
    data = as_data(value, name)
    return data.load() if isinstance(data, Stream) else data


def stream_of(
    value: Any,
    *,
    name: str | None = None,
    batched: bool | None = None,
    inputs: str | Sequence[str] | None = None,
    labels: str | bool | None = None,
    tokenizer: str | None = None,
    tokens: int = _TOKENS,
    **facts: Any,
) -> Stream:
    """Any data as a stream.

    `batched` says whether an item is a batch; by default only those of a DataLoader are. `inputs` and `labels` are
    columns, where items are dicts; `labels=False` leaves labels out. `tokenizer` makes `tokens` tokens of a text. The
    other facts are `classes`, and those of `Samples`: `mean`, `std`, `range`, `ready`.

    >>> pairs = [(torch.full((2,), float(k)), k % 2) for k in range(5)]
    >>> stream_of(pairs, name="pairs").load()
    Samples('pairs', n = 5, 2, classes = 2)
    """
    unknown = facts.keys() - {*_VIEW, "classes"}
    if unknown:
        known = "name, batched, inputs, labels, tokenizer, tokens, classes, mean, std, range and ready"
        raise DataError(f"Your own data has no option {word_list(sorted(unknown))}; there are {known}.")
    source = _GivenData.of(value)
    called = source.name if name is None else name
    made = None
    if tokenizer is not None:
        made = Tokenizer.of(tokenizer, require_whole(tokens, "tokens", least=1, error=DataError))
        facts["tokenizer"] = made.source
    reader = Reader(called, inputs, labels, made)
    whole = source.batched if batched is None else batched
    classes = facts.pop("classes", None) or source.classes(labels)

    def read() -> Iterator[Rows]:
        return (reader.rows_of_batches if whole else reader.rows_of_items)(source.items())

    ids = source.ids if whole == source.batched else None
    return Stream(called, read, ids=ids, once=source.once, classes=classes, view=facts)


class _GivenData:
    """What a value is read by: its items, whether they are batches, how many samples there are."""

    def __init__(
        self,
        value: object,
        items: Callable[[], Iterable[Any]],
        *,
        ids: Tensor | None = None,
        batched: bool = False,
        once: bool = False,
        called: object = None,
    ) -> None:
        self.value, self.items, self.ids, self.batched, self.once = value, items, ids, batched, once
        self.name = _name_of(value if called is None else called)

    @classmethod
    def of(cls, value: Any) -> _GivenData:
        if isinstance(value, DataLoader):
            return _loader(value)
        if _hugging_face(value):
            return _hugging_face_source(value)
        if isinstance(value, (Tensor, np.ndarray)):
            return cls(value, lambda: blocks(value), ids=torch.arange(len(value)), batched=True)
        if isinstance(value, Subset):
            root, numbers = _root(value)
            return cls(value, lambda: _by_number(value), ids=torch.tensor(numbers), called=root)
        if isinstance(value, IterableDataset):
            return cls(value, lambda: value)
        if hasattr(value, "__len__") and hasattr(value, "__getitem__"):
            return cls(value, lambda: _by_number(value), ids=torch.arange(len(value)))
        if inspect.isroutine(value):
            return _function(value)
        return cls(value, lambda: value, once=isinstance(value, Iterator))

    def classes(self, labels: str | bool | None) -> int | None:
        """How many classes the value itself says that it has."""
        features = getattr(self.value, "features", None)
        if isinstance(features, Mapping):
            column = labels if isinstance(labels, str) else "label" if "label" in features else "labels"
            number = getattr(features.get(column), "num_classes", None)
            return None if number is None else int(number)
        names = getattr(getattr(self.value, "dataset", self.value), "classes", None)
        return len(names) if isinstance(names, (list, tuple)) and names else None


def _readable(value: object) -> bool:
    """Whether it may hold samples: text, dicts, models and classes never do."""
    if isinstance(value, (str, bytes, tuple, Mapping, nn.Module, type)) and not _hugging_face(value):
        return False
    return isinstance(value, (Iterable, Dataset)) or inspect.isfunction(value) or inspect.ismethod(value)


def _loader(loader: DataLoader[Any]) -> _GivenData:
    """A DataLoader as it is, with its workers. Its samples are known by the numbers that they have in its data set."""
    batched = loader.batch_sampler is not None
    if isinstance(loader.dataset, IterableDataset):
        return _GivenData(loader, lambda: loader, batched=batched, called=loader.dataset)
    if not _from_first_to_last(loader):
        return _loader_in_order(loader)
    root, numbers = _root(loader.dataset) if isinstance(loader.dataset, Subset) else (loader.dataset, None)
    if not batched:
        # What it gives may be one sample, or a batch that the data set made.
        return _GivenData(loader, lambda: loader, called=root if numbers is None else loader)
    n = len(loader.sampler)  # type: ignore[arg-type]
    ids = torch.arange(n - n % loader.batch_size if loader.drop_last and loader.batch_size else n)
    ids = ids if numbers is None else torch.tensor(numbers)[ids]
    return _GivenData(loader, lambda: loader, ids=ids, batched=True, called=root)


def _from_first_to_last(loader: DataLoader[Any]) -> bool:
    """Whether a DataLoader gives the samples of its data set in the order that they have there."""
    plain = loader.batch_sampler is None or type(loader.batch_sampler) is BatchSampler
    return plain and type(loader.sampler) is SequentialSampler and getattr(loader, "in_order", True)


def _loader_in_order(loader: DataLoader[Any]) -> _GivenData:
    """A DataLoader that goes through its data set in an order of its own, which is drawn once.

    Every pass then gives the samples in that order, and they have the numbers of the data set. Were they counted as
    they come, samples of two loaders would be taken for one another.
    """
    batched = loader.batch_sampler is not None
    drawn = _draw(loader.batch_sampler if batched else loader.sampler)  # type: ignore[arg-type]
    numbers = None if drawn is None else _whole_numbers(itertools.chain(*drawn) if batched else drawn)
    if numbers is None:
        return _GivenData(loader, lambda: loader, batched=batched)
    different = len(set(numbers))
    if different < len(numbers):
        raise DataError(
            f"Expected a DataLoader to give each sample once, but its sampler draws {different:,} samples in "
            f"{len(numbers):,} draws, so that one may be both fitted and scored. Give a loader without replacement, "
            "such as DataLoader(dataset, shuffle=True)."
        )
    ordered = copy.copy(loader)
    # Past DataLoader's own setter, which refuses to change what it draws by.
    vars(ordered).update({"batch_sampler" if batched else "sampler": drawn, "in_order": True, "_iterator": None})
    root, places = _root(loader.dataset) if isinstance(loader.dataset, Subset) else (loader.dataset, None)
    ids = torch.tensor(numbers if places is None else [places[k] for k in numbers])
    return _GivenData(loader, lambda: ordered, ids=ids, batched=batched, called=root)


def _draw(sampler: Iterable[Any]) -> list[Any] | None:
    """What a sampler draws in one pass; None if it does not say how much that is."""
    try:
        n = len(sampler)  # type: ignore[arg-type]
    except (TypeError, NotImplementedError):
        return None
    drawn = list(itertools.islice(sampler, n + 1))
    return drawn if len(drawn) <= n else None


def _whole_numbers(values: Iterable[Any]) -> list[int] | None:
    """Numbers of samples as Python has them; None if samples are called by something else."""
    try:
        return [operator.index(value) for value in values]
    except TypeError:
        return None


def _hugging_face(value: object) -> bool:
    """Whether it is of the library `datasets`, which is not imported for the answer."""
    return type(value).__module__.partition(".")[0] == "datasets"


def _hugging_face_source(value: Any) -> _GivenData:
    if isinstance(value, Mapping):
        raise DataError(f"This has the splits {word_list(value)}. Give one of them: data[{next(iter(value))!r}].")
    ids = torch.arange(len(value)) if hasattr(value, "__len__") else None
    return _GivenData(value, lambda: value.iter(batch_size=_BLOCK), ids=ids, batched=True)


def _function(function: Callable[[], Any]) -> _GivenData:
    """What a function returns; a generator is made anew for each pass."""
    first: Any = function()
    require_readable(first, function)
    inner = _GivenData.of(first)
    if not inner.once:
        inner.name = _name_of(function)
        return inner
    waiting = [first]
    return _GivenData(function, lambda: waiting.pop() if waiting else function(), batched=inner.batched)


def require_readable(value: object, function: object) -> None:
    """Refuse what a function returns, if it holds no samples."""
    if not _readable(value) and not isinstance(value, (Samples, Stream)):
        raise DataError(
            f"Expected {in_words(function)} to return samples (a Dataset, a DataLoader, an array, a generator …), but "
            f"it returned {in_words(value)}."
        )


def _by_number(items: Any) -> Iterator[Any]:
    return (items[k] for k in range(len(items)))


def _root(subset: Subset[Any]) -> tuple[object, list[int]]:
    """The data set that a subset is of, and the numbers that its samples have there."""
    dataset, numbers = subset.dataset, [int(k) for k in subset.indices]
    if not isinstance(dataset, Subset):
        return dataset, numbers
    root, theirs = _root(dataset)
    return root, [theirs[k] for k in numbers]


def blocks(array: Any) -> Iterator[Any]:
    """The rows of an array, some at a time. A file that is mapped is mapped anew for each, so that none stays."""
    for start in range(0, len(array), _BLOCK):
        stop = min(start + _BLOCK, len(array))
        if isinstance(array, np.memmap) and _is_whole_file(array):
            shape, place = (stop - start, *array.shape[1:]), array.offset + start * array[:1].nbytes
            assert array.filename is not None
            yield (np.memmap(array.filename, array.dtype, "r", place, shape),)
        else:
            yield (array[start:stop],)


def _is_whole_file(array: np.memmap[Any, Any]) -> bool:
    """Whether the rows of the file are those of the array, one after another: a part of another map is not."""
    return isinstance(array.base, mmap.mmap) and array.flags.c_contiguous and array.mode == "r"


def _name_of(value: object) -> str:
    """A name by which data is told from other data of this process: its samples are known by numbers alone."""
    given = getattr(value, "__name__", None) or type(value).__name__
    # By what it is and not by what it equals: arrays have no hash, and tensors are not equal to themselves.
    key = id(value)
    if key not in _numbers:
        number = next(_counter)
        try:
            _numbers[key] = weakref.ref(value, lambda _: _numbers.pop(key, None)), number
        except TypeError:
            # A list, say, cannot be referred to so: `evaluate` knows its samples by their fingerprint.
            return f"{given}#{number}"
    return f"{given}#{_numbers[key][1]}"
