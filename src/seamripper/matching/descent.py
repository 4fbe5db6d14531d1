"""Gradient descent of a stitch: the loop that the matchings that train share, and how it ended."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
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
Losses = Callable[[Tensor, Sequence[int]], Sequence[Tensor]]
"""(sample numbers, numbers of layers) → the loss of each of these layers on these samples."""


def orders(n: int, batch: int, *, epochs: int, seed: int) -> Iterator[tuple[int, list[Tensor]]]:
    """For each epoch its number and its batches of sample numbers, shuffled by (seed, epoch)."""
    for epoch in range(epochs):
        yield epoch, shuffled_batches(n, batch, seed=(seed << 20) + epoch)


def alone(loss_of: Callable[[Tensor], Tensor]) -> Losses:
    """The loss of one layer as that of several of which there is one."""
    return lambda index, _: [loss_of(index)]


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
    (outcome,) = train_layers([layer], alone(loss_of), n, training, seed=seed, task=task, watch=watch)
    if isinstance(outcome, MatchError):
        raise outcome
    return outcome


def train_layers(
    layers: Sequence[nn.Module],
    losses_of: Losses,
    n: int,
    training: Training,
    *,
    seed: int,
    task: str,
    watch: Watcher,
) -> list[Tensor | MatchError]:
    """What `train_layer` gives for each of several layers, trained on the same batches; or the error that it raises.

    No layer's loss may depend on another layer. Their sum is what falls, so that each gets the gradient of its own loss
    and one backward pass serves all. A layer with an error is left alone from then on, and so is one at rest.
    """
    runs = [_Run(layer) for layer in layers]
    if training.epochs == 0 or not any(run.parameters for run in runs):
        return [torch.zeros(0) for _ in runs]
    optimiser = training.build([p for run in runs for p in run.parameters], fused=True)
    total = training.epochs * len(next(orders(n, training.batch, epochs=1, seed=seed))[1])
    step, rate = 0, training.lr
    for layer in layers:
        layer.train()
    for epoch, chunks in orders(n, training.batch, epochs=training.length, seed=seed):
        for index in chunks:
            going = [k for k, run in enumerate(runs) if run.going]
            if not going:
                return [run.end(total, rate) for run in runs]
            rate = training.set_rate(optimiser, step, total)
            step += 1
            for k, loss in zip(going, losses_of(index, going), strict=True):
                runs[k].take(loss + training.penalty(layers[k]) if training.l1 else loss)
                if not math.isfinite(runs[k].losses[-1]):
                    what = f"The loss became {runs[k].losses[-1]}"
                    runs[k].error = divergence(what, step=step, total=total, lr=rate)
            left = [run for run in runs if run.going]
            if not left:
                continue
            optimiser.zero_grad(set_to_none=True)
            _backward(runs)
            optimiser.step()
            for run in left:
                run.rested = training.rest is not None and is_at_rest(run.losses, training.rest)
            watch(Progress(task, step, total, {"loss": fmean(run.losses[-1] for run in left), "epoch": epoch + 1.0}))
    return [run.end(total, rate) for run in runs]


class _Run:
    """The training of one layer: its losses so far, and the error that ended it, if one did."""

    def __init__(self, layer: nn.Module) -> None:
        self.layer = layer
        self.parameters = [p for p in layer.parameters() if p.requires_grad]
        self.losses: list[float] = []
        self.loss = torch.zeros(())
        self.error: MatchError | None = None
        self.rested = False
        self.has_gradient = False

    @property
    def going(self) -> bool:
        """Whether it goes on."""
        return self.error is None and not self.rested

    def take(self, loss: Tensor) -> None:
        """The loss of the next step."""
        self.loss = loss
        self.losses.append(float(loss.detach()))

    def end(self, total: int, rate: float) -> Tensor | MatchError:
        """The losses of all steps, or why they are worth nothing."""
        if self.error is not None:
            return self.error
        self.layer.eval()
        # A loss of exactly 0 has no gradient because there is nothing left to learn.
        if not self.has_gradient and any(self.losses):
            return MatchError(
                f"In {total} steps no gradient reached the stitch, so it was not trained at all: the receiver's layers "
                "behind the cut block the gradient, as quantised layers do, and ReLUs that are off for every sample. "
                "Use the matching 'direct', which needs no gradient, or start from it with init='direct'."
            )
        if not all_finite(self.layer):
            return divergence("The stitch's weights stopped being finite", step=total, total=total, lr=rate)
        return torch.tensor(self.losses)


def _backward(runs: Sequence[_Run]) -> None:
    """Gradients of the sum of the losses, for the layers whose training goes on; the others have none."""
    losses = [run.loss for run in runs if run.going and run.loss.requires_grad]
    if losses:
        functools.reduce(torch.add, losses).backward()  # type: ignore[no-untyped-call]
    for run in runs:
        if not run.going:
            # What is not finite may have come back through a tail that all have shared; what rests is left alone.
            for parameter in run.parameters:
                parameter.grad = None
        elif not run.has_gradient:
            run.has_gradient = any(p.grad is not None and bool(p.grad.any()) for p in run.parameters)


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
    return mean_losses({0: layer}, alone(loss_of), n, training)[0]


def mean_losses(layers: Mapping[int, nn.Module], losses_of: Losses, n: int, training: Training) -> dict[int, float]:
    """What `mean_loss` gives for each of several layers, by their numbers."""
    for layer in layers.values():
        layer.eval()
    # Nothing is learnt here, so that small batches would only take longer; very small ones are so for want of memory.
    size = max(training.batch, min(_LOOK, 8 * training.batch) // max(1, len(layers)))
    parts: dict[int, list[float]] = {k: [] for k in layers}
    with torch.no_grad():
        for index in torch.arange(n).split(size):  # type: ignore[no-untyped-call]
            for k, loss in zip(layers, losses_of(index, list(layers)), strict=True):
                # The loss of a batch is the mean over it: weighed by its size, as the last batch is smaller.
                parts[k].append(float(loss) * len(index))
        return {k: math.fsum(parts[k]) / n + float(training.penalty(layer)) for k, layer in layers.items()}


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


_RESTS = 0.03
"""A loss is at rest if, over a horizon, it falls by no more than this share of all that it has fallen."""


def is_at_rest(losses: Sequence[float], horizon: int) -> bool:
    """Whether the loss has come to rest: over the last `horizon` steps it fell by little of all that it has fallen.

    The mean over the last horizon is compared with that over the one before, and with that over the first. So neither
    the scale of the loss nor a floor below which it cannot fall counts. Asked once a horizon, and of three or more.

    >>> [next(n for n in range(1, 999) if is_at_rest([floor + scale * 0.99**k for k in range(n)], 50))
    ...  for scale, floor in ((1, 0), (0.01, 0), (1, 5))]
    [400, 400, 400]
    """
    if len(losses) % horizon or len(losses) < 3 * horizon:
        return False
    n = len(losses)
    first, before, last = (fmean(losses[k : k + horizon]) for k in (0, n - 2 * horizon, n - horizon))
    return before - last <= _RESTS * (first - last)


def divergence(what: str, *, step: int, total: int, lr: float) -> DivergedError:
    """The error of a run whose loss is no number any more."""
    return DivergedError(
        f"{what} at step {step} of {total}, with learning rate {lr:g}. Try a smaller one, for example lr={lr / 10:g}.",
        step=step,
        lr=lr,
    )
