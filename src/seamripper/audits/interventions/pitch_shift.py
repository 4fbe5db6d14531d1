"""The intervention `pitch_shift`: every tone becomes a higher or a lower one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from seamripper.audits.interventions._sound import SHORTEST, axis_of, shift_pitch, sound
from seamripper.audits.interventions._tools import require_between
from seamripper.audits.interventions.base import Intervention, Kind
from seamripper.data.samples import Inputs, Samples
from seamripper.errors import AuditError, InapplicableError


@dataclass(frozen=True)
class PitchShift(Intervention):
    """A tone of f Hz becomes one of f · 2^(`semitones` / 12) Hz; when it sounds, and for how long, stays.

    Waveforms (n, t) or (n, 1, t) go through a phase vocoder. Of spectrograms say by `axis` which one of the inputs'
    axes is that of frequency, samples counted: there a semitone is one bin, low tones first, and the bins that
    become free take the sample's least value.

    >>> import torch
    >>> tones = torch.zeros(1, 1, 5, 1)
    >>> tones[0, 0, 1] = 9
    >>> spectrogram = Samples("tone", tones, torch.tensor([0]), torch.tensor([0]), classes=1)
    >>> PitchShift(semitones=2, axis=2).change(spectrogram, seed=0).flatten()
    tensor([0., 0., 0., 9., 0.])
    """

    name: ClassVar[str] = "pitch_shift"
    about: ClassVar[str] = "every tone higher or lower"
    kind: ClassVar[Kind] = "audio"

    semitones: float = 4.0
    axis: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        require_between(self, "semitones", above=-36, below=36)
        if self.semitones == 0 or (self.axis is not None and self._bins == 0):
            unit = "bins" if self.axis is not None else "semitones"
            raise AuditError(
                f"The intervention {self.name!r} by {self.semitones:g} semitones is a shift by 0 {unit}, which changes "
                "nothing. Take 1 or more, or −1 or less."
            )

    def change(self, samples: Samples, *, seed: int) -> Inputs:
        """The sound, higher or lower."""
        inputs = sound(samples, self.name)
        if self.axis is not None:
            return self._along(inputs, axis_of(inputs, self.axis, samples, self.name), samples)
        waves = inputs.flatten(1)
        if inputs.dim() > 3 or waves.shape[1] != inputs.shape[-1]:
            raise InapplicableError(
                f"{self.name} is for waveforms (n, t) or (n, 1, t), but {samples.name} has inputs of shape "
                f"{samples.shape}. If they are spectrograms, say which axis is that of frequency: axis=2."
            )
        if waves.shape[1] < SHORTEST:
            raise InapplicableError(
                f"{self.name} is for waveforms of at least {SHORTEST} values, "
                f"but those of {samples.name} have {waves.shape[1]}."
            )
        return shift_pitch(waves, 2 ** (self.semitones / 12)).view_as(inputs)

    @property
    def _bins(self) -> int:
        return round(self.semitones)

    def _along(self, inputs: Tensor, axis: int, samples: Samples) -> Tensor:
        """Spectrograms, shifted along their axis of frequency."""
        bins = inputs.shape[axis]
        kept = bins - abs(self._bins)
        if kept <= 0:
            raise InapplicableError(
                f"{self.name} by {abs(self._bins)} bins leaves nothing of {samples.name}, which has {bins} along "
                f"axis {axis}. Shift by less, or take another axis."
            )
        least = inputs.flatten(1).amin(1).view(-1, *[1] * (inputs.dim() - 1))
        moved = least.expand_as(inputs).clone()
        up, down = max(self._bins, 0), max(-self._bins, 0)
        moved.narrow(axis, up, kept).copy_(inputs.narrow(axis, down, kept))
        return moved
