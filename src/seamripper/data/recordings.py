"""A folder of recordings, as `recordings:PATH`, laid out as `listing.py` draws it: spectrograms of its files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from seamripper.data.listing import FileSet
from seamripper.data.sound import first_seconds, picture
from seamripper.errors import DataError


@dataclass(frozen=True)
class Recordings(FileSet):
    """Recordings of a folder as log-mel spectrograms, three equal channels of size x size.

    The first `seconds` are heard, at `rate` samples per second; shorter ones are followed by silence.
    """

    name: ClassVar[str] = "recordings"
    about: ClassVar[str] = "your own recordings as spectrograms, one folder per class"
    files, library = "recordings", ("soundfile", "audio")
    endings = (".wav", ".flac", ".ogg", ".oga", ".opus", ".mp3", ".aif", ".aiff", ".aifc", ".au", ".caf", ".w64")

    size: int = 32
    mean: float = 0.5
    std: float = 0.5
    rate: int = 16_000
    seconds: float = 2.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_hearing(self.rate, self.seconds)

    def read(self, path: Path, library: ModuleType) -> NDArray[np.uint8]:
        """The spectrogram of a recording."""
        wave = first_seconds(path, name=str(path), rate=self.rate, seconds=self.seconds, soundfile=library)
        return picture(wave, self.rate, self.size)


def check_hearing(rate: int, seconds: float) -> None:
    """Refuse a rate too low for the bands of a spectrogram, and lengths that no image can show.

    >>> check_hearing(16_000, 0.0)
    Traceback (most recent call last):
      ...
    seamripper.errors.DataError: Expected seconds to be a number from 0.1 to 600, but got 0.0.
    """
    if not 4_000 <= rate <= 192_000:
        raise DataError(f"Expected rate to be a whole number from 4,000 to 192,000 samples per second, but got {rate}.")
    if not 0.1 <= seconds <= 600:
        raise DataError(f"Expected seconds to be a number from 0.1 to 600, but got {seconds}.")
