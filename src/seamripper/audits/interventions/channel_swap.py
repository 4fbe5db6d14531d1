"""The intervention `channel_swap`: each colour becomes another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch

from seamripper.audits.interventions.base import Intervention
from seamripper.audits.interventions.inputs import images
from seamripper.data.samples import Inputs, Samples


@dataclass(frozen=True)
class ChannelSwap(Intervention):
    """Red, green and blue change places; shapes stay, and so does all that is grey.

    `order` says which channels red, green and blue are taken from: "gbr" and "brg" go round, "bgr" swaps two.

    >>> red = Samples("red", torch.tensor([1.0, 0, 0]).view(1, 3, 1, 1), torch.tensor([0]), torch.tensor([0]), 1)
    >>> ChannelSwap().change(red, seed=0).flatten()
    tensor([0., 0., 1.])
    """

    name, kind = "channel_swap", "image"
    about = "red, green and blue change places"

    order: Literal["gbr", "brg", "bgr"] = "gbr"

    def change(self, samples: Samples, *, seed: int) -> Inputs:
        """The images in other colours."""
        pixels = images(samples, self.name, channels=(3,))
        return pixels[:, torch.tensor(["rgb".index(channel) for channel in self.order])]
