"""The rule: what the audits of one case come to, in one of five answers. It is written down here and nowhere else.

::

    is the sender the receiver, cut where it is?
                                        yes  → same information
    does the stitched network work?      no  → not stitchable by this stitch: no conclusion
    did a broken pairing work as well?  yes  → interchangeable here, information unknown
    conflict: does it follow the receiver where the cues disagree?
                                         no  → different information
                                        yes  → same information
    does a control that is known to hold nothing of it (noise, a random sender ...) work as well?
                                        yes  → interchangeable, but so is noise: no evidence of similarity
                                         no  → interchangeable here, information unknown

"Works" means that it recovers `WORKS` of the accuracy above chance that the receiver has, alone or stitched to itself.
Where the receiver is at chance on the labels, accuracy is unreadable, and the share of the receiver's own answers that
a stitched network gives, above chance, stands in its place.
Nothing is called the same on task accuracy alone: only the conflict audit can say so, and only where it has told a
sender that has learnt nothing from one that has the receiver's information.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from seamripper.audits.base import Evidence, Verdict, accuracies
from seamripper.audits.margin import by_counterpart, chance
from seamripper.controls import Outcome
from seamripper.estimate import Estimate, mean_over

Conclusion = Literal[
    "same information",
    "interchangeable here, information unknown",
    "interchangeable, but so is noise: no evidence of similarity",
    "different information",
    "not stitchable by this stitch: no conclusion",
]
SAME, UNKNOWN, NOISE, DIFFERENT, NOT_STITCHABLE = get_args(Conclusion)

WORKS = 0.8
"""The share of the receiver's accuracy above chance that a stitched network must recover to be interchangeable."""


@dataclass(frozen=True)
class Judgement:
    """One of the five answers, the reason in a sentence, the figures that it rests on, and what would change it."""

    conclusion: Conclusion
    reason: str
    figures: Mapping[str, Any]
    experiment: str

    def __repr__(self) -> str:
        return f"Judgement({self.conclusion!r})"

    def __str__(self) -> str:
        conclusion = f"{self.conclusion[0].upper()}{self.conclusion[1:]}. {self.reason}"
        return f"{conclusion} What would change this: {self.experiment}"


def judge(evidence: Evidence, verdicts: Mapping[str, Verdict]) -> Judgement:
    """What the verdicts on a case come to, by the rule above."""
    figures = _figures(evidence)
    recovered = _recovered(evidence, evidence.observed)
    figures["recovered"] = recovered
    of_what = "accuracy" if evidence.unreadable is None else "own answers"
    conflict, margin = verdicts.get("conflict"), verdicts.get("margin")
    if _itself(evidence):
        return Judgement(SAME, "The sender is the receiver itself, cut at the same place.", figures, _NOTHING)
    if not recovered.value >= WORKS:
        reason = (
            f"The stitched network recovers {recovered} of the receiver's {of_what} above chance, less than {WORKS:g}."
        )
        if evidence.unreadable is not None:
            reason += f" Accuracy is unreadable: {evidence.unreadable}."
        return Judgement(NOT_STITCHABLE, reason, figures, _MORE_STITCH if evidence.unreadable is None else _ITS_TASK)
    if margin is not None and margin.figures.get("leaks"):
        return Judgement(UNKNOWN, str(margin.figures["leaks"]), figures, _NO_LEAK)
    if conflict is not None:
        figures |= {"score": conflict.figures["score"], "agreement": conflict.observed, "kept": conflict.effect}
        figures["decided_by"] = conflict.figures["decided_by"]
        if conflict.answer == "no":
            return Judgement(DIFFERENT, conflict.sentence, figures, _fit_there(conflict))
        if conflict.answer == "yes":
            return Judgement(SAME, conflict.sentence, figures, _OTHER_CUES)
    said = "" if conflict is None else f" {conflict.sentence}"
    nothing = by_counterpart(evidence.known("nothing"))
    figures |= {name: mean_over(accuracies(each)).as_share for name, each in nothing.items()}
    working = {name: figures[name] for name, each in nothing.items() if _recovered(evidence, each).value >= WORKS}
    if working:
        best = max(working, key=lambda name: working[name].value)
        reason = (
            f"The stitched network reaches {figures['stitched']}, but the control '{best}' reaches {working[best]}."
        )
        return Judgement(NOISE, f"{reason}{said}", figures, _CONFLICT)
    others = (
        "No control that has learnt nothing was run."
        if not nothing
        else "Counterparts that have learnt nothing do not."
    )
    return Judgement(UNKNOWN, f"The stitched network works. {others}{said}", figures, _CONFLICT)


def _itself(evidence: Evidence) -> bool:
    """Whether sender and receiver are one network, cut at one place, and the sender sees what the receiver sees."""
    a, b = evidence.case.sender, evidence.case.receiver
    return evidence.case.looks and (a.fingerprint, a.cut, str(a.model.module)) == (
        b.fingerprint,
        b.cut,
        str(b.model.module),
    )


def _figures(evidence: Evidence) -> dict[str, Any]:
    """The figures that say whether the stitched network works; where accuracy is unreadable, agreements beside it."""
    result, itself = evidence.observed[0].result, evidence.of("self")
    figures = {
        "stitched": mean_over(accuracies(evidence.observed)).as_share,
        "receiver": result.receiver_here,
        "chance": chance(evidence.case),
    }
    figures |= {"self": mean_over(accuracies(itself)).as_share} if itself else {}
    if evidence.unreadable is not None:
        figures["own_answers"] = mean_over(_agreements(evidence.observed)).as_share
        figures["own_answers_by_chance"] = result.agreement_chance
    return figures


def _agreements(outcomes: Sequence[Outcome]) -> tuple[Estimate, ...]:
    return tuple(outcome.result.agreement for outcome in outcomes)


def _recovered(evidence: Evidence, outcomes: Sequence[Outcome]) -> Estimate:
    """The share of what the receiver does above chance that these outcomes do.

    That is its accuracy, alone or stitched to itself; where that is unreadable, its own answers, of which it gives all.
    """
    known = _figures(evidence)
    if evidence.unreadable is None:
        success, level = mean_over(accuracies(outcomes)).as_share, known["chance"]
        best = max(known[name].value for name in ("receiver", "self") if name in known)
    else:
        success, level, best = mean_over(_agreements(outcomes)).as_share, known["own_answers_by_chance"], 1.0
    if best <= level:
        return replace(success, value=math.nan, low=math.nan, high=math.nan)
    ends = (success.value if math.isnan(end) else end for end in (success.value, success.low, success.high))
    value, low, high = ((end - level) / (best - level) for end in ends)
    return replace(success, value=value, low=low, high=high)


_NOTHING = "nothing: it is one and the same network."
_ITS_TASK = "data on which the receiver does what it was trained for."
_MORE_STITCH = (
    "a stitch or a matching that can do more (--stitch conv, --matching task, more samples or epochs); if that works, "
    "audit it."
)
_NO_LEAK = (
    "an evaluation in which a broken pairing is at chance: other test samples, or fewer parameters in the stitch."
)
_OTHER_CUES = (
    "a conflict set for a cue that nothing here has touched (--conflict DATA), on which the stitched network departs "
    "from its receiver."
)
_CONFLICT = (
    "inputs on which the cues that agree in the data disagree: --conflict DATA, or interventions under which receiver "
    "and control keep their answers and a random sender does not."
)


def _fit_there(conflict: Verdict) -> str:
    where = conflict.figures["decided_by"]
    inputs = "the conflict set" if where == "conflict set" else f"inputs changed by {where!r}"
    return (
        f"a stitch fitted where the cues disagree ({inputs}); if that one gives the receiver's answers there, the "
        "sender does hold the information, and the stitch had chosen the shortcut."
    )
