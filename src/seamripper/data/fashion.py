"""Fashion-MNIST: 60,000 and 10,000 pieces of clothing, 28×28, ten kinds (Xiao, Rasul & Vollgraf 2017)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from seamripper.data.base import DataSet, check_split
from seamripper.data.colour import VARIANTS, Grey, colour_images
from seamripper.data.fetch import Remote
from seamripper.data.images import read_split, resize_samples
from seamripper.data.samples import Samples
from seamripper.data.sources import Debian, Url

_PRINTS = {
    "train-images-idx3-ubyte": "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
    "train-labels-idx1-ubyte": "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
    "t10k-images-idx3-ubyte": "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
    "t10k-labels-idx1-ubyte": "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
}
REMOTE = Remote(
    "fashion",
    _PRINTS,
    (
        Debian("dataset-fashion-mnist", {f: f"usr/share/datasets/fashion-mnist/{f}.gz" for f in _PRINTS}),
        Url(
            "https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion/",
            {file: f"{file}.gz" for file in _PRINTS},
        ),
    ),
)


@dataclass(frozen=True)
class Fashion(DataSet):
    """Fashion-MNIST in one of Smith's variants."""

    name: ClassVar[str] = "fashion"
    about: ClassVar[str] = "clothing (Fashion-MNIST), 60,000 + 10,000 of 28x28"
    variants: ClassVar[dict[str, str]] = VARIANTS

    variant: str = "greyscale"
    size: int | None = None
    """Images of size x size, resized (bilinear) after they are coloured; None leaves them as they are."""

    def load(self, split: str, *, n: int | None, seed: int) -> Samples:
        """The split, three channels, or what is kept of it."""
        images, labels = read_split(REMOTE, check_split(split))
        first_id = 0 if split == "train" else 60_000
        # Mean and standard deviation of its own train pixels, as 0.1307 and 0.3081 are MNIST's.
        grey = Grey("fashion", images, labels, first_id, 0.2860, 0.3530, "Fashion-MNIST, held to its sha256")
        every = colour_images(grey, self.variant, split=split, seed=seed)
        return resize_samples(self.select(every, n=n, seed=seed), self.size)
