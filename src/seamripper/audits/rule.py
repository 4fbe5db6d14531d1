"""The rule: one of five conclusions from the audits of a case. It is written down here and nowhere else.

- Is the sender the receiver, cut where it is? Yes: same information.
- Does the stitched network work? No: not stitchable by this stitch, no conclusion.
- Did random pairs work as well? Yes: interchangeable here, information unknown.
- Does it depart from the receiver where the cues of a conflict set disagree, or where inputs are mixed? Yes: different
  information. The audit `conflict` on interventions says so as well, unless `mixing` says that it follows the receiver.
- Does it follow the receiver there? Yes: same information. If `mixing` could tell and did not decide, interventions
  alone do not.
- Does a control that has learnt nothing (noise, a random sender ...) work as well? Yes: interchangeable, but so is
  noise, no evidence of similarity. No: interchangeable here, information unknown.

A stitched network "works" if it recovers the share `WORKS` of the receiver's accuracy above chance, alone or stitched
to itself. Where the receiver is at chance on the labels, accuracy is unreadable, and the share of the receiver's own
answers that the stitched network gives, above chance, takes its place. Task accuracy by itself never leads to "same
information": only the audits `conflict` and `mixing` can say so, and only where they can tell a sender that is known to
be different from one that has the receiver's information. "Different information" needs no such sender: a departure far
below the control is enough.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import torch

from seamripper.audits.base import Evidence, Verdict, figures_of
from seamripper.audits.margin import by_counterpart, chance
from seamripper.controls import Outcome
from seamripper.estimate import Estimate, mean_over
from seamripper.matching.evaluate import answers_of

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
_FEW = 64
"""Samples to which two networks of the same weights must give the same answers, to be one network."""


@dataclass(frozen=True)
class Judgement:
    """One of the five conclusions, the reason in a sentence, the figures behind it, and what would change it."""

    conclusion: Conclusion
    reason: str
    figures: Mapping[str, Any]
    experiment: str

    def __repr__(self) -> str:
        return f"Judgement({self.conclusion!r})"

    def __str__(self) -> str:
        conclusion = f"{self.conclusion[0].upper()}{self.conclusion[1:]}. {self.reason}"
        return f"{conclusion} What would change this: {self.experiment}"


@dataclass(frozen=True)
class _Findings:
    """What the steps of the rule look at; each adds to the figures that the judgement will rest on."""

    evidence: Evidence
    verdicts: Mapping[str, Verdict]
    figures: dict[str, Any]


def judge(evidence: Evidence, verdicts: Mapping[str, Verdict]) -> Judgement:
    """The conclusion from the verdicts on a case, by the rule above: the first step that can decide does."""
    figures = {**_figures(evidence), "recovered": _recovery(evidence, evidence.observed)}
    findings = _Findings(evidence, verdicts, figures)
    for step in (_one_network, _does_not_work, _leaks, _departs_or_follows):
        judgement = step(findings)
        if judgement is not None:
            return judgement
    return _noise_or_unknown(findings)


def _one_network(findings: _Findings) -> Judgement | None:
    """The sender is the receiver, cut at the same place, and sees what the receiver sees."""
    case = findings.evidence.case
    a, b = ((half.fingerprint, half.cut, str(half.model.module)) for half in (case.sender, case.receiver))
    if not case.looks or a != b:
        return None
    # The same weights may be run by other code, or be shown the inputs in another view.
    few = case.test.receiver.first(_FEW)
    if not torch.equal(*(answers_of(half, few) for half in (case.sender, case.receiver))):
        return None
    reason = "The sender is the receiver itself, cut at the same place."
    return Judgement(SAME, reason, findings.figures, "nothing: it is one and the same network.")


def _does_not_work(findings: _Findings) -> Judgement | None:
    recovered, unreadable = findings.figures["recovered"], findings.evidence.unreadable
    if recovered.value >= WORKS:
        return None
    what = "accuracy" if unreadable is None else "own answers"
    reason = f"The stitched network recovers {recovered} of the receiver's {what} above chance, less than {WORKS:g}."
    if unreadable is None:
        return Judgement(NOT_STITCHABLE, reason, findings.figures, _MORE_STITCH)
    reason += f" Accuracy is unreadable: {unreadable}."
    return Judgement(NOT_STITCHABLE, reason, findings.figures, _ITS_TASK)


def _leaks(findings: _Findings) -> Judgement | None:
    margin = findings.verdicts.get("margin")
    leaks = "" if margin is None else str(margin.figures.get("leaks", ""))
    return Judgement(UNKNOWN, leaks, findings.figures, _NO_LEAK) if leaks else None


def _departs_or_follows(findings: _Findings) -> Judgement | None:
    """What the audits say that put the two networks where they may answer differently."""
    conflict, mixing = (findings.verdicts.get(name) for name in ("conflict", "mixing"))
    figures = findings.figures
    if conflict is not None:
        figures |= {"score": conflict.figures["score"], "agreement": conflict.observed, "kept": conflict.effect}
    if mixing is not None:
        figures["excess"] = mixing.effect
    for answer in ("no", "yes"):
        for verdict in (conflict, mixing):
            if verdict is not None and verdict.answer == answer and not _is_outweighed(verdict, mixing):
                figures |= {"deciding_audit": verdict.audit, "decided_by": verdict.figures["decided_by"]}
                return _judgement(verdict, figures)
    if conflict is not None:
        figures["decided_by"] = conflict.figures["decided_by"]
    return None


def _is_outweighed(verdict: Verdict, mixing: Verdict | None) -> bool:
    """Whether mixing keeps interventions from deciding: they know a few cues, and it looks for any."""
    if verdict is mixing or mixing is None or verdict.figures["decided_by"] == "conflict set":
        return False
    if verdict.answer == "no":
        # An intervention under which it departs further does not take back what the conflict set says.
        return mixing.answer == "yes" and "conflict set" not in verdict.figures["departs"]
    return mixing.answer == "no" or (mixing.answer == "unknown" and bool(mixing.figures["power"]))


def _judgement(verdict: Verdict, figures: Mapping[str, Any]) -> Judgement:
    where = figures["decided_by"]
    if verdict.answer == "no":
        inputs = f"mixtures {where!r}" if verdict.audit == "mixing" else _changed_inputs(where)
        return Judgement(DIFFERENT, verdict.sentence, figures, _fit_there(inputs))
    return Judgement(SAME, verdict.sentence, figures, _OTHER_CUES)


def _noise_or_unknown(findings: _Findings) -> Judgement:
    evidence, figures = findings.evidence, findings.figures
    asked = (findings.verdicts.get(name) for name in ("conflict", "mixing"))
    undecided = "".join(f" {verdict.sentence}" for verdict in asked if verdict is not None)
    nothing = by_counterpart(evidence.of_kind("nothing"))
    figures |= {name: mean_over(figures_of(outcomes)).as_share for name, outcomes in nothing.items()}
    working = [name for name, outcomes in nothing.items() if _recovery(evidence, outcomes).value >= WORKS]
    if working:
        best = max(working, key=lambda name: figures[name].value)
        ours, theirs = figures["stitched"], figures[best]
        reason = f"The stitched network reaches {ours}, but the control '{best}' reaches {theirs}.{undecided}"
        return Judgement(NOISE, reason, figures, _CONFLICT)
    rivals = "Controls that have learnt nothing do not." if nothing else "No control that has learnt nothing was run."
    return Judgement(UNKNOWN, f"The stitched network works. {rivals}{undecided}", figures, _CONFLICT)


def _figures(evidence: Evidence) -> dict[str, Any]:
    """The figures that show whether the stitched network works; where accuracy is unreadable, agreements as well."""
    result, itself = evidence.observed[0].result, evidence.of("self")
    figures = {
        "stitched": mean_over(figures_of(evidence.observed)).as_share,
        "receiver": result.receiver_here,
        "chance": math.nan if math.isnan(result.receiver_here.value) else chance(evidence.case),
    }
    if itself:
        figures["self"] = mean_over(figures_of(itself)).as_share
    if evidence.unreadable is not None:
        figures["own_answers"] = mean_over(figures_of(evidence.observed, "agreement")).as_share
        figures["own_answers_by_chance"] = result.agreement_chance
    return figures


def _recovery(evidence: Evidence, outcomes: Sequence[Outcome]) -> Estimate:
    """The share of the receiver's success above chance that these outcomes have.

    Success is accuracy, that of the receiver alone or stitched to itself; where accuracy is unreadable, it is the share
    of the receiver's own answers, of which the receiver gives all.
    """
    figures = _figures(evidence)
    if evidence.unreadable is None:
        success, level = mean_over(figures_of(outcomes)).as_share, figures["chance"]
        best = max(figures[name].value for name in ("receiver", "self") if name in figures)
    else:
        success, level = mean_over(figures_of(outcomes, "agreement")).as_share, figures["own_answers_by_chance"]
        best = 1.0
    if best <= level:
        return replace(success, value=math.nan, low=math.nan, high=math.nan)
    ends = (success.value if math.isnan(end) else end for end in (success.value, success.low, success.high))
    value, low, high = ((end - level) / (best - level) for end in ends)
    return replace(success, value=value, low=low, high=high)


_ITS_TASK = "data of the task that the receiver was trained for."
_MORE_STITCH = (
    "a more capable stitch or matching (--stitch conv, --matching task, more samples or epochs); if it works, audit "
    "that one."
)
_NO_LEAK = "an evaluation in which random pairs are at chance: other test samples, or fewer parameters in the stitch."
_OTHER_CUES = (
    "a conflict set for a cue that was not changed here (--conflict DATA), if the stitched network departs from its "
    "receiver on that set."
)
_CONFLICT = (
    "inputs on which cues that agree in the data disagree: --conflict DATA, or interventions under which receiver and "
    "control keep their answers and a random sender does not."
)


def _changed_inputs(where: str) -> str:
    return "the conflict set" if where == "conflict set" else f"inputs changed by {where!r}"


def _fit_there(inputs: str) -> str:
    return (
        f"a stitch fitted where the cues disagree ({inputs}); if it gives the receiver's answers there, the sender "
        "does hold the information, and this stitch had chosen the shortcut."
    )
