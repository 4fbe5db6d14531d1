"""Case, control and outcome: what is compared, and the same comparison with a counterpart whose answer is known."""

from __future__ import annotations

import abc
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor

from seamripper._doors import require, require_whole
from seamripper._fingerprint import tensor_fingerprint, tensors_of
from seamripper._progress import Watcher, nobody
from seamripper.activations.fronts import Fronts
from seamripper.controls.pieces import Pieces
from seamripper.controls.tally import StepTally
from seamripper.cut.frozen import Freeze
from seamripper.cut.place import Cut
from seamripper.cut.split import Split, require_split
from seamripper.data.padding import trim_pair
from seamripper.data.paired import Paired
from seamripper.data.samples import Samples
from seamripper.errors import AuditError, InapplicableError, StitchError
from seamripper.matching.base import Matching, matchings
from seamripper.matching.evaluate import Functional, answers_of_many, evaluate
from seamripper.matching.match import Match, match
from seamripper.matching.task import Task, targets_by
from seamripper.registry import Choice, Registry
from seamripper.stitches import Stitch, auto, stitches

Known = Literal["same", "nothing", "broken", "probe"]
"""What is known of a counterpart: it holds the same information as the receiver; it has learnt nothing of it; its
samples are paired at random, so that it must fail; or it is not stitched at all, but only probed by a linear map."""
Origin = Literal["network", "mispaired", "noise", "input"]
"""Where a counterpart's activations come from: a network that sees the receiver's inputs, one that is shown other
samples than the receiver, noise, or the inputs themselves. Only a network can be shown changed and mixed inputs."""


@dataclass(frozen=True, eq=False)
class Case:
    """A comparison to be audited: sender and receiver, the samples, and the matching that joins them.

    `fit` and `test` may be plain Samples, which both networks are then shown. `seeds` are those of the stitch and of
    whatever a control draws: they are the units of every interval over seeds. `others` are networks trained like the
    receiver from other seeds, and cut at the same place, if there are any.
    """

    sender: Split
    receiver: Split
    fit: Paired
    test: Paired
    matching: Matching = field(default_factory=Task)
    stitch: Stitch | str = "auto"
    freeze: Freeze = "all"
    seeds: tuple[int, ...] = (0, 1, 2)
    others: tuple[Split, ...] = ()
    watch: Watcher = field(default=nobody, repr=False)
    memo: dict[str, tuple[Functional, Match]] = field(default_factory=dict, repr=False)
    """What was matched and scored before, by its content. Cases with one memo share the controls that they have in
    common: the receiver stitched into itself is the same for every sender."""
    fronts: Fronts = field(default_factory=Fronts, repr=False)
    """What the networks' fronts have shown, for all seeds, controls and audits: no input is computed twice."""
    tally: StepTally = field(default_factory=StepTally, repr=False)
    """How many steps were done, of how many."""
    pieces: Pieces | None = field(default=None, repr=False)
    """Where stitches are kept as soon as they are found; None keeps them nowhere."""
    native: dict[str, Tensor] = field(default_factory=dict, repr=False)
    """The receiver's own answers to samples, by the samples' fingerprint and by whose they are."""

    def __post_init__(self) -> None:
        require_split(self.sender, "sender")
        require_split(self.receiver, "receiver")
        # Trimmed, so that the padded length makes no difference to anything that reads the samples.
        for part in ("fit", "test"):
            object.__setattr__(self, part, trim_pair(Paired.of(getattr(self, part), part)))
        object.__setattr__(self, "matching", matchings.make(self.matching))
        require(self.stitch, (Stitch, str), "stitch", error=AuditError)
        for half in self.others:
            require_split(half, "each of others")
        for seed in self.seeds:
            require_whole(seed, "each of seeds", least=0, most=2**32 - 1, error=AuditError)
        if not self.seeds or len(set(self.seeds)) < len(self.seeds):
            raise AuditError(f"Expected one or more different seeds, but got {self.seeds}.")
        for role in ("sender", "receiver"):
            object.__setattr__(self, role, self.fronts.keep(getattr(self, role)))
        object.__setattr__(self, "others", tuple(map(self.fronts.keep, self.others)))

    def __repr__(self) -> str:
        return f"Case({self.sender} → {self.receiver}, {self.matching.name}, seeds {self.seeds})"

    @property
    def looks(self) -> bool:
        """Whether the sender sees the receiver's inputs; noise does not, so no change of the inputs can test it."""
        return self.fit.same and self.test.same

    @property
    def receiver_samples(self) -> tuple[Paired, Paired]:
        """The samples to fit and to test on, for a sender that is shown what the receiver is shown."""
        return Paired.of(self.fit.receiver), Paired.of(self.test.receiver)

    def targets(self, samples: Paired) -> Tensor:
        """The answers that count as right: the labels, unless a task matching maps them to other classes.

        Of a language model they are the next tokens, (n, tokens): see `seamripper.models.targets`.
        """
        shown = self.receiver.model.present(samples.receiver)
        with torch.no_grad():
            answer = self.receiver.answer(shown.batch(slice(0, 2)))
        return targets_by(self.matching, answer, shown)

    def stitch_from(self, source: Cut) -> Stitch:
        """The stitch that this case uses between a sender's cut and the receiver's."""
        if self.stitch == "auto":
            return auto(source, self.receiver.cut)
        return self.stitch if isinstance(self.stitch, Stitch) else stitches.make(self.stitch)

    def misfit(self, source: Cut) -> str | None:
        """Why the stitch of this case cannot join a sender's cut to the receiver's; None if it can."""
        target = self.receiver.cut
        try:
            stitch = self.stitch_from(source)
        except StitchError as e:
            return str(e)
        why = stitch.misfit(source, target)
        return None if why is None else f"The stitch {stitch.name!r} cannot join {source} to {target}: {why}."

    def sender_outcome(self, seed: int) -> Outcome:
        """What the sender itself does, with the stitch of this seed."""
        sender = Counterpart("sender", seed, self.sender, self.fit, self.test)
        return Outcome("sender", "sender", seed, *self.score(sender))

    def score(self, counterpart: Counterpart) -> tuple[Functional, Match]:
        """Match a counterpart as this case matches its sender, and evaluate it; the memo keeps what was done before."""
        key = self._key(counterpart)
        if key not in self.memo:
            sender = self.fronts.keep(counterpart.sender)
            stitched = self._match_of(key, replace(counterpart, sender=sender))
            native = self._native_answers(Paired.of(counterpart.test).receiver)
            self.memo[key] = evaluate(stitched, counterpart.test, receiver=native, watch=self.watch), stitched
            if sender.front not in {half.front for half in (self.sender, self.receiver, *self.others)}:
                # No other seed and no other control has this front.
                self.fronts.forget(sender)
        self.tally.add("stitches", key, self.watch)
        return self.memo[key]

    def _match_of(self, key: str, counterpart: Counterpart) -> Match:
        """The match of a counterpart: one that an audit has kept before it was stopped, or a new one."""
        # Where statistics adapt, a match has networks of its own.
        pieces = self.pieces if self.freeze == "all" else None
        if pieces is not None:
            kept = pieces.find(key, counterpart.sender, self.receiver, self.matching)
            if kept is not None:
                return kept
        stitched = match(
            counterpart.sender,
            self.receiver,
            counterpart.fit,
            stitch=self.stitch,
            matching=self.matching,
            freeze=self.freeze,
            seed=counterpart.seed,
            watch=self.watch,
        )
        if pieces is not None:
            pieces.keep(key, stitched)
        return stitched

    def _native_answers(self, samples: Samples) -> Tensor | None:
        """The receiver's own answers, which are the same for all counterparts; None if each match adapts it."""
        if self.freeze != "all":
            return None
        key = f"{self.receiver.front} {samples.fingerprint}"
        if key not in self.native:
            (self.native[key],) = answers_of_many([self.receiver], samples)
        return self.native[key]

    def _key(self, counterpart: Counterpart) -> str:
        """Everything that decides the outcome of a counterpart."""
        halves = [(_identity(half), half.cut.name, half.cut.shape) for half in (counterpart.sender, self.receiver)]
        stitch = self.stitch if isinstance(self.stitch, str) else self.stitch.as_record()
        rule = (self.matching.as_record(), stitch, self.freeze, counterpart.seed)
        return repr((halves, counterpart.fit.fingerprint, counterpart.test.fingerprint, rule))


def _identity(half: Split) -> tuple[str, ...]:
    """What a half is: its weights (its name if it has none), its modules, its activations on its example, its view."""
    weights = half.fingerprint if tensors_of(half.model.module) else half.model.source
    with torch.no_grad():
        shows = tensor_fingerprint(half.head(half.example))
    return weights, str(half.model.module), shows, repr(half.model.wants)


@dataclass(frozen=True, eq=False)
class Counterpart:
    """Another sender for a case, with the samples that it is matched and scored on."""

    label: str
    seed: int
    sender: Split
    fit: Paired
    test: Paired


@dataclass(frozen=True, eq=False)
class Outcome:
    """What the stitched network of one counterpart and one seed does.

    `match` is None where there is no stitch. `known` and `draws` are declared by the control; `known` is None for the
    sender itself.
    """

    control: str
    label: str
    seed: int
    result: Functional
    match: Match | None = field(default=None, repr=False)
    known: Known | None = None
    draws: bool = False

    def as_record(self) -> dict[str, Any]:
        """The outcome as JSON has it."""
        parts = {"control": self.control, "label": self.label, "seed": self.seed, "known": self.known}
        return {**parts, "result": self.result.as_record()}


@dataclass(frozen=True)
class Control(Choice):
    """The choice of a control. Leaves are frozen dataclasses with a `name`, what is `known`, and their options."""

    what, error = "control", AuditError
    about: ClassVar[str]
    """One line for a list."""
    known: ClassVar[Known]
    origin: ClassVar[Origin] = "network"
    own_weights: ClassVar[bool] = False
    """Whether its counterparts have the receiver's own weights, and so repeat its accidents."""
    of_sender: ClassVar[bool] = True
    """Whether its counterparts depend on the sender; if not, they are the same for every sender."""
    draws: ClassVar[bool] = False
    """Whether each seed draws another counterpart."""

    @abc.abstractmethod
    def counterparts(self, case: Case) -> Iterator[Counterpart]:
        """The senders to put in the place of the case's own; `InapplicableError` if there can be none."""

    @abc.abstractmethod
    def stitches(self, case: Case) -> int:
        """How many stitches its counterparts need, at most: known before any of them is made."""

    def outcomes(self, case: Case) -> Iterator[Outcome]:
        """The same matching with each counterpart, scored."""
        for counterpart in self.counterparts(case):
            yield self.outcome(counterpart, *case.score(counterpart))

    def outcome(self, counterpart: Counterpart, result: Functional, match: Match | None = None) -> Outcome:
        """The outcome of a counterpart, with what this control declares."""
        return Outcome(self.name, counterpart.label, counterpart.seed, result, match, self.known, self.draws)

    def as_record(self) -> dict[str, Any]:
        """The choice as JSON has it, with what is known of it."""
        return {"name": self.name, "known": self.known, **vars(self)}

    def require_fit(self, case: Case, source: Cut) -> None:
        """Refuse a counterpart that the stitch of the case cannot join to the receiver."""
        why = case.misfit(source)
        if why is not None:
            raise InapplicableError(f"The control {self.name!r} uses the stitch of the comparison. {why}")


controls: Registry[Control] = Registry(Control, "seamripper.controls", what="control", error=AuditError)
"""Every control by name. `controls.make("clustered_noise?radius=0.5")` makes one."""
