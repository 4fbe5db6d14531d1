"""The audit `conflict`: the stitch was found where the cues agree; whom does it follow where they disagree?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seamripper.audits.agreement import Agreement, Bootstrap, answers, mean_kappa
from seamripper.audits.base import Answer, Audit, Evidence, Verdict
from seamripper.controls import Outcome
from seamripper.data.samples import Samples
from seamripper.errors import InapplicableError
from seamripper.estimate import Estimate, bootstrap, mean_over, proportion
from seamripper.matching.match import Match

HALF_WAY = 0.5
"""Nearer to the control of the same information, or to the one that has learnt nothing."""
TELLS = 0.5
"""Receiver and control must each keep this share of their answers, beyond chance, or a set tells nothing."""
POWER = 0.25
"""A sender that has learnt nothing must lose this share of the control's agreement on a set, or the set cannot tell."""


@dataclass(frozen=True)
class Told:
    """What one changed set tells: agreements with the receiver on it, beyond chance (Cohen's κ).

    `stability` is how much of its own answers the receiver keeps (on a conflict set: how right it is), `control` the κ
    of the same-information control, and the weight of the set is the product of the two: what breaks the receiver, or
    the control, tells nothing. `kept` is κ(sender) / κ(control), `nothing` the same for the best of the senders that
    have learnt nothing (NaN if there are none): where that is high, the set cannot tell anybody apart. `position` is
    where the sender stands between the two, 0 as that one, 1 as the control.
    """

    name: str
    stability: float
    control: float
    kept: Estimate
    nothing: float
    position: Estimate
    agreement: Estimate
    accuracy: Estimate
    controls: dict[str, tuple[Estimate, ...]]

    @property
    def weight(self) -> float:
        """How much the set can tell."""
        return max(0.0, self.stability) * max(0.0, self.control)

    @property
    def tells(self) -> bool:
        """Whether receiver and control have stable answers here, and a sender that has learnt nothing has not."""
        return self.stable and not self.nothing > 1 - POWER

    @property
    def stable(self) -> bool:
        """Whether receiver and control have answers here that they keep."""
        return min(self.stability, self.control) >= TELLS

    @property
    def departure(self) -> float:
        """How far the sender departs from the control here, as far as the set can tell."""
        return 0.0 if math.isnan(self.position.value) else self.weight * (1 - self.position.value)

    def as_record(self) -> dict[str, Any]:
        """The figures, for a verdict's."""
        own = {name: value for name, value in vars(self).items() if name != "name"}
        return {"weight": self.weight, "departure": self.departure, **own}


@dataclass(frozen=True)
class Conflict(Audit):
    """Agreement with the receiver on inputs where cues disagree, against the self or other-seed control.

    The sets are the evidence's conflict set and its interventions, `n` samples of each. A set is weighed by how stable
    receiver and control are on it; if one of them keeps less than `TELLS`, or if a sender that has learnt nothing does
    as well on it as the control, it tells nothing. On each of the others the sender stands somewhere between the best
    of the senders that have learnt nothing and the control, and the one with the largest departure decides:

        position = (κ(sender) − κ(nothing)) / (κ(control) − κ(nothing))        departure = weight · (1 − position)

    "no" (it listens to something else) if the interval of the position lies below `HALF_WAY`, "yes" if it lies above;
    then the set on which senders that have learnt nothing keep least is named as deciding. Otherwise "unknown", as
    where no set tells. Without a control that has learnt nothing κ(nothing) is 0, and "yes" is never said.
    """

    name = "conflict"
    question = "Where the cues disagree, does the stitched network still answer as the receiver does?"
    least = {"n": 20, "seed": 0}

    n: int = 1000
    seed: int = 0

    def put(self, evidence: Evidence) -> Verdict:
        """What the deciding set says."""
        if not evidence.case.looks:
            raise InapplicableError(
                "The sender does not look at the inputs, so there are none on which it could follow another cue."
            )
        control, nothing = _same(evidence), evidence.of("random_sender")
        sets, skipped = self._sets(evidence)
        told = [self._read_set(evidence, name, changed, control, nothing) for name, changed in sets.items()]
        able = [reading for reading in told if reading.tells] or told
        telling = min(able, key=lambda reading: (math.isnan(reading.nothing), reading.nothing))
        # Of several that are equal, the one that can tell most.
        worst = max(able, key=lambda reading: (reading.departure, reading is telling, reading.name))
        answer = _answer(worst)
        # A departure is shown by the set where it is; that there is none, by the set that would have shown it.
        decided = telling if answer == "yes" else worst
        figures = {
            "decided_by": decided.name,
            "score": worst.position,
            "worst": worst.name,
            "control": control[0].control,
            "nothing": telling.nothing,
            "sets": {reading.name: reading.as_record() for reading in told},
            "skipped": skipped,
        }
        said = _sentence(answer, decided, worst, control[0].control)
        return Verdict(
            self.name, self.question, answer, decided.agreement, decided.controls, decided.kept, said, None, figures
        )

    def _sets(self, evidence: Evidence) -> tuple[dict[str, Samples], dict[str, str]]:
        """The sets to be shown, by name, and the interventions that do not apply."""
        sets, skipped = {}, {}
        if evidence.conflict is not None:
            sets["conflict set"] = evidence.conflict.draw(self.n, seed=self.seed)
        base = evidence.case.test.receiver.draw(self.n, seed=self.seed)
        for intervention in evidence.interventions:
            try:
                sets[intervention.label] = intervention.apply(base, seed=self.seed)
            except InapplicableError as e:
                skipped[intervention.label] = str(e)
        if not sets:
            why = "; ".join(skipped.values()) or "neither a conflict set nor interventions were given"
            raise InapplicableError(f"There is nothing to set the cues against each other with: {why}.")
        return sets, skipped

    def _read_set(
        self, evidence: Evidence, name: str, changed: Samples, control: Sequence[Outcome], nothing: Sequence[Outcome]
    ) -> Told:
        receiver = evidence.case.receiver
        native = answers(receiver, changed)
        if name == "conflict set":
            reference = changed.labels.numpy()
        else:
            reference = answers(receiver, evidence.case.test.receiver.draw(self.n, seed=self.seed))
        stable = Agreement.of(native, reference).kappa
        groups = {"sender": evidence.observed, "control": tuple(control), "nothing": tuple(nothing)}
        said = {key: [answers(_match(outcome), changed) for outcome in each] for key, each in groups.items()}
        agreements = {key: [Agreement.of(given, native) for given in each] for key, each in said.items()}
        shown = {control[0].control: _shares(agreements["control"])}
        shown |= {"random_sender": _shares(agreements["nothing"])} if nothing else {}
        for name_of in ("self", "other_seed"):
            # Both are shown; the sender is judged against one of them.
            if evidence.of(name_of) and evidence.of(name_of) != tuple(control):
                also = [Agreement.of(answers(_match(outcome), changed), native) for outcome in evidence.of(name_of)]
                shown[name_of] = _shares(also)
        right = [proportion(int((given == changed.labels.numpy()).sum()), len(native)) for given in said["sender"]]
        kept, position = _position(agreements["sender"], agreements["nothing"], agreements["control"], seed=self.seed)
        theirs, blind = (
            mean_kappa(agreements["control"]),
            max((agreement.kappa for agreement in agreements["nothing"]), default=math.nan),
        )
        return Told(
            name,
            stable,
            theirs,
            kept,
            blind / theirs if theirs > 0 else math.nan,
            position,
            mean_over(_shares(agreements["sender"])).as_share,
            mean_over(right).as_share,
            shown,
        )


def _same(evidence: Evidence) -> tuple[Outcome, ...]:
    """The same-information control: networks of other seeds where there are any, else the receiver itself."""
    outcomes = evidence.of("other_seed") or evidence.of("self")
    if not outcomes:
        raise InapplicableError("A conflict is judged against the control 'self' or 'other_seed': choose one of them.")
    return outcomes


def _match(outcome: Outcome) -> Match:
    assert outcome.match is not None
    return outcome.match


def _shares(agreements: Sequence[Agreement]) -> tuple[Estimate, ...]:
    return tuple(proportion(int(agreement.hits.sum()), len(agreement.hits)) for agreement in agreements)


def _position(
    sender: Sequence[Agreement], nothing: Sequence[Agreement], control: Sequence[Agreement], *, seed: int
) -> tuple[Estimate, Estimate]:
    """κ(sender) / κ(control), and the sender's position, each with a bootstrap interval over samples and seeds."""
    drawn = Bootstrap(len(sender[0].hits), seed=seed)
    ours, theirs = (np.append(mean_kappa(each), drawn.kappa(each)) for each in (sender, control))
    # The best of them and not their mean: networks that have learnt nothing differ, and this sender may be one more.
    best = sorted(nothing, key=lambda agreement: agreement.kappa)[-1:]
    blind = np.append(mean_kappa(best), drawn.kappa(best)) if best else np.zeros_like(ours)
    return _ratio(ours, theirs, len(sender[0].hits)), _ratio(ours - blind, theirs - blind, len(sender[0].hits))


def _ratio(a: NDArray[np.float64], b: NDArray[np.float64], n: int) -> Estimate:
    """a / b of the first, with the interval of the others; NaN where there is nothing to divide by."""
    if b[0] <= 0:
        return Estimate(math.nan, n=n, unit="samples")
    return bootstrap(float(a[0] / b[0]), np.clip(a[1:] / np.clip(b[1:], 1e-9, None), -9, 9), n)


def _answer(worst: Told) -> Answer:
    if not worst.tells:
        return "unknown"
    if worst.position.high < HALF_WAY:
        return "no"
    return "yes" if worst.position.low > HALF_WAY and not math.isnan(worst.nothing) else "unknown"


def _sentence(answer: Answer, told: Told, worst: Told, control: str) -> str:
    theirs = mean_over(told.controls[control]).as_share
    said = (
        f"On the {_named(told)} the stitched network gives the receiver's answer in {told.agreement}, the control "
        f"{control!r} in {theirs}: it keeps {told.kept} of that agreement beyond chance"
    )
    blind = f"a sender that has learnt nothing keeps {told.nothing:.3f}"
    if answer == "no":
        beside = "" if math.isnan(told.nothing) else f"; {blind}"
        return f"{said}{beside}. It listens to something else."
    if answer == "yes":
        least = (
            ""
            if worst is told
            else f" The least, as far as sets can tell, it keeps on the {_named(worst)}: {worst.kept}."
        )
        return f"{said}; {blind}.{least}"
    if not told.stable:
        return f"{said}, but no set leaves receiver and control their answers, so none tells anything."
    if not told.tells:
        return f"{said}, but no set tells even a sender that has learnt nothing, so none could have shown anything."
    if math.isnan(told.nothing):
        return f"{said}, but without a control that has learnt nothing ('random_sender') that proves no power."
    return f"{said}, which does not decide: {blind}."


def _named(told: Told) -> str:
    return told.name if told.name == "conflict set" else f"intervention {told.name!r}"
