"""The mixture `amplitude`: the amplitudes of the other image, with the phases of this one."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from seamripper.audits.mixtures.base import Mixture, require_tensors
from seamripper.audits.mixtures.masks import from_spectrum, spectrum
from seamripper.data.samples import Inputs


@dataclass(frozen=True)
class Amplitude(Mixture):
    """How strong each frequency is comes from the other input; where its waves lie, from this one.

    Phases are what people see by (Oppenheim & Lim 1981); amplitudes hold textures, brightness and colours.

    >>> a, b = torch.tensor([[[[1.0, -1.0]]]]), torch.tensor([[[[3.0, 5.0]]]])
    >>> Amplitude().mix(a, b, torch.tensor([0]), strength=1.0, seed=0).flatten()
    tensor([5., 3.])
    """

    name = "amplitude"
    about = "the amplitudes of all frequencies"
    forms = ("image", "wave")

    def mix(self, a: Inputs, b: Inputs, ids: Tensor, *, strength: float, seed: int) -> Inputs:
        """The inputs, each with the amplitudes of another."""
        a, b = require_tensors(a, b, self.name, dims=(3, 4))
        axes = (-2, -1) if a.dim() == 4 else (-1,)
        ours, theirs = spectrum(a, axes), spectrum(b, axes)
        return from_spectrum(torch.polar(theirs.abs(), ours.angle()), a, axes)
