"""Direct matching on a stream: moments of the samples to fit on, and of those held out, from one pass over both."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from seamripper._progress import Progress, nobody
from seamripper.cut.on_data import views_of
from seamripper.data.ids import hash_ids
from seamripper.data.paired import Paired
from seamripper.data.samples import Samples
from seamripper.data.stream import Stream, Tally
from seamripper.matching.base import Findings, Problem
from seamripper.matching.direct import Direct
from seamripper.matching.moments import Moments
from seamripper.matching.padding import without_padding
from seamripper.stitches import Stitch

_FEWEST = 10
"""With fewer samples than this, none are held out."""
_ONE_IN = 5


def rows_held_out(n: int, seed: int) -> Tensor | None:
    """Which of `n` samples are held out of a fit, a fifth of them by the seed (n); None if they are too few.

    >>> rows_held_out(10, seed=0).nonzero().flatten().tolist(), rows_held_out(9, seed=0)
    ([1, 4], None)
    """
    if n < _FEWEST:
        return None
    held = torch.zeros(n, dtype=torch.bool)
    held[torch.randperm(n, generator=torch.Generator().manual_seed(seed))[: n // _ONE_IN]] = True
    return held


class _Part:
    """The samples of a stream that are fitted on, or held out: what of them is kept when they have passed."""

    def __init__(self, stream: Stream, length: int | None) -> None:
        self.tally = Tally(stream.name, stream.source, length)
        self.moments: Moments | None = None
        self.ids: list[Tensor] = []

    def add(self, samples: Samples, moments: Moments) -> None:
        self.tally.add(samples)
        self.ids.append(samples.ids.clone())
        if self.moments is None:
            self.moments = moments
        else:
            self.moments.merge(moments)


class StreamedFit:
    """A direct match on a stream: `find` makes the pass; then `fitted` are the ids, and `record` says what was used."""

    def __init__(self, matching: Direct, problem: Problem, stitch: Stitch, stream: Stream) -> None:
        self._matching, self._stitch, self._stream = matching, stitch, stream
        self._problem, self._watch = replace(problem, watch=nobody), problem.watch
        self._held = None if stream.length is None else rows_held_out(stream.length, problem.seed)
        held = None if self._held is None else int(self._held.sum())
        n = stream.length
        self._fit = _Part(stream, n if n is None or held is None else n - held)
        self._other = _Part(stream, held)

    def find(self) -> Findings:
        """Pass over the stream once, and solve."""
        done, length = 0, self._stream.length
        for chunk in self._stream.chunks(self._matching.batch):
            held = self._held_out(chunk, done)
            for part, mine in ((self._fit, ~held), (self._other, held)):
                if bool(mine.any()):
                    samples = chunk.take(mine)
                    part.add(samples, self._moments(samples))
            done += len(chunk)
            self._watch(Progress("direct matching", done, length or done + 1))
        self._watch(Progress("direct matching", done, done))
        assert self._fit.moments is not None
        return self._matching.solution(self._problem, self._fit.moments, self._other.moments)

    @property
    def fitted(self) -> Tensor:
        """The ids of the samples that the stitch was fitted on."""
        return torch.cat(self._fit.ids)

    def record(self) -> dict[str, object]:
        """What a match says of its data."""
        held = self._other.tally.as_record() if self._other.ids else None
        given = {"fit": self._stream.as_record(), "held_out": None}
        return {"fit": self._fit.tally.as_record(), "held_out": held, "given": given}

    def _held_out(self, chunk: Samples, start: int) -> Tensor:
        """Which samples of the chunk are held out: as in memory; of an unknown number, by a hash of their ids."""
        if self._stream.length is None:
            return hash_ids(chunk.ids, seed=self._problem.seed) % _ONE_IN == 0
        if self._held is None:
            return torch.zeros(len(chunk), dtype=torch.bool)
        return self._held[start : start + len(chunk)]

    def _moments(self, samples: Samples) -> Moments:
        sender, receiver = self._problem.sender, self._problem.receiver
        pair = without_padding(Paired.of(samples), self._stitch, self._problem.layer, sender.cut, receiver.cut)
        return self._matching.moments(self._problem, views_of(pair, sender, receiver), "")
