"""swap: may the front of a new model be put under the back of an old one? Fit, choose and test on different samples."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from seamripper._devices import to_memory, widen
from seamripper._doors import in_words, require, require_function, several
from seamripper._progress import Progress, Watcher, nobody
from seamripper._request import with_arguments_of
from seamripper.activations import collect, require_finite
from seamripper.audits import Audited, audit
from seamripper.comparing.diff import with_contracts
from seamripper.cut import seal
from seamripper.cut.on_data import prove_pair
from seamripper.cut.split import as_model
from seamripper.data.base import check_seed
from seamripper.data.padding import trim
from seamripper.data.paired import Paired
from seamripper.data.samples import Samples, batches_in
from seamripper.data.yours import as_samples
from seamripper.errors import CutError, DataError, MatchError, SeamripperError
from seamripper.matching import answers_of, stitched_answers
from seamripper.matching.evaluate import functional
from seamripper.matching.inputs import count_shared
from seamripper.models import Model
from seamripper.models.running import answer_of, machine, versions
from seamripper.swapping.cost import Cost, costs
from seamripper.swapping.curve import LearningCurve, Point, sizes
from seamripper.swapping.joined import JoinedNetwork
from seamripper.swapping.joints import Fitting, Trial, choose, why_unreadable
from seamripper.swapping.loss import Loss, flips_of, loss_of
from seamripper.swapping.sides import ModelSide, replay_rows
from seamripper.swapping.verdict import SwapVerdict

FEWEST = 40
"""Samples to fit on, of which a fifth choose; and FEWEST_TEST to test on: with fewer, nothing can be shown."""
FEWEST_TEST = 20
_CHOICE = 0.2
_MOST_CHOICE = 1000
AUDIT_FIT, AUDIT_TEST = 1000, 500
"""The most samples that the audit is given: it stitches several controls, and asks about many changed inputs."""
CONTROLS, AUDITS = (
    ("self", "random_sender", "clustered_noise", "shuffled"),
    ("margin", "conflict?relative=true", "mixing"),
)
"""The audit of a swap, with one seed: a control of each kind that the rule knows, and the audits that it looks at.

The only control with the same information is the old network itself, which repeats its own accidents: `relative` says
what is therefore not held against a new front, and benchmarks/swap_alarms.py how often it is wronged all the same."""
_BATCH = 64
_TIMED = 8
"""Samples in a batch that is timed."""


@dataclass(frozen=True, eq=False)
class SwapRequest:
    """The arguments of `swap`, which are listed here and nowhere else; `swap` explains them."""

    old: nn.Module | Model | str
    new: nn.Module | Model | str
    fit: Samples
    test: Samples
    _: KW_ONLY
    tolerance: float = 0.01
    old_cuts: Sequence[str] | str | None = None
    new_cuts: Sequence[str] | str | None = None
    audit: bool = True
    seed: int = 0
    watch: Watcher = nobody

    def __post_init__(self) -> None:
        for name in ("fit", "test"):
            object.__setattr__(self, name, as_samples(getattr(self, name), name))
        number = isinstance(self.tolerance, (int, float)) and not isinstance(self.tolerance, bool)
        if not number or not 0 < self.tolerance < 1:
            raise MatchError(
                f"Expected tolerance to be a share of samples above 0 and below 1, for example 0.01, but got "
                f"{in_words(self.tolerance)}."
            )
        require(self.audit, bool, "audit", error=MatchError)
        check_seed(self.seed)
        require_function(self.watch, "watch", error=MatchError)
        for samples, least, what in ((self.fit, FEWEST, "fit and choose"), (self.test, FEWEST_TEST, "test")):
            if len(samples) < least:
                raise DataError(
                    f"Expected at least {least} samples to {what} on, but {samples.name} has {len(samples)}."
                )
        shared = count_shared(self.fit.name, self.fit.ids, self.test)
        if shared:
            raise DataError(
                f"{shared} of the {len(self.test)} test samples are among those to fit and choose on. Test on others: "
                "load_data(name, 'train') and load_data(name, 'test')."
            )

    @property
    def cuts(self) -> tuple[tuple[str, ...] | None, tuple[str, ...] | None]:
        """The names of the old and of the new model's cuts, where they were given."""
        given = {"old_cuts": self.old_cuts, "new_cuts": self.new_cuts}
        old, new = (None if v is None else several(v, str, k, error=CutError) for k, v in given.items())
        return old, new


@with_arguments_of(SwapRequest)
def swap(request: SwapRequest) -> SwapVerdict:
    """May the `new` model's front be put under the `old` model's back?

    Pairs of cuts are stitched on four fifths of `fit`: by direct matching, its ridge chosen by cross-validation; then,
    if that loses something, by the matchings `downstream` and `task`. The last fifth chooses between them. What the
    chosen one loses, and which answers flip, is said of `test` alone. The answer is `swap` if a loss of the `tolerance`
    or more is rejected at the level 0.05. `old_cuts` and `new_cuts` are the cuts to try, by default those of the end of
    each model. A model that does not say how it wants its inputs gets them as the other does.
    """
    old, new = with_contracts(as_model(request.old, "old"), as_model(request.new, "new"))
    samples, test = _in_random_order(trim(request.fit), request.seed), trim(request.test)
    fitting = _fitting(request, old, new, samples)
    failed: dict[str, str] = {}
    trials = fitting.trials(failed)
    if not trials:
        reasons = "; ".join(f"{name}: {why}" for name, why in failed.items())
        raise MatchError(f"No cut of {new.source} could be stitched to a cut of {old.source}. {reasons}")
    chosen = choose(trials, request.tolerance)
    network = JoinedNetwork.of(chosen.match)
    native = answers_of(chosen.match.receiver, test)
    answers = _answers(network, chosen, test, request.watch)
    loss = loss_of(answers, native, test, tolerance=request.tolerance, yardstick=chosen.loss.yardstick)
    audited, no_audit, sizes_ = _audit(request, fitting, chosen, test)
    return SwapVerdict(
        loss=loss,
        chosen=chosen,
        functional=functional(answers, native, test) if test.labelled else None,
        flips=flips_of(answers, native, test),
        trials=tuple(trials),
        curve=_curve(fitting, chosen, test, native, loss),
        costs=_costs(chosen, network, test),
        audit=audited,
        no_audit=no_audit,
        network=network,
        few=chosen.match.sender.model.present(test.take(slice(0, _TIMED))),
        failed=failed,
        record={**_record(request, fitting), "audited": sizes_, "unreadable": _why_unreadable(chosen, fitting)},
    )


def _in_random_order(samples: Samples, seed: int) -> Samples:
    """In an order drawn by the seed, so that the first of them are any of them."""
    return samples.take(torch.randperm(len(samples), generator=torch.Generator().manual_seed(seed)))


def _fitting(request: SwapRequest, old: Model, new: Model, samples: Samples) -> Fitting:
    choice = min(math.ceil(_CHOICE * len(samples)), _MOST_CHOICE)
    old_cuts, new_cuts = request.cuts
    _require_scores(old, samples)
    front = ModelSide.of(new, new_cuts, samples, "new", request.watch)
    back = ModelSide.of(old, old_cuts, samples, "old", request.watch)
    fitted = len(samples) - choice
    return Fitting(front, back, samples, fitted, float(request.tolerance), request.seed, request.watch)


def _require_scores(old: Model, samples: Samples) -> None:
    """The old network must answer with scores of classes."""
    few, modes = old.present(samples).batch(slice(0, 2)), {part: part.training for part in old.module.modules()}
    try:
        with torch.no_grad():
            answer = answer_of(old.module.eval(), few)
    finally:
        # The module is its user's own.
        for part, mode in modes.items():
            part.training = mode
    if answer.dim() != 2:
        raise DataError(
            f"Expected the old model ({old.source}) to answer with a score for each class, but its answer has shape "
            f"{tuple(answer.shape[1:])} per sample. Give the network with its head; for embeddings there is "
            "`seamripper map`."
        )


def _answers(network: JoinedNetwork, chosen: Trial, test: Samples, watch: Watcher) -> Tensor:
    """What the joined network itself answers: what is tested is what is saved."""
    match = chosen.match
    prove_pair(test, match.sender, match.receiver, batch=_BATCH)
    parts, view = [], match.sender.model.present(test)
    with torch.no_grad(), seal(match.models):
        for step, (inputs, _) in enumerate(view.batches(_BATCH), 1):
            parts.append(widen(to_memory(network.run(inputs))))
            watch(Progress("test samples", step, batches_in(len(test), _BATCH)))
    answers = torch.cat(parts)
    require_finite(answers, "the end of the joined network", test.ids)
    return answers


def _curve(fitting: Fitting, chosen: Trial, test: Samples, native: Tensor, loss: Loss) -> LearningCurve:
    """The chosen cuts and matching with fewer samples to fit on, each on all test samples."""
    joint = fitting.joint(chosen.new_cut, chosen.old_cut, chosen.match.stitch)
    half, shown = replay_rows(joint.sender, test, collect(joint.sender, test), slice(0, len(test)))
    points = []
    for n in sizes(fitting.fitted)[:-1]:
        try:
            answers = stitched_answers(replace(joint.find(chosen.way, n), sender=half), shown)
        except SeamripperError:
            # Too few samples for this matching: there is no point of the curve.
            continue
        smaller = loss_of(answers, native, test, tolerance=loss.tolerance, yardstick=loss.yardstick)
        points.append(Point(n, smaller))
        fitting.watch(Progress("learning curve", n, fitting.fitted))
    return LearningCurve((*points, Point(fitting.fitted, loss)))


def _costs(chosen: Trial, network: JoinedNetwork, test: Samples) -> dict[str, Cost]:
    match, few = chosen.match, test.take(slice(0, _TIMED))
    old, new = match.receiver, match.sender
    stitch = sum(p.numel() for p in match.layer.parameters())
    parameters = new.cut.before + stitch + old.cut.after
    whole = sum(p.numel() for p in old.model.module.parameters())
    return costs(
        {
            "old": (old.answer, old.model.present(few).batch(slice(None)), whole),
            "joined": (network.run, new.model.present(few).batch(slice(None)), parameters),
        }
    )


def _audit(
    request: SwapRequest, fitting: Fitting, chosen: Trial, test: Samples
) -> tuple[Audited | None, str, dict[str, int]]:
    """The audit of the chosen stitch, on a part of the samples to fit on and of the test samples."""
    if not request.audit:
        return None, "it was not asked for.", {}
    match = chosen.match
    fit = fitting.samples.take(slice(0, min(fitting.fitted, AUDIT_FIT)))
    some = test.draw(AUDIT_TEST, seed=request.seed)
    try:
        audited = audit(
            match.sender,
            match.receiver,
            fit,
            some,
            matching=match.matching,
            # The stitch that was chosen, and for each control the one that fits between its own cuts.
            stitch="auto",
            controls=CONTROLS,
            audits=AUDITS,
            seeds=(request.seed,),
            watch=request.watch,
        )
    except SeamripperError as e:
        return None, str(e), {}
    return audited, "", {"fit": len(fit), "test": len(some)}


def _why_unreadable(chosen: Trial, fitting: Fitting) -> str:
    if chosen.loss.yardstick == "labels":
        return ""
    return why_unreadable(answers_of(chosen.match.receiver, fitting.choice), fitting.choice)


def _record(request: SwapRequest, fitting: Fitting) -> dict[str, Any]:
    models = {"old": fitting.old.model, "new": fitting.new.model}
    wants = fitting.new.model.wants
    old_cuts, new_cuts = request.cuts
    choices = {"tolerance": fitting.tolerance, "audit": request.audit, "seed": request.seed}
    return {
        **{role: {"source": m.source, "fingerprint": m.fingerprint} for role, m in models.items()},
        "inputs": None if wants is None else wants.as_record(),
        "data": {role: Paired.of(getattr(request, role)).as_record() for role in ("fit", "test")},
        "request": {**choices, "old_cuts": old_cuts, "new_cuts": new_cuts},
        "fitted": fitting.fitted,
        "choice": len(fitting.choice),
        "test": len(request.test),
        "versions": versions(),
        "machine": machine(),
    }
