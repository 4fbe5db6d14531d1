"""The intervention `time_reversal`: sound is played backwards."""

from __future__ import annotations

from dataclasses import dataclass

from seamripper.audits.interventions.base import Intervention
from seamripper.audits.interventions.inputs import axis_of, sound
from seamripper.data.samples import Inputs, Samples


@dataclass(frozen=True)
class TimeReversal(Intervention):
    """x(t) becomes x(−t): the same tones occur, but they rise, decay and follow each other differently.

    `axis` is the axis of time in the inputs, samples counted: the last one for waveforms and most spectrograms.

    >>> import torch
    >>> wave = Samples("wave", torch.tensor([[0.0, 1, 2]]), torch.tensor([0]), torch.tensor([0]), classes=1)
    >>> TimeReversal().change(wave, seed=0)
    tensor([[2., 1., 0.]])
    """

    name = "time_reversal"
    about = "played backwards"
    kind = "audio"

    axis: int = -1

    def change(self, samples: Samples, *, seed: int) -> Inputs:
        """The sound backwards."""
        inputs = sound(samples, self.name)
        return inputs.flip(axis_of(inputs, self.axis, samples, self.name))
