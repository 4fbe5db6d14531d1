"""`FILE.py:FUNCTION`: the data that a function of the user's own file returns."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from seamripper._options import literals, split_options
from seamripper._own_code import import_file, running
from seamripper.data.samples import Samples
from seamripper.data.stream import Stream
from seamripper.data.yours import require_readable, stream_of
from seamripper.errors import DataError


def own_data(word: str, split: str, options: dict[str, Any]) -> Samples | Stream | None:
    """What the function returns when it is called with the options as keywords; None if the word names no function.

    A function that has a parameter `split` is told which one is wanted, and what it returns for the test are other
    samples than those for train; one that has none gives the same samples for both. A generator is asked for anew at
    each pass.
    """
    if ".py:" not in word:
        return None
    head, written = split_options(word, error=DataError)
    file, _, name = head.rpartition(":")
    path = Path(file)
    function = getattr(import_file(path, name, error=DataError), name, None)
    if not inspect.isfunction(function):
        # A class of the file may be a data set of its own, and the registry says what is wrong with anything else.
        return None
    keywords = {**literals(written), **options}
    divided = "split" in inspect.signature(function).parameters
    if divided:
        keywords["split"] = split
    data = _samples_of(path, head, lambda: function(**keywords))
    return _of_test(data) if divided and split == "test" else data


def _samples_of(path: Path, word: str, call: Callable[[], Any]) -> Samples | Stream:
    def guarded_call() -> Any:
        with running(path, f"{word} failed", error=DataError):
            return call()

    first = guarded_call()
    if isinstance(first, (Samples, Stream)):
        return first
    require_readable(first, word)
    waiting = [first]
    return stream_of(lambda: waiting.pop() if waiting else guarded_call(), name=word, source=word)


def _of_test(data: Samples | Stream) -> Samples | Stream:
    """Samples for the test, under a name of their own if they are merely counted: sample 3 of train is another.

    Other numbers (a Subset's, or ids that the user gave) say which samples they are, of train and test together.
    """
    n = len(data) if isinstance(data, Samples) else data.length
    if n is not None and data.ids is not None and not torch.equal(data.ids, torch.arange(n)):
        return data
    # In front: what stands behind a name may be options, or a variant of the same samples.
    name = f"test of {data.name}"
    if isinstance(data, Samples):
        return replace(data, name=name)
    data.name = name
    return data
