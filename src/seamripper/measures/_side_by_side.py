"""Side by side: many small decompositions, a thread each, where one of them would not use two threads well."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

_In = TypeVar("_In")
_Out = TypeVar("_Out")


class Workers:
    """As many threads as torch has here; `map` gives results in the order of the items."""

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        self._pool = pool

    def map(self, do: Callable[[_In], _Out], items: Iterable[_In]) -> Iterator[_Out]:
        """The results, each as soon as it and those before it are there."""
        return self._pool.map(do, items)


@contextlib.contextmanager
def side_by_side() -> Iterator[Workers]:
    """Workers, with torch itself held to one thread for as long as they work.

    >>> with side_by_side() as workers:
    ...     list(workers.map(abs, [-1, 2, -3]))
    [1, 2, 3]
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with ThreadPoolExecutor(threads, thread_name_prefix="measures") as pool:
            yield Workers(pool)
    finally:
        torch.set_num_threads(threads)
