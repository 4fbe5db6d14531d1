"""The control `self`: the receiver's own front in the place of the sender's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from seamripper.controls.base import Case, Control, Counterpart, Known, require_fit
from seamripper.data.paired import Paired


@dataclass(frozen=True)
class Itself(Control):
    """The receiver stitched into itself: the same information beyond doubt, so what it misses is the stitch's doing."""

    name: ClassVar[str] = "self"
    about: ClassVar[str] = "the receiver's own front: the same information beyond doubt"
    known: ClassVar[Known] = "same"
    of_sender: ClassVar[bool] = False

    def counterparts(self, case: Case) -> Iterator[Counterpart]:
        """The receiver, once for each seed of the stitch."""
        require_fit(case, case.receiver.cut, self.name)
        # What the receiver itself is shown, also where the sender is shown something else.
        fit, test = (Paired.of(pair.receiver) for pair in (case.fit, case.test))
        for seed in case.seeds:
            yield Counterpart("receiver into itself", seed, case.receiver, fit, test)
