"""What a detector is: it looks at activations a batch at a time, and scores native against stitched ones."""

from __future__ import annotations

import abc
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from seamripper.activations.collect import require_finite
from seamripper.audits._ood_figures import Scores, bin_edges, counts_between
from seamripper.controls import Case, Outcome
from seamripper.cut.on_data import views_of
from seamripper.data.padding import tokens_that_count
from seamripper.data.paired import Paired
from seamripper.data.samples import Inputs
from seamripper.estimate import BySeed, Estimate, mean_over
from seamripper.matching.match import Match


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
    def features(self, activations: Tensor, mask: Tensor | None = None) -> Tensor:
        """What it keeps of a batch of activations, a row a sample, in float64; the mask tells which tokens count."""

    @abc.abstractmethod
    def scores(self, native: Tensor, stitched: Tensor) -> dict[str, Scores]:
        """Each of its scores by name, from what was kept of the same samples' native and stitched activations."""


_BATCH = 256


@dataclass(frozen=True, eq=False)
class DetectorReading:
    """The scores of one outcome's stitched activations, and their AUROCs with intervals over samples."""

    seed: int
    scores: dict[str, Scores]
    aurocs: dict[str, Estimate]


class StitchedReader:
    """Reads outcomes of a case with a detector, on test samples whose native activations it keeps."""

    def __init__(self, case: Case, detector: Detector, test: Paired, *, seed: int) -> None:
        self.detector, self.test, self.seed, self.cut = detector, test, seed, case.receiver.cut
        view = case.receiver.model.present(test.receiver)
        with torch.no_grad():
            # Of the case's receiver: a match never runs its receiver's front, so even one that adapts has the same.
            batches = (inputs for inputs, _ in view.batches(_BATCH))
            rows = [detector.features(case.receiver.head(inputs), self._mask(inputs)) for inputs in batches]
        self.native = torch.cat(rows)

    def read(self, outcomes: Sequence[Outcome], *, native: bool = False) -> list[DetectorReading]:
        """A reading of each outcome that has a stitch; `native` if its sender is shown what the receiver is."""
        test = Paired.of(self.test.receiver) if native else self.test
        return [self._reading(outcome.seed, outcome.match, test) for outcome in outcomes if outcome.match is not None]

    def _reading(self, seed: int, match: Match, test: Paired) -> DetectorReading:
        rows, done = [], 0
        with torch.no_grad():
            for given, inputs in views_of(test, match.sender, match.receiver).batches(_BATCH):
                stitched = match.activations(inputs, given)
                require_finite(stitched, match.receiver.cut.name, test.ids[done:])
                rows.append(self.detector.features(stitched, self._mask(inputs)))
                done += len(stitched)
        scores = self.detector.scores(self.native, torch.cat(rows))
        return DetectorReading(seed, scores, {name: score.estimate(seed=self.seed) for name, score in scores.items()})

    def _mask(self, inputs: Inputs) -> Tensor | None:
        """Which tokens at the receiver's cut count; None for a vector, or if all do."""
        return None if self.cut.layout == "nd" else tokens_that_count(inputs)


def headlines(readings: Sequence[DetectorReading], score: str) -> BySeed:
    """The AUROC of one score, seed by seed."""
    return [(reading.seed, reading.aurocs[score]) for reading in readings]


def figures_of(readings: Sequence[DetectorReading]) -> dict[str, dict[str, Any]]:
    """AUROC, AUPR and FPR95 of every score: means over seeds."""
    return {
        score: {
            "auroc": mean_over([reading.aurocs[score] for reading in readings]),
            "aupr": statistics.fmean(reading.scores[score].aupr for reading in readings),
            "fpr95": statistics.fmean(reading.scores[score].fpr95 for reading in readings),
        }
        for score in readings[0].scores
    }


def histogram(readings_by_name: Mapping[str, Sequence[DetectorReading]], score: str) -> dict[str, Any]:
    """How often one score of the first seed takes which values, for a record: 41 edges, and counts between them.

    `native` and `stitched` are the sender's, of the same samples; `controls` have the counts of each control's stitched
    activations. The edges are common to all: 40 bins of one width between the 0.5 % and the 99.5 % quantile of all
    these scores together, and the outermost bins take what lies beyond as well.

    Scores of different folds are not on one scale, nor are those of the classifiers that each control has of its own.
    Where there are folds, all scores are therefore told in standard deviations of the native scores of their fold, from
    the mean of these (see `Scores.on_one_scale`).
    """
    firsts = {name: readings[0].scores[score].on_one_scale() for name, readings in readings_by_name.items()}
    native, stitched = firsts.pop("sender")
    controls = {name: theirs for name, (_, theirs) in firsts.items()}
    edges = bin_edges(np.concatenate([native, stitched, *controls.values()]))
    return {
        "score": score,
        "edges": edges.tolist(),
        "native": counts_between(edges, native),
        "stitched": counts_between(edges, stitched),
        "controls": {name: counts_between(edges, theirs) for name, theirs in controls.items()},
    }
