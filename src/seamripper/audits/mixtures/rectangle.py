"""The mixture `rectangle`: a rectangle of the other image, somewhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from seamripper.audits.interventions.draws import uniforms
from seamripper.audits.mixtures.base import Mixture, require_tensors
from seamripper.audits.mixtures.masks import drawn_stretches
from seamripper.data.samples import Inputs

_AREAS = {"small": (0.1, 0.4), "large": (0.4, 0.7)}
"""The smallest and the largest share of the image."""


@dataclass(frozen=True)
class Rectangle(Mixture):
    """A rectangle from the other image (CutMix: Yun et al. 2019): place, size and shape are drawn for each pair.

    A small one is 10 to 40 % of the image, a large one 40 to 70 %.

    >>> mask = Rectangle().mask((4, 4), torch.tensor([3]), strength=1.0, seed=0)
    >>> mask.int().tolist()
    [[[0, 0, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 0, 0]]]
    """

    name = "rectangle"
    about = "a rectangle"
    forms = ("image",)
    local = True
    strengths = (1.0, 0.7, 0.4)
    variants = ({"size": "small"}, {"size": "large"})

    size: Literal["small", "large"] = "small"

    @property
    def words(self) -> str:
        """The rectangle with its size."""
        return f"a {self.size} rectangle"

    def mix(self, a: Inputs, b: Inputs, ids: Tensor, *, strength: float, seed: int) -> Inputs:
        """The images, each with a rectangle of another."""
        a, b = require_tensors(a, b, self.name, dims=(4,))
        height, width = a.shape[-2:]
        return torch.where(self.mask((height, width), ids, strength=strength, seed=seed)[:, None], b, a)

    def mask(self, shape: tuple[int, int], ids: Tensor, *, strength: float, seed: int) -> Tensor:
        """Which pixels come from the other image (n, h, w)."""
        low, high = _AREAS[self.size]
        draws = uniforms(ids, 4, seed=seed)
        area = strength * (low + (high - low) * draws[:, 0])
        # From twice as high as wide to twice as wide as high, or so.
        tall = 0.35 + 0.3 * draws[:, 1]
        rows = drawn_stretches(area**tall * shape[0], draws[:, 2], shape[0])
        columns = drawn_stretches(area ** (1 - tall) * shape[1], draws[:, 3], shape[1])
        return rows[:, :, None] & columns[:, None, :]
