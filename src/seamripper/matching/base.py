"""What a matching is: a way to find the stitch between a sender and a receiver."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from torch import Tensor

from seamripper._progress import Watcher, nobody
from seamripper.cut.frozen import Freeze
from seamripper.cut.split import Split
from seamripper.data.paired import Paired
from seamripper.errors import MatchError
from seamripper.registry import Choice, Registry
from seamripper.stitches.base import Layer


@dataclass(frozen=True, eq=False)
class Problem:
    """What a matching is given: two frozen halves, the layer to be found between them, and samples."""

    sender: Split
    receiver: Split
    layer: Layer
    fit: Paired
    held_out: Paired | None
    seed: int = 0
    freeze: Freeze = "all"
    watch: Watcher = nobody


@dataclass(frozen=True)
class Found:
    """What a matching tells beside the layer it has changed: how it ended, its figures, its curves."""

    status: str
    figures: Mapping[str, Any] = field(default_factory=dict)
    curves: Mapping[str, Tensor] = field(default_factory=dict)


@dataclass(frozen=True)
class Matching(Choice):
    """The choice of a matching. Leaves are frozen dataclasses with a `name` and their options."""

    what, error = "matching", MatchError
    holds_out: ClassVar[bool] = True
    """Whether some of the samples are held out for residuals that it reports, if no others are given for that."""

    @abc.abstractmethod
    def find(self, problem: Problem) -> Found:
        """Set the problem's layer to the stitch that this way finds."""


matchings: Registry[Matching] = Registry(Matching, "seamripper.matching", what="matching", error=MatchError)
"""Every matching by name. `matchings.make("task?epochs=3")` makes one: options of its training stand beside its own."""
