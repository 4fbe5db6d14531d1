"""Audit, evidence and verdict: a question about a case, the outcomes that answer it, and the answer."""

from __future__ import annotations

import abc
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from seamripper._files import plain
from seamripper._notebook import card, facts, line, table, text_of
from seamripper.audits.interventions.base import Intervention
from seamripper.audits.listening import as_html
from seamripper.audits.mixtures.base import Mixture
from seamripper.controls import Case, Control, Known, Outcome, controls as every_control
from seamripper.data.padding import trim
from seamripper.data.samples import Samples
from seamripper.errors import AuditError, CutError, DataError, InapplicableError, MatchError, StitchError
from seamripper.estimate import BySeed, Estimate
from seamripper.figures import KINDS, KNOWN, Strip, plot
from seamripper.matching.inputs import count_shared, require_inputs
from seamripper.matching.match import Match
from seamripper.models.targets import targets_for
from seamripper.registry import Choice, Registry

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Answer = Literal["yes", "no", "unknown"]
DEFAULT_CONTROLS = ("self", "other_seed", "random_sender", "clustered_noise", "shifted_labels", "shuffled", "input")


@dataclass(frozen=True)
class Verdict:
    """The answer to one audit's question, with the figures that it rests on.

    `observed` is the sender's figure, `controls` the same figure of each control, one estimate per seed or counterpart;
    `effect` is the difference that the audit looks at, with its interval; `p` is None where there is no valid p-value.
    """

    audit: str
    question: str
    answer: Answer
    observed: Estimate
    controls: Mapping[str, tuple[Estimate, ...]]
    effect: Estimate
    sentence: str
    p: float | None = None
    figures: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.audit}: {self.sentence}"

    def __repr__(self) -> str:
        return f"Verdict({self.audit!r}: {self.answer}, observed {self.observed}, effect {self.effect}, p = {self.p})"

    def estimates(self) -> dict[str, Estimate]:
        """Every figure by name: `observed`, `effect`, and those of each control, numbered if it has several."""
        controls = {
            name if len(figures) == 1 else f"{name} {number}": figure
            for name, figures in self.controls.items()
            for number, figure in enumerate(figures, 1)
        }
        return {"observed": self.observed, "effect": self.effect, **controls}

    def as_record(self) -> dict[str, Any]:
        """The verdict as JSON has it."""
        return {
            "audit": self.audit,
            "question": self.question,
            "answer": self.answer,
            "observed": self.observed.as_record(),
            "controls": {name: [e.as_record() for e in estimates] for name, estimates in self.controls.items()},
            "effect": self.effect.as_record(),
            "p": self.p,
            "sentence": self.sentence,
            "figures": plain(self.figures),
        }

    @property
    def strip(self) -> Strip:
        """The observed figure and those of the controls, with intervals, and what is known of each, to be drawn."""
        label = f"{self.audit}: observed and controls, 95 % intervals"
        names = {name: name.partition("?")[0] for name in self.controls}
        known = {name: every_control[word].known for name, word in names.items() if word in every_control}
        kinds = {name: KNOWN[kind] for name, kind in known.items()}
        colours = {name: KINDS[kind] for name, kind in known.items()}
        groups = tuple(self.controls.items())
        return Strip(f"{self.question} {self.answer}", groups, self.observed, label, kinds=kinds, colours=colours)

    def plot(self) -> Figure:
        """The same as a matplotlib figure."""
        return plot(self.strip)

    def _repr_html_(self) -> str:
        rows = [("observed", self.observed), *((name, _list(estimates)) for name, estimates in self.controls.items())]
        more: list[tuple[str, object]] = [("effect", self.effect), ("p", self.p)]
        return card(
            f"{self.question} {self.answer}",
            line(self.sentence),
            table((self.audit, "figure, 95 % interval"), rows),
            facts(more),
            *as_html(self.figures),
        )


def _list(estimates: Sequence[Estimate], most: int = 4) -> str:
    """The first estimates in words, and how many more there are."""
    more = len(estimates) - most
    return "; ".join(map(text_of, estimates[:most])) + (f"; and {more} more" if more > 0 else "")


class Evidence:
    """What the audits of one case share: the outcomes of the sender and of each control, computed when first needed.

    `outcomes` may give some of them from the start, by the name of the control, or as "sender". `skipped` says which
    controls do not apply here, and why.
    """

    def __init__(
        self,
        case: Case,
        *,
        controls: Sequence[Control | str] | Control | str = DEFAULT_CONTROLS,
        conflict: Samples | None = None,
        interventions: Sequence[Intervention] = (),
        mixtures: Sequence[Mixture] = (),
        outcomes: Mapping[str, Sequence[Outcome]] | None = None,
    ) -> None:
        if conflict is not None:
            conflict = trim(conflict)
            _require_conflict(case, conflict)
        chosen = every_control.many(controls)
        self.case, self.conflict, self.interventions = case, conflict, tuple(interventions)
        self.mixtures = tuple(mixtures)
        self.controls: dict[str, Control] = {}
        for control in chosen:
            if control.name in self.controls:
                raise AuditError(f"The control {control.name!r} is given twice, and its outcomes would mix: keep one.")
            self.controls[control.name] = control
        self.skipped: dict[str, str] = {}
        self._outcomes = {name: tuple(given) for name, given in (outcomes or {}).items()}

    @property
    def observed(self) -> tuple[Outcome, ...]:
        """The sender's own outcomes, one per seed of the stitch."""
        if "sender" not in self._outcomes:
            self._outcomes["sender"] = tuple(self.case.sender_outcome(seed) for seed in self.case.seeds)
        return self._outcomes["sender"]

    @property
    def unreadable(self) -> str | None:
        """Why accuracies on the test samples say nothing; None if they say something."""
        return self.observed[0].result.unreadable

    def of(self, name: str) -> tuple[Outcome, ...]:
        """The outcomes of the control with this name; none if it was not chosen, or does not apply."""
        if name not in self._outcomes and name in self.controls and name not in self.skipped:
            try:
                self._outcomes[name] = tuple(self.controls[name].outcomes(self.case))
            except (InapplicableError, StitchError, MatchError, CutError, DataError) as e:
                # One control that does not apply must not stop the others.
                self.skipped[name] = str(e)
        return self._outcomes.get(name, ())

    def of_kind(self, kind: Known) -> tuple[Outcome, ...]:
        """The outcomes of all controls of one kind: what is known of them."""
        return tuple(o for name, control in self.controls.items() if control.known == kind for o in self.of(name))

    def networks(self, kind: Known) -> Iterator[tuple[str, tuple[Outcome, ...]]]:
        """The controls of one kind that can be shown changed and mixed inputs, by name, with their outcomes.

        Those that do not repeat the receiver's accidents come first.
        """
        chosen = [c for c in self.controls.values() if c.known == kind and c.origin == "network"]
        for control in sorted(chosen, key=lambda control: control.own_weights):
            yield control.name, self.of(control.name)

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """All outcomes so far, the sender's first."""
        return tuple(o for name in ("sender", *self.controls) for o in self._outcomes.get(name, ()))


def _require_conflict(case: Case, conflict: Samples) -> None:
    """Refuse a conflict set with other inputs, other classes, or samples that the stitch is fitted on."""
    require_inputs(case.sender if case.looks else case.receiver, case.receiver, conflict)
    few = case.receiver.model.present(conflict).batch(slice(0, 2))
    targets_for(case.receiver.answer(few), conflict)
    seen = count_shared(case.fit.name, case.fit.ids, conflict)
    if seen:
        raise DataError(
            f"{seen} of the {len(conflict)} samples of the conflict set {conflict.name} are among those that the "
            f"stitch is fitted on ({case.fit.name}). Take others, for example its test split."
        )


@dataclass(frozen=True)
class Audit(Choice):
    """The choice of an audit. Leaves are frozen dataclasses with a `name`, a `question` and their options."""

    what, error = "audit", AuditError
    question: ClassVar[str]
    """What it asks; lists show it."""
    by_accuracy: ClassVar[bool] = False
    """Whether it compares accuracies, so that it says nothing where they are unreadable."""

    @abc.abstractmethod
    def put(self, evidence: Evidence) -> Verdict:
        """Answer the question; `InapplicableError` if it cannot be asked about this case."""

    def verdict(
        self,
        answer: Answer,
        sentence: str,
        *,
        observed: Estimate,
        effect: Estimate,
        controls: Mapping[str, tuple[Estimate, ...]],
        figures: Mapping[str, Any],
        p: float | None = None,
    ) -> Verdict:
        """An answer of this audit, with the figures that it rests on."""
        return Verdict(self.name, self.question, answer, observed, controls, effect, sentence, p, figures)


audits: Registry[Audit] = Registry(Audit, "seamripper.audits", what="audit", error=AuditError)
"""Every audit by name. `audits.make("distribution?detector=energy")` makes one."""


def chosen_audits(choices: Iterable[Audit | str] | Audit | str) -> tuple[Audit, ...]:
    """The audits that these words name; `all` is every one of them."""
    chosen = audits.many(choices, {"all": lambda: [cls() for cls in audits.values()]})
    return tuple({audit.name: audit for audit in chosen}.values())


def same_information(evidence: Evidence, audit: str) -> tuple[Outcome, ...]:
    """The control with the same information: networks of other seeds if there are any, else the receiver itself."""
    for _, outcomes in evidence.networks("same"):
        if outcomes:
            return outcomes
    raise InapplicableError(
        f"The audit {audit!r} compares with the control 'self' or 'other_seed': choose one of them."
    )


def match_of(outcome: Outcome) -> Match:
    """The stitched network of an outcome that has one."""
    assert outcome.match is not None
    return outcome.match


def figures_of(outcomes: Sequence[Outcome], figure: str = "top1") -> tuple[Estimate, ...]:
    """One figure of each outcome, by default its accuracy."""
    return tuple(getattr(outcome.result, figure) for outcome in outcomes)


def by_seed(outcomes: Sequence[Outcome], figure: str = "top1") -> BySeed:
    """One figure of each outcome with its seed, by default its accuracy."""
    return [(outcome.seed, getattr(outcome.result, figure)) for outcome in outcomes]


def by_control(outcomes: Sequence[Outcome]) -> dict[str, tuple[Estimate, ...]]:
    """The accuracies of outcomes, by the name of their control."""
    names = dict.fromkeys(outcome.control for outcome in outcomes)
    return {name: figures_of([o for o in outcomes if o.control == name]) for name in names}
