"""Detector: made from the receiver's own activations, it scores how strange activations look."""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor

from seamripper._devices import to_memory
from seamripper.activations.collect import require_finite
from seamripper.audits.detectors.scores import Scores
from seamripper.controls import Outcome
from seamripper.cut.on_data import views_of
from seamripper.cut.split import Split
from seamripper.data.padding import tokens_that_count
from seamripper.data.paired import Paired
from seamripper.data.samples import Inputs, Samples
from seamripper.estimate import Estimate
from seamripper.matching.match import Match

BATCH = 256


@dataclass(frozen=True)
class DistributionOptions:
    """The options of the audit `distribution`, which explains them; its detectors are made by them."""

    detector: Literal["fast", "energy"] = "fast"
    n: int = 1000
    reference: int | None = 2000
    margin: float = 0.05
    seed: int = 0
    folds: int = 5
    l2: float = 0.01
    k: int = 10
    peers: bool = False
    epochs: int | None = None
    tune_epochs: int | None = None
    width: float = 0.125
    side: int = 32
    lr: float = 1e-3
    m_in: float = -25.0
    m_out: float = -7.0
    outliers: Literal["inputs", "both"] = "both"
    auxiliary: Samples | str | None = None


class Detector(abc.ABC):
    """Made from the receiver's own activations of samples other than those that it then scores."""

    headline: ClassVar[str]
    """The score that answers the question."""
    who: ClassVar[str]
    """What a sentence calls it."""

    @property
    @abc.abstractmethod
    def about(self) -> Mapping[str, Any]:
        """How it was made, for a record."""

    @property
    def doubt(self) -> str:
        """A sentence on why it may miss differences; empty if there is no reason to think so."""
        return ""

    @abc.abstractmethod
    def features(self, activations: Tensor, mask: Tensor | None = None) -> Tensor:
        """What it keeps of a batch of activations, one row per sample, in float64; the mask says which tokens count."""

    @abc.abstractmethod
    def scores(self, native: Tensor, stitched: Tensor) -> dict[str, Scores]:
        """Each of its scores by name, from the features of the same samples' native and stitched activations."""


@dataclass(frozen=True, eq=False)
class DetectorReading:
    """The scores of one outcome's stitched activations, and their AUROCs with intervals over samples."""

    seed: int
    scores: dict[str, Scores]
    aurocs: dict[str, Estimate]


class StitchedReader:
    """Scores stitches into one cut with a detector, on test samples whose native activations it keeps."""

    def __init__(self, receiver: Split, detector: Detector, test: Paired, *, seed: int) -> None:
        self.receiver, self.detector, self.test, self.seed = receiver, detector, test, seed
        # Of the receiver as it is: a match never runs its receiver's front, so even one that adapts has the same.
        self.native = self.features(test.receiver)

    def features(self, samples: Samples) -> Tensor:
        """What the detector keeps of the receiver's own activations of these samples."""
        view = self.receiver.model.present(samples)
        with torch.no_grad():
            batches = (inputs for inputs, _ in view.batches(BATCH))
            rows = [self._features(self.receiver.head(inputs), inputs) for inputs in batches]
        return torch.cat(rows)

    def read(self, outcomes: Sequence[Outcome], *, native: bool = False) -> list[DetectorReading]:
        """A reading of each outcome that has a stitch; `native` if its sender is shown what the receiver is shown."""
        test = Paired.of(self.test.receiver) if native else self.test
        return [self.reading(outcome.match, test, outcome.seed) for outcome in outcomes if outcome.match is not None]

    def reading(self, match: Match, test: Paired, seed: int = 0) -> DetectorReading:
        """A reading of one match, whose sender is shown its side of `test`; `seed` is the stitch's."""
        scores = self.scores(match, test)
        return DetectorReading(seed, scores, {name: score.estimate(seed=self.seed) for name, score in scores.items()})

    def scores(self, match: Match, test: Paired) -> dict[str, Scores]:
        """The scores of one match's stitched activations, whose sender is shown its side of `test`."""
        rows, done = [], 0
        with torch.no_grad():
            for given, inputs in views_of(test, match.sender, match.receiver).batches(BATCH):
                stitched = match.activations(inputs, given)
                require_finite(stitched, match.receiver.cut.name, test.ids[done:])
                rows.append(self._features(stitched, inputs))
                done += len(stitched)
        return self.detector.scores(self.native, torch.cat(rows))

    def _features(self, activations: Tensor, inputs: Inputs) -> Tensor:
        """What the detector keeps of activations at the receiver's cut; it computes in main memory."""
        mask = None if self.receiver.cut.layout == "nd" else tokens_that_count(to_memory(inputs))
        return self.detector.features(to_memory(activations), mask)
