"""The intervention `mix`: the outlines of one image on the colours and coarse shapes of another."""

from __future__ import annotations

import math
from dataclasses import dataclass

from seamripper.audits.interventions.base import Intervention
from seamripper.audits.interventions.draws import partners
from seamripper.audits.interventions.inputs import images, limits
from seamripper.audits.interventions.low_pass import low_frequencies
from seamripper.data.samples import Inputs, Samples
from seamripper.errors import InapplicableError


@dataclass(frozen=True)
class Mix(Intervention):
    """The high frequencies of an image and the low ones of another: image − low(image) + low(other).

    The other image is drawn from the samples of another label, or from all others where all have the same label. So
    cues of fine detail and cues of coarse detail disagree (hybrid images: Oliva, Torralba & Schyns 2006). low(·) is
    what `low_pass` leaves with the same `cutoff`; values outside the range of pixels are clamped. One cycle per image
    is the layout and its colours. With four, a small image is the other one with a rim, and its cues agree again.

    >>> import torch
    >>> edge, white = torch.tensor([0.0, 0, 0, 0.4, 0.4, 0.4]), torch.ones(6)
    >>> pixels = torch.stack([edge, white])[:, None, None].expand(-1, 1, 6, 6)
    >>> two = Samples("edge and white", pixels, torch.tensor([0, 1]), torch.arange(2), classes=2)
    >>> Mix(cutoff=1.0).change(two, seed=0)[:, 0, 0]
    tensor([[0.9987, 0.9802, 0.8834, 1.0000, 1.0000, 1.0000],
            [0.0013, 0.0198, 0.1166, 0.2834, 0.3802, 0.3987]])
    """

    name, kind = "mix", "image"
    about = "low frequencies of another image"
    between = {"cutoff": (0, math.inf)}

    cutoff: float = 1.0

    def change(self, samples: Samples, *, seed: int) -> Inputs:
        """The images, each with the low frequencies of another."""
        pixels = images(samples, self.name)
        if len(samples) < 2:
            raise InapplicableError(f"{self.name} needs two images or more to mix, but {samples.name} has one.")
        coarse = low_frequencies(pixels, self.cutoff)
        pixels.sub_(coarse).add_(coarse[partners(samples, seed=seed)])
        return pixels.clamp_(*limits(samples))
