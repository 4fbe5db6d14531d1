"""The audit `distribution`: whether a detector tells stitched activations from the receiver's own."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from seamripper._progress import Watcher, nobody
from seamripper.audits.base import Answer, Audit, Evidence, Verdict
from seamripper.audits.detectors import Detector, DetectorAtCut, EnergyDetector, FastDetector, StitchedReader
from seamripper.audits.detectors.base import DetectorReading, DistributionOptions
from seamripper.audits.detectors.outliers import auxiliary_samples
from seamripper.audits.detectors.scores import combined_p, histogram
from seamripper.controls import Case
from seamripper.cut.split import Split
from seamripper.data.paired import Paired
from seamripper.data.samples import Samples
from seamripper.errors import AuditError, InapplicableError
from seamripper.estimate import BySeed, Estimate, difference, mean_over
from seamripper.matching.inputs import count_shared

_CHANCE = 0.5
_FEWEST = 20


@dataclass(frozen=True)
class Distribution(DistributionOptions, Audit):
    """AUROC of a detector for stitched against native activations of the same test samples (Balogh & Jelasity 2025).

    A stitch that is trained on a task may solve it by activations that the receiver never produces. `detector` is

    - `fast`: a cross-validated logistic regression (`folds`, `l2`) on each unit's mean and deviation over positions and
      on two distances to native activations of other samples, which are scores of their own: the Mahalanobis distance
      with a shrunk covariance, and the distance to the `k`-th nearest. With `peers`, scores of pytorch-ood are reported
      as well (extra `ood`);
    - `energy`: the paper's. A network for this cut is trained for `epochs` to classify native activations of the
      samples to fit on (maps on a grid of `side` × `side`), then for `tune_epochs` to give them energies below `m_in`,
      and `outliers` energies above `m_out`. The paper's outliers are activations of auxiliary `inputs` (see
      `auxiliary_samples`). A stitch can move activations where no input does, and inputs alone may teach nothing of
      that (vectors made three times as large had an AUROC of 0.05), so by default half of the outliers are native
      activations changed at the cut. The defaults take about a minute per cut; `Distribution.published()` has the
      paper's sizes and its outliers.

    `n` test samples are scored; a detector is made from `reference` others. Let c be the control with the same
    information that is told apart best (a trained stitch shows, whatever is sent), or chance if there is none:

    - "no" if the whole interval of AUROC − AUROC of c lies below `margin`;
    - "yes" if the interval of the AUROC lies above 0.5 + `margin`, and that of the difference above 0.

    p is for native and stitched activations being exchangeable, not for the difference from c: how often the AUROC is
    reached if the two of each sample are exchanged at random. The p of folds and seeds are joined by twice their mean.

    The figure `histogram` has the score's counts for the first seed, between edges that are common to native and
    stitched activations and controls (see `histogram`).
    """

    name = "distribution"
    paper = "Balogh, Jelasity 2025"
    formula = "AUROC(stitched against native) − AUROC(control against native)"
    question = "Are stitched activations distinguishable from the receiver's own?"
    least = {"n": _FEWEST, "reference": _FEWEST, "seed": 0, "folds": 2, "k": 1, "side": 8} | {
        "epochs": 1,
        "tune_epochs": 1,
    }
    between = {"l2": (0, math.inf), "width": (0, math.inf), "lr": (0, math.inf), "margin": (0, _CHANCE)}

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.m_in < self.m_out:
            raise AuditError(
                f"Expected m_in of the audit {self.name!r} to be below m_out, as native activations must have the "
                f"lower energy, but got {self.m_in!r} and {self.m_out!r}."
            )

    @classmethod
    def published(cls, auxiliary: Samples | str | None = None) -> Distribution:
        """The energy detector at the paper's sizes: hours for one cut without a GPU."""
        sizes: dict[str, Any] = {"n": 10_000, "reference": None, "epochs": 100, "tune_epochs": 20, "width": 1.0}
        return cls(detector="energy", outliers="inputs", auxiliary=auxiliary, **sizes)

    def put(self, evidence: Evidence) -> Verdict:
        """Score the sender's activations, and those of the controls that hold the same information."""
        test, reference = self.split_samples(evidence.case)
        detector = self.make_detector(evidence.case, reference)
        readings = self._read(evidence, StitchedReader(evidence.case.receiver, detector, test, seed=self.seed))
        aurocs = {name: _by_seed(seeds, detector.headline) for name, seeds in readings.items()}
        sender = aurocs.pop("sender")
        means = {name: mean_over([auroc for _, auroc in seeds]) for name, seeds in aurocs.items()}
        rival = max(means, key=lambda name: means[name].value, default=None)
        observed = mean_over([auroc for _, auroc in sender])
        effect = difference(sender, aurocs[rival]) if rival else _above_chance(observed)
        answer = self.answer(observed, effect, detector.doubt)
        headline_scores = [reading.scores[detector.headline] for reading in readings["sender"]]
        p = combined_p([p for scores in headline_scores for p in scores.p_values(seed=self.seed)])
        those = f"those of the control {rival!r} with {means[rival]}" if rival else "and no control was run to compare"
        sentence = (
            f"{detector.who} tells stitched from native activations with AUROC {observed} (0.5 is chance), {those}: "
            f"{self.meaning(answer, observed, effect)}{detector.doubt} p = {p:.4f}."
        )
        firsts = {name: seeds[0].scores[detector.headline] for name, seeds in readings.items()}
        figures = {
            "detector": self.detector,
            "n": len(test),
            "reference": len(reference),
            "margin": self.margin,
            "against": rival,
            "made": detector.about,
            "scores": {name: _figures(seeds) for name, seeds in readings.items()},
            "histogram": {"score": detector.headline, **histogram(firsts)},
        }
        controls = {name: tuple(auroc for _, auroc in seeds) for name, seeds in aurocs.items()}
        return self.verdict(answer, sentence, observed=observed, effect=effect, controls=controls, figures=figures, p=p)

    def split_samples(self, case: Case) -> tuple[Paired, Samples]:
        """The samples to score, and others to make a detector from, as the receiver is shown them."""
        return self._draw_samples(case.fit.receiver, case.test)

    def _draw_samples(self, fit: Samples, every: Paired) -> tuple[Paired, Samples]:
        test = every.draw(self.n, seed=self.seed)
        least = max(_FEWEST, 2 * self.folds)
        if len(test) < least:
            raise InapplicableError(
                f"Comparing distributions needs {least} test samples or more, but {test.name} has {len(test)}."
            )
        others = torch.ones(len(fit), dtype=torch.bool)
        if count_shared(fit.name, fit.ids, every):
            others = ~torch.isin(fit.ids, every.ids)
        if int(others.sum()) < _FEWEST:
            raise InapplicableError(
                f"Making a detector needs {_FEWEST} samples or more that are not used for testing, but {fit.name} has "
                f"{int(others.sum())} to fit on."
            )
        return test, fit.take(others).draw(self.reference or len(fit), seed=self.seed)

    def make_detector(self, case: Case, reference: Samples) -> Detector:
        """The detector that the options choose, made from the receiver's activations of these samples."""
        return self._detector(case.receiver, reference, case.watch)

    def _detector(self, receiver: Split, reference: Samples, watch: Watcher) -> Detector:
        kind = FastDetector if self.detector == "fast" else EnergyDetector
        return kind(self, receiver, reference, watch)

    def at_cut(self, receiver: Split, fit: Samples, test: Samples) -> DetectorAtCut:
        """A detector for the receiver's cut, made from its activations of `fit`, to score stitches on `test`.

        Of both it takes as many as `reference` and `n` say.
        """
        pair, reference = self._draw_samples(fit, Paired.of(test))
        detector = self._detector(receiver, reference, nobody)
        given, outliers = self.auxiliary, None
        if not isinstance(given, Samples):
            # Of other inputs than those that an energy detector is made from, or of another split.
            outliers = auxiliary_samples(pair.receiver, given, seed=self.seed + 1, split="test")
        return DetectorAtCut(detector, receiver, pair.receiver, outliers, seed=self.seed)

    def _read(self, evidence: Evidence, reader: StitchedReader) -> dict[str, list[DetectorReading]]:
        """The readings of the sender, and of each control that holds the same information."""
        readings = {"sender": reader.read(evidence.observed)}
        if not readings["sender"]:
            raise InapplicableError("There is no stitch here, so there are no stitched activations to look at.")
        for outcome in evidence.of_kind("same"):
            # These see the receiver's inputs, even where the sender is shown something else.
            readings.setdefault(outcome.control, []).extend(reader.read([outcome], native=True))
        return {name: seeds for name, seeds in readings.items() if seeds}

    def answer(self, observed: Estimate, effect: Estimate, doubt: str) -> Answer:
        """By the AUROC, by how far it is above that of the rival, and by whether the detector may miss differences."""
        if self._looks_usual(observed, effect):
            return "unknown"
        if effect.high < self.margin:
            return "unknown" if doubt else "no"
        return "yes" if observed.low > _CHANCE + self.margin and effect.low > 0 else "unknown"

    def _looks_usual(self, observed: Estimate, effect: Estimate) -> bool:
        """Whether stitched activations look less strange than native ones, beyond what the controls do."""
        return observed.high < _CHANCE - self.margin and effect.high < -self.margin

    def meaning(self, answer: Answer, observed: Estimate, effect: Estimate) -> str:
        """What an answer says of the stitched activations, as the end of a sentence."""
        if self._looks_usual(observed, effect):
            return "the stitched ones look more usual than the native ones, which this score cannot judge."
        if answer == "yes":
            return "the stitched ones are not what the receiver produces itself."
        if answer == "unknown":
            return f"the difference {effect} is not decisive."
        if observed.low > _CHANCE + self.margin:
            return "the two are distinguishable, but no more than for a control with the same information."
        return f"the stitched ones are like the receiver's own, within a margin of {self.margin:g}."


def _by_seed(readings: Sequence[DetectorReading], score: str) -> BySeed:
    return [(reading.seed, reading.aurocs[score]) for reading in readings]


def _figures(readings: Sequence[DetectorReading]) -> Mapping[str, Mapping[str, Any]]:
    """AUROC, AUPR and FPR95 of every score: means over seeds."""
    return {
        score: {
            "auroc": mean_over([reading.aurocs[score] for reading in readings]),
            "aupr": statistics.fmean(reading.scores[score].aupr for reading in readings),
            "fpr95": statistics.fmean(reading.scores[score].fpr95 for reading in readings),
        }
        for score in readings[0].scores
    }


def _above_chance(observed: Estimate) -> Estimate:
    value, low, high = (end - _CHANCE for end in (observed.value, observed.low, observed.high))
    return replace(observed, value=value, low=low, high=high)
