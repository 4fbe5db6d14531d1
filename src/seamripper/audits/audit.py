"""audit: a comparison, the same with counterparts whose answer is known, and what the answer is worth."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import torch

from seamripper._doors import require, require_function, require_path
from seamripper._files import plain, write_json
from seamripper._frames import Row
from seamripper._notebook import card as html_card, line, one_line, short, table
from seamripper._progress import Progress, Watcher, nobody
from seamripper._request import with_arguments_of
from seamripper.audits.base import DEFAULT_CONTROLS, Audit, Evidence, Verdict, chosen_audits
from seamripper.audits.conflict import Conflict
from seamripper.audits.cost import steps_of
from seamripper.audits.interventions import Intervention, chosen_interventions
from seamripper.audits.methods import FIGURES, audit_method, audit_sentences
from seamripper.audits.mixing import Mixing
from seamripper.audits.mixtures import Mixture, chosen_mixtures
from seamripper.audits.rule import Judgement, judge
from seamripper.cards import WithMethods
from seamripper.controls import Case, Control, Outcome
from seamripper.controls.pieces import Pieces
from seamripper.cut.frozen import Freeze, seal
from seamripper.cut.split import Split
from seamripper.data.paired import Paired
from seamripper.data.samples import Samples
from seamripper.data.yours import as_samples
from seamripper.errors import AuditError, InapplicableError, SeamripperError
from seamripper.figures import Words, plot
from seamripper.matching import Downstream, Functional, Match, Matching, Regression, Task, matchings
from seamripper.models.running import versions
from seamripper.models.training import Training
from seamripper.stitches import Stitch

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MATCHING = Task(init="direct", training=Training(lr=1e-2, batch=64, epochs=4))
"""Starts from the direct match, and is fast enough to be done for every control."""


@dataclass(frozen=True, eq=False)
class Audited(WithMethods):
    """An audited comparison: the judgement, the verdict of every audit, and the outcomes that they rest on."""

    kind: ClassVar[str] = "audit"
    axes: ClassVar[tuple[str, ...]] = ("audit", "figure")
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

    def rows(self) -> list[Row]:
        """For each audit what was observed, the effect, and the figure of each control, with the answer and its p."""
        return [
            {"audit": name, "figure": figure, **estimate.as_row(), "p": verdict.p, "answer": verdict.answer}
            for name, verdict in self.verdicts.items()
            for figure, estimate in verdict.estimates().items()
        ]

    def method(self) -> dict[str, Any]:
        """All that decides the figures."""
        return audit_method(self.record)

    def sentences(self) -> list[str]:
        """How the audit was made."""
        return audit_sentences(self.record)

    def figure_sentences(self) -> dict[str, str]:
        """What each audit asks, and what its figures are."""
        asked = {name: f"The audit {name!r} asks: {verdict.question}" for name, verdict in self.verdicts.items()}
        return {**asked, **FIGURES}

    def as_record(self) -> dict[str, Any]:
        """All of it as JSON has it."""
        return {
            "judgement": plain(vars(self.judgement)),
            "verdicts": {name: verdict.as_record() for name, verdict in self.verdicts.items()},
            "outcomes": [outcome.as_record() for outcome in self.outcomes],
            "skipped": dict(self.skipped),
            "record": dict(self.record),
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the record to a JSON file."""
        write_json(path, self.as_record())

    def plot(self) -> Figure:
        """The observed figure and the controls of the verdict that decided, as a matplotlib figure."""
        # The audit that called the two the same or different; if none did, the accuracies.
        deciding = self.judgement.figures.get("deciding_audit", "margin")
        verdict = self.verdicts.get(deciding) or next(iter(self.verdicts.values()), None)
        if verdict is None:
            return plot(Words(self.conclusion, f"No audit applies to this case. {self.judgement.reason}"))
        return verdict.plot()

    def _repr_html_(self) -> str:
        rows = [(name, v.answer, v.observed, v.effect, v.p, v.sentence) for name, v in self.verdicts.items()]
        skipped = [line(f"{name} was skipped: {why}", faint=True) for name, why in self.skipped.items()]
        return html_card(
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


def matching_of(matching: Matching | str) -> Matching:
    """The matching, or what a word means to an audit: those that train are trained with its own defaults.

    >>> matching_of("task") == MATCHING, matching_of("task?epochs=2").training.epochs
    (True, 2)
    """
    # With its own start: from the direct match there is nothing left for `regression` to find.
    usual: dict[str, Matching] = {
        "task": MATCHING,
        "regression": Regression(MATCHING.training),
        "downstream": Downstream(MATCHING.training),
    }
    own = usual.get(matching.partition("?")[0]) if isinstance(matching, str) else None
    return matchings.make(matching) if own is None else matchings.vary(own, str(matching))


@dataclass(frozen=True, eq=False)
class AuditRequest:
    """The arguments of `audit`, which are listed here and nowhere else; `audit` explains them."""

    sender: Split
    receiver: Split
    fit: Samples | Paired
    test: Samples | Paired
    _: KW_ONLY
    conflict: Samples | None = None
    interventions: Sequence[Intervention | str] | Intervention | str | None = None
    mixtures: Sequence[Mixture | str] | Mixture | str = "default"
    others: Sequence[Split] = ()
    matching: Matching | str = MATCHING
    stitch: Stitch | str = "auto"
    freeze: Freeze = "all"
    seeds: Sequence[int] = (0, 1, 2)
    controls: Sequence[Control | str] | Control | str = DEFAULT_CONTROLS
    audits: Sequence[Audit | str] | Audit | str = ("all",)
    memo: dict[str, tuple[Functional, Match]] | None = None
    keep: str | os.PathLike[str] | None = None
    watch: Watcher = nobody

    def __post_init__(self) -> None:
        require(self.seeds, Sequence, "seeds", error=AuditError, advice="For three of them: seeds=range(3).")
        advice = "Put a single one in a list, too: others=[split]."
        require(self.others, Sequence, "others", error=AuditError, advice=advice)
        if self.conflict is not None:
            object.__setattr__(self, "conflict", as_samples(self.conflict, "conflict"))
        if self.memo is not None:
            require(self.memo, dict, "memo", error=AuditError)
        require_function(self.watch, "watch", error=AuditError)

    def case(self) -> Case:
        """The comparison to be audited."""
        return Case(
            self.sender,
            self.receiver,
            Paired.of(self.fit, "fit"),
            Paired.of(self.test, "test"),
            matching_of(self.matching),
            self.stitch,
            self.freeze,
            tuple(self.seeds),
            tuple(self.others),
            self.watch,
            {} if self.memo is None else self.memo,
            pieces=None if self.keep is None else Pieces(Path(require_path(self.keep, "keep", error=AuditError))),
        )


@with_arguments_of(AuditRequest)
def audit(request: AuditRequest) -> Audited:
    """Match sender to receiver on `fit`, do the same with the controls, run the audits, and judge by one rule.

    `conflict` is a set on which cues that agree in `fit` disagree, labelled as in the receiver's training. Without it
    the built-in `interventions` for this kind of inputs are applied to `test`. `mixtures` are the families by which two
    samples of `test` are mixed, by default all for this kind of inputs. `others` are networks trained like the receiver
    from other seeds, and cut at the same place. `seeds` are the seeds of the stitch and of the controls: they are the
    units. Calls that share the same `memo`, a dict, compute what they have in common only once. `keep` is a folder in
    which each stitch is kept as soon as it is found: if an audit was stopped, the same call does not find them again.
    """
    case, skipped = request.case(), dict[str, str]()
    words = request.interventions
    if words is None:
        words = "default" if request.conflict is None else ()
    try:
        interventions = chosen_interventions(words, case.test.receiver)
    except InapplicableError as e:
        interventions, skipped["interventions"] = (), str(e)
    audits = chosen_audits(request.audits)
    mixtures: tuple[Mixture, ...] = ()
    if any(isinstance(audit, Mixing) for audit in audits):
        try:
            mixtures = chosen_mixtures(request.mixtures, case.test.receiver)
        except InapplicableError as e:
            skipped["mixtures"] = str(e)
    evidence = Evidence(
        case,
        controls=request.controls,
        conflict=request.conflict,
        interventions=interventions,
        mixtures=mixtures,
    )
    try:
        case.tally.expect(steps_of(evidence, audits), case.watch)
        with seal({"sender": case.sender.model.module, "receiver": case.receiver.model.module}):
            verdicts = _verdicts(evidence, audits, skipped)
            judgement = judge(evidence, verdicts)
    finally:
        # The outcomes hold on to the networks, and these to their fronts.
        case.fronts.clear()
    record = {**_record(evidence), "audits": [audit.as_record() for audit in audits]}
    return Audited(judgement, verdicts, evidence.outcomes, skipped | evidence.skipped, record)


def _verdicts(evidence: Evidence, audits: Sequence[Audit], skipped: dict[str, str]) -> dict[str, Verdict]:
    """The verdict of each audit; those that do not apply are entered in `skipped`."""
    # First of all, and not caught: without the comparison itself there is nothing to audit.
    _ = evidence.observed
    verdicts: dict[str, Verdict] = {}
    for number, audit in enumerate(audits, 1):
        task = f"audit {number} of {len(audits)}: {audit.name}"
        evidence.case.watch(Progress(task, 0, 1))
        try:
            if audit.by_accuracy and evidence.unreadable:
                raise InapplicableError(f"Accuracy is unreadable: {evidence.unreadable}.")
            verdicts[audit.name] = audit.put(evidence)
        except SeamripperError as e:
            if isinstance(e, AuditError) and not isinstance(e, InapplicableError):
                raise  # the request is wrong, and no other audit would mend it
            # The other audits are still worth having; the result says why this one is missing.
            skipped[audit.name] = str(e)
        evidence.case.watch(Progress(task, 1, 1))
        evidence.case.tally.close(evidence.case.watch, audit.name)
    evidence.case.tally.close(evidence.case.watch)
    return verdicts


def _record(evidence: Evidence) -> dict[str, Any]:
    case = evidence.case
    data = {"fit": case.fit, "test": case.test, "conflict": evidence.conflict}
    return {
        "sender": case.sender.as_record(),
        "receiver": case.receiver.as_record(),
        "others": [other.as_record() for other in case.others],
        "data": {role: Paired.of(samples).as_record() for role, samples in data.items() if samples is not None},
        "interventions": [intervention.label for intervention in evidence.interventions],
        "mixtures": [mixture.label for mixture in evidence.mixtures],
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
    return name, change.apply(chosen.base_samples(test), seed=chosen.seed)


def deciding_mixtures(
    audited: Audited, test: Samples, audits: Sequence[Audit], mixtures: Sequence[Mixture | str] | Mixture | str | None
) -> tuple[Samples, Samples, Samples] | None:
    """The pairs that told most in the audit `mixing`, and their mixtures, row by row; None without its verdict."""
    pairs = audited.verdicts["mixing"].figures["pairs"] if "mixing" in audited.verdicts else ()
    if not pairs:
        return None
    (chosen,) = [audit for audit in audits if isinstance(audit, Mixing)]
    members = chosen_mixtures("default" if mixtures is None else mixtures, test)
    (mixture,) = [member for member in members if member.label == pairs[0]["mixture"]]
    rows = {number: row for row, number in enumerate(test.ids.tolist())}
    a, b = (test.take(torch.tensor([rows[pair[side]] for pair in pairs])) for side in ("a", "b"))
    return a, b, mixture.apply(a, b, strength=pairs[0]["strength"], seed=chosen.seed)
