"""The intervention `high_pass`: fine detail alone is left."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from seamripper.audits.interventions._tools import OfFrequencies, low_frequencies
from seamripper.audits.interventions.base import images, limits
from seamripper.data.samples import Inputs, Samples


@dataclass(frozen=True)
class HighPass(OfFrequencies):
    """The image minus its low frequencies, on mid-grey: outlines stay, flat colours go.

    The low frequencies are those that `low_pass` with the same `cutoff`, in cycles per image, leaves. Mid-grey, and
    not the image's own mean, takes their place: the mean would keep the colour of a background. One cycle per image is
    the layout and its colours, and no outline yet; a higher cutoff takes the shapes away as well.

    >>> import torch
    >>> edge = torch.tensor([0.0, 0, 0, 1, 1, 1]).expand(1, 1, 6, 6)
    >>> image = Samples("edge", edge, torch.tensor([0]), torch.tensor([0]), classes=1)
    >>> HighPass(cutoff=1.0).change(image, seed=0)[0, 0, 0]
    tensor([0.4968, 0.4506, 0.2085, 0.7915, 0.5494, 0.5032])
    """

    name: ClassVar[str] = "high_pass"
    about: ClassVar[str] = "fine detail alone, on mid-grey"

    cutoff: float = 1.0

    def change(self, samples: Samples, *, seed: int) -> Inputs:
        """The fine detail of the images."""
        pixels = images(samples, self.name)
        low, high = limits(samples)
        return pixels.sub_(low_frequencies(pixels, self.cutoff)).add_((low + high) / 2).clamp_(low, high)
