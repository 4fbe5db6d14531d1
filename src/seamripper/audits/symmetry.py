"""The audit `symmetry`: the same comparison with sender and receiver swapped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from seamripper._notebook import short
from seamripper.audits.base import Answer, Audit, Evidence, Verdict, by_seed, figures_of
from seamripper.controls import Case, Outcome
from seamripper.errors import DataError, InapplicableError, MatchError, StitchError
from seamripper.estimate import Estimate, difference, mean_over
from seamripper.matching.task import targets_by

_LITTLE = 0.05
"""A penalty counts as none if the upper end of its interval is at most this."""


@dataclass(frozen=True)
class Symmetry(Audit):
    """A into B and B into A, with the same matching, seeds and samples.

    Each direction is compared with its own receiver. A direction "holds" if its penalty, error(stitched) −
    error(receiver), is not clearly above 0. "yes" if both hold; "no" if not, and the relative accuracies differ by more
    than their interval.

    If the stitched network clearly beats its receiver in both directions, then each network is "better" than the other.
    That is the contradiction of Smith et al. 2025, Table C.1 (Colour-Only into Digit 0.999 against 0.978, Digit into
    Colour-Only 0.985 against 0.686), and the verdict names it: an accuracy above the receiver's does not show a better
    sender.
    """

    name = "symmetry"
    paper = "Smith, Mannering, Marcu 2025, Table C.1"
    formula = "penalty = error(stitched) − error(receiver),  of A into B and of B into A"
    question = "Does it hold both ways?"
    by_accuracy = True

    def put(self, evidence: Evidence) -> Verdict:
        """Both directions, side by side."""
        there, back = evidence.observed, _outcomes(reverse_case(evidence.case))
        ways = {"forward": _figures(there), "reversed": _figures(back)}
        effect = difference(by_seed(there, "relative_accuracy"), by_seed(back, "relative_accuracy"))
        better = {name: way["penalty"].high < 0 for name, way in ways.items()}
        contradiction = all(better.values())
        return self.verdict(
            answer_of([way["penalty"] for way in ways.values()], effect),
            _sentence(evidence.case, ways, effect, contradiction=contradiction),
            observed=ways["forward"]["relative_accuracy"],
            effect=effect,
            controls={"reversed": figures_of(back, "relative_accuracy")},
            figures={**ways, "better": better, "contradiction": contradiction},
        )


def reverse_case(case: Case) -> Case:
    """The case with sender and receiver swapped; `InapplicableError` if nothing can be stitched into the sender."""
    if not case.looks:
        raise InapplicableError("The sender is not a network that sees the inputs, so nothing can be stitched into it.")
    with torch.no_grad():
        answer = case.sender.answer(case.sender.model.present(case.test.receiver).batch(slice(0, 2)))
    try:
        targets_by(case.matching, answer, case.test)
    except DataError as e:
        raise InapplicableError(
            f"The sender ({short(case.sender.model.source, 120)}) cannot be the receiver: {e}"
        ) from e
    return replace(case, sender=case.receiver, receiver=case.sender, others=())


def _outcomes(case: Case) -> tuple[Outcome, ...]:
    try:
        return tuple(case.sender_outcome(seed) for seed in case.seeds)
    except (StitchError, MatchError, DataError) as e:
        raise InapplicableError(f"The reverse direction could not be stitched: {e}") from e


def _figures(outcomes: Sequence[Outcome]) -> dict[str, Estimate]:
    names = {"accuracy": "top1"} | {name: name for name in ("penalty", "relative_accuracy", "agreement")}
    means = {name: mean_over(figures_of(outcomes, figure)) for name, figure in names.items()}
    return {**means, "receiver": outcomes[0].result.receiver_here}


def answer_of(penalties: Sequence[Estimate], effect: Estimate) -> Answer:
    """By the penalties of both directions and the difference of their relative accuracies.

    >>> level, lost = Estimate(0.01, -0.01, 0.03, 500), Estimate(0.3, 0.2, 0.4, 500)
    >>> answer_of([level, level], Estimate(0.0, -0.1, 0.1, 3)), answer_of([level, lost], Estimate(0.3, 0.2, 0.4, 3))
    ('yes', 'no')
    """
    if all(penalty.low <= 0 and penalty.high <= _LITTLE for penalty in penalties):
        return "yes"
    return "no" if effect.low > 0 or effect.high < 0 else "unknown"


def _sentence(case: Case, ways: dict[str, dict[str, Estimate]], effect: Estimate, *, contradiction: bool) -> str:
    sender, receiver = (f"{short(half.model.source, 120)}@{half.cut.name}" for half in (case.sender, case.receiver))
    there, back = (
        f"{way['accuracy']} (receiver alone {way['receiver'].value:.3f}, penalty {way['penalty']})"
        for way in (ways["forward"], ways["reversed"])
    )
    sentence = (
        f"{sender} into {receiver} reaches {there}, the reverse direction {back}; the relative accuracies differ by "
        f"{effect}."
    )
    if contradiction:
        sentence += (
            ' In both directions the stitched network beats its receiver, so each network would be "better" than the '
            "other: the contradiction of Smith et al. 2025, Table C.1. So beating the receiver does not show a better "
            "sender."
        )
    return sentence
