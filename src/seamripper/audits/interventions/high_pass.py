"""The intervention `high_pass`: fine detail alone is left."""

from __future__ import annotations

import math
from dataclasses import dataclass

from seamripper.audits.interventions.base import Intervention
from seamripper.audits.interventions.inputs import images, limits
from seamripper.audits.interventions.low_pass import low_frequencies
from seamripper.data.samples import Inputs, Samples


@dataclass(frozen=True)
class HighPass(Intervention):
    """The image minus its low frequencies, on mid-grey: outlines stay, flat colours go.

    The low frequencies are those that `low_pass` leaves with the same `cutoff`, in cycles per image. Mid-grey takes
    their place, as the image's own mean would keep the colour of a background. One cycle per image is the layout and
    its colours, and no outline yet; a higher cutoff takes the shapes away as well.

    >>> import torch
    >>> edge = torch.tensor([0.0, 0, 0, 1, 1, 1]).expand(1, 1, 6, 6)
    >>> image = Samples("edge", edge, torch.tensor([0]), torch.tensor([0]), classes=1)
    >>> HighPass(cutoff=1.0).change(image, seed=0)[0, 0, 0]
    tensor([0.4968, 0.4506, 0.2085, 0.7915, 0.5494, 0.5032])
    """

    name, kind = "high_pass", "image"
    about = "only fine detail, on mid-grey"
    between = {"cutoff": (0, math.inf)}

    cutoff: float = 1.0

    def change(self, samples: Samples, *, seed: int) -> Inputs:
        """The fine detail of the images."""
        pixels = images(samples, self.name)
        low, high = limits(samples)
        return pixels.sub_(low_frequencies(pixels, self.cutoff)).add_((low + high) / 2).clamp_(low, high)
