"""The audit `margin`: how far the sender is ahead of counterparts that should fail."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch

from seamripper._words import word_list
from seamripper.audits.base import Answer, Audit, Evidence, Verdict, accuracies, by_control, by_seed
from seamripper.controls import Case, Outcome
from seamripper.errors import InapplicableError
from seamripper.estimate import TELLING, Estimate, difference, mean_over
from seamripper.matching.task import right_classes

_CLEARLY = 2.0
"""How many standard errors above chance a broken pairing must be to count as a leak."""


@dataclass(frozen=True)
class Margin(Audit):
    """The sender's accuracy less that of the best control that knows nothing of the task.

    The interval of the effect is over seeds, and not narrower than the one over samples. "yes" if its lower end is
    above 0, against each of these controls; "no" if the best one's mean is within or above the sender's own interval:
    noise that stitches as well makes the sender's accuracy no evidence (Smith et al. 2025). p is one-sided: were the
    sender one more of the n counterparts, how often would it come out so far ahead? (see `rank_p`).

    A control whose pairing is broken must be at chance. If not, the evaluation leaks, and the answer is "unknown".
    """

    name: ClassVar[str] = "margin"
    question: ClassVar[str] = "Does the sender do better than the controls that should fail?"
    by_accuracy: ClassVar[bool] = True

    def put(self, evidence: Evidence) -> Verdict:
        """The margin over the best control."""
        nothing, broken = evidence.known("nothing"), evidence.known("broken")
        if not nothing and not broken:
            raise InapplicableError(
                "No control that should fail was run, so there is no margin over any. "
                "Choose some: 'random_sender', 'clustered_noise', 'shuffled'."
            )
        ours, groups = mean_over(accuracies(evidence.observed)), by_counterpart(nothing or broken)
        best = max(groups, key=lambda name: statistics.fmean(o.result.top1.value for o in groups[name]))
        effects = {name: _margin(evidence.observed, each) for name, each in groups.items()}
        rival, leaks = mean_over(accuracies(groups[best])), _leaks(broken, evidence.case)
        answer: Answer = "unknown"
        if nothing and not leaks:
            answer = _answer(ours, rival, tuple(effects.values()))
        p = _p(evidence.observed, nothing)
        said = f"The stitched network reaches {ours}, the best control that should fail ({best}) {rival}: "
        said += (
            _sentence(answer, effects[best], known=bool(nothing)) + _p_in_words(p, len(independent(nothing))) + leaks
        )
        figures = {"best": best, "n": len(independent(nothing)), "chance": chance(evidence.case), "margins": effects}
        figures["leaks"] = leaks.strip()
        shown = by_control((*nothing, *broken))
        return Verdict(self.name, self.question, answer, ours, shown, effects[best], said, p, figures)


def rank_p(sender: float, controls: Sequence[float]) -> float:
    """(1 + number of controls that do as well) / (n + 1): the one-sided p of the sender's rank among n controls.

    It cannot be below 1 / (n + 1).

    >>> rank_p(0.9, [0.1, 0.2, 0.9, 0.4])
    0.4
    >>> rank_p(0.9, [0.1, 0.2, 0.3, 0.4])
    0.2
    """
    return (1 + sum(value >= sender for value in controls)) / (len(controls) + 1)


def chance(case: Case) -> float:
    """What saying the most frequent class at all times would give."""
    test = case.test
    labels = right_classes(case.matching, test)
    return int(torch.bincount(labels).max()) / len(labels)


def by_counterpart(outcomes: Sequence[Outcome]) -> dict[str, list[Outcome]]:
    """The outcomes by what was put in the sender's place. A control may have several: noise of many radii, say."""
    groups: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        name = outcome.control if outcome.label == outcome.control else f"{outcome.control}, {outcome.label}"
        groups.setdefault(name, []).append(outcome)
    return groups


def _margin(ours: Sequence[Outcome], theirs: Sequence[Outcome]) -> Estimate:
    return difference(by_seed(ours), by_seed(theirs))


def _p(ours: Sequence[Outcome], nothing: Sequence[Outcome]) -> float | None:
    """The p of the (lower) median of the sender's seeds.

    The median is on the safe side: were the sender's seeds nothing but further counterparts, it would be ahead of all n
    controls less often than one outcome alone, which is so in 1 case of n + 1.
    """
    if not nothing:
        return None
    middle = statistics.median_low([outcome.result.top1.value for outcome in ours])
    return rank_p(middle, independent(nothing))


def independent(nothing: Sequence[Outcome]) -> list[float]:
    """The accuracies of counterparts that were drawn apart: of those that share a draw, the best.

    Noise of several radii about the same centres is one draw per seed, and what draws nothing (the input, the receiver
    with its classes moved) is one counterpart, however many stitches were fitted to it.
    """
    best: dict[tuple[str, int | None], float] = {}
    for outcome in nothing:
        draw = outcome.control, outcome.seed if outcome.draws else None
        best[draw] = max(outcome.result.top1.value, best.get(draw, 0.0))
    return list(best.values())


def _answer(ours: Estimate, rival: Estimate, effects: Sequence[Estimate]) -> Answer:
    if all(effect.low > 0 for effect in effects):
        return "yes"
    return "no" if rival.value >= ours.low else "unknown"


def _sentence(answer: Answer, effect: Estimate, *, known: bool) -> str:
    if not known:
        return "a broken pairing tests the evaluation and not the sender, so whether noise does as well is not known."
    rival = "does better" if effect.high < 0 else "does as well, as far as can be told"
    if effect.low <= 0 <= effect.high and effect.high - effect.low > 2 * TELLING:
        rival = f"may do as well: a difference of {TELLING:g} cannot be told on so few samples and seeds"
    ending = {
        "yes": f"a margin of {effect}.",
        "no": f"a counterpart that knows nothing {rival} (margin {effect}).",
        "unknown": f"the margin {effect} does not decide.",
    }
    return ending[answer]


def _p_in_words(p: float | None, n: int) -> str:
    if p is None:
        return ""
    controls = "1 control" if n == 1 else f"{n} controls"
    return f" p = {p:.3f}; with {controls} it cannot be below 1/{n + 1} = {1 / (n + 1):.3f}."


def _leaks(broken: Sequence[Outcome], case: Case) -> str:
    """A sentence on the broken pairings that are clearly above chance; nothing if all of them fail as they must.

    A network that learnt nothing may still answer whole classes alike, and so get one right by luck. Therefore the
    classes of each seed are the units, and not the samples: the standard error is √(c (1 − c) / (classes · seeds)).
    """
    level, classes, above = chance(case), int((torch.bincount(case.test.labels) > 0).sum()), {}
    for name, each in by_control(broken).items():
        bound = level + _CLEARLY * math.sqrt(level * (1 - level) / (classes * len(each)))
        mean = statistics.fmean(accuracy.value for accuracy in each)
        if mean > bound:
            above[name] = mean
    if not above:
        return ""
    return (
        f" But with a broken pairing ({word_list(above)}) the accuracy is {max(above.values()):.3f}, where chance is "
        f"{level:.3f}: the evaluation leaks, and says nothing of the sender."
    )
