"""Planted cues: images of any set with a second cue of ten values, which may agree with the class or not.

What a network knows is then known: trained on `shape` it must tell the class, trained on `cue` it must tell the cue,
and on `both` it may use either. On images of `both` all of them are right, which is where stitches are fooled.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
import torch
from torch import Tensor

from seamripper._words import did_you_mean
from seamripper.data.base import SPLITS, DataSet, check_seed, check_split, datasets
from seamripper.data.colour import COLOURS
from seamripper.data.images import resize_samples
from seamripper.data.samples import Samples
from seamripper.errors import DataError

VALUES = 10
"""Every cue has as many values as the sets have classes."""
_AT_ONCE = 1_024


def _colour(images: Tensor, values: Tensor, draws: Tensor) -> Tensor:
    """A tint: 35 % of each pixel is the colour, which varies a little from image to image."""
    colours = torch.tensor(COLOURS, dtype=torch.float32)[values] + 50 * (draws[:, :3] - 0.5)
    return 0.65 * images + 0.35 * colours[:, :, None, None]


def _place(images: Tensor, values: Tensor, draws: Tensor) -> Tensor:
    """A bright square, a seventh of the image wide, at one of ten places near the edge."""
    height, width = images.shape[-2:]
    side = max(1, min(height, width) // 7)
    turns = 2 * math.pi * values / VALUES
    rows, columns = (
        (size - side) / 2 * (1 + 0.9 * wave) for size, wave in ((height, turns.sin()), (width, turns.cos()))
    )
    inside = [
        (torch.arange(size) >= start.round()[:, None]) & (torch.arange(size) < start.round()[:, None] + side)
        for size, start in ((height, rows), (width, columns))
    ]
    square = inside[0][:, None, :, None] & inside[1][:, None, None, :]
    return torch.where(square, 200 + 55 * draws[:, :1, None, None], images)


def _texture(images: Tensor, values: Tensor, draws: Tensor) -> Tensor:
    """A grating in one of five directions and of one of two frequencies, at any phase."""
    rows, columns = (torch.arange(size, dtype=torch.float32) for size in images.shape[-2:])
    angle, cycles = math.pi * (values % 5) / 5, torch.where(values < 5, 0.12, 0.22)
    along = rows[:, None] * angle.sin()[:, None, None] + columns * angle.cos()[:, None, None]
    waves = torch.sin(2 * math.pi * (cycles[:, None, None] * along + draws[:, :1, None]))
    return 0.75 * images + 32 * (1 + waves[:, None])


def _brightness(images: Tensor, values: Tensor, draws: Tensor) -> Tensor:
    """One of ten levels of light over all of the image."""
    levels = 13 * values + 8 * (draws[:, 0] - 0.5)
    return 0.5 * images + levels[:, None, None, None]


Paint = Callable[[Tensor, Tensor, Tensor], Tensor]
CUES: dict[str, Paint] = {"colour": _colour, "place": _place, "texture": _texture, "brightness": _brightness}


def plant(samples: Samples, cue: str, values: Tensor, draws: Tensor) -> Samples:
    """The images, each with a value of the cue; `draws` (n, 4) in 0 … 1 are what else is random about a cue.

    >>> dark = Samples("toy", torch.zeros(1, 3, 7, 7).byte(), torch.tensor([0]), torch.tensor([0]), classes=10)
    >>> plant(dark, "place", torch.tensor([0]), torch.zeros(1, 4)).inputs[0, 0].tolist()[3]
    [0, 0, 0, 0, 0, 0, 200]
    """
    inputs = samples.inputs
    if not isinstance(inputs, Tensor) or inputs.dim() != 4 or inputs.dtype != torch.uint8 or inputs.shape[1] != 3:
        raise DataError(
            f"Expected {samples.name} to be pictures with three channels of bytes, as cues are planted in those, but a "
            f"sample has the shape {samples.shape}."
        )
    painted = torch.empty(inputs.shape, dtype=torch.uint8)
    for start in range(0, len(samples), _AT_ONCE):
        rows = slice(start, start + _AT_ONCE)
        painted[rows] = CUES[cue](inputs[rows].float(), values[rows], draws[rows]).round_().clamp_(0, 255)
    return replace(samples, inputs=painted, source=f"{samples.source}; {cue} planted")


@dataclass(frozen=True)
class Planted(DataSet):
    """Images of another set, in three channels, with a planted cue of ten values."""

    name = "planted"
    about = "images of another set with a planted cue: planted/both?base=mnist&cue=place"
    variants: ClassVar[dict[str, str]] = {
        "both": "the cue agrees with the class, so that either gives the label",
        "shape": "the cue is drawn by chance, and the class is the label",
        "cue": "the images of `shape`, labelled by the cue",
        "plain": "the images without a cue, labelled by the class",
    }

    variant: str = "both"
    base: str = "mnist"
    """The set: mnist, fashion, cifar10, or another of ten classes of pictures."""
    cue: Literal["colour", "place", "texture", "brightness"] = "place"
    size: int | None = None

    def load(self, split: str, *, n: int | None, seed: int) -> Samples:
        """The split, or what is selected of it, with its cue."""
        if self.variant not in self.variants:
            raise DataError(
                f"{self.name} has no variant {self.variant!r}: {did_you_mean(self.variant, list(self.variants))}"
            )
        every = self._plain(split, seed)
        rng = np.random.RandomState([check_seed(seed), SPLITS.index(split)])
        by_chance, draws = rng.randint(0, VALUES, len(every)), rng.uniform(size=(len(every), 4))
        plain = self.select(every, n=n, seed=seed)
        # Drawn for all and taken by the rows that were selected: a sample is the same however many there are.
        rows = torch.isin(every.ids, plain.ids)
        values = plain.labels if self.variant == "both" else torch.from_numpy(by_chance)[rows]
        chosen = replace(plain, name=f"{self.name}/{self.variant}", mean=0.5, std=0.5)
        if self.variant != "plain":
            chosen = plant(chosen, self.cue, values, torch.from_numpy(draws).float()[rows])
        if self.variant == "cue":
            chosen = replace(chosen, labels=values)
        return resize_samples(chosen, self.size)

    def _plain(self, split: str, seed: int) -> Samples:
        base = datasets.make(self.base)
        if isinstance(base, Planted):
            raise DataError("Expected base to be a set without a planted cue: one cue is planted at a time.")
        samples = base.load(check_split(split), n=None, seed=seed)
        if samples.classes != VALUES:
            raise DataError(
                f"Expected base to have {VALUES} classes, as a cue has so many values, but {self.base} has "
                f"{samples.classes}."
            )
        return samples
