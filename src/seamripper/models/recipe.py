"""Recipe: how a zoo model is trained."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import nn

from seamripper._doors import require
from seamripper._options import accepts, read_options, split_options
from seamripper._words import did_you_mean
from seamripper.errors import ModelError


@dataclass(frozen=True)
class Recipe:
    """Optimiser, learning rate and length of a training; the defaults are Smith's.

    `momentum` is SGD's momentum, or Adam's β₁. The schedule `cosine` brings the learning rate down to 0 along a half
    cosine: a short training then ends at rest. `dataclasses.replace(Recipe.balogh(), epochs=10)` varies one.

    >>> Recipe(epochs=2)
    Recipe(optimiser='sgd', lr=0.1, momentum=0.9, weight_decay=0.0001, batch=128, epochs=2, schedule='constant')
    >>> [round(Recipe(schedule="cosine").rate(step, 4), 3) for step in range(4)]
    [0.1, 0.085, 0.05, 0.015]
    """

    optimiser: Literal["sgd", "adam"] = "sgd"
    lr: float = 0.1
    momentum: float = 0.9
    weight_decay: float = 1e-4
    batch: int = 128
    epochs: int = 4
    schedule: Literal["constant", "cosine"] = "constant"

    def __post_init__(self) -> None:
        self._check("optimiser", self.optimiser in ("sgd", "adam"), "'sgd' or 'adam'")
        self._check("lr", _is_number(self.lr) and self.lr > 0, "a number above 0")
        self._check("momentum", _is_number(self.momentum) and 0 <= self.momentum < 1, "at least 0 and below 1")
        self._check("weight_decay", _is_number(self.weight_decay) and self.weight_decay >= 0, "a number of at least 0")
        # A batch of one has no statistics for a batch norm to take.
        self._check("batch", accepts(int, self.batch) and self.batch >= 2, "a whole number of at least 2")
        self._check("epochs", accepts(int, self.epochs) and self.epochs >= 1, "a whole number of at least 1")
        self._check("schedule", self.schedule in ("constant", "cosine"), "'constant' or 'cosine'")

    def _check(self, name: str, right: bool, wanted: str) -> None:
        if not right:
            raise ModelError(f"Expected {name} of a recipe to be {wanted}, but got {getattr(self, name)!r}.")

    @classmethod
    def smith(cls) -> Recipe:
        """Classifiers of Smith et al. 2025: SGD 0.1, momentum 0.9, weight decay 1e-4, batch 128, 4 epochs."""
        return cls()

    @classmethod
    def autoencoder(cls) -> Recipe:
        """Autoencoders of Smith et al. 2025: Adam 1e-4, 25 epochs; batch 128 and no weight decay are ours."""
        return cls(optimiser="adam", lr=1e-4, weight_decay=0.0, epochs=25)

    @classmethod
    def balogh(cls) -> Recipe:
        """Base models of Balogh & Jelasity 2025: Adam 1e-3, weight decay 1e-5, batches of 64, 100 epochs."""
        return cls(optimiser="adam", lr=1e-3, weight_decay=1e-5, batch=64, epochs=100)

    def optimise(self, parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
        """The optimiser of this recipe over `parameters`."""
        if self.optimiser == "sgd":
            return torch.optim.SGD(parameters, lr=self.lr, momentum=self.momentum, weight_decay=self.weight_decay)
        return torch.optim.Adam(parameters, lr=self.lr, betas=(self.momentum, 0.999), weight_decay=self.weight_decay)

    def rate(self, step: int, total: int) -> float:
        """The learning rate at `step` (from 0) of `total`."""
        return self.lr if self.schedule == "constant" else self.lr * 0.5 * (1 + math.cos(math.pi * step / total))


def _is_number(value: object) -> bool:
    return accepts(float, value) and math.isfinite(value)  # type: ignore[arg-type]


def as_recipe(recipe: Recipe | str) -> Recipe:
    """The recipe, or the one that a word means: `smith`, `autoencoder` or `balogh`, with options if there are any.

    >>> as_recipe("balogh?epochs=10") == replace(Recipe.balogh(), epochs=10)
    True
    """
    require(recipe, (Recipe, str), "recipe", error=ModelError)
    if isinstance(recipe, Recipe):
        return recipe
    name, given = split_options(recipe, error=ModelError)
    known = {"smith": Recipe.smith, "autoencoder": Recipe.autoencoder, "balogh": Recipe.balogh}
    if name not in known:
        raise ModelError(f"There is no recipe {name!r}: {did_you_mean(name, list(known))}")
    return replace(known[name](), **read_options(given, Recipe, f"recipe {name!r}", error=ModelError))
