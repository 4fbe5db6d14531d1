"""What a match does: the functional result, against the receiver itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from seamripper._doors import require, require_function, require_whole
from seamripper._notebook import short
from seamripper._progress import Progress, Watcher, nobody
from seamripper._stats import Estimate, paired, proportion
from seamripper.activations.collect import require_finite
from seamripper.cut.split import Split
from seamripper.data.samples import Samples, batches_in, both, require_samples
from seamripper.errors import DataError, MatchError
from seamripper.matching.match import Match, require_inputs, shared
from seamripper.matching.task import Task, require_classes

_BATCH = 512


@dataclass(frozen=True)
class Functional:
    """Figures of a stitched network on samples that it was not fitted on, each with a 95 % interval and n.

    `penalty` is error(stitched) − error(receiver), `relative_accuracy` accuracy(stitched) / accuracy(receiver), both
    against the receiver on the same samples (`receiver_here`). `receiver_own` is the receiver on its own task, the
    other baseline of Smith et al. 2025; None where its data is not known. `agreement` is the share of samples on which
    stitched network and receiver give the same answer.
    """

    top1: Estimate
    top5: Estimate | None
    penalty: Estimate
    relative_accuracy: Estimate
    agreement: Estimate
    receiver_here: Estimate
    receiver_own: Estimate | None
    data: str
    n: int

    def __repr__(self) -> str:
        told = {"top1": self.top1, "penalty": self.penalty, "agreement": self.agreement}
        figures = ", ".join(f"{name} {figure}" for name, figure in told.items())
        return f"Functional({figures}, n = {self.n} of {short(self.data, 60)!r})"

    def as_record(self) -> dict[str, Any]:
        """The figures as JSON has them."""
        return {k: v.as_record() if isinstance(v, Estimate) else v for k, v in vars(self).items()}


def evaluate(
    match: Match,
    samples: Samples,
    *,
    own: Samples | Estimate | None = None,
    receiver: Tensor | None = None,
    batch: int = _BATCH,
    watch: Watcher = nobody,
) -> Functional:
    """Score the match on `samples`; `own` are samples of the task that the receiver was made for.

    What is known of the receiver need not be found again: its answers to the samples, as `answers_of` gives them, and
    its accuracy on its own task in the place of `own`.
    """
    advice = "`match` finds one, and `load_match` reads one from a file."
    require(match, Match, "match", error=MatchError, advice=advice)
    require_samples(samples, "samples")
    if own is not None and not isinstance(own, Estimate):
        require_samples(own, "own")
    if receiver is not None:
        _require_answers(receiver, samples)
    require_whole(batch, "batch", least=1, error=DataError)
    require_function(watch, "watch", error=MatchError)
    require_inputs(match.sender, match.receiver, samples)
    _require_unseen(match, samples)
    wanted = _wanted(match, samples)
    stitched = []
    with torch.no_grad():
        for step, ((inputs, _), (shown, _)) in enumerate(both(samples, batch), 1):
            stitched.append(match(inputs, shown))
            watch(Progress("scoring", step, batches_in(len(samples), batch)))
    answers = torch.cat(stitched)
    require_finite(answers, "the end of the stitched network", samples.ids)
    receiver = answers_of(match.receiver, samples, batch=batch) if receiver is None else receiver
    if isinstance(own, Samples):
        own = right_of(answers_of(match.receiver, own, batch=batch), own)
    return functional(answers, receiver, samples, wanted=wanted, receiver_own=own)


def _require_answers(answers: object, samples: Samples) -> None:
    """The receiver's answers that are known already are scores: a row for each sample, a column for each class."""
    require(answers, Tensor, "receiver", error=DataError, advice="It holds the receiver's answers to the samples.")
    assert isinstance(answers, Tensor)
    if answers.dim() != 2 or len(answers) != len(samples):
        raise DataError(
            f"Expected receiver to hold the receiver's answers, {len(samples)} rows with a score for each class, but "
            f"got a shape of {tuple(answers.shape)}."
        )


def answers_of(half: Split, samples: Samples, *, batch: int = _BATCH) -> Tensor:
    """What a model, whole and without any stitch, answers to samples (n, classes)."""
    with torch.no_grad():
        found = torch.cat([half.answer(inputs) for inputs, _ in samples.as_it_is.batches(batch)])
    require_finite(found, "the end of the receiver", samples.ids)
    return found


def right_of(answers: Tensor, samples: Samples) -> Estimate:
    """The share of samples that these answers name rightly."""
    return proportion(int((answers.argmax(1) == samples.labels).sum()), len(samples))


def functional(
    answers: Tensor,
    receiver: Tensor,
    samples: Samples,
    *,
    wanted: Tensor | None = None,
    receiver_own: Estimate | None = None,
) -> Functional:
    """The figures of a network that gives `answers` to the samples, where the receiver itself gives `receiver`.

    Both are scores, a row a sample and a column a class. `wanted` are the classes that count as right for the answers:
    the samples' labels, if nothing else is said.

    >>> four = Samples("four", torch.zeros(4, 1), torch.tensor([0, 1, 0, 1]), torch.arange(4), classes=2)
    >>> says = torch.eye(2)
    >>> result = functional(says[[0, 1, 1, 0]], says[[0, 1, 0, 0]], four)
    >>> result.top1.value, result.receiver_here.value, result.penalty.value, result.agreement.value
    (0.5, 0.75, 0.25, 0.75)
    """
    wanted = samples.labels if wanted is None else wanted
    require_classes(wanted, answers, samples.name)
    right, theirs = _right(answers, wanted), _right(receiver, samples.labels)
    n = len(samples)
    return Functional(
        top1=proportion(int(right.sum()), n),
        top5=_top5(answers, wanted),
        penalty=paired(right, theirs, lambda a, b: b - a),
        relative_accuracy=paired(right, theirs, lambda a, b: a / b),
        agreement=proportion(int((answers.argmax(1) == receiver.argmax(1)).sum()), n),
        receiver_here=proportion(int(theirs.sum()), n),
        receiver_own=receiver_own,
        data=samples.name,
        n=n,
    )


def _wanted(match: Match, samples: Samples) -> Tensor:
    """The classes that count as right: those that the stitch was trained to give."""
    return match.matching.wanted(samples) if isinstance(match.matching, Task) else samples.labels


def _right(answers: Tensor, labels: Tensor) -> NDArray[np.bool_]:
    return np.asarray((answers.argmax(1) == labels).numpy())


def _top5(answers: Tensor, labels: Tensor) -> Estimate | None:
    """None with five classes or fewer, where it would always be right."""
    if answers.shape[1] <= 5:
        return None
    hits = (answers.topk(5).indices == labels[:, None]).any(1)
    return proportion(int(hits.sum()), len(labels))


def _require_unseen(match: Match, samples: Samples) -> None:
    fit = match.made_from["fit"]
    same = fit["fingerprint"] == samples.fingerprint
    seen = len(samples) if same else shared(fit["name"], match.fitted, samples)
    if seen:
        raise DataError(
            f"{seen} of the {len(samples)} samples of {samples.name} are among those that the stitch was fitted on "
            f"({fit['n']} of {fit['name']}). Score on others: fit and score on different samples. "
            "(Samples of one data set are told apart by their ids.)"
        )
