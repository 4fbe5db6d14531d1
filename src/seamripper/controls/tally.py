"""StepTally: the steps of an audit that were done, of how many, and the time that the others will take."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from seamripper._progress import Progress, Watcher


@dataclass
class Steps:
    """Steps of one kind: how many there are, at most, and how many seconds each was estimated to take."""

    total: int
    seconds: float
    done: set[str] = field(default_factory=set)
    took: float = 0.0

    @property
    def left(self) -> int:
        """How many are to be done."""
        return self.total - len(self.done)


class StepTally:
    """Counts the steps of an audit for whoever watches: stitches that are found, changed sets and mixtures.

    The time that is left is told from the start, by an estimate; then by what steps of each kind have taken, and by
    the estimate, at the pace of the steps so far, for kinds of which there was none.
    """

    task = "steps of the audit"

    def __init__(self) -> None:
        self._kinds: dict[str, Steps] = {}
        self._last = 0.0

    def expect(self, kinds: Mapping[str, Steps], watch: Watcher) -> None:
        """Tell how many there will be, and how long they will take."""
        self._kinds, self._last = dict(kinds), time.monotonic()
        self._tell(watch)

    def add(self, kind: str, key: str, watch: Watcher) -> None:
        """Tell of one more; nothing is told of a kind that nobody said would come."""
        steps = self._kinds.get(kind)
        if steps is None or key in steps.done or not steps.left:
            return
        now = time.monotonic()
        steps.done.add(key)
        steps.took += now - self._last
        self._last = now
        self._tell(watch)

    def close(self, watch: Watcher, *kinds: str) -> None:
        """No more of these kinds will come; of any kind, if none is named."""
        closed = [steps for kind, steps in self._kinds.items() if not kinds or kind in kinds]
        if any(steps.left for steps in closed):
            for steps in closed:
                steps.total = len(steps.done)
            self._tell(watch)

    @property
    def seconds(self) -> float:
        """How long the steps that are left will take."""
        every = self._kinds.values()
        estimated = sum(len(steps.done) * steps.seconds for steps in every)
        pace = sum(steps.took for steps in every) / estimated if estimated > 0 else 1.0
        return sum(s.left * (s.took / len(s.done) if s.done else s.seconds * pace) for s in every)

    def _tell(self, watch: Watcher) -> None:
        total = sum(steps.total for steps in self._kinds.values())
        done = sum(len(steps.done) for steps in self._kinds.values())
        watch(Progress(self.task, done, total, left=self.seconds))
