"""audit: a comparison, its counterparts with known answers, and what the answer is worth."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from seamripper._doors import require, require_function
from seamripper._files import atomic
from seamripper._notebook import card, line, one_line, short, table
from seamripper._progress import Progress, Watcher, nobody
from seamripper.audits.base import Audit, Evidence, Verdict, as_json, chosen_audits, default_controls
from seamripper.audits.conflict import Conflict
from seamripper.audits.interventions import Intervention, chosen_interventions
from seamripper.audits.rule import DIFFERENT, SAME, Judgement, judge
from seamripper.controls import Case, Control, Outcome
from seamripper.cut.frozen import Freeze, seal
from seamripper.cut.split import Split
from seamripper.data.paired import Paired, require_samples
from seamripper.data.samples import Samples
from seamripper.errors import AuditError, InapplicableError, SeamripperError
from seamripper.figures import Words, plot
from seamripper.matching import Functional, Match, Matching, Regression, Task, matchings
from seamripper.models.running import versions
from seamripper.models.training import Training
from seamripper.stitches import Stitch

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MATCHING = Task(init="direct", training=Training(lr=1e-2, batch=64, epochs=4))
"""From the direct match on, and fast enough to be done for every control."""


@dataclass(frozen=True, eq=False)
class Audited:
    """An audited comparison: the judgement, the verdict of every audit, and the outcomes that they rest on."""

    judgement: Judgement
    verdicts: Mapping[str, Verdict]
    outcomes: tuple[Outcome, ...] = field(repr=False)
    skipped: Mapping[str, str]
    """Controls and audits that do not apply here, and why."""
    record: Mapping[str, Any] = field(repr=False)

    @property
    def conclusion(self) -> str:
        """One of the five answers."""
        return self.judgement.conclusion

    def __str__(self) -> str:
        return str(self.judgement)

    def __repr__(self) -> str:
        places = " → ".join(short(self._place(role), 80) for role in ("sender", "receiver"))
        answers = ", ".join(f"{name}: {verdict.answer}" for name, verdict in self.verdicts.items())
        return one_line(f"Audited({places}: {self.conclusion}; {answers or 'no audit'})")

    def as_record(self) -> dict[str, Any]:
        """All of it as JSON has it."""
        return {
            "judgement": as_json(vars(self.judgement)),
            "verdicts": {name: verdict.as_record() for name, verdict in self.verdicts.items()},
            "outcomes": [outcome.as_record() for outcome in self.outcomes],
            "skipped": dict(self.skipped),
            "record": dict(self.record),
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the record to a JSON file."""
        with atomic(path) as file:
            file.write(json.dumps(self.as_record(), allow_nan=False).encode())

    def plot(self) -> Figure:
        """The controls of the verdict that decided, around what was observed, as a matplotlib figure."""
        # By the rule: the conflict audit, where it told the two apart or found them the same; else the accuracies.
        told = self.conclusion in (SAME, DIFFERENT) and "decided_by" in self.judgement.figures
        verdict = self.verdicts.get("conflict" if told else "margin") or next(iter(self.verdicts.values()), None)
        if verdict is None:
            return plot(Words(self.conclusion, f"No audit could be put to this case. {self.judgement.reason}"))
        return verdict.plot()

    def _repr_html_(self) -> str:
        rows = [
            (name, one.answer, one.observed, one.effect, one.p, one.sentence) for name, one in self.verdicts.items()
        ]
        skipped = [line(f"{name} was skipped: {why}", faint=True) for name, why in self.skipped.items()]
        return card(
            f"{self.conclusion[0].upper()}{self.conclusion[1:]}",
            line(" → ".join(self._place(role) for role in ("sender", "receiver")), faint=True),
            line(self.judgement.reason),
            line(f"What would change this: {self.judgement.experiment}"),
            table(("audit", "answer", "observed", "effect", "p", "in a sentence"), rows),
            *skipped,
        )

    def _place(self, role: str) -> str:
        half = self.record.get(role) or {}
        return f"{short(half.get('source', role))} at {short(half.get('cut', {}).get('name', 'a cut'))}"


def audit(
    sender: Split,
    receiver: Split,
    fit: Samples | Paired,
    test: Samples | Paired,
    *,
    conflict: Samples | None = None,
    interventions: Sequence[Intervention | str] | Intervention | str | None = None,
    others: Sequence[Split] = (),
    matching: Matching | str = MATCHING,
    stitch: Stitch | str = "auto",
    freeze: Freeze = "all",
    seeds: Sequence[int] = (0, 1, 2),
    controls: Sequence[Control | str] | Control | str = default_controls,
    audits: Sequence[Audit | str] | Audit | str = ("all",),
    memo: dict[str, tuple[Functional, Match]] | None = None,
    watch: Watcher = nobody,
) -> Audited:
    """Match sender to receiver on `fit`, do the same with the controls, put the audits, and judge by one rule.

    `conflict` is a set on which cues that agree in `fit` disagree, labelled as the receiver was taught. Without it the
    built-in `interventions` for this kind of inputs are made on `test`. `others` are networks trained as the receiver
    was, from other seeds, cut where it is. `seeds` are those of the stitch and of the controls: the units. Audits that
    are given one `memo`, a dict, do what they have in common once.
    """
    _require_given(seeds, others, conflict, memo, watch)
    held = {} if memo is None else memo
    way = matching_of(matching)
    pairs = Paired.of(fit, "fit"), Paired.of(test, "test")
    case = Case(sender, receiver, *pairs, way, stitch, freeze, tuple(seeds), tuple(others), watch, held)
    words = interventions if interventions is not None else () if conflict is not None else ("default",)
    skipped: dict[str, str] = {}
    try:
        changes = chosen_interventions(words, case.test.receiver)
    except InapplicableError as e:
        changes, skipped["interventions"] = (), str(e)
    evidence = Evidence(case, controls=controls, conflict=conflict, interventions=changes)
    chosen = chosen_audits(audits)
    with seal({"sender": sender.model.module, "receiver": receiver.model.module}):
        verdicts = _verdicts(evidence, chosen, skipped, watch)
        judgement = judge(evidence, verdicts)
    return Audited(judgement, verdicts, evidence.outcomes, skipped | evidence.skipped, _record(evidence))


def _verdicts(
    evidence: Evidence, chosen: Sequence[Audit], skipped: dict[str, str], watch: Watcher
) -> dict[str, Verdict]:
    """The verdict of each audit; `skipped` is told of those that do not apply."""
    # First of all, and not caught: without the comparison itself there is nothing to audit.
    _ = evidence.observed
    verdicts: dict[str, Verdict] = {}
    for k, asked in enumerate(chosen):
        watch(Progress(f"audit {k + 1} of {len(chosen)}: {asked.name}", 0, 1))
        try:
            if asked.by_accuracy and evidence.unreadable:
                raise InapplicableError(f"Accuracy is unreadable: {evidence.unreadable}.")
            verdicts[asked.name] = asked.put(evidence)
        except SeamripperError as e:
            if isinstance(e, AuditError) and not isinstance(e, InapplicableError):
                raise  # what was asked for is wrong, and no other audit would mend it
            # The other audits are worth having; this one's reason stands in the result.
            skipped[asked.name] = str(e)
        watch(Progress(f"audit {k + 1} of {len(chosen)}: {asked.name}", 1, 1))
    return verdicts


def _require_given(seeds: object, others: object, conflict: object, memo: object, watch: object) -> None:
    require(seeds, Sequence, "seeds", error=AuditError, advice="For three of them: seeds=range(3).")
    require(others, Sequence, "others", error=AuditError, advice="One alone stands in a list, too: others=[split].")
    if conflict is not None:
        require_samples(conflict, "conflict")
    if memo is not None:
        require(memo, dict, "memo", error=AuditError)
    require_function(watch, "watch", error=AuditError)


def matching_of(matching: Matching | str) -> Matching:
    """The matching, or the one that a word means to an audit: `task` and `regression` are trained as by default.

    >>> matching_of("task") == MATCHING, matching_of("task?epochs=2").training.epochs
    (True, 2)
    """
    # From where it starts itself: from the direct match there is nothing left for `regression` to find.
    usual: dict[str, Matching] = {"task": MATCHING, "regression": Regression(MATCHING.training)}
    own = usual.get(matching.partition("?")[0]) if isinstance(matching, str) else None
    return matchings.make(matching) if own is None else matchings.vary(own, str(matching))


def _record(evidence: Evidence) -> dict[str, Any]:
    case = evidence.case
    data = {"fit": case.fit, "test": case.test, "conflict": evidence.conflict}
    return {
        "sender": case.sender.as_record(),
        "receiver": case.receiver.as_record(),
        "others": [other.as_record() for other in case.others],
        "data": {role: Paired.of(samples).as_record() for role, samples in data.items() if samples is not None},
        "interventions": [intervention.label for intervention in evidence.interventions],
        "controls": [control.as_record() for control in evidence.controls.values()],
        "matching": case.matching.as_record(),
        "stitch": case.stitch if isinstance(case.stitch, str) else case.stitch.as_record(),
        "freeze": case.freeze,
        "seeds": list(case.seeds),
        "versions": versions(),
    }


def deciding_set(
    audited: Audited,
    test: Samples,
    conflict: Samples | None,
    audits: Sequence[Audit],
    interventions: Sequence[Intervention | str] | None,
) -> tuple[str, Samples] | None:
    """The set that decided the audit `conflict`, by name, made as that audit makes it; None without its verdict."""
    if "conflict" not in audited.verdicts:
        return None
    (chosen,) = [audit for audit in audits if isinstance(audit, Conflict)]
    name = audited.verdicts["conflict"].figures["decided_by"]
    if name == "conflict set":
        assert conflict is not None
        return name, conflict.draw(chosen.n, seed=chosen.seed)
    changes = chosen_interventions("default" if interventions is None else interventions, test)
    (change,) = [change for change in changes if change.label == name]
    return name, change.apply(test.draw(chosen.n, seed=chosen.seed), seed=chosen.seed)
