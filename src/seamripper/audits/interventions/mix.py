"""The intervention `mix`: the outlines of one image on the colours and coarse shapes of another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from seamripper.audits.interventions._tools import OfFrequencies, low_frequencies, partners
from seamripper.audits.interventions.base import images, limits
from seamripper.data.samples import Inputs, Samples
from seamripper.errors import InapplicableError


@dataclass(frozen=True)
class Mix(OfFrequencies):
    """The high frequencies of an image and the low ones of another: image − low(image) + low(other).

    The other one is drawn among the samples of another label, or, where all have the same, among all others. So cues
    of fine detail and cues of coarse detail disagree (hybrid images: Oliva, Torralba & Schyns 2006). low(·) is what
    `low_pass` with the same `cutoff` leaves; what leaves the range of pixels is clamped to it. One cycle per image
    is the layout and its colours. With four, a small image is the other one with a rim: its cues agree again.

    >>> import torch
    >>> edge, white = torch.tensor([0.0, 0, 0, 0.4, 0.4, 0.4]), torch.ones(6)
    >>> pixels = torch.stack([edge, white])[:, None, None].expand(-1, 1, 6, 6)
    >>> two = Samples("edge and white", pixels, torch.tensor([0, 1]), torch.arange(2), classes=2)
    >>> Mix(cutoff=1.0).change(two, seed=0)[:, 0, 0]
    tensor([[0.9987, 0.9802, 0.8834, 1.0000, 1.0000, 1.0000],
            [0.0013, 0.0198, 0.1166, 0.2834, 0.3802, 0.3987]])
    """

    name: ClassVar[str] = "mix"
    about: ClassVar[str] = "low frequencies of another image"

    cutoff: float = 1.0

    def change(self, samples: Samples, *, seed: int) -> Inputs:
        """The images, each with the low frequencies of another."""
        pixels = images(samples, self.name)
        if len(samples) < 2:
            raise InapplicableError(f"{self.name} takes two images to mix, but {samples.name} has one.")
        coarse = low_frequencies(pixels, self.cutoff)
        pixels.sub_(coarse).add_(coarse[partners(samples, seed=seed)])
        return pixels.clamp_(*limits(samples))
