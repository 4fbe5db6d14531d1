"""The audit `stability`: how much the answer depends on the seed of the stitch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from seamripper.audits.base import Answer, Audit, Evidence, Verdict, by_control, by_seed, figures_of
from seamripper.controls import Outcome
from seamripper.errors import InapplicableError
from seamripper.estimate import Estimate, deviation_over_seeds, difference, mean_over
from seamripper.matching.direct import Direct


@dataclass(frozen=True)
class Stability(Audit):
    """The spread over stitch seeds, compared with the effect that they are meant to show.

    The spread is the largest accuracy minus the smallest; agreement with the receiver has its own. The effect is the
    mean accuracy minus the mean of the controls that know nothing, or the stitching penalty if there are no such
    controls. "no" if the spread is larger than the effect: then the choice of a seed can decide the result. Stitch
    seeds matter: noise into one VGG of Smith et al. 2025 gave anything from 45 to 52 % over 26 restarts.
    """

    name = "stability"
    paper = "Smith, Mannering, Marcu 2025"
    formula = "(max − min) acc over seeds,  against mean acc(sender) − mean acc(nothing)"
    question = "Is the answer the same for every stitch seed?"
    by_accuracy = True

    def put(self, evidence: Evidence) -> Verdict:
        """The spread, and whether the effect is larger."""
        outcomes, nothing = evidence.observed, evidence.of_kind("nothing")
        if len(outcomes) < 2:
            raise InapplicableError("One stitch seed shows no spread. Give two or more, for example seeds=(0, 1, 2).")
        if nothing:
            effect = difference(by_seed(outcomes), by_seed(nothing))
        else:
            effect = mean_over(figures_of(outcomes, "penalty"))
        figures: dict[str, Any] = {
            "accuracy": spread_of(figures_of(outcomes)),
            "agreement": spread_of(figures_of(outcomes, "agreement")),
            "effect_is": "accuracy over the controls that know nothing" if nothing else "stitching penalty",
            "fixed": _why_fixed(outcomes),
        }
        answer: Answer = "no" if figures["accuracy"]["range"] > abs(effect.value) else "yes"
        return self.verdict(
            answer,
            _sentence(answer, figures, effect, len(outcomes)),
            observed=mean_over(figures_of(outcomes)),
            effect=effect,
            controls=by_control(nothing),
            figures=figures,
        )


def spread_of(estimates: Sequence[Estimate]) -> dict[str, Any]:
    """Smallest, largest, their difference, and the standard deviation with its interval over seeds.

    >>> spread = spread_of([Estimate(value, 0.0, 1.0, 100) for value in (0.90, 0.92, 0.97)])
    >>> print(f"{spread['range']:.2f}", spread["sd"])
    0.07 0.036 [0.019, 0.227]
    """
    values = [estimate.value for estimate in estimates]
    least, most = min(values), max(values)
    return {"least": least, "most": most, "range": most - least, "sd": deviation_over_seeds(values)}


def _why_fixed(outcomes: Sequence[Outcome]) -> str | None:
    """Why seeds can change little or nothing here; None if they can."""
    matches = [outcome.match for outcome in outcomes if outcome.match is not None]
    if not matches:
        return None
    if not list(matches[0].layer.parameters()):
        return "the stitch has no parameters, so there is nothing for a seed to change"
    if isinstance(matches[0].matching, Direct):
        if len({tuple(match.fitted.tolist()) for match in matches}) == 1:
            return "the matching 'direct' is solved on the same samples for every seed"
        return "the matching 'direct' is solved: a seed only chooses which samples are held out of the fit"
    return None


def _sentence(answer: Answer, figures: dict[str, Any], effect: Estimate, seeds: int) -> str:
    spread, agreement = figures["accuracy"], figures["agreement"]
    comparison = {
        "no": "the spread is wider than the effect, so another seed may give another answer.",
        "yes": "the spread is no wider than the effect.",
    }
    sentence = (
        f"Over {seeds} stitch seeds the accuracy ranges from {spread['least']:.3f} to {spread['most']:.3f} (a spread "
        f"of {spread['range']:.3f}, sd {spread['sd'].value:.3f}), the agreement from {agreement['least']:.3f} to "
        f"{agreement['most']:.3f}. The effect ({figures['effect_is']}) is {effect}: {comparison[answer]}"
    )
    if figures["fixed"]:
        why = "The spread is 0 by construction" if spread["range"] == 0 else "By construction seeds change little"
        sentence += f" {why}: {figures['fixed']}."
    return sentence
