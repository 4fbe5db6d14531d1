"""Stream: samples that are read as they are passed over, and never held all at once.

A stream gives small `Samples`, one after another, so that all that is known of samples holds for each of them: how they
are checked, shown to a model, and fingerprinted. What grows with the number of samples is 8 bytes for the id of each.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

import torch
from torch import Tensor

from seamripper._doors import require_whole
from seamripper._fingerprint import RunningFingerprint
from seamripper._notebook import short
from seamripper._words import shape_text
from seamripper.data.ids import hash_ids
from seamripper.data.samples import Inputs, Samples, first_input, join_samples
from seamripper.errors import DataError

Rows: TypeAlias = tuple[Inputs, Tensor | None]
"""Inputs with one row per sample, and their labels if there are any."""
LIMIT = 4 * 10**9
"""Bytes of inputs that are taken into memory, unless the caller says otherwise."""


class Stream:
    """Samples in order, of a known or an unknown number, that a pass reads in parts.

    `read` begins a new pass: it gives inputs and labels, a few rows at a time. `ids` are the numbers of the samples; if
    it is None, their number is not known, and they are counted from 0. A stream that can be read only `once`, such as a
    generator, refuses a second pass. `view` is what `Samples` say of how they are shown (`mean`, `std`, `range` …).

    >>> squares = Stream("squares", lambda: ((torch.full((1, 2), float(k * k)), None) for k in range(5)))
    >>> [chunk.inputs[:, 0].tolist() for chunk in squares.chunks(2)]
    [[0.0, 1.0], [4.0, 9.0], [16.0]]
    >>> squares.load(n=2, seed=1)
    Samples('squares', n = 2, 2, no labels)
    """

    def __init__(
        self,
        name: str,
        read: Callable[[], Iterator[Rows]],
        *,
        ids: Tensor | None = None,
        once: bool = False,
        classes: int | None = None,
        view: Mapping[str, Any] | None = None,
    ) -> None:
        self.name, self.ids, self.once, self.classes = name, ids, once, classes
        self.view = {"source": name, **(view or {})}
        self._read = read
        self._passes = 0
        self._begun: _Pass | None = None
        self._head: Samples | None = None
        self._head_is_all = False
        self._passed: Tally | None = None

    def __repr__(self) -> str:
        n = "?" if self.length is None else self.length
        return f"Stream({short(self.name, 60)!r}, n = {n}{', once' if self.once else ''})"

    @property
    def length(self) -> int | None:
        """How many samples there are; None if that is not known before they have been read."""
        return None if self.ids is None else len(self.ids)

    @property
    def source(self) -> str:
        """Where the samples come from."""
        return str(self.view["source"])

    @property
    def fingerprint(self) -> str:
        """The fingerprint of all samples, which a whole pass computes as it goes.

        If the number of samples is known, it is that of the same samples in memory.
        """
        return self._whole.fingerprint

    @property
    def _whole(self) -> Tally:
        """What a whole pass comes to; if there was none, one is made."""
        if self._passed is None:
            for _ in self.chunks(256):
                pass
        assert self._passed is not None
        return self._passed

    def as_record(self) -> dict[str, Any]:
        """What a result says of its data, after a whole pass."""
        return self._whole.as_record()

    def head(self, n: int) -> Samples:
        """The first `n` samples, or all if there are fewer. The pass that this begins is the one that is made next."""
        if self._head is None or (len(self._head) < n and not self._head_is_all):
            if self._begun is None:
                self._begun = self._begin()
            self._head = self._begun.peek(n)
            self._head_is_all = len(self._head) < n
        return self._head.first(n)

    def chunks(self, size: int) -> Iterator[Samples]:
        """One pass: the samples in order, `size` at a time, and the rest at last."""
        reading = self._begun or self._begin()
        self._begun = None
        running = Tally(self.name, self.source, self.length)
        while (chunk := reading.take(size)) is not None:
            running.add(chunk)
            yield chunk
        reading.require_complete()
        self._settle(running)

    def load(self, n: int | None = None, *, seed: int = 0, limit: int = LIMIT) -> Samples:
        """The samples in memory, at most `limit` bytes of them; or `n` of them, drawn by the seed, in their order.

        Of a known number of samples the same are drawn as `Samples.draw` would draw. Of an unknown number, those with
        the smallest hashes of their ids.
        """
        if n is not None:
            n = require_whole(n, "n", least=1, error=DataError)
        if n is None or (self.length is not None and n >= self.length):
            return join_samples(list(self._within(limit, self.chunks(256))))
        if self.ids is None:
            return self._smallest(n, seed, limit)
        drawn = torch.zeros(len(self.ids), dtype=torch.bool)
        drawn[torch.randperm(len(self.ids), generator=torch.Generator().manual_seed(seed))[:n]] = True
        return join_samples(list(self._within(limit, self._marked_samples(drawn))))

    def _marked_samples(self, wanted: Tensor) -> Iterator[Samples]:
        """The samples that are marked (n) as wanted."""
        start = 0
        for chunk in self.chunks(256):
            here = wanted[start : start + len(chunk)]
            start += len(chunk)
            if bool(here.any()):
                yield chunk.take(here)

    def _smallest(self, n: int, seed: int, limit: int) -> Samples:
        """The `n` samples whose ids have the smallest hashes; somewhat more are held meanwhile."""
        kept: list[Samples] = []
        for chunk in self._within(limit, self.chunks(256), most=2 * n + 256):
            kept.append(chunk)
            if sum(map(len, kept)) >= 2 * n:
                kept = [_smallest_of(join_samples(kept), n, seed)]
        return _smallest_of(join_samples(kept), n, seed)

    def _within(self, limit: int, parts: Iterator[Samples], *, most: int | None = None) -> Iterator[Samples]:
        """The parts, until they would take more than `limit` bytes; of no more than `most` samples at a time."""
        rows = 0
        for part in parts:
            rows += len(part)
            per_sample = sum(value.nbytes for _, value in part.columns()) / len(part)
            if per_sample * min(rows, most or rows) > limit:
                raise DataError(
                    f"{self.name} is needed in memory here, and takes more than {limit / 1e9:.1f} GB. Draw some of "
                    "its samples: load_data(…, n=10_000), or stream.load(n=10_000)."
                )
            yield part

    def _begin(self) -> _Pass:
        if self.once and self._passes:
            raise DataError(
                f"{self.name} can be read only once, and this needs another pass over it. Give what can be read again, "
                "such as a Dataset or a function that returns a new generator, or take its samples into memory first: "
                "load_data(…, n=10_000)."
            )
        self._passes += 1
        return _Pass(self, self._read())

    def _settle(self, passed: Tally) -> None:
        """Keep what a whole pass came to; a second one that gives other samples is refused."""
        if self._passed is not None and self._passed.fingerprint != passed.fingerprint:
            raise DataError(
                f"{self.name} gave other samples in this pass than in the one before, or gave them in another order. "
                "Switch off random augmentation, and shuffling in an IterableDataset, or take the samples into "
                "memory first: load_data(…, n=10_000)."
            )
        self._passed = passed


class Tally:
    """Samples that have passed, and were let go: how many there were, and their fingerprint."""

    def __init__(self, name: str, source: str, length: int | None) -> None:
        """`length` is how many there will be, if that is known: then the fingerprint is that of samples in memory."""
        self.name, self.source, self.n = name, source, 0
        self._length = length
        self._columns: dict[str, RunningFingerprint] = {}
        self._one: Samples | None = None

    def add(self, samples: Samples) -> None:
        """Samples that come next."""
        for key, value in samples.columns():
            self._columns.setdefault(key, RunningFingerprint(self._length)).add(value)
        self.n += len(samples)
        # One sample says how all of them are shown.
        self._one = samples.take(torch.tensor([0])) if self._one is None else self._one

    @functools.cached_property
    def fingerprint(self) -> str:
        """The fingerprint of all of them."""
        assert self._one is not None
        return self._one.fingerprint_of({key: running.value for key, running in self._columns.items()})

    def as_record(self) -> dict[str, Any]:
        """What a result says of its data."""
        return {"name": self.name, "n": self.n, "fingerprint": self.fingerprint, "source": self.source, "recipe": None}


class _Pass:
    """One pass over a stream: rows that have been read and not given yet, and those that are to come."""

    def __init__(self, stream: Stream, rows: Iterator[Rows]) -> None:
        self._stream, self._rows = stream, rows
        self._waiting: list[Samples] = []
        self._read = 0
        self._kind: dict[str, str] = {}

    def peek(self, n: int) -> Samples:
        """The first `n` samples that are to be given, or all that are left."""
        self._fill(n)
        if not self._waiting:
            raise DataError(f"{self._stream.name} is empty: a comparison needs at least two samples.")
        whole = join_samples(self._waiting)
        self._waiting = [whole]
        return whole.first(n)

    def take(self, n: int) -> Samples | None:
        """The next `n` samples, or those that are left; None if there are none."""
        self._fill(n)
        if not self._waiting:
            if self._read == 0:
                self.peek(1)
            return None
        whole = join_samples(self._waiting)
        self._waiting = [whole.take(slice(n, None))] if len(whole) > n else []
        return whole.first(n)

    def require_complete(self) -> None:
        """Refuse a pass that gave fewer samples than there were said to be."""
        length = self._stream.length
        if length not in (None, self._read):
            raise DataError(f"Expected {self._stream.name} to have {length} samples, but it gave {self._read}.")

    def _fill(self, n: int) -> None:
        while sum(map(len, self._waiting)) < n:
            rows = next(self._rows, None)
            if rows is None:
                return
            self._waiting.append(self._samples(*rows))

    def _samples(self, inputs: Inputs, labels: Tensor | None) -> Samples:
        stream = self._stream
        first = first_input(inputs)
        stop = self._read + len(first)
        if stream.ids is not None and stop > len(stream.ids):
            raise DataError(f"Expected {stream.name} to have {len(stream.ids)} samples, but it gave more.")
        ids = torch.arange(self._read, stop) if stream.ids is None else stream.ids[self._read : stop]
        classes = None if labels is None else stream.classes
        samples = Samples(stream.name, inputs, labels, ids, classes, **stream.view)  # type: ignore[arg-type]
        self._require_alike(samples)
        self._read = stop
        return samples

    def _require_alike(self, samples: Samples) -> None:
        kinds = {
            key: f"{shape_text(value.shape[1:]) or 'one number'} ({str(value.dtype).removeprefix('torch.')})"
            for key, value in samples.columns()
        }
        if not samples.labelled:
            kinds["labels"] = "none"
        self._kind = self._kind or kinds
        if kinds != self._kind:
            key = next(key for key in {**self._kind, **kinds} if kinds.get(key) != self._kind.get(key))
            raise DataError(
                f"Expected all samples of {samples.name} to be alike, but {key!r} is first {self._kind.get(key)} and "
                f"then {kinds.get(key)}, at sample {self._read}. Resize pictures to one size, and pad texts to one "
                "length."
            )


def _smallest_of(samples: Samples, n: int, seed: int) -> Samples:
    if len(samples) <= n:
        return samples
    return samples.take(hash_ids(samples.ids, seed=seed).argsort()[:n].sort().values)


def head_of(data: Samples | Stream, n: int) -> Samples:
    """The first `n` samples of either."""
    return data.head(n) if isinstance(data, Stream) else data.first(n)


def number_of(data: Samples | Stream) -> int | None:
    """How many samples either has; None if that is not known."""
    return data.length if isinstance(data, Stream) else len(data)


def data_record(samples: Samples | Stream) -> dict[str, Any]:
    """What a result says of its samples; those of a stream have no recipe."""
    record = {"name": samples.name, "fingerprint": samples.fingerprint, "source": samples.source}
    return {**record, "recipe": samples.recipe if isinstance(samples, Samples) else None}
