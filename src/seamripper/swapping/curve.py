"""The learning curve: what the joined network loses by how many samples its stitch was fitted on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from seamripper.swapping.loss import Loss

LEAST = 16
"""Samples: the curve does not go below."""


@dataclass(frozen=True)
class Point:
    """The loss on the test samples of a stitch that was fitted on the first n samples."""

    n: int
    loss: Loss

    def as_record(self) -> dict[str, Any]:
        """The point as JSON has it."""
        return {"n": self.n, "loss": self.loss.as_record()}


@dataclass(frozen=True)
class LearningCurve:
    """Points from few to many samples; the last is the stitch that is reported."""

    points: tuple[Point, ...]

    @property
    def needed(self) -> int | None:
        """The fewest samples that are shown to do; None if not even all of them are.

        Sizes are tested from the largest down until one fails: in a fixed order no test needs a correction for the
        others (Maurer, Hothorn & Lehmacher 1995).
        """
        needed = None
        for point in reversed(self.points):
            if point.loss.answer != "swap":
                break
            needed = point.n
        return needed

    @property
    def sentence(self) -> str:
        """How many samples the stitch needs."""
        last = self.points[-1]
        if self.needed is not None:
            fewest = " or fewer" if self.needed == self.points[0].n else ""
            return f"{self.needed:,} samples to fit on{fewest} are enough for the tolerance."
        if len(self.points) < 2:
            return f"{last.n:,} samples to fit on are too few for a learning curve."
        before, now = self.points[-2].loss.penalty.value, last.loss.penalty.value
        trend = (
            f"From {self.points[-2].n:,} to {last.n:,} samples to fit on, the loss goes from {before:.3f} to {now:.3f}"
        )
        more = "more may help" if now < before else "more alone will hardly help"
        return f"{trend}: {more}."

    def as_record(self) -> dict[str, Any]:
        """The curve as JSON has it."""
        return {
            "needed": self.needed,
            "sentence": self.sentence,
            "points": [point.as_record() for point in self.points],
        }


def sizes(n: int) -> Sequence[int]:
    """n and its halves, down to `LEAST`, from few to many.

    >>> sizes(200)
    [25, 50, 100, 200]
    """
    return list(_halves(n))[::-1]


def _halves(n: int) -> Iterator[int]:
    yield n
    while n // 2 >= LEAST:
        n //= 2
        yield n
