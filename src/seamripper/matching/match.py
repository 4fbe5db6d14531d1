"""Match: a found stitch between two frozen models, callable as the stitched network, kept in one file."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, get_args

import torch
from torch import Tensor, nn

from seamripper._devices import device_of, move
from seamripper._doors import require, require_function, require_path
from seamripper._files import load_tensors, plain, save_tensors, understood
from seamripper._frames import Row
from seamripper._notebook import card as html_card, choice, facts, one_line, short
from seamripper._progress import Watcher, nobody
from seamripper._words import word_list
from seamripper.activations.collect import AT_ONCE
from seamripper.cards import WithMethods, version_words
from seamripper.cut.frozen import Freeze, seal
from seamripper.cut.on_data import prove_pair, views_of
from seamripper.cut.split import Split, require_split
from seamripper.data.base import check_seed
from seamripper.data.paired import Paired
from seamripper.data.samples import Inputs, Samples
from seamripper.data.stream import Stream
from seamripper.data.yours import as_data
from seamripper.errors import DataError, FileError, MatchError, StitchError
from seamripper.estimate import Estimate
from seamripper.figures import Strip, Words, curves, plot
from seamripper.matching.base import Findings, Matching, Natives, Problem, matchings
from seamripper.matching.descent import DIVERGED
from seamripper.matching.direct import Direct
from seamripper.matching.inputs import count_shared, require_inputs
from seamripper.matching.methods import match_method, match_sentences
from seamripper.matching.padding import mask_for, require_no_padding, without_padding
from seamripper.matching.saved import saved_half
from seamripper.matching.streamed import StreamedFit, rows_held_out
from seamripper.matching.task import Task
from seamripper.models import Model
from seamripper.models.running import use_seed, versions
from seamripper.stitches import Layer, Stitch, auto, stitches

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NOTHING = Findings("nothing to find: the stitch has no parameters")


@dataclass(frozen=True, eq=False)
class Match(WithMethods):
    """A stitch, how it was found, and with what outcome; calling it runs the stitched network.

    `status` is "ok" or says what was unusual; `figures` are the matching's own (residuals, rank, losses); `made_from`
    is all that decided the result: data, seeds, fingerprints and versions; `fitted` are the ids of the samples that the
    stitch was fitted on.
    """

    kind: ClassVar[str] = "match"
    axes: ClassVar[tuple[str, ...]] = ("figure",)
    sender: Split
    receiver: Split
    stitch: Stitch
    layer: Layer = field(repr=False)
    matching: Matching
    freeze: Freeze
    status: str
    figures: Mapping[str, Any]
    curves: Mapping[str, Tensor] = field(repr=False)
    made_from: Mapping[str, Any] = field(repr=False)
    fitted: Tensor = field(repr=False)

    def __repr__(self) -> str:
        return one_line(f"Match({self._title()}, n = {len(self.fitted)}: {short(self.status, 60)!r})")

    def _title(self) -> str:
        return f"{_place(self.sender)} → {_place(self.receiver)}, {self.stitch.name} by {self.matching.name}"

    def __call__(self, inputs: Inputs, sender_inputs: Inputs | None = None) -> Tensor:
        """The stitched network's answer: receiver's tail ∘ stitch ∘ sender's head.

        `sender_inputs` are what the sender is shown, if that is not what the receiver is shown. Both networks are
        sealed meanwhile.
        """
        given = self.sender.model.receive(inputs if sender_inputs is None else sender_inputs)
        with seal(self.models):
            return self.answer(self.receiver.model.receive(inputs), given)

    @property
    def diverged(self) -> bool:
        """Whether training has ruined the stitch, so that its scores say nothing about the two networks."""
        return self.status.startswith(DIVERGED)

    @property
    def models(self) -> dict[str, nn.Module]:
        """The two frozen networks, by their role."""
        return {"sender": self.sender.model.module, "receiver": self.receiver.model.module}

    def answer(self, inputs: Inputs, sender_inputs: Inputs | None = None) -> Tensor:
        """What calling the match gives, unsealed: for loops over many batches that are sealed as a whole."""
        given = inputs if sender_inputs is None else sender_inputs
        return self.answer_from(self.sender.head(given), inputs, given)

    def answer_from(self, x: Tensor, inputs: Inputs, sender_inputs: Inputs) -> Tensor:
        """The answer from the sender's activations `x` on `sender_inputs`: stitches of one sender can share them."""
        carried = self._carry(x, inputs, sender_inputs)
        answer: Tensor = self.receiver.tail(carried, self.receiver.beside(inputs))
        return answer

    def activations(self, inputs: Inputs, sender_inputs: Inputs | None = None) -> Tensor:
        """What arrives at the receiver's cut: the stitch's activations, made of the sender's."""
        given = inputs if sender_inputs is None else sender_inputs
        return self._carry(self.sender.head(given), inputs, given)

    def _carry(self, x: Tensor, inputs: Inputs, given: Inputs) -> Tensor:
        a, b = self.sender.cut, self.receiver.cut
        require_no_padding(self.stitch, self.layer, a, b, given, inputs)
        return self.layer.carry(x, mask_for(self.layer, a, b, x, (given, inputs)))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the match, and both models' weights, to one safetensors file.

        `Match.load` needs nothing but the file if the models' architectures can be built again from their sources
        ("zoo:resnet18", "timm:…", "torchvision:…"); other models must be passed to it.
        """
        tensors = {f"stitch.{k}": v for k, v in self.layer.state_dict().items()}
        tensors |= {f"curve.{k}": v for k, v in self.curves.items()} | {"fitted": self.fitted}
        for role, half in (("sender", self.sender), ("receiver", self.receiver)):
            tensors |= {f"{role}.{k}": v for k, v in half.model.module.state_dict().items()}
            if not isinstance(half.example, Tensor):
                # Nobody can make up inputs with names: which tokens there are, for one, only their user knows.
                tensors |= {f"example.{role}.{name}": value for name, value in half.example.items()}
        save_tensors(path, tensors, self.as_record(), kind="match")

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        sender: nn.Module | Model | str | None = None,
        receiver: nn.Module | Model | str | None = None,
    ) -> Match:
        """Read a match back.

        Models that the file cannot name (bare modules, a `FILE.py:FUNCTION`) are given here, with any weights: they are
        copied, each where it is, and the copy's weights come from the file. Nothing that a file names is run. PyTorch's
        global generator is left as it was.
        """
        path = require_path(path, "path", error=FileError)
        with understood(path):
            return _read(path, sender, receiver)

    def rows(self) -> list[Row]:
        """One row per figure of the matching; one that is no number is in the column `text`."""
        rows: list[Row] = []
        for name, figure in self.figures.items():
            value = plain(figure)
            number = isinstance(value, int | float)
            text = None if number or value is None else str(value)
            rows.append({"figure": name, "value": float(value) if number else None, "text": text})
        return rows

    def origin(self) -> dict[str, Any]:
        """All that decided the result."""
        return self.as_record()

    def short_record(self) -> dict[str, Any]:
        """What a card needs of it. Weights have the fingerprints of when it was made: they were frozen since."""
        halves = {"sender": self.sender, "receiver": self.receiver}
        known = {
            role: {
                "source": half.model.source,
                "fingerprint": self.made_from[role],
                "cut": half.cut.as_record(),
                "way": half.way,
            }
            for role, half in halves.items()
        }
        choices = {"stitch": self.stitch.as_record(), "matching": self.matching.as_record(), "freeze": self.freeze}
        return {**known, **choices, "status": self.status, "made_from": dict(self.made_from)}

    def method(self) -> dict[str, Any]:
        """All that decides the figures."""
        return match_method(self.short_record())

    def sentences(self) -> list[str]:
        """How the stitch was found."""
        return [*match_sentences(self.short_record()), version_words(self.method()["versions"])]

    def as_record(self) -> dict[str, Any]:
        """All that is not a tensor, as JSON has it."""
        return {
            "sender": self.sender.as_record(),
            "receiver": self.receiver.as_record(),
            "stitch": self.stitch.as_record(),
            "matching": self.matching.as_record(),
            "freeze": self.freeze,
            "status": self.status,
            "figures": {k: plain(v) for k, v in self.figures.items()},
            "made_from": dict(self.made_from),
        }

    def plot(self) -> Figure:
        """The loss at each step, or the residuals of a matching that takes no steps, as a matplotlib figure."""
        title = self._title()
        steps = {name: curve.flatten().tolist() for name, curve in self.curves.items() if curve.numel()}
        if steps:
            return plot(curves(title, steps))
        known = {k: v for k, v in self.figures.items() if k.startswith("residual") and isinstance(v, float)}
        rows = tuple((k.replace("_", " "), (Estimate(v),)) for k, v in known.items() if math.isfinite(v))
        if rows:
            return plot(Strip(title, rows, None, "‖Y − s(X)‖² / ‖Y‖²"))
        return plot(Words(title, f"No loss and no residual to be drawn ({self.status})."))

    def _repr_html_(self) -> str:
        fit = self.made_from.get("fit") or {}
        rows: list[tuple[str, object]] = [
            ("sender", _describe(self.sender)),
            ("receiver", _describe(self.receiver)),
            ("stitch", choice(self.stitch)),
            ("matching", choice(self.matching)),
            ("freeze", self.freeze),
            ("status", self.status),
            ("fitted on", f"{short(fit.get('name', 'samples'))}, n = {len(self.fitted):,}"),
            ("seed", str(self.made_from.get("seed", "–"))),
        ]
        return html_card("Match", facts(rows), facts(self.figures.items()))


def match(
    sender: Split,
    receiver: Split,
    fit: Samples | Stream | Paired,
    *,
    stitch: Stitch | str = "auto",
    matching: Matching | str | None = None,
    held_out: Samples | Paired | None = None,
    freeze: Freeze = "all",
    seed: int = 0,
    watch: Watcher = nobody,
) -> Match:
    """Find a stitch from the sender's cut to the receiver's on the samples `fit`.

    With a `Paired`, the sender is shown other samples than the receiver. Both models are frozen, and fingerprinted
    before and after. `held_out` are samples for the residuals that a matching reports; without them, the matchings that
    solve or regress hold out a fifth of `fit`, drawn by the seed. Tokens that are padding are left out everywhere (see
    `seamripper.data.padding`). `fit` may be any data (see `seamripper.data.yours`): direct matching reads it once, as
    it comes, and other matchings take it into memory first.
    """
    require_split(sender, "sender")
    require_split(receiver, "receiver")
    choices = Choices.of(stitch, matching, freeze, seed, watch)
    fit = fit if isinstance(fit, Paired) else as_data(fit, "fit")
    if isinstance(fit, Stream) and isinstance(choices.matching, Direct) and held_out is None:
        return _match_on_stream(sender, receiver, fit, choices)
    return prepare(sender, receiver, fit, held_out, choices).find()


def _match_on_stream(sender: Split, receiver: Split, stream: Stream, choices: Choices) -> Match:
    """A direct match from one pass over a stream; the halves are proved on its first samples."""
    few = stream.head(AT_ONCE)
    prepared = prepare(sender, receiver, few, None, choices)
    if len(few) < AT_ONCE or not prepared.has_parameters:
        # All of it is in memory, or nothing of it is needed.
        return prepared.find()
    assert isinstance(choices.matching, Direct)
    fit = StreamedFit(choices.matching, prepared.problem, prepared.stitch, stream)
    with prepared.networks_sealed():
        findings = fit.find()
    made_from = {**prepared.made_from, **fit.record()}
    return replace(prepared.match(findings), made_from=made_from, fitted=fit.fitted)


@dataclass(frozen=True)
class Choices:
    """How a stitch is found: which one, by which matching, with what frozen, from which seed, and who watches.

    Matches that show the receiver the same samples may share its `natives`.
    """

    stitch: Stitch | str
    matching: Matching
    freeze: Freeze
    seed: int
    watch: Watcher
    natives: Natives | None = None

    @classmethod
    def of(
        cls, stitch: Stitch | str, matching: Matching | str | None, freeze: Freeze, seed: int, watch: Watcher
    ) -> Choices:
        """The choices of a call, once they are seen to be possible."""
        require(stitch, (Stitch, str), "stitch", error=StitchError)
        require_function(watch, "watch", error=MatchError)
        matching = Task() if matching is None else matchings.make(matching)
        if freeze not in get_args(Freeze):
            raise MatchError(f"Expected freeze to be {word_list(get_args(Freeze), last='or')}, but got {freeze!r}.")
        if freeze == "weights" and not isinstance(matching, Task):
            raise MatchError(f"freeze='weights' works only with the matching 'task', not with {matching.name!r}.")
        return cls(stitch if stitch == "auto" else stitches.make(stitch), matching, freeze, check_seed(seed), watch)


@dataclass(frozen=True, eq=False)
class Prepared:
    """A match whose stitch has not been found yet: the problem, and what the match will say of itself."""

    problem: Problem
    stitch: Stitch
    matching: Matching
    used: Paired
    made_from: Mapping[str, Any]

    @property
    def has_parameters(self) -> bool:
        """Whether there is anything to be found."""
        return any(True for _ in self.problem.layer.parameters())

    def find(self) -> Match:
        """The match that its matching finds."""
        with self.networks_sealed():
            findings = self.matching.find(self.problem) if self.has_parameters else NOTHING
        return self.match(findings)

    def networks_sealed(self) -> AbstractContextManager[None]:
        """Both networks sealed, as far as they are frozen."""
        sender, receiver = self.problem.sender.model.module, self.problem.receiver.model.module
        return seal({"sender": sender, "receiver": receiver}, freeze=self.problem.freeze)

    def match(self, findings: Findings) -> Match:
        """The match, with the layer as it is now."""
        problem = self.problem
        layer = problem.layer.eval().requires_grad_(False)
        return Match(
            problem.sender,
            problem.receiver,
            self.stitch,
            layer,
            self.matching,
            problem.freeze,
            findings.status,
            findings.figures,
            findings.curves,
            self.made_from,
            self.used.ids.clone(),
        )


def prepare(
    sender: Split, receiver: Split, fit: Samples | Stream | Paired, held_out: Samples | Paired | None, choices: Choices
) -> Prepared:
    """The match before its stitch is found: the layer is built, and the halves are proved on the samples."""
    fit, held_out = Paired.of(fit, "fit"), held_out if held_out is None else Paired.of(held_out, "held_out")
    given = {"fit": fit.as_record(), "held_out": held_out and held_out.as_record()}
    chosen = auto(sender.cut, receiver.cut) if choices.stitch == "auto" else stitches.make(choices.stitch)
    require_inputs(sender, receiver, fit)
    if len(fit) < 2:
        raise DataError(f"Expected at least 2 samples to fit a stitch on, but {fit.name} has {len(fit)}.")
    prints = {"seed": choices.seed, "sender": sender.fingerprint, "receiver": receiver.fingerprint}
    if choices.freeze == "weights":
        sender, receiver = sender.again(), receiver.again()
    with use_seed(choices.seed):
        layer = build_layer(chosen, sender, receiver)
    fit = without_padding(fit, chosen, layer, sender.cut, receiver.cut)
    if held_out is not None:
        held_out = without_padding(held_out, chosen, layer, sender.cut, receiver.cut)
    used, held = _hold_out(fit, held_out, choices.matching, choices.seed)
    views = prove_pair(used, sender, receiver, batch=AT_ONCE)
    others = held and views_of(held, sender, receiver)
    problem = Problem(
        sender, receiver, layer, views, others, choices.seed, choices.freeze, choices.watch, choices.natives
    )
    data = {"fit": used.as_record(), "held_out": held and held.as_record(), **versions()}
    return Prepared(problem, chosen, choices.matching, used, {**prints, **data, "given": given})


def _place(half: Split) -> str:
    return f"{short(half.model.source, 40)} at {short(half.cut.name, 28)}"


def _describe(half: Split) -> str:
    return f"{short(half.model.source)}, cut at {short(str(half.cut))}"


def build_layer(stitch: Stitch, sender: Split, receiver: Split) -> Layer:
    """The layer, where the receiver computes and for activations as the receiver has them."""
    with torch.no_grad():
        native = receiver.head(receiver.example)
    return stitch.build(sender.cut, receiver.cut).live_with(native.device, native.dtype)


def saved_layer(stitch: Stitch, sender: Split, receiver: Split, tensors: Mapping[str, Tensor]) -> Layer:
    """The layer where the receiver computes, with the weights that a file has for it."""
    # Whatever a layer draws when it is built is then read from the file.
    with use_seed(0):
        layer = build_layer(stitch, sender, receiver)
    weights = {k.removeprefix("stitch."): v for k, v in tensors.items() if k.startswith("stitch.")}
    layer.load_state_dict(move(weights, device_of(layer)))
    return layer.eval().requires_grad_(False)


def _hold_out(fit: Paired, held_out: Paired | None, matching: Matching, seed: int) -> tuple[Paired, Paired | None]:
    """The samples to fit on and those to report residuals on, which share none."""
    if held_out is not None:
        # The same data may go by two names.
        same = fit.fingerprint == held_out.fingerprint
        both = len(fit) if same else count_shared(fit.name, fit.ids, held_out)
        if both:
            raise DataError(f"{both} samples are both fitted and held out. Fit and score on different samples.")
        return fit, held_out
    held = rows_held_out(len(fit), seed) if matching.holds_out else None
    return (fit, None) if held is None else (fit.take(~held), fit.take(held))


def _read(path: str, sender: nn.Module | Model | str | None, receiver: nn.Module | Model | str | None) -> Match:
    tensors, record = load_tensors(path, kind="match")
    halves = {}
    for role, given in (("sender", sender), ("receiver", receiver)):
        weights = {k.removeprefix(f"{role}."): v for k, v in tensors.items() if k.startswith(f"{role}.")}
        start = f"example.{role}."
        example = {k.removeprefix(start): v for k, v in tensors.items() if k.startswith(start)}
        halves[role] = saved_half(role, record[role], weights, given, path, example)
    choice = stitches.from_record(record["stitch"])
    layer = saved_layer(choice, halves["sender"], halves["receiver"], tensors)
    return Match(
        halves["sender"],
        halves["receiver"],
        choice,
        layer,
        matchings.from_record(record["matching"]),
        record["freeze"],
        record["status"],
        record["figures"],
        {k.removeprefix("curve."): v for k, v in tensors.items() if k.startswith("curve.")},
        record["made_from"],
        tensors["fitted"],
    )
