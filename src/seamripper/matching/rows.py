"""Rows: the answers of a network beside the receiver's, one row for each answer that is asked for.

A classifier answers once per sample, a language model once per token. Every figure is computed from rows, with samples
as its units: the tokens of one text are not independent of each other.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from seamripper._devices import in_float64, move, to_memory, widen
from seamripper.data.samples import UNASKED, UNKNOWN
from seamripper.estimate import Ends, Estimate, jackknife, over_seeds, proportion
from seamripper.models.targets import rows_asked
from seamripper.paired_estimate import paired_estimate

_SHARE: Ends = (0, 1)


@dataclass(frozen=True, eq=False)
class Rows:
    """What a network and the receiver say, row by row, and what would have been right.

    `sample` is the number of the sample that a row belongs to; None if every sample is one row. `top5` and `overlap`
    are None with five classes or fewer, `kl` and `overlap` if the two do not speak of the same classes, and the two
    cross-entropies if every sample is one row.
    """

    named: Tensor
    native: Tensor
    right: Tensor
    right_for_receiver: Tensor
    sample: Tensor | None
    top5: Tensor | None
    kl: Tensor | None
    overlap: Tensor | None
    loss: Tensor | None
    receiver_loss: Tensor | None

    @classmethod
    def of(cls, answers: Tensor, receiver: Tensor, right: Tensor, labels: Tensor, *, first: int = 0) -> Rows:
        """The rows of samples from number `first` on; `right` are the network's targets, `labels` the receiver's."""
        sample = None
        if right.dim() == 2:
            sample = first + torch.arange(len(right))[:, None].expand_as(right)[right != UNASKED]
        # Counted where the answers are, which may be many numbers; the rows are few, and kept in main memory.
        answers, receiver = widen(answers), widen(move(receiver, answers.device))
        right, labels = move(right, answers.device), move(labels, answers.device)
        (ours, targets), (theirs, own) = rows_asked(answers, right), rows_asked(receiver, labels)
        alike, many = ours.shape == theirs.shape, ours.shape[1] > 5
        columns = (
            ours.argmax(1),
            theirs.argmax(1),
            targets,
            own,
            sample,
            (ours.topk(5).indices == targets[:, None]).any(1) if many else None,
            _divergence(ours, theirs) if alike else None,
            _overlap(ours, theirs) if alike and many else None,
            None if sample is None else _cross_entropy(ours, targets),
            None if sample is None else _cross_entropy(theirs, own),
        )
        return cls(*(None if column is None else to_memory(column) for column in columns))  # type: ignore[arg-type]

    @classmethod
    def join(cls, parts: Iterable[Rows]) -> Rows:
        """The rows of several batches."""
        every = list(parts)
        columns = {field.name: [getattr(part, field.name) for part in every] for field in fields(cls)}
        joined: dict[str, Any] = {k: None if each[0] is None else torch.cat(each) for k, each in columns.items()}
        return cls(**joined)

    def __len__(self) -> int:
        return len(self.named)

    # ---- figures

    def share(self, hits: Tensor) -> Estimate:
        """The share of rows that are hits."""
        if self.sample is None:
            return proportion(int(hits.sum()), len(hits))
        return self._mean(hits, _SHARE)

    def mean(self, values: Tensor | None) -> Estimate | None:
        """The mean of one number per row."""
        if values is None:
            return None
        return over_seeds(values.tolist(), "samples") if self.sample is None else self._mean(values)

    def comparison(self, figure: Callable[[Any, Any], Any]) -> Estimate:
        """`figure(accuracy, the receiver's accuracy)`, a difference or a ratio, for both on the same samples."""
        ours, theirs = self.hits, self.receiver_hits
        if self.sample is None:
            return paired_estimate(np.asarray(ours.numpy()), np.asarray(theirs.numpy()), figure)
        columns = (self._sums(ours), self._sums(theirs), self._counts)
        return jackknife(lambda a, b, n: float(figure(a / n, b / n)), *columns, unit="texts")

    @property
    def labelled(self) -> bool:
        """Whether it is known what would have been right."""
        return bool((self.right_for_receiver != UNKNOWN).any())

    @property
    def hits(self) -> Tensor:
        """Which rows the network names rightly."""
        return self.named == self.right

    @property
    def receiver_hits(self) -> Tensor:
        """Which rows the receiver names rightly."""
        return self.native == self.right_for_receiver

    @property
    def chance(self) -> float:
        """The accuracy of always naming what is most often right for the receiver."""
        return float(torch.bincount(self.right_for_receiver).max()) / len(self)

    @property
    def agreement_chance(self) -> float:
        """How often two networks that have nothing in common but how often they give each class would agree."""
        classes = int(max(self.named.max(), self.native.max())) + 1
        p, q = (torch.bincount(x, minlength=classes).double() / len(x) for x in (self.named, self.native))
        return float(p @ q)

    def _mean(self, values: Tensor, within: Ends = (-math.inf, math.inf)) -> Estimate:
        return jackknife(lambda a, n: a / n, self._sums(values), self._counts, within=within, unit="texts")

    def _sums(self, values: Tensor) -> list[float]:
        """The sum over the rows of each sample that has any."""
        assert self.sample is not None
        return sums_by_text(values.double().numpy(), self.sample.numpy())

    @functools.cached_property
    def _counts(self) -> list[float]:
        """How many rows each sample has that has any."""
        return self._sums(torch.ones(len(self)))


def sums_by_text(values: NDArray[np.float64], text: NDArray[np.int64]) -> list[float]:
    """The sum over the rows of each text, in the order of their numbers; texts without rows are left out.

    >>> sums_by_text(np.array([1.0, 2.0, 4.0]), np.array([0, 0, 3]))
    [3.0, 4.0]
    """
    sums: list[float] = np.bincount(text, weights=values)[np.unique(text)].tolist()
    return sums


def exponential(estimate: Estimate | None) -> Estimate | None:
    """e to the power of an estimate and of its ends: the perplexity of a mean cross-entropy."""
    if estimate is None:
        return None
    value, low, high = (math.exp(end) for end in (estimate.value, estimate.low, estimate.high))
    return replace(estimate, value=value, low=low, high=high)


def _cross_entropy(answers: Tensor, targets: Tensor) -> Tensor:
    exact = in_float64(answers)
    return F.cross_entropy(exact, move(targets, exact.device), reduction="none")


def _divergence(answers: Tensor, receiver: Tensor) -> Tensor:
    """KL(receiver ‖ network) of each row, in nats."""
    ours, theirs = (in_float64(scores).log_softmax(1) for scores in (answers, receiver))
    return (theirs.exp() * (theirs - ours)).sum(1).clamp(min=0)


def _overlap(answers: Tensor, receiver: Tensor) -> Tensor:
    """The share of five classes that are among the first five of both, of each row."""
    ours, theirs = (scores.topk(5).indices for scores in (answers, receiver))
    return in_float64((ours[:, :, None] == theirs[:, None]).any(2)).mean(1)
