"""The audit `symmetry`: the same comparison with sender and receiver changed over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch

from seamripper.audits.base import Answer, Audit, Evidence, Verdict, by_seed
from seamripper.controls import Case, Outcome
from seamripper.errors import DataError, InapplicableError, MatchError, StitchError
from seamripper.estimate import Estimate, difference, mean_over
from seamripper.matching.task import require_classes, right_classes

_LITTLE = 0.05
"""A penalty of up to this, at the upper end of its interval, is none."""


@dataclass(frozen=True)
class Symmetry(Audit):
    """A into B and B into A, by the same matching, with the same seeds, on the same samples.

    Each way is held to its own receiver. A way "holds" if its penalty, error(stitched) − error(receiver), is not
    clearly above 0. "yes" if both hold; "no" if not, and the relative accuracies differ by more than their interval.

    If the stitched network clearly beats its receiver both ways, then each network is "better" than the other. That is
    the contradiction of Smith et al. 2025, Table C.1 (Colour-Only into Digit 0.999 against 0.978, Digit into
    Colour-Only 0.985 against 0.686), and it is named: an accuracy above the receiver's is no sign of a better sender.
    """

    name: ClassVar[str] = "symmetry"
    question: ClassVar[str] = "Does it hold both ways?"
    by_accuracy: ClassVar[bool] = True

    def put(self, evidence: Evidence) -> Verdict:
        """Both ways, side by side."""
        there, back = evidence.observed, _outcomes(reverse_case(evidence.case))
        ways = {"forward": _way(there), "reversed": _way(back)}
        effect = difference(by_seed(there, "relative_accuracy"), by_seed(back, "relative_accuracy"))
        better = {name: way["penalty"].high < 0 for name, way in ways.items()}
        contradiction = all(better.values())
        answer = _answer([way["penalty"] for way in ways.values()], effect)
        said = _said(evidence.case, ways, effect, contradiction=contradiction)
        figures = {**ways, "better": better, "contradiction": contradiction}
        observed, other = (
            mean_over([_relative(result) for result in there]),
            tuple(_relative(result) for result in back),
        )
        shown = {"reversed": other}
        return Verdict(self.name, self.question, answer, observed, shown, effect, said, None, figures)


def reverse_case(case: Case) -> Case:
    """The case with sender and receiver changed over; `InapplicableError` if the sender can receive nothing."""
    if not case.looks:
        raise InapplicableError(
            "The sender is no network that looks at the inputs, so nothing can be stitched into it."
        )
    labels = right_classes(case.matching, case.test)
    with torch.no_grad():
        answer = case.sender.answer(case.sender.model.present(case.test.receiver).batch(slice(0, 2)))
    try:
        require_classes(labels, answer, case.test.name)
    except DataError as e:
        raise InapplicableError(f"The sender ({case.sender.model.source}) cannot be the receiver: {e}") from e
    return replace(case, sender=case.receiver, receiver=case.sender, others=())


def _outcomes(case: Case) -> tuple[Outcome, ...]:
    try:
        return tuple(case.sender_outcome(seed) for seed in case.seeds)
    except (StitchError, MatchError, DataError) as e:
        raise InapplicableError(f"The way back could not be stitched: {e}") from e


def _relative(outcome: Outcome) -> Estimate:
    return outcome.result.relative_accuracy


def _way(outcomes: Sequence[Outcome]) -> dict[str, Estimate]:
    results = [outcome.result for outcome in outcomes]
    return {
        "accuracy": mean_over([result.top1 for result in results]),
        "penalty": mean_over([result.penalty for result in results]),
        "relative_accuracy": mean_over([result.relative_accuracy for result in results]),
        "agreement": mean_over([result.agreement for result in results]),
        "receiver": results[0].receiver_here,
    }


def _answer(penalties: Sequence[Estimate], effect: Estimate) -> Answer:
    """By the penalties of both ways and the difference of their relative accuracies.

    >>> level, lost = Estimate(0.01, -0.01, 0.03, 500), Estimate(0.3, 0.2, 0.4, 500)
    >>> _answer([level, level], Estimate(0.0, -0.1, 0.1, 3)), _answer([level, lost], Estimate(0.3, 0.2, 0.4, 3))
    ('yes', 'no')
    """
    if all(penalty.low <= 0 and penalty.high <= _LITTLE for penalty in penalties):
        return "yes"
    return "no" if effect.low > 0 or effect.high < 0 else "unknown"


def _said(case: Case, ways: dict[str, dict[str, Any]], effect: Estimate, *, contradiction: bool) -> str:
    a, b = ways["forward"], ways["reversed"]
    names = (
        f"{case.sender.model.source}@{case.sender.cut.name}",
        f"{case.receiver.model.source}@{case.receiver.cut.name}",
    )
    said = (
        f"{names[0]} into {names[1]} reaches {a['accuracy']} (receiver alone {a['receiver'].value:.3f}, penalty "
        f"{a['penalty']}), the way back {b['accuracy']} (receiver alone {b['receiver'].value:.3f}, penalty "
        f"{b['penalty']}); the relative accuracies differ by {effect}."
    )
    if contradiction:
        said += (
            ' Each way the stitched network beats its receiver, so each network would be "better" than the other: the '
            "contradiction of Smith et al. 2025, Table C.1. To beat the receiver is then no sign of a better sender."
        )
    return said
