"""The control `self`: the receiver's own front in place of the sender's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from seamripper.controls.base import Case, Control, Counterpart


@dataclass(frozen=True)
class Itself(Control):
    """The receiver stitched into itself: certainly the same information, so any loss is due to the stitch."""

    name = "self"
    paper = "Smith, Mannering, Marcu 2025, Table C.1"
    formula = "tail(stitch(head(x))),  head and tail of the receiver"
    about = "the receiver's own front: certainly the same information"
    known = "same"
    own_weights = True
    of_sender = False

    def stitches(self, case: Case) -> int:
        """One per seed."""
        return len(case.seeds)

    def counterparts(self, case: Case) -> Iterator[Counterpart]:
        """The receiver, once for each seed of the stitch."""
        self.require_fit(case, case.receiver.cut)
        for seed in case.seeds:
            yield Counterpart("receiver into itself", seed, case.receiver, *case.receiver_samples)
