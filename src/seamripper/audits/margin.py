"""The audit `margin`: how far the sender is ahead of counterparts that should fail."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from seamripper._words import word_list
from seamripper.audits.base import Answer, Audit, Evidence, Verdict, by_control, by_seed, figures_of
from seamripper.controls import Case, Outcome
from seamripper.data.samples import UNASKED
from seamripper.errors import InapplicableError
from seamripper.estimate import TELLING, Estimate, difference, mean_over

_CLEARLY = 2.0
"""How many standard errors above chance a control paired at random must be to count as a leak."""


@dataclass(frozen=True)
class Margin(Audit):
    """The sender's accuracy minus that of the best control that knows nothing of the task.

    The interval of the effect is over seeds, and not narrower than the one over samples. "yes" if its lower end is
    above 0 against each of these controls; "no" if the mean of the best one is within or above the sender's interval:
    if noise stitches as well, the sender's accuracy is no evidence (Smith et al. 2025). p is one-sided: if the sender
    were one more of the n counterparts, how often would it come out so far ahead? (see `rank_p`).

    A control whose samples are paired at random must be at chance. If it is not, the evaluation leaks, and the answer
    is "unknown".
    """

    name = "margin"
    paper = "Smith, Mannering, Marcu 2025"
    formula = "acc(sender) − max acc(controls that know nothing)"
    question = "Does the sender do better than the controls that should fail?"
    by_accuracy = True

    def put(self, evidence: Evidence) -> Verdict:
        """The margin over the best control."""
        nothing, broken = evidence.of_kind("nothing"), evidence.of_kind("broken")
        if not nothing and not broken:
            raise InapplicableError(
                "No control that should fail was run, so there is nothing to have a margin over. Choose some: "
                "'random_sender', 'clustered_noise', 'shuffled'."
            )
        observed, groups = mean_over(figures_of(evidence.observed)), by_counterpart(nothing or broken)
        means = {name: mean_over(figures_of(outcomes)) for name, outcomes in groups.items()}
        best = max(means, key=lambda name: means[name].value)
        ours = by_seed(evidence.observed)
        effects = {name: difference(ours, by_seed(outcomes)) for name, outcomes in groups.items()}
        leaks, rivals = _leaks(broken, evidence.case), independent(nothing)
        answer: Answer = "unknown"
        if nothing and not leaks:
            answer = _answer(observed, means[best], tuple(effects.values()))
        # The lower median of the sender's seeds is on the safe side: if they were nothing but further counterparts, it
        # would be ahead of all n controls less often than a single outcome, which is in 1 case of n + 1.
        accuracies = [accuracy.value for accuracy in figures_of(evidence.observed)]
        p = rank_p(statistics.median_low(accuracies), rivals) if rivals else None
        sentence = (
            f"The stitched network reaches {observed}, the best control that should fail ({best}) {means[best]}: "
            + _meaning(answer, effects[best], known=bool(nothing))
            + _p_in_words(p, len(rivals))
            + leaks
        )
        figures = {"best": best, "n": len(rivals), "chance": chance(evidence.case), "margins": effects}
        return self.verdict(
            answer,
            sentence,
            observed=observed,
            effect=effects[best],
            controls=by_control((*nothing, *broken)),
            figures={**figures, "leaks": leaks.strip()},
            p=p,
        )


def rank_p(sender: float, controls: Sequence[float]) -> float:
    """(1 + number of controls that do as well) / (n + 1): the one-sided p of the sender's rank among n controls.

    It cannot be below 1 / (n + 1).

    >>> rank_p(0.9, [0.1, 0.2, 0.9, 0.4])
    0.4
    """
    return (1 + sum(value >= sender for value in controls)) / (len(controls) + 1)


def chance(case: Case) -> float:
    """The accuracy of always answering with the most frequent class, or with the most frequent token."""
    right = case.targets(case.test)
    right = right[right != UNASKED]
    return int(torch.bincount(right).max()) / len(right)


def by_counterpart(outcomes: Sequence[Outcome]) -> dict[str, list[Outcome]]:
    """The outcomes by counterpart. A control may have several of them: noise of several radii, for example."""
    groups: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        name = outcome.control if outcome.label == outcome.control else f"{outcome.control}, {outcome.label}"
        groups.setdefault(name, []).append(outcome)
    return groups


def independent(nothing: Sequence[Outcome]) -> list[float]:
    """The accuracies of counterparts from independent draws: the best one of those that share a draw.

    Noise of several radii about the same centres is one draw per seed. A control that draws nothing (the input, the
    receiver with its classes shifted) is one counterpart, however many stitches were fitted to it.
    """
    best: dict[tuple[str, int | None], float] = {}
    for outcome in nothing:
        draw = outcome.control, outcome.seed if outcome.draws else None
        best[draw] = max(outcome.result.top1.value, best.get(draw, 0.0))
    return list(best.values())


def _answer(observed: Estimate, rival: Estimate, effects: Sequence[Estimate]) -> Answer:
    if all(effect.low > 0 for effect in effects):
        return "yes"
    return "no" if rival.value >= observed.low else "unknown"


def _meaning(answer: Answer, effect: Estimate, *, known: bool) -> str:
    if not known:
        return (
            "pairing at random tests the evaluation and not the sender, so it is not known whether noise does as well."
        )
    rival = "does better" if effect.high < 0 else "does as well, as far as can be told"
    if effect.low <= 0 <= effect.high and effect.high - effect.low > 2 * TELLING:
        rival = f"may do as well: a difference of {TELLING:g} cannot be detected with so few samples and seeds"
    meanings = {
        "yes": f"the sender is ahead by {effect}.",
        "no": f"a counterpart that knows nothing {rival} (margin {effect}).",
        "unknown": f"the margin {effect} is not decisive.",
    }
    return meanings[answer]


def _p_in_words(p: float | None, n: int) -> str:
    if p is None:
        return ""
    controls = "1 control" if n == 1 else f"{n} controls"
    return f" p = {p:.3f}; with {controls} it cannot be below 1/{n + 1} = {1 / (n + 1):.3f}."


def _leaks(broken: Sequence[Outcome], case: Case) -> str:
    """A sentence on the controls paired at random that are clearly above chance; empty if all fail as they must.

    A network that has learnt nothing may still give one answer to a whole class, and so get one right by luck.
    Therefore classes and seeds are the units, not samples: the standard error is √(c (1 − c) / (classes · seeds)).
    """
    right = case.targets(case.test)
    level, classes, above = chance(case), len(right[right != UNASKED].unique()), {}  # type: ignore[no-untyped-call]
    for name, accuracies in by_control(broken).items():
        bound = level + _CLEARLY * math.sqrt(level * (1 - level) / (classes * len(accuracies)))
        mean = statistics.fmean(accuracy.value for accuracy in accuracies)
        if mean > bound:
            above[name] = mean
    if not above:
        return ""
    return (
        f" But with samples paired at random ({word_list(above)}) the accuracy is {max(above.values()):.3f}, where "
        f"chance is {level:.3f}: the evaluation leaks, so its accuracies say nothing about the sender."
    )
