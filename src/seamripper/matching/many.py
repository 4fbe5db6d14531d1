"""match_many: several stitches into one receiver, trained in one batch where the matching allows it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from seamripper._progress import Watcher, nobody
from seamripper.activations.collect import MEMORY
from seamripper.cut.frozen import seal
from seamripper.cut.place import Cut, Layout
from seamripper.cut.split import Split, require_split
from seamripper.data.paired import Paired
from seamripper.data.samples import Samples
from seamripper.errors import CutError, DataError, MatchError, SeamripperError, StitchError
from seamripper.matching.base import Findings, Matching, Natives
from seamripper.matching.match import NOTHING, Choices, Match, Prepared, prepare
from seamripper.matching.task import Start, Task
from seamripper.stitches import Stitch

FAILURES = (CutError, StitchError, MatchError, DataError)
"""What may stop one stitch and let the others go on."""
_VALUES: dict[Layout, int] = {"nchw": 2**20, "ntd": 2**18, "nd": 2**20}
"""Values at the receiver's cut in one batch, of all stitches together, beyond which a tail gains nothing by more of
them. Measured on two cores; a block of a transformer makes seven values of each token's value."""

Fit = Samples | Paired


@dataclass(frozen=True, eq=False)
class _Case:
    """One sender, and the samples that it and the receiver are shown."""

    sender: Split
    fit: Paired
    held_out: Paired | None


def match_many(
    senders: Sequence[Split],
    receiver: Split,
    fit: Fit | Sequence[Fit],
    *,
    stitch: Stitch | str = "auto",
    matching: Matching | str | None = None,
    held_out: Fit | Sequence[Fit] | None = None,
    seed: int = 0,
    watch: Watcher = nobody,
) -> list[Match | SeamripperError]:
    """For each sender the match that `match` finds for it alone, or the error that `match` raises.

    `fit` and `held_out` are for all senders, or one for each (`replay` gives such pairs); what the receiver is shown
    must be the same for all. Stitches that are trained on the task share the receiver's frozen tail: the activations
    that each makes of the same samples go through it in one batch, forwards and backwards, and each stitch gets the
    gradient of its own loss. `benchmarks/task_many.py` shows what that buys. Other matchings, and augmented inputs, go
    one at a time.
    """
    require_split(receiver, "receiver")
    for number, sender in enumerate(senders):
        require_split(sender, f"senders[{number}]")
    choices = replace(Choices.of(stitch, matching, "all", seed, watch), natives=Natives())
    n = len(senders)
    fits = _for_each(fit, n, "fit")
    others: Sequence[Paired | None] = [None] * n if held_out is None else _for_each(held_out, n, "held_out")
    cases = [_Case(*case) for case in zip(senders, fits, others, strict=True)]
    _require_one_set(fits)
    _require_one_set([pair for pair in others if pair is not None])
    task = choices.matching
    if not (isinstance(task, Task) and task.keeps_activations):
        return [_alone(case, receiver, choices) for case in cases]
    size = group_size(receiver.cut, task.training.batch)
    groups = (cases[start : start + size] for start in range(0, len(cases), size))
    return [outcome for group in groups for outcome in _together(group, receiver, task, choices)]


def group_size(cut: Cut, batch: int) -> int:
    """How many stitches into this cut are trained in one batch: at least one, or as many as a tail gains by.

    More values at once (2²⁰ of maps and vectors, 2¹⁸ of tokens) take more memory and, by more than twice, more time.

    >>> group_size(Cut("layer1", (16, 32, 32), "nchw"), 64), group_size(Cut("layer4", (128, 4, 4), "nchw"), 64)
    (1, 8)
    """
    return max(1, _VALUES[cut.layout] // (batch * math.prod(cut.shape)))


def _for_each(given: Fit | Sequence[Fit], n: int, name: str) -> list[Paired]:
    """What is given for each of n senders."""
    if isinstance(given, str) or not isinstance(given, Sequence):
        return [Paired.of(given, name)] * n
    if len(given) != n:
        raise DataError(
            f"Expected {name} to be samples for all {n} senders, or a list with one for each, but got {len(given)}."
        )
    return [Paired.of(each, name) for each in given]


def _require_one_set(pairs: Sequence[Paired]) -> None:
    """Refuse samples of which the receiver is shown different ones by different senders' pairs."""
    for pair in pairs[1:]:
        same = len(pair) == len(pairs[0]) and torch.equal(pair.ids, pairs[0].ids)
        if not (same and torch.equal(pair.labels, pairs[0].labels)):
            raise DataError(
                "Expected the receiver to be shown the same samples beside every sender, in the same order, but got "
                f"{pairs[0]!r} and {pair!r}. Call `match_many` once for each set."
            )


def _alone(case: _Case, receiver: Split, choices: Choices) -> Match | SeamripperError:
    """The outcome of one sender by itself."""
    try:
        return prepare(case.sender, receiver, case.fit, case.held_out, choices).find()
    except FAILURES as e:
        return e


def _together(cases: Sequence[_Case], receiver: Split, task: Task, choices: Choices) -> list[Match | SeamripperError]:
    """The outcomes of senders whose stitches are trained in one batch."""
    outcomes: dict[int, Match | SeamripperError] = {}
    ready: dict[int, Prepared] = {}
    for number, case in enumerate(cases):
        try:
            ready[number] = prepare(case.sender, receiver, case.fit, case.held_out, choices)
        except FAILURES as e:
            outcomes[number] = e
    models = {f"sender {number + 1}": each.problem.sender.model.module for number, each in ready.items()}
    starts: dict[int, Start] = {}
    with seal({**models, "receiver": receiver.model.module}):
        for number, each in ready.items():
            if not each.has_parameters:
                outcomes[number] = each.match(NOTHING)
                continue
            try:
                # All of them are held at once, so they share the room that one would have.
                starts[number] = task.start(each.problem, memory=MEMORY // len(cases))
            except FAILURES as e:
                outcomes[number] = e
        findings = _train(list(starts.values()), task)
    for number, result in zip(starts, findings, strict=True):
        outcomes[number] = ready[number].match(result) if isinstance(result, Findings) else result
    return [outcomes[number] for number in range(len(cases))]


def _train(starts: Sequence[Start], task: Task) -> list[Findings | MatchError]:
    """The findings of all, in one batch if the tail is given the same beside the activations of each."""
    contexts = [start.sent.context for start in starts]
    if starts and all(torch.equal(context[name], value) for context in contexts for name, value in contexts[0].items()):
        return task.train(starts)
    return [findings for start in starts for findings in task.train([start])]
