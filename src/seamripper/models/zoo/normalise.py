"""Normalising inside a network, so that plain images go in: RGB, each value in 0 … 1 (bytes / 255)."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from seamripper.errors import ModelError

Way = Literal["none", "torchvision", "lite", "caffe"]
_WAYS = {
    # Mean and standard deviation of ImageNet's colours, as every network of torchvision has them.
    "torchvision": ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
    # (x − 127) / 128 on bytes (EfficientNet-Lite).
    "lite": ((127 / 255,) * 3, (128 / 255,) * 3),
    # Bytes in the order blue, green, red, less the mean of each: as Caffe had it, and Keras' ResNet-50 has it still.
    "caffe": ((103.939 / 255, 116.779 / 255, 123.68 / 255), (1 / 255,) * 3),
}


class Normalise(nn.Module):
    """y = (x − mean) / std, colour by colour, in one of three ways; `caffe` has red and blue change places first.

    >>> grey = torch.full((1, 3, 1, 1), 0.5)
    >>> for way in ("torchvision", "lite", "caffe"):
    ...     Normalise(way)(grey).flatten()
    tensor([0.0655, 0.1964, 0.4178])
    tensor([0.0039, 0.0039, 0.0039])
    tensor([23.5610, 10.7210,  3.8200])
    """

    mean: Tensor
    std: Tensor

    def __init__(self, way: str) -> None:
        super().__init__()
        mean, std = (torch.tensor(numbers).view(3, 1, 1) for numbers in _WAYS[way])
        self.way = way
        self.register_buffer("mean", mean)
        self.register_buffer("std", std)

    def forward(self, x: Tensor) -> Tensor:
        """Images in, images out."""
        return ((x.flip(1) if self.way == "caffe" else x) - self.mean) / self.std

    def extra_repr(self) -> str:
        """The way, for a list of modules."""
        return self.way


def normaliser(way: str, channels: int) -> Normalise | None:
    """The first module of a network with the option `normalise=way`; None where its inputs come normalised."""
    if way == "none":
        return None
    if channels != 3:
        raise ModelError(
            f"Expected channels to be 3 with normalise={way}, which is of red, green and blue, but got {channels}. "
            "Give normalise=none, and inputs that are normalised."
        )
    return Normalise(way)
