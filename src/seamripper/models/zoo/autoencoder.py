"""A convolutional autoencoder with a bottleneck of 128, as in Smith et al. 2025, appendix B.3.

The paper gives its parts (convolutions, ReLU, max-pooling, then linear layers, and the same in reverse) and
the bottleneck, not its widths: 32 and 64 channels and 256 hidden units are ours.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Literal, cast

from torch import Tensor, nn

from seamripper.models.zoo.base import Architecture


class Autoencoder(nn.Module):
    """`encoder` (image → vector) and `decoder` (vector → image), mirror images of each other.

    >>> import torch
    >>> net = Autoencoder(channels=1, size=28)
    >>> net.encoder(torch.zeros(2, 1, 28, 28)).shape
    torch.Size([2, 128])
    >>> net(torch.zeros(2, 1, 28, 28)).shape
    torch.Size([2, 1, 28, 28])
    """

    def __init__(self, *, channels: int = 1, size: int = 28, bottleneck: int = 128) -> None:
        super().__init__()
        side = size // 4
        flat = 64 * side * side
        self.encoder = _sequence(
            conv1=nn.Conv2d(channels, 32, 3, padding=1),
            relu1=nn.ReLU(),
            pool1=nn.MaxPool2d(2),
            conv2=nn.Conv2d(32, 64, 3, padding=1),
            relu2=nn.ReLU(),
            pool2=nn.MaxPool2d(2),
            flatten=nn.Flatten(),
            fc1=nn.Linear(flat, 256),
            relu3=nn.ReLU(),
            fc2=nn.Linear(256, bottleneck),
        )
        self.decoder = _sequence(
            fc2=nn.Linear(bottleneck, 256),
            relu3=nn.ReLU(),
            fc1=nn.Linear(256, flat),
            unflatten=nn.Unflatten(1, (64, side, side)),
            unpool2=nn.Upsample(scale_factor=2),
            relu2=nn.ReLU(),
            conv2=nn.Conv2d(64, 32, 3, padding=1),
            unpool1=nn.Upsample(scale_factor=2),
            relu1=nn.ReLU(),
            conv1=nn.Conv2d(32, channels, 3, padding=1),
        )

    def forward(self, x: Tensor) -> Tensor:
        """Images in, their reconstructions out."""
        return cast(Tensor, self.decoder(self.encoder(x)))


def _sequence(**modules: nn.Module) -> nn.Sequential:
    return nn.Sequential(OrderedDict(modules))


@dataclass(frozen=True)
class AutoencoderArchitecture(Architecture):
    """A convolutional autoencoder with a bottleneck of 128."""

    name, network, reconstructs = "autoencoder", Autoencoder, True
    channels: int = 1
    size: Literal[28, 32] = 28
