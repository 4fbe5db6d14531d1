"""Colour variants of grey digits: which cue, shape or colour, tells the label (Smith et al. 2025, app. A).

A digit is binarised (any pixel above 0 is white) and laid on a flat colour c of ten, which varies a little
from image to image: background = clip(c + 0.1 · 255 · clip(z, −1, 1), 0, 255), z ~ N(0, 1) per image and
channel, cut to whole bytes. The variants differ in which colour is laid, whether the digit is, and which of them
is the label.
"""

from __future__ import annotations

import abc
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from seamripper._words import did_you_mean
from seamripper.data.base import SPLITS, DataSet, check_seed, check_split
from seamripper.data.images import Grey, resize_samples
from seamripper.data.samples import Samples
from seamripper.errors import DataError

COLOURS = (
    (255, 0, 0),
    (0, 255, 0),
    (0, 0, 255),
    (225, 225, 0),
    (225, 0, 225),
    (0, 255, 255),
    (255, 128, 0),
    (255, 0, 128),
    (128, 0, 255),
    (128, 128, 128),
)
"""The colour of each class, as red, green, blue."""

VARIANTS = {
    "greyscale": "left in grey, three equal channels; the shape gives the class",
    "correlated": "white on the colour of the class; both shape and colour give the class",
    "digit": "white on any colour, labelled by the shape",
    "colour": "the images of `digit`, labelled by the colour",
    "colour-only": "the colour of the class and nothing on it",
    "mix": "a third each of greyscale, correlated and colour-only",
}


@dataclass(frozen=True, eq=False)
class Draws:
    """All that is random about a split: colours (n), z (n, 3), and 0, 1 or 2 for the parts of `mix` (n)."""

    colours: NDArray[np.int64]
    z: NDArray[np.float64]
    kinds: NDArray[np.int64]


def draw(n: int, *, split: str, seed: int) -> Draws:
    """The draws of a split of `n`, the same for every variant: `digit` and `colour` have the same pixels.

    >>> drawn = draw(6, split="train", seed=0)
    >>> drawn.colours.tolist(), sorted(drawn.kinds.tolist())
    ([9, 5, 5, 8, 1, 1], [0, 0, 1, 1, 2, 2])
    """
    # RandomState and not Generator: numpy promises that its streams never change.
    rng = np.random.RandomState([check_seed(seed), SPLITS.index(check_split(split))])
    colours = rng.randint(0, len(COLOURS), size=n, dtype=np.int64)
    z = rng.standard_normal((n, 3))
    kinds = rng.permutation(n).astype(np.int64) % 3
    return Draws(colours, z, kinds)


def background(colours: NDArray[np.int64], z: NDArray[np.float64]) -> NDArray[np.uint8]:
    """The flat colour (n, 3) of each image: clip(c + 25.5 · clip(z, −1, 1), 0, 255) without its fraction.

    >>> background(np.array([0, 9]), np.array([[-0.5, 0.5, 9.0], [-9.0, 0.0, 0.1]])).tolist()
    [[242, 12, 25], [102, 128, 130]]
    """
    flat = np.array(COLOURS, dtype=np.float64)[colours] + np.clip(z, -1, 1) * (0.1 * 255)
    # astype cuts the fraction off, as the authors' code does.
    return np.clip(flat, 0, 255).astype(np.uint8)


def colour_images(grey: Grey, variant: str, *, split: str, seed: int = 0) -> Samples:
    """The variant of a split of grey images, all of it, so that a sample is the same however many are drawn.

    >>> one = Grey("toy", np.array([[[0, 1]]], np.uint8), np.array([3]), 0, 0.1307, 0.3081, "memory")
    >>> colour_images(one, "greyscale", split="train").inputs.tolist()
    [[[[0, 1]], [[0, 1]], [[0, 1]]]]
    >>> colour_images(one, "correlated", split="train").inputs.tolist()
    [[[[202, 255]], [[216, 255]], [[25, 255]]]]
    """
    if variant not in VARIANTS:
        raise DataError(f"{grey.name} has no variant {variant!r}: {did_you_mean(variant, list(VARIANTS))}")
    drawn = draw(len(grey.labels), split=split, seed=seed)
    by_chance = variant in ("digit", "colour")
    flat = background(drawn.colours if by_chance else grey.labels, drawn.z)
    plain = variant == "greyscale"
    return Samples(
        name=f"{grey.name}/{variant}",
        inputs=_paint(grey.images, flat, variant, drawn.kinds),
        labels=torch.from_numpy(drawn.colours if variant == "colour" else grey.labels),
        ids=torch.arange(grey.first_id, grey.first_id + len(grey.labels)),
        classes=len(COLOURS),
        mean=grey.mean if plain else 0.5,
        std=grey.std if plain else 0.5,
        source=grey.source if plain else f"{grey.source}; coloured with seed {seed}",
    )


def _paint(images: NDArray[np.uint8], flat: NDArray[np.uint8], variant: str, kinds: NDArray[np.int64]) -> torch.Tensor:
    """Pixels (n, 3, h, w). Greyscale and colour-only are views that repeat one channel or one pixel."""
    grey = torch.from_numpy(images)[:, None].expand(-1, 3, -1, -1)
    patch = torch.from_numpy(flat)[:, :, None, None].expand(-1, -1, *images.shape[1:])
    if variant == "greyscale":
        return grey
    if variant == "colour-only":
        return patch
    pixels = torch.where(grey[:, :1] > 0, torch.tensor(255, dtype=torch.uint8), patch)
    if variant == "mix":
        kind = torch.from_numpy(kinds)
        pixels[kind == 0] = grey[kind == 0]
        pixels[kind == 2] = patch[kind == 2]
    return pixels


@dataclass(frozen=True)
class GreySet(DataSet):
    """Grey images of ten classes in one of Smith's variants."""

    variants: ClassVar[dict[str, str]] = VARIANTS

    variant: str = "greyscale"
    size: int | None = None
    """Images of size x size, resized (bilinear) after they are coloured; None leaves them as they are."""

    @abc.abstractmethod
    def grey(self, split: str) -> Grey:
        """A split as it is, before it is coloured."""

    def load(self, split: str, *, n: int | None, seed: int) -> Samples:
        """The split, three channels, or what is selected of it."""
        every = colour_images(self.grey(check_split(split)), self.variant, split=split, seed=seed)
        return resize_samples(self.select(every, n=n, seed=seed), self.size)
