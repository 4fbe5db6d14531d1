"""Sound as an intervention takes it."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from seamripper.data.samples import Samples
from seamripper.errors import InapplicableError


def sound(samples: Samples, what: str) -> Tensor:
    """The samples' waveforms or spectrograms (n, …) as a model takes them; an error if they can be none."""
    inputs = samples.batch(slice(None))
    if isinstance(inputs, Tensor) and inputs.dim() >= 2 and inputs.is_floating_point():
        return inputs
    shown = f"inputs of shape {samples.shape} in {inputs.dtype}" if isinstance(inputs, Tensor) else "named inputs"
    raise InapplicableError(
        f"{what} is for sound in floating point, (n, t) or (n, 1, t), but {samples.name} has {shown}."
    )


def axis_of(inputs: Tensor, axis: int, samples: Samples, what: str) -> int:
    """The axis, counted from the front; an error if the samples have none such."""
    dims = inputs.dim()
    # Axis 0 is that of the samples, which are not to change places.
    if not (1 <= axis < dims or -dims < axis < 0):
        raise InapplicableError(
            f"{what} along axis {axis} is not possible for {samples.name}: an axis of one sample is "
            f"1 … {dims - 1}, or −1 … −{dims - 1} from the end."
        )
    return axis % dims


SHORTEST = 64
"""Values that a waveform needs: four windows of the smallest size."""
_WINDOW = 1024
"""Values of a window: 64 ms at 16 kHz, 23 ms at 44.1 kHz."""
_PART = 1 << 21
"""Values that are worked on at a time: a transform takes some ten times their memory."""


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
    # Each new frame lies between two old ones; its tones go on from the last new one as fast as between those two.
    loudness = frames.abs()
    share = (places - before).to(waves.dtype)
    loudness = torch.lerp(loudness[..., before], loudness[..., (before + 1).clamp(max=last)], share)
    phases = _phases(frames.angle(), before.clamp(max=last - 1), hop=hop)
    stretched: Tensor = torch.istft(
        torch.polar(loudness, phases), points, hop, window=window, length=round(size * ratio)
    )
    return _as_loud(stretched, waves)


def _as_loud(waves: Tensor, model: Tensor) -> Tensor:
    """The waveforms as loud as those of `model`: bins that fell out of step cancel each other in part."""
    wanted, there = (wave.square().mean(1, keepdim=True).sqrt() for wave in (model, waves))
    # Silence stays silence, and is not divided by.
    return waves * (wanted / there.clamp(min=torch.finfo(waves.dtype).tiny))


def _phases(old: Tensor, before: Tensor, *, hop: int) -> Tensor:
    """New phases (n, bins, frames): each goes on from the last by what lies between the old ones `before` and after."""
    bins = old.shape[1]
    expected = math.pi * hop / (bins - 1) * torch.arange(bins, dtype=old.dtype)[:, None]
    excess = old.diff(dim=-1) - expected
    # A phase is known up to full turns: the advance is the one nearest to that of the bin's own tone.
    steps = expected + excess - 2 * math.pi * (excess / (2 * math.pi)).round()
    # In float64, as a sum over all frames is to be exact to a small part of a turn.
    sums = torch.cat([old[..., :1], steps[..., before[:-1]]], dim=-1).cumsum(-1, dtype=torch.float64)
    return (sums % (2 * math.pi)).to(old.dtype)


def _resample(waves: Tensor, size: int) -> Tensor:
    """The same waveforms with `size` values: frequencies that fit in are kept, others are cut off."""
    resampled: Tensor = torch.fft.irfft(torch.fft.rfft(waves), n=size) * (size / waves.shape[1])
    return resampled
