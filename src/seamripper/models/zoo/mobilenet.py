"""MobileNetV2 (Sandler et al. 2018), with torchvision's layer names and arithmetic."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, cast

import torch
from torch import Tensor, nn

from seamripper.models.zoo.base import Architecture, round_channels
from seamripper.models.zoo.normalise import Way, normaliser

_STAGES = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))
"""Expansion, width, number of blocks and first stride of each stage (the paper's table 2)."""


class InvertedResidual(nn.Module):
    """1×1 to more channels, 3×3 on each of them, 1×1 back; y = x + conv(x) where x and conv(x) have one shape."""

    def __init__(self, inside: int, outside: int, *, stride: int, expansion: int) -> None:
        super().__init__()
        hidden = inside * expansion
        layers = [_layer(hidden, hidden, 3, stride=stride, groups=hidden)]
        if expansion != 1:
            layers.insert(0, _layer(inside, hidden, 1))
        self.conv = nn.Sequential(*layers, nn.Conv2d(hidden, outside, 1, bias=False), nn.BatchNorm2d(outside))
        self.skips = stride == 1 and inside == outside

    def forward(self, x: Tensor) -> Tensor:
        """A map in, a map out."""
        y = cast(Tensor, self.conv(x))
        return x + y if self.skips else y


class MobileNetV2(nn.Module):
    """A stem, seventeen inverted residuals, a 1×1 convolution (all in `features`), pooling and a classifier.

    `width` is a factor on the channels, which are then rounded to multiples of eight; the last convolution never
    has fewer than 1,280. With `normalise` plain RGB images in 0 … 1 go in.

    >>> net = MobileNetV2(classes=1000)
    >>> sum(p.numel() for p in net.parameters()), len(net.features)
    (3504872, 19)
    """

    def __init__(self, *, classes: int = 10, channels: int = 3, width: float = 1.0, normalise: Way = "none") -> None:
        super().__init__()
        self.normalise = normaliser(normalise, channels)
        inside = round_channels(32 * width)
        features: list[nn.Module] = [_layer(channels, inside, 3, stride=2)]
        for expansion, base, n, stride in _STAGES:
            outside = round_channels(base * width)
            for k in range(n):
                block = InvertedResidual(inside, outside, stride=stride if k == 0 else 1, expansion=expansion)
                features.append(block)
                inside = outside
        last = round_channels(1280 * max(1.0, width))
        self.features = nn.Sequential(*features, _layer(inside, last, 1))
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(last, classes))
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out")
            elif isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, 0, 0.01)
                nn.init.zeros_(module.bias)

    def forward(self, x: Tensor) -> Tensor:
        """Images in, logits out."""
        x = x if self.normalise is None else self.normalise(x)
        return cast(Tensor, self.classifier(torch.flatten(self.avgpool(self.features(x)), 1)))


def _layer(inside: int, outside: int, size: int, *, stride: int = 1, groups: int = 1) -> nn.Sequential:
    conv = nn.Conv2d(inside, outside, size, stride=stride, padding=size // 2, groups=groups, bias=False)
    return nn.Sequential(conv, nn.BatchNorm2d(outside), nn.ReLU6())


@dataclass(frozen=True)
class MobileNetV2Architecture(Architecture):
    """MobileNetV2: inverted residuals."""

    name, network = "mobilenet_v2", MobileNetV2
    between: ClassVar = {"width": (0, math.inf)}
    classes: int = 10
    width: float = 1.0
    normalise: Way = "none"
