"""The audit `stability`: how much the answer depends on the seed of the stitch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from seamripper.audits.base import Answer, Audit, Evidence, Verdict, accuracies, by_control, by_seed
from seamripper.controls import Outcome
from seamripper.errors import InapplicableError
from seamripper.estimate import Estimate, deviation_over_seeds, difference, mean_over
from seamripper.matching.direct import Direct


@dataclass(frozen=True)
class Stability(Audit):
    """The spread over stitch seeds against the effect that they are to show.

    The spread is the largest accuracy less the smallest; agreement with the receiver has its own. The effect is the
    mean accuracy less the mean of the controls that know nothing, or without such controls the stitching penalty. "no"
    if the spread is wider than the effect: then which seed one happens to take can decide. Stitch seeds matter: noise
    into one VGG of Smith et al. 2025 gave anything from 45 to 52 % over 26 restarts.
    """

    name = "stability"
    question = "Is the answer the same for every stitch seed?"
    by_accuracy = True

    def put(self, evidence: Evidence) -> Verdict:
        """The spread, and whether the effect is larger."""
        ours = evidence.observed
        if len(ours) < 2:
            raise InapplicableError("One stitch seed shows no spread. Give two or more, seeds=(0, 1, 2) for example.")
        nothing = evidence.known("nothing")
        effect = _effect(ours, nothing)
        figures: dict[str, Any] = {
            "accuracy": spread_of([o.result.top1 for o in ours]),
            "agreement": spread_of([o.result.agreement for o in ours]),
            "effect_is": "accuracy over the controls that know nothing" if nothing else "stitching penalty",
            "fixed": _fixed(ours),
        }
        spread = figures["accuracy"]["range"]
        answer: Answer = "no" if spread > abs(effect.value) else "yes"
        said = _said(figures, effect, len(ours))
        observed = mean_over(accuracies(ours))
        return Verdict(self.name, self.question, answer, observed, by_control(nothing), effect, said, None, figures)


def spread_of(estimates: Sequence[Estimate]) -> dict[str, Any]:
    """Smallest, largest, their distance, and the standard deviation with its interval over seeds.

    >>> found = spread_of([Estimate(value, 0.0, 1.0, 100) for value in (0.90, 0.92, 0.97)])
    >>> print(f"{found['range']:.2f}", found["sd"])
    0.07 0.036 [0.019, 0.227]
    """
    values = [estimate.value for estimate in estimates]
    least, most = min(values), max(values)
    return {"least": least, "most": most, "range": most - least, "sd": deviation_over_seeds(values)}


def _effect(ours: Sequence[Outcome], nothing: Sequence[Outcome]) -> Estimate:
    if nothing:
        return difference(by_seed(ours), by_seed(nothing))
    return mean_over([outcome.result.penalty for outcome in ours])


def _fixed(outcomes: Sequence[Outcome]) -> str | None:
    """Why seeds can change little or nothing here, if so."""
    matches = [outcome.match for outcome in outcomes if outcome.match is not None]
    if not matches:
        return None
    if not any(True for _ in matches[0].layer.parameters()):
        return "the stitch has no parameters, so there is nothing for a seed to change"
    if isinstance(matches[0].matching, Direct):
        if len({tuple(match.fitted.tolist()) for match in matches}) == 1:
            return "the matching 'direct' is solved on the same samples for every seed"
        return "the matching 'direct' is solved: a seed only chooses which samples are held out of the fit"
    return None


def _said(figures: dict[str, Any], effect: Estimate, seeds: int) -> str:
    spread, agreement = figures["accuracy"], figures["agreement"]
    wider = spread["range"] > abs(effect.value)
    said = (
        f"Over {seeds} stitch seeds the accuracy is {spread['least']:.3f} to {spread['most']:.3f} (a spread of "
        f"{spread['range']:.3f}, sd {spread['sd'].value:.3f}), the agreement {agreement['least']:.3f} to "
        f"{agreement['most']:.3f}. The effect ({figures['effect_is']}) is {effect}: "
    )
    said += (
        "the spread is wider than the effect, so another seed may say otherwise."
        if wider
        else "the spread is no wider than the effect."
    )
    if figures["fixed"]:
        why = "The spread is 0 by construction" if spread["range"] == 0 else "By construction seeds change little"
        said += f" {why}: {figures['fixed']}."
    return said
