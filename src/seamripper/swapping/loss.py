"""What a swap loses: accuracy on the same samples, tested against a tolerance, and the answers that flip."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, TypeAlias

from torch import Tensor

from seamripper.data.samples import Samples
from seamripper.estimate import LEVEL, Estimate, proportion
from seamripper.models.targets import require_classes
from seamripper.paired_estimate import paired_difference, paired_difference_p

Yardstick: TypeAlias = Literal["labels", "old answers"]
"""What counts as right: the labels; or, where these say nothing about the old network, its own answers."""
LossAnswer: TypeAlias = Literal["swap", "do not swap", "not shown"]


@dataclass(frozen=True)
class Loss:
    """error(joined) − error(old) on the same samples, and whether it is shown to be within the tolerance.

    The test is that of two one-sided hypotheses (TOST) by Tango's score statistic for paired shares (1998).
    `p_worse` is the p-value of "the joined network is worse by the tolerance or more", `p_better` that of "it is better
    by the tolerance or more": if both are small, the two are equivalent. `p_within` is that of "it is worse by the
    tolerance or less": if it is small, the swap is shown to lose too much.
    """

    penalty: Estimate
    old: Estimate
    joined: Estimate
    tolerance: float
    yardstick: Yardstick
    p_worse: float
    p_better: float
    p_within: float

    @property
    def answer(self) -> LossAnswer:
        """Whether the two may be swapped: only what is shown not to be worse by the tolerance may."""
        if self.p_worse < LEVEL:
            return "swap"
        return "do not swap" if self.p_within < LEVEL else "not shown"

    @property
    def equivalent(self) -> bool:
        """Whether the joined network is shown to be neither worse nor better by the tolerance."""
        return max(self.p_worse, self.p_better) < LEVEL

    def as_row(self) -> dict[str, Any]:
        """The loss as columns of a table, with the p-value of "worse by the tolerance or more"."""
        return {**self.penalty.as_row(), "p": self.p_worse}

    @property
    def n(self) -> int:
        """How many samples it is of."""
        return self.penalty.n or 0

    def as_record(self) -> dict[str, Any]:
        """The loss as JSON has it."""
        estimates = {name: getattr(self, name).as_record() for name in ("penalty", "old", "joined")}
        tests = {name: getattr(self, name) for name in ("p_worse", "p_better", "p_within")}
        known = {"tolerance": self.tolerance, "yardstick": self.yardstick, "equivalent": self.equivalent}
        return {**estimates, **tests, **known, "answer": self.answer}


@dataclass(frozen=True)
class Flip:
    """A sample to which the joined network gives another answer than the old one; classes are by number."""

    id: int
    old: int
    new: int
    label: int

    def as_record(self) -> dict[str, int]:
        """The flip as JSON has it."""
        return asdict(self)


def loss_of(answers: Tensor, old: Tensor, samples: Samples, *, tolerance: float, yardstick: Yardstick) -> Loss:
    """The loss of a network that gives `answers` to the samples, beside one that gives `old`: a row for each sample.

    >>> import torch
    >>> toy = Samples("toy", torch.zeros(4, 1), torch.tensor([0, 1, 0, 1]), torch.arange(4), classes=2)
    >>> says = torch.eye(2)
    >>> loss = loss_of(says[[0, 0, 1, 1]], says[[0, 1, 0, 0]], toy, tolerance=0.01, yardstick="labels")
    >>> print(loss.penalty.value, loss.answer)
    0.25 not shown
    """
    named, native = answers.argmax(1), old.argmax(1)
    if yardstick == "labels":
        require_classes(samples.labels, old, samples.name)
    right = samples.labels if yardstick == "labels" else native
    ours, theirs, n = named == right, native == right, len(samples)
    losses, gains = int((theirs & ~ours).sum()), int((ours & ~theirs).sum())
    penalty = paired_difference(losses, gains, n)
    return Loss(
        # A share of answers that change is not below 0.
        penalty=penalty if yardstick == "labels" else replace(penalty, low=max(0.0, penalty.low)),
        old=proportion(int(theirs.sum()), n),
        joined=proportion(int(ours.sum()), n),
        tolerance=tolerance,
        yardstick=yardstick,
        p_worse=paired_difference_p(losses, gains, n, tolerance),
        p_better=paired_difference_p(losses, gains, n, -tolerance, above=True),
        p_within=paired_difference_p(losses, gains, n, tolerance, above=True),
    )


def flips_of(answers: Tensor, old: Tensor, samples: Samples) -> tuple[Flip, ...]:
    """The samples whose answer changes, in their order."""
    named, native = answers.argmax(1), old.argmax(1)
    rows = (named != native).nonzero()[:, 0].tolist()
    return tuple(
        Flip(int(samples.ids[row]), int(native[row]), int(named[row]), int(samples.labels[row])) for row in rows
    )


def count_flips(flips: Sequence[Flip]) -> dict[str, int]:
    """How many flips turn a right answer wrong, how many a wrong one right, and how many leave it wrong.

    >>> count_flips([Flip(0, old=1, new=2, label=1), Flip(7, old=1, new=2, label=2)])
    {'right to wrong': 1, 'wrong to right': 1, 'wrong to wrong': 0}
    """
    broken, mended = sum(f.old == f.label for f in flips), sum(f.new == f.label for f in flips)
    return {"right to wrong": broken, "wrong to right": mended, "wrong to wrong": len(flips) - broken - mended}
