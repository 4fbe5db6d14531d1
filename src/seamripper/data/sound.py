"""Sound: a recording as one wave at the rate that is asked for, however it was written."""

from __future__ import annotations

import math
from pathlib import Path
from types import ModuleType
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

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
            f"Expected {name} to have from {_RATES[0]:,} to {_RATES[1]:,} samples a second, but its header says "
            f"{own:,}. Repair it or take it out of the folder."
        )
    if not np.isfinite(channels).all():
        raise DataError(f"{name} holds NaN or Inf. Repair it or take it out of the folder.")
    wave = resampled(channels.mean(axis=1), own, rate)
    whole = round(seconds * rate)
    return np.pad(wave[:whole], (0, max(0, whole - len(wave))))


def resampled(wave: NDArray[np.float64], own: int, rate: int) -> NDArray[np.float64]:
    """A wave of `own` samples a second at `rate`, with what the new rate cannot hold filtered out.

    >>> slower = resampled(np.ones(441), 44_100, 16_000)
    >>> len(slower), slower[78:82].round(3).tolist()
    (160, [1.0, 1.0, 1.0, 1.0])
    """
    if own == rate:
        return wave
    # Imported here: it takes a third of a second, and few data sets are recordings.
    from scipy.signal import resample_poly

    common = math.gcd(own, rate)
    found: NDArray[np.float64] = resample_poly(wave, rate // common, own // common)
    return found
