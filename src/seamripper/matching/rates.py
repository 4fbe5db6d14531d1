"""The learning rate of a stitch, chosen on samples that are held out of those to fit on."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from seamripper._progress import Watcher
from seamripper.errors import MatchError
from seamripper.matching.descent import Losses, mean_losses, train_layers
from seamripper.models.training import Training

_HELD_OUT = 5
"""Of so many samples one is held out."""
_SHORT = 4
"""A trial has one epoch for so many of the training's."""


@dataclass(frozen=True)
class RateTrials:
    """Short trainings of stitches by each of some learning rates, and the loss of each on samples held out of them.

    A trial has a quarter of the epochs, and its schedule takes place within them. `restore` puts the layers, and
    whatever adapts with them, back to where they started.
    """

    layers: Sequence[nn.Module]
    losses_of: Losses
    n: int
    training: Training
    restore: Callable[[], None]
    seed: int
    watch: Watcher

    def losses(self, rates: Sequence[float]) -> list[dict[float, float]]:
        """For each layer the held-out loss by each rate; infinity where its training diverged."""
        order = torch.randperm(self.n, generator=torch.Generator().manual_seed(self.seed))
        held_out, rows = order[: self.n // _HELD_OUT], order[self.n // _HELD_OUT :]
        if not len(held_out):
            raise MatchError(
                f"Expected {_HELD_OUT} samples or more to choose a learning rate by, as a fifth of them is held out, "
                f"but got {self.n}. Give more, or leave out `rates`."
            )
        trials = [self._trial(rate, rows, held_out) for rate in rates]
        return [dict(zip(rates, losses, strict=True)) for losses in zip(*trials, strict=True)]

    def _trial(self, rate: float, rows: Tensor, held_out: Tensor) -> list[float]:
        epochs = math.ceil(self.training.epochs / _SHORT)
        training = replace(self.training, lr=rate, epochs=epochs, stop=None, rest=None)
        outcomes = train_layers(
            self.layers,
            _of(rows, self.losses_of),
            len(rows),
            training,
            seed=self.seed,
            task=f"trial of learning rate {rate:g}",
            watch=self.watch,
        )
        whole = {k: self.layers[k] for k, outcome in enumerate(outcomes) if isinstance(outcome, Tensor)}
        known = mean_losses(whole, _of(held_out, self.losses_of), len(held_out), training) if whole else {}
        self.restore()
        losses = [known.get(k, math.inf) for k in range(len(self.layers))]
        return [loss if math.isfinite(loss) else math.inf for loss in losses]


def train_by(
    rates: Sequence[float],
    layers: Sequence[nn.Module],
    losses_of: Losses,
    train: Callable[[Sequence[nn.Module], Losses, float], Sequence[Tensor | MatchError]],
) -> list[Tensor | MatchError]:
    """What `train` gives for layers that have a learning rate each: those with the same one are trained together."""
    outcomes: dict[int, Tensor | MatchError] = {}
    for rate in dict.fromkeys(rates):
        group = [k for k, other in enumerate(rates) if other == rate]
        trained = train([layers[k] for k in group], _among(group, losses_of), rate)
        outcomes |= zip(group, trained, strict=True)
    return [outcomes[k] for k in range(len(layers))]


def _among(group: Sequence[int], losses_of: Losses) -> Losses:
    """The losses of some of the layers, numbered anew."""
    return lambda index, which: losses_of(index, [group[k] for k in which])


def _of(rows: Tensor, losses_of: Losses) -> Losses:
    """The losses on some of the samples, numbered anew."""
    return lambda index, which: losses_of(rows[index], which)
