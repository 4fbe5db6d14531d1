"""What a detector is: it looks at activations a batch at a time, and scores native against stitched ones."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import Any, ClassVar

from torch import Tensor

from seamripper.audits._ood_figures import Scores


class Detector(abc.ABC):
    """Made from the receiver's own activations of other samples than those that it is then put to."""

    headline: ClassVar[str]
    """The score that answers the question."""

    @property
    @abc.abstractmethod
    def about(self) -> Mapping[str, Any]:
        """How it was made, for a record."""

    @property
    def doubt(self) -> str:
        """Why it may miss what there is to see, in a sentence; nothing if there is no reason to think so."""
        return ""

    @abc.abstractmethod
    def seen(self, activations: Tensor, mask: Tensor | None = None) -> Tensor:
        """What it keeps of a batch of activations, a row a sample, in float64; the mask tells which tokens count."""

    @abc.abstractmethod
    def scores(self, native: Tensor, stitched: Tensor) -> dict[str, Scores]:
        """Each of its scores by name, from what was kept of the same samples' native and stitched activations."""
