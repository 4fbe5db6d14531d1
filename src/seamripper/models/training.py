"""Training: how a network or a stitch is trained, and what every training loop shares."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import torch
from torch import Tensor, nn

from seamripper._doors import require
from seamripper._options import accepts, read_options, require_options, split_options
from seamripper._words import did_you_mean
from seamripper.data.samples import batch_bounds
from seamripper.errors import ModelError


@dataclass(frozen=True)
class Training:
    """Optimiser, learning rate and length of a training. The default is for stitches: Balogh & Jelasity's, but shorter.

    `momentum` is SGD's momentum, or Adam's β₁. The learning rate rises linearly over the share `warmup` of the run.
    Then the schedule "constant" leaves it as it is, "steps" multiplies it by 0.1 at each share of the run in `drops`
    (Csiszárik 2021 has 1/3 and 2/3), and "cosine" brings it down to 0 along a half cosine (Hernandez 2022). With `l1`
    the loss is that of the data plus l1 · Σ|w| over all parameters. With `stop` it ends after so many epochs, at the
    learning rate of that time: what the run of all `epochs` was then. With `rest` the training of a stitch ends when
    its loss has come to rest over a horizon of so many steps (see `rested` in `seamripper.matching.descent`), and after
    all epochs at the latest.

    >>> Training(lr=0.1, schedule="steps").rate(40, 100)
    0.010000000000000002
    >>> [round(Training(lr=0.1, schedule="cosine").rate(step, 4), 3) for step in range(4)]
    [0.1, 0.085, 0.05, 0.015]
    """

    optimiser: Literal["adam", "sgd"] = "adam"
    lr: float = 1e-3
    momentum: float = 0.9
    weight_decay: float = 1e-5
    epochs: int = 10
    batch: int = 256
    schedule: Literal["constant", "steps", "cosine"] = "constant"
    warmup: float = 0.0
    drops: tuple[float, ...] = (1 / 3, 2 / 3)
    l1: float = 0.0
    stop: int | None = None
    rest: int | None = None

    def __post_init__(self) -> None:
        if isinstance(self.drops, list):
            object.__setattr__(self, "drops", tuple(self.drops))
        require_options(self, "a training", error=ModelError, weight_decay=0, epochs=0, batch=1, l1=0, stop=1, rest=4)
        self._require("lr", self.lr > 0, "a number above 0")
        for name in ("momentum", "warmup"):
            self._require(name, 0 <= getattr(self, name) < 1, "a number of at least 0 and below 1")
        numbers = isinstance(self.drops, tuple) and all(accepts(float, drop) for drop in self.drops)
        self._require("drops", numbers, "numbers, shares of the run")
        constant = self.schedule == "constant"
        self._require("rest", self.rest is None or constant, "left out with a schedule, which brings the loss to rest")
        self._require("stop", self.stop is None or self.stop <= self.epochs, f"at most its {self.epochs} epochs")

    def _require(self, name: str, right: bool, wanted: str) -> None:
        if not right:
            raise ModelError(f"Expected {name} of a training to be {wanted}, but got {getattr(self, name)!r}.")

    @classmethod
    def make(cls, word: Training | str, name: str = "training") -> Training:
        """The training that a word names, with options if it has any; a Training is returned as it is.

        "stitch" is the default, "smith" and "autoencoder" are those of the networks of Smith et al. 2025, "balogh" that
        of Balogh & Jelasity 2025.

        >>> Training.make("smith?epochs=2") == Training("sgd", lr=0.1, weight_decay=1e-4, batch=128, epochs=2)
        True
        """
        require(word, (Training, str), name, error=ModelError)
        if isinstance(word, Training):
            return word
        preset, options = split_options(word, error=ModelError)
        if preset not in _PRESETS:
            raise ModelError(f"There is no training {preset!r}: {did_you_mean(preset, list(_PRESETS))}")
        return replace(cls(**_PRESETS[preset]), **read_options(options, cls, f"training {preset!r}", error=ModelError))

    @property
    def length(self) -> int:
        """How many epochs it takes: up to `stop`, or all of them.

        >>> Training.make("balogh?stop=40").length, Training.make("balogh").length
        (40, 100)
        """
        return self.epochs if self.stop is None else self.stop

    def build(self, parameters: Iterable[nn.Parameter], *, fused: bool = False) -> torch.optim.Optimizer:
        """The optimiser over these parameters; a `fused` one is faster, and rounds differently."""
        parameters, decay = list(parameters), self.weight_decay
        if self.optimiser == "sgd":
            return torch.optim.SGD(parameters, self.lr, self.momentum, weight_decay=decay, fused=fused or None)
        betas = (self.momentum, 0.999)
        return torch.optim.Adam(parameters, self.lr, betas=betas, weight_decay=decay, fused=fused or None)

    def rate(self, step: int, total: int) -> float:
        """The learning rate at `step` (from 0) of `total`."""
        warm = self.warmup * total
        if step < warm:
            return self.lr * (step + 1) / (warm + 1)
        if self.schedule == "steps":
            return self.lr * 0.1 ** sum(step / total >= drop for drop in self.drops)
        if self.schedule == "cosine":
            return self.lr * 0.5 * (1 + math.cos(math.pi * (step - warm) / (total - warm)))
        return self.lr

    def set_rate(self, optimiser: torch.optim.Optimizer, step: int, total: int) -> float:
        """Give the optimiser the learning rate of this step, which is returned."""
        rate = self.rate(step, total)
        for group in optimiser.param_groups:
            group["lr"] = rate
        return rate

    def penalty(self, module: nn.Module) -> Tensor:
        """What is added to the loss for the size of the module's weights."""
        sizes = [p.abs().sum() for p in module.parameters()] if self.l1 else []
        return self.l1 * torch.stack(sizes).sum() if sizes else torch.zeros(())

    def as_record(self) -> dict[str, Any]:
        """Every option, as JSON has it; without `stop` and `rest` where there is none, as records were before."""
        record = {**asdict(self), "drops": list(self.drops)}
        return {name: value for name, value in record.items() if name not in ("stop", "rest") or value is not None}


_PRESETS: dict[str, dict[str, Any]] = {
    "stitch": {},
    "smith": {"optimiser": "sgd", "lr": 0.1, "weight_decay": 1e-4, "batch": 128, "epochs": 4},
    # Smith et al. give Adam, the learning rate and the epochs; batch and weight decay are ours.
    "autoencoder": {"lr": 1e-4, "weight_decay": 0.0, "batch": 128, "epochs": 25},
    "balogh": {"batch": 64, "epochs": 100},
}


def shuffled_batches(n: int, batch: int, *, seed: int) -> list[Tensor]:
    """The numbers of n samples in an order that the seed decides, in batches."""
    order = torch.randperm(n, generator=torch.Generator().manual_seed(seed))
    return [order[start:stop] for start, stop in batch_bounds(n, batch)]


def all_finite(module: nn.Module) -> bool:
    """Whether no weight and no buffer of the module is NaN or infinite."""
    return all(bool(torch.isfinite(tensor).all()) for tensor in module.state_dict().values())
