"""VGG19 without batch norm (Simonyan & Zisserman 2015), with torchvision's layer names and arithmetic."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, cast

import torch
from torch import Tensor, nn

from seamripper.models.zoo.base import Architecture

_CONVOLUTIONS = ((64, 2), (128, 2), (256, 4), (512, 4), (512, 4))


class VGG(nn.Module):
    """Sixteen 3×3 convolutions in five groups, a max-pooling after each group, and three linear layers.

    Five poolings halve the map, so an input needs at least 32×32 pixels: what Smith et al. (2025) feed.
    `width` is a factor on every layer's width. The linear layers start from N(0, 0.01²) at full width, as
    torchvision's, and from N(0, 0.01² / width) at others: with fewer inputs to a sum, the signal would die out.

    >>> net = VGG(width=1 / 16)
    >>> net(torch.zeros(1, 3, 32, 32)).shape
    torch.Size([1, 10])
    """

    def __init__(self, *, classes: int = 10, channels: int = 3, width: float = 1.0) -> None:
        super().__init__()
        features: list[nn.Module] = []
        inside = channels
        for base, n in _CONVOLUTIONS:
            for _ in range(n):
                outside = max(1, round(base * width))
                features += [nn.Conv2d(inside, outside, 3, padding=1), nn.ReLU()]
                inside = outside
            features.append(nn.MaxPool2d(2, stride=2))
        self.features = nn.Sequential(*features)
        self.avgpool = nn.AdaptiveAvgPool2d((7, 7))
        hidden = max(1, round(4096 * width))
        self.classifier = nn.Sequential(
            nn.Linear(inside * 7 * 7, hidden),
            nn.ReLU(),
            nn.Dropout(),
            nn.Linear(hidden, hidden),
            nn.ReLU(),
            nn.Dropout(),
            nn.Linear(hidden, classes),
        )
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
                nn.init.zeros_(cast(Tensor, module.bias))
            elif isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, 0, 0.01 / math.sqrt(width))
                nn.init.zeros_(module.bias)

    def forward(self, x: Tensor) -> Tensor:
        """Images in, logits out."""
        return cast(Tensor, self.classifier(torch.flatten(self.avgpool(self.features(x)), 1)))


@dataclass(frozen=True)
class VGG19(Architecture):
    """VGG19 without batch norm."""

    name, network = "vgg19", VGG
    between: ClassVar = {"width": (0, math.inf)}
    classes: int = 10
    width: float = 1.0
