"""Sound: a recording as one wave at the rate that is asked for, however it was written."""

from __future__ import annotations

import math
from pathlib import Path
from types import ModuleType
from typing import Any, BinaryIO

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional as F

from seamripper.errors import DataError

_RATES = (1_000, 768_000)
"""Rates that recordings have. One far outside is a damaged header, and resampling from it would take all memory."""


def first_seconds(
    file: Path | BinaryIO, *, name: str, rate: int, seconds: float, soundfile: ModuleType
) -> NDArray[np.float64]:
    """The first `seconds` of a recording: the mean of its channels, resampled to `rate`, silence at the end if short.

    `name` is what messages call it, `soundfile` the library that reads it.
    """
    try:
        with soundfile.SoundFile(file) as opened:
            own = int(opened.samplerate)
            channels = opened.read(math.ceil(seconds * own), dtype="float64", always_2d=True)
    # A decoder raises whatever it comes across: errors of its own, OSError, ValueError, …
    except Exception as e:
        raise DataError(f"{name} could not be read as a recording: {e} Repair it or take it out of the folder.") from e
    if len(channels) == 0:
        raise DataError(f"{name} holds no sound: it has no samples. Record it again or take it out of the folder.")
    if not _RATES[0] <= own <= _RATES[1]:
        raise DataError(
            f"Expected {name} to have from {_RATES[0]:,} to {_RATES[1]:,} samples per second, but its header says "
            f"{own:,}. Repair it or take it out of the folder."
        )
    if not np.isfinite(channels).all():
        raise DataError(f"{name} holds NaN or Inf. Repair it or take it out of the folder.")
    wave = resample(channels.mean(axis=1), own, rate)
    whole = round(seconds * rate)
    return np.pad(wave[:whole], (0, max(0, whole - len(wave))))


def resample(wave: NDArray[np.float64], own: int, rate: int) -> NDArray[np.float64]:
    """A wave of `own` samples per second at `rate`, with what the new rate cannot hold filtered out.

    >>> slower = resample(np.ones(441), 44_100, 16_000)
    >>> len(slower), slower[78:82].round(3).tolist()
    (160, [1.0, 1.0, 1.0, 1.0])
    """
    if own == rate:
        return wave
    # Imported here: it takes a third of a second, and few data sets are recordings.
    from scipy.signal import resample_poly

    common = math.gcd(own, rate)
    wave_at_rate: NDArray[np.float64] = resample_poly(wave, rate // common, own // common)
    return wave_at_rate


VERSION = 1
"""Raised with every change that shows in a pixel: what was kept of the old ones is then made again."""

_WINDOW, _HOP = 0.025, 0.010  # seconds
_BANDS = 64
_DECIBELS = 80.0
_AT_ONCE = 512  # windows that are transformed at a time


def mel(hertz: Any) -> Any:
    """The mel scale as HTK has it: 2595 · log10(1 + f / 700).

    >>> round(float(mel(1000.0)), 2)
    999.99
    """
    return 2595.0 * np.log10(1.0 + np.asarray(hertz) / 700.0)


def mel_filters(rate: int, length: int, *, bands: int = _BANDS) -> NDArray[np.float64]:
    """Triangles (bands, length // 2 + 1) over the frequencies of a transform of `length`, from 0 to rate / 2.

    Band b rises from 0 at its lower neighbour's middle to 1 at its own and falls to 0 at the upper one's; the
    middles are evenly spaced in mel.

    >>> mel_filters(8000, 8, bands=2).round(3).tolist()
    [[0.0, 0.676, 0.0, 0.0, 0.0], [0.0, 0.324, 0.906, 0.453, 0.0]]
    """
    edges = 700.0 * (10.0 ** (np.linspace(0.0, mel(rate / 2), bands + 2) / 2595.0) - 1.0)
    heard = np.fft.rfftfreq(length, 1.0 / rate)
    low, middle, high = edges[:-2, None], edges[1:-1, None], edges[2:, None]
    rising, falling = (heard - low) / (middle - low), (high - heard) / (high - middle)
    return np.clip(np.minimum(rising, falling), 0.0, None)


def mel_power(wave: NDArray[np.float64], rate: int) -> NDArray[np.float64]:
    """M (bands, windows), the power of a wave in each band and window; what is too short for a window is filled up."""
    width, hop = round(_WINDOW * rate), round(_HOP * rate)
    length = 2 ** math.ceil(math.log2(2 * width))
    wave = np.pad(wave, (0, max(0, width - len(wave))))
    windows = np.lib.stride_tricks.sliding_window_view(wave, width)[::hop]
    hann = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(width) / width)
    filters = mel_filters(rate, length)
    parts = (windows[start : start + _AT_ONCE] * hann for start in range(0, len(windows), _AT_ONCE))
    return np.concatenate([filters @ np.abs(np.fft.rfft(part, length)).T ** 2 for part in parts], axis=1)


def decibels(power: NDArray[np.float64]) -> NDArray[np.float64]:
    """How far each value lies under the largest, at most 80.

    >>> decibels(np.array([1.0, 100.0, 0.0])).tolist()
    [-20.0, 0.0, -80.0]
    """
    loudest = power.max()
    if loudest <= 0:
        return np.full_like(power, -_DECIBELS)
    least = 10.0 ** (-_DECIBELS / 10)
    levels: NDArray[np.float64] = 10.0 * np.log10(np.maximum(power / loudest, least))
    return levels


def picture(wave: NDArray[np.float64], rate: int, size: int) -> NDArray[np.uint8]:
    """The spectrogram of a wave as an image (size, size) of bytes.

    >>> beep = np.sin(2 * np.pi * 1000 * np.arange(16_000) / 16_000)
    >>> picture(beep, 16_000, 4).tolist()
    [[0, 0, 0, 0], [2, 2, 2, 2], [80, 80, 80, 80], [16, 16, 16, 16]]
    """
    loudness = torch.from_numpy(decibels(mel_power(wave, rate))[::-1].copy())[None, None]
    square = F.interpolate(loudness, (size, size), mode="bilinear", align_corners=False, antialias=True)[0, 0]
    pixels: NDArray[np.uint8] = (255.0 * (1.0 + square / _DECIBELS)).round().clamp(0, 255).byte().numpy()
    return pixels
