"""A folder of recordings, as `recordings:PATH`, laid out as `listing.py` draws it: spectrograms of its files."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import torch

from seamripper._words import need
from seamripper.data.base import DataSet, check_size
from seamripper.data.folder import check_scale
from seamripper.data.listing import Files, files_of
from seamripper.data.samples import Samples
from seamripper.data.sound import first_seconds, picture
from seamripper.errors import DataError

RECORDINGS = Files(
    "recordings",
    "recordings",
    (".wav", ".flac", ".ogg", ".oga", ".opus", ".mp3", ".aif", ".aiff", ".aifc", ".au", ".caf", ".w64"),
)


@dataclass(frozen=True)
class Recordings(DataSet):
    """Recordings of a folder as log-mel spectrograms, three equal channels of size x size.

    The first `seconds` are heard, at `rate` samples a second; shorter ones are followed by silence. With `n`, only
    the recordings that are drawn are read.
    """

    name: ClassVar[str] = "recordings"
    about: ClassVar[str] = "your own recordings as spectrograms, in a folder a class"
    takes: ClassVar[str] = "path"

    path: str
    size: int = 32
    rate: int = 16_000
    seconds: float = 2.0
    mean: float = 0.5
    std: float = 0.5
    limit: int = 4 * 10**9

    def __post_init__(self) -> None:
        super().__post_init__()
        check_scale(self.mean, self.std)
        check_hearing(self.rate, self.seconds)

    def load(self, split: str, *, n: int | None, seed: int) -> Samples:
        """The recordings of a split that are kept; no others are read."""
        soundfile = need("soundfile", extra="audio", what="A folder of recordings")
        listed, paths = files_of(self.path, split, RECORDINGS)
        kept = self.select(listed, n=n, seed=seed)
        check_size(
            len(kept) * 3 * self.size**2,
            limit=self.limit,
            name=kept.name,
            advice="Draw fewer (n), or take a smaller size.",
        )
        pixels = np.empty((len(kept), 1, self.size, self.size), np.uint8)
        for row, place in enumerate(kept.inputs):
            path = paths[int(place)]
            wave = first_seconds(path, name=str(path), rate=self.rate, seconds=self.seconds, soundfile=soundfile)
            pixels[row] = picture(wave, self.rate, self.size)
        inputs = torch.from_numpy(pixels).expand(-1, 3, -1, -1)
        return replace(kept, inputs=inputs, mean=self.mean, std=self.std)


def check_hearing(rate: int, seconds: float) -> None:
    """Refuse a rate too low for the bands of a spectrogram, and lengths that no image can show.

    >>> check_hearing(16_000, 0.0)
    Traceback (most recent call last):
      ...
    seamripper.errors.DataError: Expected seconds to be a number from 0.1 to 600, but got 0.0.
    """
    if not 4_000 <= rate <= 192_000:
        raise DataError(f"Expected rate to be a whole number from 4,000 to 192,000 samples a second, but got {rate}.")
    if not 0.1 <= seconds <= 600:
        raise DataError(f"Expected seconds to be a number from 0.1 to 600, but got {seconds}.")
