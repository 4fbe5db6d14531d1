"""The audit `distribution`: whether a detector tells stitched activations from the receiver's own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import torch

from seamripper._options import require_options
from seamripper.audits._detector import Detector, DetectorReading, StitchedReader, figures_of, headlines, histogram
from seamripper.audits._detector_auxiliary import auxiliary_samples
from seamripper.audits._detector_energy import EnergyDetector, EnergyTraining, usual_epochs
from seamripper.audits._detector_fast import FastDetector
from seamripper.audits._ood_figures import combined_p
from seamripper.audits.base import Answer, Audit, Evidence, Verdict
from seamripper.controls import Case
from seamripper.data.paired import Paired
from seamripper.data.samples import Samples
from seamripper.errors import AuditError, InapplicableError
from seamripper.estimate import Estimate, difference, mean_over
from seamripper.matching.match import count_shared

_CHANCE = 0.5
_FEWEST = 20
_WHO: dict[str, str] = {"classifier": "A two-sample classifier", "energy": "The energy detector"}


@dataclass(frozen=True)
class Distribution(Audit):
    """AUROC of a detector for stitched against native activations of the same test samples (Balogh & Jelasity 2025).

    A stitch that is trained on a task may solve it by activations that the receiver never makes itself. `detector` is

    - `fast`: a cross-validated logistic regression (`folds`, `l2`) on each unit's mean and deviation over positions and
      on two distances to native activations of other samples, which are scores of their own: Mahalanobis with a shrunk
      covariance, and to the `k`-th nearest. With `peers`, scores of pytorch-ood are told beside them (extra `ood`);
    - `energy`: the paper's. A network of the cut's own is trained for `epochs` to classify native activations of the
      samples to fit on, then for `tune_epochs` to give them energies below `m_in`, and `outliers` energies above
      `m_out`. The paper's outliers are activations of auxiliary `inputs` (see `auxiliary_samples`). A stitch can move
      activations where no input does, and of that inputs alone may teach nothing (vectors made three times as large had
      an AUROC of 0.05), so by default half of the outliers are native activations changed at the cut. The defaults take
      a minute or so for a cut; `Distribution.paper()` has the paper's sizes and its outliers.

    `n` test samples are scored; a detector is made from `reference` others. With c the control of the same information
    that is told apart best (a trained stitch shows, whatever is sent), or chance if there is none:

    - "no" if the whole interval of AUROC − AUROC of c lies below `margin`;
    - "yes" if the interval of the AUROC lies above 0.5 + `margin`, and that of the difference above 0.

    p is for native and stitched activations being exchangeable, not for the difference from c: how often the AUROC is
    reached if the two of each sample change places at random. Folds and seeds are joined by twice the mean of their p.

    The figure `histogram` has the score's counts for the first seed, between edges that are common to native and
    stitched activations and controls: from the 0.5 % to the 99.5 % quantile of all of them, the outermost bins taking
    what lies beyond. Scores of the `fast` detector are counted in standard deviations of their fold's native ones.

    >>> Distribution(detector="fat")
    Traceback (most recent call last):
    seamripper.errors.AuditError: Expected detector of the audit 'distribution' to be 'fast' or 'energy', but got 'fat'.
    """

    name = "distribution"
    question = "Are stitched activations distinguishable from the receiver's own?"

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
    lr: float = 1e-3
    m_in: float = -25.0
    m_out: float = -7.0
    outliers: Literal["inputs", "both"] = "both"
    auxiliary: Samples | str | None = None

    def __post_init__(self) -> None:
        least: dict[str, float] = {"n": _FEWEST, "reference": _FEWEST, "seed": 0, "folds": 2, "k": 1}
        least |= {"epochs": 1, "tune_epochs": 1}
        what = f"the audit {self.name!r}"
        require_options(self, what, error=AuditError, **least)
        for name in ("l2", "width", "lr"):
            if not getattr(self, name) > 0:
                raise AuditError(f"Expected {name} of {what} to be above 0, but got {getattr(self, name)!r}.")
        if not 0 < self.margin < _CHANCE:
            raise AuditError(f"Expected margin of {what} to lie between 0 and 0.5, but got {self.margin!r}.")
        if not self.m_in < self.m_out:
            raise AuditError(
                f"Expected m_in of {what} to be below m_out, as native activations are to have the lower energy, but "
                f"got {self.m_in!r} and {self.m_out!r}."
            )

    @classmethod
    def paper(cls, auxiliary: Samples | str | None = None) -> Distribution:
        """The energy detector at the paper's sizes: hours for one cut without a GPU.

        >>> whole = Distribution.paper()
        >>> whole.detector, whole.epochs, whole.tune_epochs, whole.width
        ('energy', 100, 20, 1.0)
        """
        sizes: dict[str, Any] = {"n": 10_000, "reference": None, "epochs": 100, "tune_epochs": 20, "width": 1.0}
        return cls(detector="energy", outliers="inputs", auxiliary=auxiliary, **sizes)

    def put(self, evidence: Evidence) -> Verdict:
        """Score the sender's activations, and those of the controls that hold the same information."""
        test, reference = self._split_samples(evidence.case)
        detector = self._detector(evidence.case, reference)
        readings_by_name = self._read(evidence, StitchedReader(evidence.case, detector, test, seed=self.seed))
        each = {name: headlines(readings, detector.headline) for name, readings in readings_by_name.items()}
        sender = each.pop("sender")
        means = {name: mean_over([reading for _, reading in seeds]) for name, seeds in each.items()}
        rival = max(means, key=lambda name: means[name].value, default=None)
        observed = mean_over([reading for _, reading in sender])
        effect = difference(sender, each[rival]) if rival else _above_chance(observed)
        answer = self._answer(observed, effect, detector.doubt)
        p = combined_p(
            [
                p
                for reading in readings_by_name["sender"]
                for p in reading.scores[detector.headline].p_values(seed=self.seed)
            ]
        )
        those = f"those of the control {rival!r} with {means[rival]}" if rival else "and no control was run to compare"
        said = f"{_WHO[detector.headline]} tells stitched from native activations with AUROC {observed} (0.5 is chance)"
        said += f", {those}: {self._said(answer, observed, effect)}{detector.doubt} p = {p:.4f}."
        figures: dict[str, Any] = {
            "detector": self.detector,
            "n": len(test),
            "reference": len(reference),
            "margin": self.margin,
        }
        figures |= {"against": rival, "made": detector.about}
        figures["scores"] = {name: figures_of(readings) for name, readings in readings_by_name.items()}
        figures["histogram"] = histogram(readings_by_name, detector.headline)
        controls = {name: tuple(reading for _, reading in seeds) for name, seeds in each.items()}
        return Verdict(self.name, self.question, answer, observed, controls, effect, said, p, figures)

    def _split_samples(self, case: Case) -> tuple[Paired, Samples]:
        """The samples to score, and those that a detector is made from: others, as the receiver is shown them."""
        test, fit = case.test.draw(self.n, seed=self.seed), case.fit.receiver
        least = max(_FEWEST, 2 * self.folds)
        if len(test) < least:
            raise InapplicableError(
                f"Distributions are compared on {least} test samples or more, but of {test.name} there are {len(test)}."
            )
        others = torch.ones(len(fit), dtype=torch.bool)
        if count_shared(fit.name, fit.ids, case.test):
            others = ~torch.isin(fit.ids, case.test.ids)
        if int(others.sum()) < _FEWEST:
            raise InapplicableError(
                f"A detector is made from {_FEWEST} samples or more that are not tested on, but {fit.name} has "
                f"{int(others.sum())} to fit on."
            )
        return test, fit.take(others).draw(self.reference or len(fit), seed=self.seed)

    def _detector(self, case: Case, reference: Samples) -> Detector:
        if self.detector == "fast":
            return FastDetector(
                case.receiver,
                reference,
                folds=self.folds,
                l2=self.l2,
                k=self.k,
                peers=self.peers,
                seed=self.seed,
            )
        usual, tuned = usual_epochs(case.receiver.cut.layout, len(reference))
        training = EnergyTraining(
            epochs=usual if self.epochs is None else self.epochs,
            tune_epochs=tuned if self.tune_epochs is None else self.tune_epochs,
            width=self.width,
            lr=self.lr,
            m_in=self.m_in,
            m_out=self.m_out,
            outliers=self.outliers,
        )
        strange = auxiliary_samples(reference, self.auxiliary, seed=self.seed)
        return EnergyDetector(case.receiver, reference, strange, training=training, seed=self.seed, watch=case.watch)

    def _read(self, evidence: Evidence, reader: StitchedReader) -> dict[str, list[DetectorReading]]:
        """The readings of the sender, and of each control that holds the same information."""
        readings_by_name = {"sender": reader.read(evidence.observed)}
        if not readings_by_name["sender"]:
            raise InapplicableError("There is no stitch here, so there are no stitched activations to look at.")
        for outcome in evidence.of_kind("same"):
            # These look at the inputs themselves, also where the sender is shown something else.
            readings_by_name.setdefault(outcome.control, []).extend(reader.read([outcome], native=True))
        return {name: readings for name, readings in readings_by_name.items() if readings}

    def _answer(self, observed: Estimate, effect: Estimate, doubt: str) -> Answer:
        if self._reversed(observed, effect):
            return "unknown"
        if effect.high < self.margin:
            return "unknown" if doubt else "no"
        return "yes" if observed.low > _CHANCE + self.margin and effect.low > 0 else "unknown"

    def _reversed(self, observed: Estimate, effect: Estimate) -> bool:
        """Whether stitched activations look less strange than native ones, beyond what the controls do."""
        return observed.high < _CHANCE - self.margin and effect.high < -self.margin

    def _said(self, answer: Answer, observed: Estimate, effect: Estimate) -> str:
        if self._reversed(observed, effect):
            return "the stitched ones look more usual than the native ones, which this score cannot judge."
        if answer == "yes":
            return "they are not what the receiver makes itself."
        if answer == "unknown":
            return f"the difference {effect} does not decide."
        if observed.low > _CHANCE + self.margin:
            return "they are distinguishable, but no more than the same information is by such a stitch."
        return f"they are as the receiver's own, within a margin of {self.margin:g}."


def _above_chance(observed: Estimate) -> Estimate:
    low, high = observed.low - _CHANCE, observed.high - _CHANCE
    return replace(observed, value=observed.value - _CHANCE, low=low, high=high)
