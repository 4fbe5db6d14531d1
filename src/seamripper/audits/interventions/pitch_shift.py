"""The intervention `pitch_shift`: every tone becomes a higher or a lower one."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from seamripper.audits.interventions.base import Intervention
from seamripper.audits.interventions.inputs import axis_of, sound
from seamripper.data.samples import Inputs, Samples
from seamripper.errors import AuditError, InapplicableError

SHORTEST = 64
"""The number of values that a waveform needs: four windows of the smallest size."""
_WINDOW = 1024
"""The number of values in a window: 64 ms at 16 kHz, 23 ms at 44.1 kHz."""
_PART = 1 << 21
"""The number of values to work on at a time: a transform takes some ten times their memory."""


@dataclass(frozen=True)
class PitchShift(Intervention):
    """A tone of f Hz becomes one of f · 2^(`semitones` / 12) Hz; when it sounds, and for how long, does not change.

    Waveforms (n, t) or (n, 1, t) go through a phase vocoder. For spectrograms, `axis` says which axis of the inputs,
    samples counted, is that of frequency: there a semitone is one bin, low tones come first, and the bins that become
    free take the sample's smallest value.

    >>> tones = torch.zeros(1, 1, 5, 1)
    >>> tones[0, 0, 1] = 9
    >>> spectrogram = Samples("tone", tones, torch.tensor([0]), torch.tensor([0]), classes=1)
    >>> PitchShift(semitones=2, axis=2).change(spectrogram, seed=0).flatten()
    tensor([0., 0., 0., 9., 0.])
    """

    name = "pitch_shift"
    about = "every tone higher or lower"
    kind = "audio"
    between = {"semitones": (-36, 36)}

    semitones: float = 4.0
    axis: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.semitones == 0 or (self.axis is not None and self._bins == 0):
            unit = "bins" if self.axis is not None else "semitones"
            raise AuditError(
                f"The intervention {self.name!r} by {self.semitones:g} semitones is a shift by 0 {unit}, which changes "
                "nothing. Choose 1 or more, or −1 or less."
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
                f"{samples.shape}. If they are spectrograms, name the axis of frequency, for example axis=2."
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
        rest = bins - abs(self._bins)
        if rest <= 0:
            raise InapplicableError(
                f"{self.name} by {abs(self._bins)} bins leaves nothing of {samples.name}, which has {bins} along "
                f"axis {axis}. Shift by less, or take another axis."
            )
        least = inputs.flatten(1).amin(1).view(-1, *[1] * (inputs.dim() - 1))
        moved = least.expand_as(inputs).clone()
        up, down = max(self._bins, 0), max(-self._bins, 0)
        moved.narrow(axis, up, rest).copy_(inputs.narrow(axis, down, rest))
        return moved


def shift_pitch(waves: Tensor, ratio: float) -> Tensor:
    """Waveforms (n, t) with every frequency times `ratio`, of the same length.

    >>> time = torch.arange(4096) / 4096
    >>> higher = shift_pitch(torch.sin(2 * torch.pi * 400 * time)[None], 1.5)
    >>> int(torch.fft.rfft(higher).abs().argmax())
    600
    """
    # Half precision has no transform on a CPU.
    working = waves.to(torch.promote_types(waves.dtype, torch.float32))
    size = waves.shape[1]
    parts = torch.split(working, max(1, _PART // size))
    return torch.cat([_resample(_stretch(part, ratio), size) for part in parts]).to(waves.dtype)


def _stretch(waves: Tensor, ratio: float) -> Tensor:
    """Waveforms (n, t · ratio) of the same tones that last `ratio` times as long."""
    size = waves.shape[1]
    points = min(_WINDOW, 2 ** int(math.log2(size / 4)))
    hop = points // 4
    window = torch.hann_window(points, dtype=waves.dtype)
    frames = torch.stft(waves, points, hop, window=window, return_complex=True)
    last = frames.shape[-1] - 1
    places = torch.arange(0, last + 1, 1 / ratio, dtype=torch.float64)
    before = places.long().clamp_(max=last)
    # Each new frame lies between two old ones; its tones continue from the last new one as fast as between those two.
    loudness = frames.abs()
    share = (places - before).to(waves.dtype)
    loudness = torch.lerp(loudness[..., before], loudness[..., (before + 1).clamp(max=last)], share)
    phases = _phases(frames.angle(), before.clamp(max=last - 1), hop=hop)
    spectrum = torch.polar(loudness, phases)
    stretched: Tensor = torch.istft(spectrum, points, hop, window=window, length=round(size * ratio))
    return _as_loud(stretched, waves)


def _as_loud(waves: Tensor, model: Tensor) -> Tensor:
    """The waveforms as loud as those of `model`: bins that fell out of step cancel each other in part."""
    wanted, there = (wave.square().mean(1, keepdim=True).sqrt() for wave in (model, waves))
    # Silence stays silence, and is not divided by.
    return waves * (wanted / there.clamp(min=torch.finfo(waves.dtype).tiny))


def _phases(old: Tensor, before: Tensor, *, hop: int) -> Tensor:
    """New phases (n, bins, frames): each adds to the last the advance between the old ones at `before` and after it."""
    bins = old.shape[1]
    expected = math.pi * hop / (bins - 1) * torch.arange(bins, dtype=old.dtype)[:, None]
    excess = old.diff(dim=-1) - expected
    # A phase is known up to full turns: the advance is the one nearest to that of the bin's own tone.
    steps = expected + excess - 2 * math.pi * (excess / (2 * math.pi)).round()
    # In float64, as a sum over all frames must be exact to a small part of a turn.
    sums = torch.cat([old[..., :1], steps[..., before[:-1]]], dim=-1).cumsum(-1, dtype=torch.float64)
    return (sums % (2 * math.pi)).to(old.dtype)


def _resample(waves: Tensor, size: int) -> Tensor:
    """The same waveforms with `size` values; frequencies that do not fit are cut off."""
    resampled: Tensor = torch.fft.irfft(torch.fft.rfft(waves), n=size) * (size / waves.shape[1])
    return resampled
