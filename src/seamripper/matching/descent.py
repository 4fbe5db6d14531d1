"""Gradient descent of a stitch: the loop that the matchings that train share, and how it ended."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from statistics import fmean, stdev

import torch
from torch import Tensor, nn

from seamripper._progress import Progress, Watcher
from seamripper.errors import DivergedError, MatchError
from seamripper.matching.base import Findings, Problem
from seamripper.models.training import Training, all_finite, shuffled_batches

DIVERGED = "diverged"
"""The first word of the status of a stitch that training has ruined."""
_ROSE = 10.0
"""A loss that ends at so many times what it was at the start has run away."""
_LOOK = 256
"""Samples in a batch where the loss is only computed, and nothing is learnt."""


def orders(n: int, batch: int, *, epochs: int, seed: int) -> Iterator[tuple[int, list[Tensor]]]:
    """For each epoch its number and its batches of sample numbers, shuffled by (seed, epoch)."""
    for epoch in range(epochs):
        yield epoch, shuffled_batches(n, batch, seed=(seed << 20) + epoch)


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
    optimiser = training.build(parameters, fused=True)
    losses: list[float] = []
    per_epoch = len(next(orders(n, training.batch, epochs=1, seed=seed))[1])
    total = per_epoch * training.epochs
    has_gradient = False
    layer.train()
    for epoch, chunks in orders(n, training.batch, epochs=training.epochs, seed=seed):
        for index in chunks:
            rate = training.set_rate(optimiser, len(losses), total)
            loss = loss_of(index)
            if training.l1:
                loss = loss + training.penalty(layer)
            losses.append(float(loss.detach()))
            if not math.isfinite(losses[-1]):
                raise divergence(f"The loss became {losses[-1]}", step=len(losses), total=total, lr=rate)
            optimiser.zero_grad(set_to_none=True)
            if loss.requires_grad:
                loss.backward()  # type: ignore[no-untyped-call]
            has_gradient = has_gradient or any(p.grad is not None and bool(p.grad.any()) for p in parameters)
            optimiser.step()
            watch(Progress(task, len(losses), total, {"loss": losses[-1], "epoch": epoch + 1.0}))
    layer.eval()
    # A loss of exactly 0 has no gradient because there is nothing left to learn.
    if not has_gradient and any(losses):
        raise MatchError(
            f"In {total} steps no gradient reached the stitch, so it was not trained at all: the receiver's layers "
            "behind the cut block the gradient, as quantised layers do, and ReLUs that are off for every sample. Use "
            "the matching 'direct', which needs no gradient, or start from it with init='direct'."
        )
    if not all_finite(layer):
        raise divergence("The stitch's weights stopped being finite", step=total, total=total, lr=rate)
    return torch.tensor(losses)


def descend(
    problem: Problem,
    training: Training,
    loss_of: Callable[[Tensor], Tensor],
    loss_now: Callable[[], float],
    *,
    task: str,
) -> Findings:
    """Train the problem's layer by `loss_of`, and report how far the loss over all samples, `loss_now`, came down."""
    start = loss_now()
    losses = train_layer(
        problem.layer, loss_of, len(problem.fit), training, seed=problem.seed, task=task, watch=problem.watch
    )
    end, steps = loss_now(), len(losses)
    if not math.isfinite(end):
        raise divergence(f"The loss over all samples is {end}", step=steps, total=steps, lr=training.lr)
    status = "ok" if steps == 0 else ending(start, end, lr=training.lr)
    return Findings(status, {"loss_start": start, "loss_end": end}, {"loss": losses})


def ending(start: float, end: float, *, lr: float) -> str:
    """The status of a training by its loss before and after.

    >>> ending(2.3, 0.1, lr=0.1), ending(2.3, 4.8e30, lr=0.1)
    ('ok', 'diverged: the loss rose from 2.3 to 4.8e+30. Try a smaller learning rate, for example lr=0.01')
    """
    if end > _ROSE * start:
        return (
            f"{DIVERGED}: the loss rose from {start:.4g} to {end:.4g}. Try a smaller learning rate, for example "
            f"lr={lr / 10:g}"
        )
    if end < start:
        return "ok"
    return f"the loss did not come down ({start:.4g} → {end:.4g}): try another learning rate"


def mean_loss(layer: nn.Module, loss_of: Callable[[Tensor], Tensor], n: int, training: Training) -> float:
    """The loss over n samples with the layer as it is, in eval mode, and what is added for the size of its weights."""
    layer.eval()
    # Nothing is learnt here, so that small batches would only take longer; very small ones are so for want of memory.
    size = max(training.batch, min(_LOOK, 8 * training.batch))
    with torch.no_grad():
        # The loss of a batch is the mean over it: weighed by its size, as the last batch is smaller.
        total = math.fsum(
            float(loss_of(index)) * len(index)
            for index in torch.arange(n).split(size)  # type: ignore[no-untyped-call]
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


def divergence(what: str, *, step: int, total: int, lr: float) -> DivergedError:
    """The error of a run whose loss is no number any more."""
    return DivergedError(
        f"{what} at step {step} of {total}, with learning rate {lr:g}. Try a smaller one, for example lr={lr / 10:g}.",
        step=step,
        lr=lr,
    )
