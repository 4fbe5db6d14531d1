"""The intervention `time_reversal`: sound is played backwards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from seamripper.audits.interventions._sound import axis_of, sound
from seamripper.audits.interventions.base import Intervention, Kind
from seamripper.data.samples import Inputs, Samples


@dataclass(frozen=True)
class TimeReversal(Intervention):
    """x(t) becomes x(−t): which tones there are stays, how they rise and follow each other does not.

    `axis` is that of time in the inputs, samples counted: the last of waveforms, and of most spectrograms.

    >>> import torch
    >>> wave = Samples("wave", torch.tensor([[0.0, 1, 2]]), torch.tensor([0]), torch.tensor([0]), classes=1)
    >>> TimeReversal().change(wave, seed=0)
    tensor([[2., 1., 0.]])
    """

    name: ClassVar[str] = "time_reversal"
    about: ClassVar[str] = "played backwards"
    kind: ClassVar[Kind] = "audio"

    axis: int = -1

    def change(self, samples: Samples, *, seed: int) -> Inputs:
        """The sound backwards."""
        inputs = sound(samples, self.name)
        return inputs.flip(axis_of(inputs, self.axis, samples, self.name))
