"""The audit `conflict`: the stitch was fitted where cues agree; does it follow the receiver where they disagree?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seamripper.audits.agreement import Agreement, Asked, Bootstrap, mean_kappa
from seamripper.audits.base import Answer, Audit, Evidence, Verdict, match_of, same_information
from seamripper.controls import Case
from seamripper.data.samples import Samples
from seamripper.errors import InapplicableError
from seamripper.estimate import Estimate, bootstrap, mean_over

HALF_WAY = 0.5
"""Below this position, a sender is nearer to one that has learnt nothing than to the same-information control."""
TELLS = 0.5
"""Receiver and control must each keep this share of their answers, beyond chance, or a set shows nothing.

A receiver that is right on half of the test samples can be right on no more of a conflict set. Where the control is a
network of another seed, the share is therefore that of its success on the test samples; `self` repeats the receiver's
accidents, and would not show how far others share them. This was changed after CIFAR-10 had been seen."""
FAR_BELOW = 0.5
"""A sender that surely keeps less than this share of the control's agreement follows something else, whatever one that
has learnt nothing does."""
POWER = 0.1
"""A sender that has learnt nothing must lose this share of the control's agreement, or a set cannot tell them apart."""


@dataclass(frozen=True)
class SetReading:
    """What one changed set shows: agreements with the receiver on it, beyond chance (Cohen's κ).

    `stability` is the agreement of the receiver with its own answers before the change (on a conflict set, with the
    labels: see `TELLS`), `control` the κ of the control with the same information. The weight of the set is the product
    of the two: a change that breaks the receiver or the control shows nothing. `kept` is κ(sender) / κ(control), and
    `nothing` is the same ratio for the best sender that has learnt nothing (NaN if there is none): where it is high,
    the set cannot tell senders apart. `position` is 0 for a sender like that one, and 1 for a sender like the control.
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
    relative: SetReading | None = None
    """The same beside what the sender does without the change and what the receiver keeps, if that was asked for."""

    @property
    def weight(self) -> float:
        """How much the set can show."""
        return max(0.0, self.stability) * max(0.0, self.control)

    @property
    def tells(self) -> bool:
        """Whether receiver and control have stable answers here, and a sender that has learnt nothing does not."""
        return self.stable and not self.nothing > 1 - POWER

    @property
    def shown(self) -> bool:
        """Whether the sender was shown the set."""
        return not math.isnan(self.agreement.value)

    @property
    def stable(self) -> bool:
        """Whether receiver and control keep their answers here."""
        return min(self.stability, self.control) >= TELLS

    @property
    def far_below(self) -> bool:
        """Whether the sender keeps so little of the control's agreement that no other sender need show more."""
        return self.stable and self.kept.high < FAR_BELOW

    @property
    def departs(self) -> bool:
        """Whether the sender surely follows something else here."""
        return self.far_below or (self.tells and self.position.high < HALF_WAY)

    @property
    def departure(self) -> float:
        """How far the sender departs from the control here, weighted by how much the set can show."""
        return 0.0 if math.isnan(self.position.value) else self.weight * (1 - self.position.value)

    def as_record(self) -> dict[str, Any]:
        """The figures, for a verdict's."""
        fields = {name: value for name, value in vars(self).items() if name not in ("name", "relative")}
        beside = {} if self.relative is None else {"kept_relative": self.relative.kept}
        return {"weight": self.weight, "departure": self.departure, **fields, **beside}


@dataclass(frozen=True)
class Conflict(Audit):
    """Agreement with the receiver on inputs where cues disagree, compared with the control `self` or `other_seed`.

    The sets are the conflict set, `n` samples of it, and the interventions of the evidence, `changed` samples each. A
    set is weighted by how stable receiver and control are on it. If one of them keeps less than `TELLS`, the set shows
    nothing, and the sender is not shown it unless there is no other; nor does it show anything if a sender that has
    learnt nothing does as well as the control. On each of the others the sender lies somewhere between the best sender
    that has learnt nothing and the control, and the set with the largest departure decides.

    "no" (it follows something else) if the interval of the position lies below `HALF_WAY`; "yes" if it lies above, and
    then the set on which senders that have learnt nothing keep least is named as deciding. Otherwise "unknown", as
    where no set shows anything. A sender that surely keeps less than `FAR_BELOW` of the control's agreement is answered
    "no" even where one that has learnt nothing keeps as much as the control. Without a control that has learnt nothing
    κ(nothing) is 0, and "yes" is never said.

    With `relative`, "no" by an intervention also needs that more is lost than two things explain which the control
    `self` does not show, as it repeats the receiver's accidents: that the sender gives other answers without the change
    as well (κ(sender) and κ(control) are divided by those on the same samples unchanged), and that the receiver gives
    up its own answers under the change (κ(control) is multiplied by the stability). A sender that follows another cue
    agrees with the receiver without the change, so that the first excuses nothing.

    A language model is compared token by token, from the first token on that an intervention has changed; texts are the
    units of the intervals.
    """

    name = "conflict"
    formula = "position = (κ(sender) − κ(nothing)) / (κ(control) − κ(nothing)),  departure = weight · (1 − position)"
    question = "Where the cues disagree, does the stitched network still answer as the receiver does?"
    least = {"n": 20, "seed": 0, "changed": 20}

    n: int = 1000
    seed: int = 0
    changed: int = 400
    relative: bool = False

    def base_samples(self, test: Samples) -> Samples:
        """The test samples to which interventions are applied."""
        return test.draw(min(self.n, self.changed), seed=self.seed)

    def put(self, evidence: Evidence) -> Verdict:
        """What the deciding set says."""
        if not evidence.case.looks:
            raise InapplicableError(
                "The sender does not see the inputs, so there are none on which it could follow another cue."
            )
        control = same_information(evidence, self.name)
        sets, skipped = self._sets(evidence)
        readings = self._read_sets(evidence, sets, control[0].control)
        able = [reading for reading in readings if reading.tells] or [reading for reading in readings if reading.shown]
        telling = min(able, key=lambda reading: (math.isnan(reading.nothing), reading.nothing))
        # Of several with equal departures, the one that can show most.
        worst = max(able, key=lambda reading: (reading.departure, reading is telling, reading.name))
        if not (worst.tells and worst.departs):
            # Where a sender that has learnt nothing does as well as the control, this one may be far below both.
            far = [reading for reading in readings if reading.far_below]
            worst = min(far, key=lambda reading: (reading.kept.value, reading.name), default=worst)
        answer = _answer(worst)
        held = [reading for reading in readings if reading.departs and (reading.relative or reading).departs]
        if answer == "no" and self.relative:
            worst = max(
                held, key=lambda reading: ((reading.relative or reading).departure, reading.name), default=worst
            )
            answer = "no" if held else "unknown"
        # The set with the departure shows it; that there is none is shown by the set that would have shown one best.
        decided = telling if answer == "yes" else worst
        figures = {
            "decided_by": decided.name,
            "score": worst.position,
            "worst": worst.name,
            "departs": [reading.name for reading in held],
            "control": control[0].control,
            "nothing": telling.nothing,
            "sets": {reading.name: reading.as_record() for reading in readings},
            "skipped": skipped,
        }
        return self.verdict(
            answer,
            _sentence(answer, decided, worst, control[0].control),
            observed=decided.agreement,
            effect=decided.kept,
            controls=decided.controls,
            figures=figures,
        )

    def _sets(self, evidence: Evidence) -> tuple[dict[str, Samples], dict[str, str]]:
        """The sets by name, and why interventions were left out that do not apply."""
        sets, skipped = {}, {}
        if evidence.conflict is not None:
            sets["conflict set"] = evidence.conflict.draw(self.n, seed=self.seed)
        base = self.base_samples(evidence.case.test.receiver)
        for intervention in evidence.interventions:
            try:
                sets[intervention.label] = intervention.apply(base, seed=self.seed)
            except InapplicableError as e:
                skipped[intervention.label] = str(e)
        if not sets:
            why = "; ".join(skipped.values()) or "neither a conflict set nor interventions were given"
            raise InapplicableError(f"There are no inputs on which cues disagree: {why}.")
        return sets, skipped

    def _read_sets(self, evidence: Evidence, sets: Mapping[str, Samples], control: str) -> list[SetReading]:
        """A reading of each set; the sender is shown those on which receiver and control are stable.

        If there is none, it is shown the one on which they are most stable.
        """
        case = evidence.case
        base = self.base_samples(case.test.receiver)
        # Matched now, as what their fronts show then is worth keeping.
        _ = [*evidence.networks("same"), *evidence.networks("nothing")]
        natives = {}
        for name, changed in sets.items():
            natives[name] = _Native.of(evidence, changed, None if name == "conflict set" else base)
            if name == "conflict set" and not evidence.controls[control].own_weights:
                natives[name] = natives[name].beside_tests(case)
            case.tally.add(self.name, f"{name}, receiver", case.watch)
        # The others cannot decide, whatever the sender does.
        able = [name for name, native in natives.items() if native.stable(control)]
        able = able or [max(natives, key=lambda name: natives[name].weight(control))]
        readings = []
        for name, native in natives.items():
            shown = name in able
            reading = self._read_set(evidence, name, sets[name], native, control) if shown else None
            readings.append(reading or native.blank_reading(name, control))
            case.tally.add(self.name, f"{name}, sender", case.watch)
        return readings

    def _read_set(self, evidence: Evidence, name: str, changed: Samples, native: _Native, control: str) -> SetReading:
        observed, nothing, asked = evidence.observed, dict(evidence.networks("nothing")), native.asked
        networks = [*observed, *(outcome for outcomes in nothing.values() for outcome in outcomes)]
        with evidence.case.fronts.keeping_nothing():
            given = asked.answers_together([match_of(outcome) for outcome in networks], changed)
        agreements = iter([asked.agreement(answers, native.answers) for answers in given])
        sender, same = [next(agreements) for _ in observed], native.same[control]
        untrained = {name: [next(agreements) for _ in outcomes] for name, outcomes in nothing.items()}
        blind = [agreement for seeds in untrained.values() for agreement in seeds]
        sent = given[: len(observed)] if asked.labelled else []
        right = [asked.agreement(answers, asked.right).estimate for answers in sent]
        kept, position = kept_and_position(sender, blind, same, seed=self.seed)
        kappa, best_blind = mean_kappa(same), max((agreement.kappa for agreement in blind), default=math.nan)
        reading = SetReading(
            name,
            stability=native.stability,
            control=kappa,
            kept=kept,
            nothing=best_blind / kappa if kappa > 0 else math.nan,
            position=position,
            agreement=mean_over(_shares(sender)).as_share,
            accuracy=mean_over(right).as_share if right else Estimate(math.nan, note="no labels"),
            controls=native.controls(control, untrained),
        )
        if not self.relative or name == "conflict set":
            return reading
        before = native.agreements_before(evidence, control, self.base_samples(evidence.case.test.receiver))
        beside = Beside(*before, stability=max(0.0, native.stability))
        kept, position = kept_and_position(sender, blind, same, seed=self.seed, beside=beside)
        return replace(reading, relative=replace(reading, kept=kept, position=position))


@dataclass(frozen=True, eq=False)
class _Native:
    """What the receiver says of a changed set, and how the controls with the same information agree with it."""

    asked: Asked
    answers: NDArray[np.int64]
    stability: float
    same: Mapping[str, list[Agreement]]

    @classmethod
    def of(cls, evidence: Evidence, changed: Samples, before: Samples | None) -> _Native:
        """All of these controls are shown the set; the sender is judged against one of them."""
        receiver = evidence.case.receiver
        asked = Asked.of(receiver, changed, before)
        reference = asked.right if before is None else asked.answers_together([receiver], before)[0]
        outcomes = dict(evidence.networks("same"))
        matches = [match_of(outcome) for each in outcomes.values() for outcome in each]
        with evidence.case.fronts.keeping_nothing():
            # Nothing is shown twice to the same front.
            native, *given = asked.answers_together([receiver, *matches], changed)
        agreements = iter([asked.agreement(answers, native) for answers in given])
        same = {name: [next(agreements) for _ in each] for name, each in outcomes.items()}
        return cls(asked, native, asked.agreement(native, reference).kappa, same)

    def beside_tests(self, case: Case) -> _Native:
        """The same, with a stability that is a share of the receiver's success on the test samples.

        It stays as it is if the receiver is not surely above chance on both, or if nobody knows what is right.
        """
        test = case.test.receiver
        asked = Asked.of(case.receiver, test)
        if not asked.labelled:
            return self
        here = self.asked.agreement(self.answers, self.asked.right)
        there = asked.agreement(asked.answers_together([case.receiver], test)[0], asked.right)
        sure = all(agreement.estimate.low > agreement.chance for agreement in (here, there))
        return replace(self, stability=min(1.0, here.kappa / there.kappa)) if sure else self

    def agreements_before(
        self, evidence: Evidence, control: str, base: Samples
    ) -> tuple[list[Agreement], list[Agreement]]:
        """How the sender, and the control, agree with the receiver where the samples were not changed."""
        matches = [match_of(outcome) for outcome in (*evidence.observed, *evidence.of(control))]
        with evidence.case.fronts.keeping_nothing():
            own, *given = self.asked.answers_together([evidence.case.receiver, *matches], base)
        agreements = [self.asked.agreement(answers, own) for answers in given]
        return agreements[: len(evidence.observed)], agreements[len(evidence.observed) :]

    def stable(self, control: str) -> bool:
        """Whether receiver and control keep their answers."""
        return min(self.stability, mean_kappa(self.same[control])) >= TELLS

    def weight(self, control: str) -> float:
        """How much the set can show."""
        return max(0.0, self.stability) * max(0.0, mean_kappa(self.same[control]))

    def controls(self, control: str, untrained: Mapping[str, list[Agreement]]) -> dict[str, tuple[Estimate, ...]]:
        """The agreements of the control that decides, of untrained senders, and of the other controls."""
        others = {name: seeds for name, seeds in self.same.items() if name != control}
        every = {control: self.same[control], **untrained, **others}
        return {name: _shares(seeds) for name, seeds in every.items() if seeds}

    def blank_reading(self, name: str, control: str) -> SetReading:
        """The reading of a set that the sender was not shown."""
        unknown = Estimate(math.nan, n=len(self.answers), unit="samples")
        kappa, controls = mean_kappa(self.same[control]), self.controls(control, {})
        return SetReading(name, self.stability, kappa, unknown, math.nan, unknown, unknown, unknown, controls)


def _shares(agreements: Sequence[Agreement]) -> tuple[Estimate, ...]:
    return tuple(agreement.estimate for agreement in agreements)


@dataclass(frozen=True, eq=False)
class Beside:
    """What a set is read beside: how sender and control agree with the receiver on the same samples unchanged, and how
    far the receiver keeps its own answers under the change."""

    sender: Sequence[Agreement]
    control: Sequence[Agreement]
    stability: float


def kept_and_position(
    sender: Sequence[Agreement],
    nothing: Sequence[Agreement],
    control: Sequence[Agreement],
    *,
    seed: int,
    beside: Beside | None = None,
) -> tuple[Estimate, Estimate]:
    """κ(sender) / κ(control), and the sender's position, each with a bootstrap interval over samples and seeds."""
    n = len(sender[0].hits)
    resamples = Bootstrap(n, seed=seed)
    ours, theirs = (np.append(mean_kappa(seeds), resamples.kappa(seeds)) for seeds in (sender, control))
    # The best of them and not their mean: networks that have learnt nothing differ, and this sender may be one more.
    best = sorted(nothing, key=lambda agreement: agreement.kappa)[-1:]
    blind = np.append(mean_kappa(best), resamples.kappa(best)) if best else np.zeros_like(ours)
    if beside is not None:
        unchanged = (beside.sender, beside.control)
        ours_before, theirs_before = (np.append(mean_kappa(seeds), resamples.kappa(seeds)) for seeds in unchanged)
        ours = np.where(ours_before > 0, ours * theirs_before / np.clip(ours_before, 1e-9, None), ours)
        theirs = theirs * beside.stability
    return _ratio(ours, theirs, n), _ratio(ours - blind, theirs - blind, n)


def _ratio(a: NDArray[np.float64], b: NDArray[np.float64], n: int) -> Estimate:
    """a / b of the first entries, with an interval from the others; NaN if b is not above 0."""
    if b[0] <= 0:
        return Estimate(math.nan, n=n, unit="samples")
    return bootstrap(float(a[0] / b[0]), np.clip(a[1:] / np.clip(b[1:], 1e-9, None), -9, 9), n)


def _answer(worst: SetReading) -> Answer:
    if worst.departs:
        return "no"
    if not worst.tells:
        return "unknown"
    return "yes" if worst.position.low > HALF_WAY and not math.isnan(worst.nothing) else "unknown"


def _sentence(answer: Answer, decided: SetReading, worst: SetReading, control: str) -> str:
    theirs = mean_over(decided.controls[control]).as_share
    asked = "tokens" if decided.agreement.unit.startswith("texts") else "samples"
    sentence = (
        f"On the {_title(decided)} the stitched network gives the receiver's answer on {decided.agreement} of the "
        f"{asked}, the control {control!r} on {theirs}: it keeps {decided.kept} of the control's agreement beyond "
        "chance"
    )
    blind = f"a sender that has learnt nothing keeps {decided.nothing:.3f}"
    if answer == "no":
        beside = "" if math.isnan(decided.nothing) else f"; {blind}"
        return f"{sentence}{beside}. It follows something else."
    if answer == "yes":
        least = "" if worst is decided else f" It keeps the least on the {_title(worst)}: {worst.kept}."
        return f"{sentence}; {blind}.{least}"
    if not decided.stable:
        return (
            f"{sentence}, but there is no set on which receiver and control keep their answers, so no set shows "
            "anything."
        )
    if decided.departs and decided.relative is not None:
        return (
            f"{sentence}. Beside its agreement without the change, and what the receiver itself keeps, that is "
            f"{decided.relative.kept}, which is not decisive."
        )
    if not decided.tells:
        return f"{sentence}, but a sender that has learnt nothing does as well on every set, so no set shows anything."
    if math.isnan(decided.nothing):
        return f"{sentence}, but without the control 'random_sender' nothing shows that the set can tell senders apart."
    return f"{sentence}, which is not decisive: {blind}."


def _title(reading: SetReading) -> str:
    return reading.name if reading.name == "conflict set" else f"intervention {reading.name!r}"
