"""Gradient training of a stitch: optimiser, schedule and loop, shared by the matchings that train."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Literal

import torch
from torch import Tensor, nn

from seamripper._options import require_options
from seamripper._progress import Progress, Watcher
from seamripper.activations.collect import MEMORY
from seamripper.data.samples import batch_bounds
from seamripper.errors import DivergedError, MatchError
from seamripper.matching.base import Found, Problem

DIVERGED = "diverged"
"""The first word of the status of a stitch that training has ruined."""
_ROSE = 10.0
"""A loss that ends at so many times what it was at the start has run away."""
_LOOK = 256
"""Samples at a time where the loss is only looked at."""


@dataclass(frozen=True)
class Schedule:
    """The learning rate's factor over the run, by steps taken of all steps.

    `constant`; `steps`: × 0.1 at each of `drops` (shares of the run; Csiszárik 2021 has 1/3 and 2/3); `cosine`: a
    linear warm-up over the share `warmup`, then down to 0 along a half cosine (Hernandez 2022).

    >>> Schedule("steps").factor(40, 100), round(Schedule("cosine", warmup=0.1).factor(55, 100), 6)
    (0.1, 0.5)
    """

    kind: Literal["constant", "steps", "cosine"] = "constant"
    drops: tuple[float, ...] = (1 / 3, 2 / 3)
    warmup: float = 0.05

    def __post_init__(self) -> None:
        require_options(self, "a schedule", error=MatchError, warmup=0)

    def factor(self, step: int, total: int) -> float:
        """What the learning rate is multiplied by at `step` (from 0) of `total`."""
        if self.kind == "constant":
            return 1.0
        share = step / max(total, 1)
        if self.kind == "steps":
            return 0.1 ** sum(share >= drop for drop in self.drops)
        if share < self.warmup:
            return (step + 1) / (self.warmup * total + 1)
        return 0.5 * (1 + math.cos(math.pi * (share - self.warmup) / (1 - self.warmup)))


@dataclass(frozen=True)
class Training:
    """How a stitch is trained. The default is that of Balogh & Jelasity 2025, with fewer epochs.

    `momentum` is SGD's. With `l1` the loss is that of the data plus l1 · Σ|w| over the stitch's parameters. Activations
    of more than `memory` bytes are kept on disk.
    """

    optimiser: Literal["adam", "sgd"] = "adam"
    lr: float = 1e-3
    momentum: float = 0.9
    weight_decay: float = 1e-5
    epochs: int = 10
    batch: int = 256
    schedule: Schedule = Schedule()
    """Or its kind, as a word."""
    l1: float = 0.0
    memory: int = MEMORY

    def __post_init__(self) -> None:
        kind: object = self.schedule
        if isinstance(kind, str):
            object.__setattr__(self, "schedule", Schedule(kind))  # type: ignore[arg-type]
        require_options(
            self, "a training", error=MatchError, momentum=0, weight_decay=0, epochs=0, batch=1, l1=0, memory=0
        )
        if not self.lr > 0:
            raise MatchError(f"Expected a learning rate above 0, but got {self.lr}.")

    def build(self, parameters: list[nn.Parameter]) -> torch.optim.Optimizer:
        """The optimiser over these parameters."""
        if self.optimiser == "sgd":
            return torch.optim.SGD(parameters, self.lr, self.momentum, weight_decay=self.weight_decay, fused=True)
        return torch.optim.Adam(parameters, self.lr, weight_decay=self.weight_decay, fused=True)

    def penalty(self, layer: nn.Module) -> Tensor:
        """What is added to the loss for the size of the layer's weights."""
        sizes = [p.abs().sum() for p in layer.parameters()] if self.l1 else []
        return self.l1 * torch.stack(sizes).sum() if sizes else torch.zeros(())


def orders(n: int, batch: int, *, epochs: int, seed: int) -> Iterator[tuple[int, list[Tensor]]]:
    """For each epoch its number and its batches of sample numbers, shuffled by (seed, epoch)."""
    for epoch in range(epochs):
        generator = torch.Generator().manual_seed((seed << 20) + epoch)
        order = torch.randperm(n, generator=generator)
        yield epoch, [order[start:stop] for start, stop in batch_bounds(n, batch)]


def train_layer(
    layer: nn.Module,
    loss_of: Callable[[Tensor], Tensor],
    n: int,
    training: Training,
    *,
    seed: int,
    task: str,
    watch: Watcher,
) -> Tensor:
    """Train `layer` so that `loss_of(sample numbers)` falls; the loss of every step is returned.

    Only the layer's parameters get gradients; if none ever reaches them, that is an error. A loss that is not finite
    stops the run, and so do weights that are not after the last step, as no further loss would show what it did to
    them.
    """
    parameters = [p for p in layer.parameters() if p.requires_grad]
    if not parameters or training.epochs == 0:
        return torch.zeros(0)
    optimiser = training.build(parameters)
    losses: list[float] = []
    per_epoch = len(next(orders(n, training.batch, epochs=1, seed=seed))[1])
    total = per_epoch * training.epochs
    reached = False
    layer.train()
    for epoch, chunks in orders(n, training.batch, epochs=training.epochs, seed=seed):
        for index in chunks:
            rate = training.lr * training.schedule.factor(len(losses), total)
            for group in optimiser.param_groups:
                group["lr"] = rate
            loss = loss_of(index)
            if training.l1:
                loss = loss + training.penalty(layer)
            losses.append(float(loss.detach()))
            if not math.isfinite(losses[-1]):
                raise diverged(f"The loss became {losses[-1]}", step=len(losses), total=total, lr=rate)
            optimiser.zero_grad(set_to_none=True)
            if loss.requires_grad:
                loss.backward()  # type: ignore[no-untyped-call]
            reached = reached or any(p.grad is not None and bool(p.grad.any()) for p in parameters)
            optimiser.step()
            watch(Progress(task, len(losses), total, {"loss": losses[-1], "epoch": epoch + 1.0}))
    layer.eval()
    # A loss of exactly 0 has no gradient because there is nothing left to learn.
    if not reached and any(losses):
        raise MatchError(
            f"In {total} steps no gradient reached the stitch, so that it was not trained at all: the receiver's "
            "layers behind the cut pass none, as quantised layers do, and ReLUs that are off for every sample. Use the "
            "matching 'direct', which needs no gradient, or start from it with init='direct'."
        )
    if not all(bool(torch.isfinite(t).all()) for t in layer.state_dict().values()):
        raise diverged("The stitch's weights stopped being finite", step=total, total=total, lr=rate)
    return torch.tensor(losses)


def descend(
    problem: Problem,
    training: Training,
    loss_of: Callable[[Tensor], Tensor],
    loss_now: Callable[[], float],
    *,
    task: str,
) -> Found:
    """Train the problem's layer by `loss_of`, and tell how far the loss over all samples, `loss_now`, has come down."""
    start = loss_now()
    losses = train_layer(
        problem.layer, loss_of, len(problem.fit), training, seed=problem.seed, task=task, watch=problem.watch
    )
    end, steps = loss_now(), len(losses)
    if not math.isfinite(end):
        raise diverged(f"The loss over all samples is {end}", step=steps, total=steps, lr=training.lr)
    status = "ok" if steps == 0 else ending(start, end, lr=training.lr)
    return Found(status, {"loss_start": start, "loss_end": end}, {"loss": losses})


def ending(start: float, end: float, *, lr: float) -> str:
    """The status of a training by its loss before and after.

    >>> ending(2.3, 0.1, lr=0.1), ending(2.3, 4.8e30, lr=0.1)
    ('ok', 'diverged: the loss rose from 2.3 to 4.8e+30. Try a smaller learning rate, say lr=0.01')
    """
    if end > _ROSE * start:
        return (
            f"{DIVERGED}: the loss rose from {start:.4g} to {end:.4g}. Try a smaller learning rate, say lr={lr / 10:g}"
        )
    if end < start:
        return "ok"
    return f"the loss did not come down ({start:.4g} → {end:.4g}): try another learning rate"


def mean_loss(layer: nn.Module, loss_of: Callable[[Tensor], Tensor], n: int, training: Training) -> float:
    """The loss over n samples with the layer as it is, in eval mode, and what is added for the size of its weights."""
    layer.eval()
    # Nothing is learnt here, so that small batches would only take longer; very small ones are so for want of memory.
    looked = max(training.batch, min(_LOOK, 8 * training.batch))
    with torch.no_grad():
        # The loss of a batch is the mean over it: weighed by its size, as the last batch is smaller.
        total = math.fsum(
            float(loss_of(index)) * len(index)
            for index in torch.arange(n).split(looked)  # type: ignore[no-untyped-call]
        )
        return total / n + float(training.penalty(layer))


def falling(losses: Sequence[float]) -> float:
    """By what share the loss still fell at the end: the mean over the last fifth of the steps below the fifth before.

    0 where that is within two standard errors of nothing: what has stopped falling has been learnt as far as this
    training goes. NaN where fewer than 20 steps cannot tell. Of a learning rate that falls to 0 it says nothing.

    >>> round(falling([10 * 0.98**step for step in range(100)]), 3), falling([1.0, 0.9, 1.1, 1.0, 0.9, 1.1] * 10)
    (0.332, 0.0)
    """
    fifth = len(losses) // 5
    if fifth < 4:
        return math.nan
    before, last = losses[-2 * fifth : -fifth], losses[-fifth:]
    fell = fmean(before) - fmean(last)
    error = math.hypot(stdev(before), stdev(last)) / math.sqrt(fifth)
    return fell / fmean(before) if fell > 2 * error and fmean(before) > 0 else 0.0


def diverged(what: str, *, step: int, total: int, lr: float) -> DivergedError:
    """The error of a run whose loss is no number any more."""
    return DivergedError(
        f"{what} at step {step} of {total}, with learning rate {lr:g}. Try a smaller one, say lr={lr / 10:g}.",
        step=step,
        lr=lr,
    )
