"""What an audit will cost: how many steps of each kind, and how long each takes, from the time of a few samples."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from seamripper.audits.base import Audit, Evidence
from seamripper.audits.conflict import Conflict
from seamripper.audits.mixing import Mixing
from seamripper.audits.symmetry import Symmetry
from seamripper.controls import Case
from seamripper.controls.tally import Steps
from seamripper.models.training import Training

_FEW, _TRIES = 8, 4
_BACK = 2.0
"""A backward pass takes so many times as long as a forward pass."""
_SHOWN = 0.7
"""The share of changed inputs that the sender is shown: those on which the receiver has a stable or a sure answer."""
_STRENGTHS = 1.5
"""How often the receiver is shown a mixture until its strength is chosen."""


def steps_of(evidence: Evidence, audits: Sequence[Audit]) -> dict[str, Steps]:
    """The steps of each kind, at most, with an estimate of the seconds that one takes."""
    case, pace = evidence.case, _Pace.of(evidence.case)
    each = [len(case.seeds), *(control.stitches(case) for control in evidence.controls.values())]
    stitches = sum(each) + len(case.seeds) * any(isinstance(audit, Symmetry) for audit in audits)
    kinds = {"stitches": Steps(stitches, pace.stitch(case, stitches))}
    for audit in audits:
        if isinstance(audit, Conflict) and case.looks:
            sets = len(evidence.interventions) + (evidence.conflict is not None)
            base = audit.base_samples(case.test.receiver)
            n = min(audit.n, len(evidence.conflict)) if evidence.conflict else len(base)
            # A set is shown to the receiver, and then to the sender.
            kinds[audit.name] = Steps(2 * sets, n * (pace.receiver(case) + _SHOWN * pace.sender(case, 3)) / 2)
        if isinstance(audit, Mixing) and case.looks:
            n = min(audit.n, len(case.test))
            shown = _STRENGTHS * pace.receiver(case) + _SHOWN * pace.sender(case, 1)
            kinds[audit.name] = Steps(len(evidence.mixtures), n * shown)
    return kinds


@dataclass(frozen=True)
class _Pace:
    """Seconds that one sample takes through the sender's front, the receiver's, and the receiver's tail."""

    front: float
    other: float
    tail: float

    @classmethod
    def of(cls, case: Case) -> _Pace:
        """By a few samples."""
        given = case.sender.model.present(case.test.sender).batch(slice(0, _FEW))
        inputs = case.receiver.model.present(case.test.receiver).batch(slice(0, _FEW))
        few = min(_FEW, len(case.test))
        with torch.no_grad(), case.fronts.keeping_nothing():
            activations, beside = case.receiver.head(inputs), case.receiver.beside(inputs)
            return cls(
                _seconds(lambda: case.sender.head(given)) / few,
                _seconds(lambda: case.receiver.head(inputs)) / few,
                _seconds(lambda: case.receiver.tail(activations.clone(), beside)) / few,
            )

    def stitch(self, case: Case, stitches: int) -> float:
        """A stitch that is found and scored; the fronts, each of which is run once, are shared out among all."""
        training = getattr(case.matching, "training", None)
        epochs = training.length if isinstance(training, Training) else 0
        fit, test = len(case.fit), len(case.test)
        fronts = (self.front * (1 + len(case.seeds)) + self.other) * (fit + test) / max(1, stitches)
        return self.tail * (fit * (epochs * (1 + _BACK) + 2) + test) + fronts

    def receiver(self, case: Case) -> float:
        """A changed sample, shown to the receiver and to the controls that have its front."""
        return self.other + self.tail * (1 + len(case.seeds)) + len(case.others) * (self.other + self.tail)

    def sender(self, case: Case, untrained: int) -> float:
        """The same, shown to the sender and to so many untrained ones."""
        return self.front + self.tail * len(case.seeds) + untrained * (self.front + self.tail)


def _seconds(run: Callable[[], object]) -> float:
    """How long it takes where nothing else is in its way: the shortest of a few times."""
    times = []
    for _ in range(_TRIES):
        begun = time.perf_counter()
        run()
        times.append(time.perf_counter() - begun)
    return min(times)
