"""A LeNet for 28×28 images (LeCun et al. 1998, with ReLU), as in Smith et al. 2025, appendix C.3."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn

from seamripper.models.zoo.base import Architecture


class LeNet(nn.Module):
    """Two 5×5 convolutions, each with ReLU and average pooling, and three linear layers.

    >>> net = LeNet(channels=1)
    >>> sum(p.numel() for p in net.parameters())
    61706
    """

    def __init__(self, *, classes: int = 10, channels: int = 3) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, 6, 5, padding=2)
        self.relu1 = nn.ReLU()
        self.pool1 = nn.AvgPool2d(2)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.relu2 = nn.ReLU()
        self.pool2 = nn.AvgPool2d(2)
        self.fc1 = nn.Linear(16 * 5 * 5, 120)
        self.relu3 = nn.ReLU()
        self.fc2 = nn.Linear(120, 84)
        self.relu4 = nn.ReLU()
        self.fc3 = nn.Linear(84, classes)

    def forward(self, x: Tensor) -> Tensor:
        """Images in, logits out."""
        x = self.pool1(self.relu1(self.conv1(x)))
        x = self.pool2(self.relu2(self.conv2(x)))
        x = self.relu3(self.fc1(torch.flatten(x, 1)))
        return cast(Tensor, self.fc3(self.relu4(self.fc2(x))))


@dataclass(frozen=True)
class LeNetArchitecture(Architecture):
    """LeNet with ReLU and average pooling, for images of 28x28."""

    name, network, size = "lenet", LeNet, 28
    classes: int = 10
