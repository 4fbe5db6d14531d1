"""The mixture `frequencies`: a band of frequencies of the other image or sound."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from torch import Tensor

from seamripper.audits.mixtures.base import Mixture, require_tensors
from seamripper.audits.mixtures.masks import frequencies, from_spectrum, spectrum
from seamripper.data.samples import Inputs

_BANDS = {"low": (0.0, 0.1), "middle": (0.1, 0.25), "high": (0.2, 1.0)}
"""Where each band begins and ends, in cycles per pixel or per step of time."""


@dataclass(frozen=True)
class Frequencies(Mixture):
    """One `band` of frequencies from the other input, in cycles per pixel: low < 0.1, middle 0.1 – 0.25, high > 0.2.

    A weaker one is narrower: the low band ends and the high band begins nearer to the end of the spectrum.

    >>> import torch
    >>> a, b = torch.zeros(1, 1, 2, 2), torch.tensor([[[[3.0, 1.0], [3.0, 1.0]]]])
    >>> Frequencies(band="low").mix(a, b, torch.tensor([0]), strength=1.0, seed=0).flatten()
    tensor([2., 2., 2., 2.])
    """

    name = "frequencies"
    about = "a band of frequencies"
    forms = ("image", "wave", "vector")
    strengths = (1.0, 0.7, 0.4)
    variants = ({"band": "low"}, {"band": "middle"}, {"band": "high"})

    band: Literal["low", "middle", "high"] = "low"

    @property
    def words(self) -> str:
        """The band by its name."""
        return f"{self.band} frequencies"

    def mix(self, a: Inputs, b: Inputs, ids: Tensor, *, strength: float, seed: int) -> Inputs:
        """The inputs, each with a band of frequencies of another."""
        a, b = require_tensors(a, b, self.name, dims=(2, 3, 4))
        axes = (-2, -1) if a.dim() == 4 else (-1,)
        low, high = self.edges(strength)
        cycles = frequencies(tuple(a.shape[axis] for axis in axes))
        chosen = (cycles >= low) & (cycles < high)
        return a + from_spectrum(spectrum(b - a, axes) * chosen, a, axes)

    def edges(self, strength: float) -> tuple[float, float]:
        """Where the band begins and ends.

        >>> [Frequencies(band=band).edges(0.5) for band in ("low", "high")]
        [(0.0, 0.05), (0.35, 1.0)]
        """
        low, high = _BANDS[self.band]
        if self.band == "low":
            return low, strength * high
        if self.band == "high":
            # 0.5 cycles per pixel is the end of the spectrum along an axis.
            return 0.5 - strength * (0.5 - low), high
        middle, half = (low + high) / 2, strength * (high - low) / 2
        return middle - half, middle + half
