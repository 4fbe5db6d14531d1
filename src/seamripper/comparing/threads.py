"""Threads: work that runs side by side, because a single small problem would not use two threads well."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TypeVar

import torch

from seamripper._progress import Progress, Watcher

_In = TypeVar("_In")
_Out = TypeVar("_Out")


class Workers:
    """As many threads as torch has here; `map` gives results in the order of the items."""

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        self._pool = pool

    def map(self, do: Callable[[_In], _Out], items: Iterable[_In]) -> Iterator[_Out]:
        """The results, each as soon as it and those before it are there."""
        return self._pool.map(do, items)


class Tally:
    """Counts what several threads have done together, reports it to one watcher, and can stop all of them."""

    def __init__(self, watch: Watcher, task: str, total: int) -> None:
        self._watch, self._task, self._total = watch, task, total
        self._lock, self._done, self._stopped = threading.Lock(), 0, False

    def count(self) -> None:
        """One more is done; `_StoppedError` if the others have given up."""
        with self._lock:
            if self._stopped:
                raise _StoppedError
            self._done += 1
            try:
                self._watch(Progress(self._task, self._done, self._total))
            except BaseException:
                # Before the lock is let go, or another lane could count once more.
                self._stopped = True
                raise

    def stop(self) -> None:
        """Whoever counts next gives up."""
        with self._lock:
            self._stopped = True


class _StoppedError(Exception):
    """Another lane has failed, or the pass was stopped; this one ends without an error of its own."""


def run_lanes(lane: Callable[[int], None], lanes: int, tally: Tally) -> None:
    """Run `lane(k)` for every k side by side, each with its share of the threads; the first to fail ends all."""
    if lanes == 1:
        lane(0)
        return
    threads = torch.get_num_threads()
    torch.set_num_threads(max(1, threads // lanes))
    try:
        with ThreadPoolExecutor(lanes, thread_name_prefix="lane") as pool:
            running = [pool.submit(lane, k) for k in range(lanes)]
            try:
                for lane_done in as_completed(running):
                    lane_done.result()
            except BaseException:
                tally.stop()
                raise
    finally:
        torch.set_num_threads(threads)


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
