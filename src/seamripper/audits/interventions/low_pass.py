"""The intervention `low_pass`: fine detail is taken away."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from seamripper.audits.interventions._tools import OfFrequencies, low_frequencies
from seamripper.audits.interventions.base import images, limits
from seamripper.data.samples import Inputs, Samples


@dataclass(frozen=True)
class LowPass(OfFrequencies):
    """A frequency of f cycles per image is weakened by exp(−f² / 2 `cutoff`²): a blur; coarse shapes and colours stay.

    At the cutoff 0.61 of it are left, at twice the cutoff 0.14.

    >>> import torch
    >>> edge = torch.tensor([0.0, 0, 0, 1, 1, 1]).expand(1, 1, 6, 6)
    >>> image = Samples("edge", edge, torch.tensor([0]), torch.tensor([0]), classes=1)
    >>> LowPass(cutoff=1.0).change(image, seed=0)[0, 0, 0]
    tensor([0.0032, 0.0494, 0.2915, 0.7085, 0.9506, 0.9968])
    """

    name: ClassVar[str] = "low_pass"
    about: ClassVar[str] = "fine detail taken away"

    cutoff: float = 4.0

    def change(self, samples: Samples, *, seed: int) -> Inputs:
        """The images without their fine detail."""
        return low_frequencies(images(samples, self.name), self.cutoff).clamp_(*limits(samples))
