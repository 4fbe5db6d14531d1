"""Fashion-MNIST: 60,000 and 10,000 pieces of clothing, 28×28, ten kinds (Xiao, Rasul & Vollgraf 2017)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from seamripper.data.colour import GreySet
from seamripper.data.fetch import Remote
from seamripper.data.images import Grey, read_grey
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
class Fashion(GreySet):
    """Fashion-MNIST in one of Smith's variants."""

    name: ClassVar[str] = "fashion"
    about: ClassVar[str] = "clothing (Fashion-MNIST), 60,000 + 10,000 of 28x28"

    def grey(self, split: str) -> Grey:
        """A split of Fashion-MNIST."""
        # Mean and standard deviation of its own train pixels, as 0.1307 and 0.3081 are MNIST's.
        return read_grey(REMOTE, split, mean=0.2860, std=0.3530, title="Fashion-MNIST")
