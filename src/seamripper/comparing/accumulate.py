"""The pass itself: both models run over the samples, batch by batch, and what they show is added up."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed

import torch
from torch import Tensor

from seamripper._devices import move
from seamripper._progress import Progress, Watcher, nobody
from seamripper.activations.collect import require_finite
from seamripper.comparing.forms import Batch
from seamripper.comparing.order import deal, order_of
from seamripper.comparing.sums import PassPlan, Sums
from seamripper.cut.many import Heads
from seamripper.data.padding import require_tokens, tokens_that_count
from seamripper.data.samples import Samples
from seamripper.data.stream import Stream

_LANES = 2
"""More would take as many times the memory, and networks use some threads well."""


def accumulate(
    sums: Sums,
    a: Heads,
    b: Heads,
    samples: Samples | Stream,
    *,
    order: Tensor | None = None,
    first: int = 0,
    watch: Watcher = nobody,
) -> None:
    """Run both models over the samples, batch by batch, and add up.

    A machine that shares the work takes a part of the `order`, and `first` is the number of its first batch. Fused
    networks are run in lanes side by side (see `lanes_of`), each over a stretch of the order with sums of its own,
    which `Sums.settle` merges. A stream is passed over once, in one lane.
    """
    rule = sums.plan.rule
    if not sums.plan.adds:
        return
    if isinstance(samples, Stream):
        _accumulate_stream(sums, (a, b), samples, watch)
        return
    inputs = a.model.present(samples), b.model.present(samples)
    order = order_of(samples.ids, seed=rule.seed) if order is None else order
    batches = torch.split(order, rule.batch)
    lanes = lanes_of(a, b, sums.plan, len(batches))
    ends = [len(batches) * k // lanes for k in range(lanes + 1)]
    tally = _Tally(watch, "the pass", len(batches))

    def lane(k: int) -> None:
        numbers = range(ends[k], ends[k + 1])
        # Fold by fold, where sums on disk take memory for one fold at a time.
        for number in sorted(numbers, key=lambda n: (first + n) % rule.folds) if sums.plan.on_disk else numbers:
            _add_batch(sums.lane(k), (a, b), inputs, batches[number], fold=(first + number) % rule.folds)
            tally.count()

    _run_lanes(lane, lanes, tally)


def _accumulate_stream(sums: Sums, models: tuple[Heads, Heads], stream: Stream, watch: Watcher) -> None:
    rule, done = sums.plan.rule, 0
    for samples, fold in deal(stream, batch=rule.batch, folds=rule.folds, seed=rule.seed):
        # Samples in memory have been trimmed, which refuses such.
        require_tokens(samples)
        shown = models[0].model.present(samples), models[1].model.present(samples)
        _add_batch(sums, models, shown, torch.arange(len(samples)), fold=fold)
        done += len(samples)
        watch(Progress("the pass", done, stream.length or done + 1))
    watch(Progress("the pass", done, done))


def _add_batch(
    sums: Sums, models: tuple[Heads, Heads], samples: tuple[Samples, Samples], batch: Tensor, *, fold: int
) -> None:
    (a, b), (ours, theirs) = models, samples
    for part in torch.split(batch, sums.plan.slice):
        inputs, ids = ours.batch(part), ours.ids[part]
        sent = a(inputs)
        # A model compared with itself runs once.
        received = sent if a is b else b(inputs if theirs is ours else theirs.batch(part))
        # All are multiplied where the receiver computes.
        sent = tuple(move(values, received[0].device) for values in sent)
        for half, values in ((a, sent),) if a is b else ((a, sent), (b, received)):
            for cut, activations in zip(half.cuts, values, strict=True):
                require_finite(activations, cut.name, ids)
        mask = tokens_that_count(inputs)
        sums.add(Batch(sent, received, ids, fold, None if mask is None else move(mask, received[0].device)))


def lanes_of(a: Heads, b: Heads, plan: PassPlan, batches: int) -> int:
    """In how many lanes a pass is made: two where there are two threads, and room for twice the sums.

    A lane computes by itself, so that threads wait for each other once a pass and not at every layer. The plain way of
    running a network (by hooks) is not made for two at a time.
    """
    if plan.on_disk or not (a.way.startswith("fused") and b.way.startswith("fused")):
        return 1
    lanes, room = min(_LANES, torch.get_num_threads(), batches), plan.room
    while lanes > 1 and room is not None and plan.footprint.in_lanes(lanes).total > room:
        lanes -= 1
    return max(lanes, 1)


def _run_lanes(lane: Callable[[int], None], lanes: int, tally: _Tally) -> None:
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


class _Tally:
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
