"""Residual networks (He et al. 2016), with torchvision's layer names and arithmetic.

`R_abcd` (Hernandez et al. 2022) has a, b, c and d basic blocks in its four stages; R_2222 is ResNet-18.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Literal, cast

import torch
from torch import Tensor, nn

from seamripper.models.zoo.family import Family, Option

Stem = Literal["imagenet", "3x3"]


class BasicBlock(nn.Module):
    """Two 3×3 convolutions and a skip: y = relu(x' + bn2(conv2(relu(bn1(conv1(x))))))."""

    expansion = 1

    def __init__(self, inside: int, width: int, stride: int, downsample: nn.Module | None) -> None:
        super().__init__()
        self.conv1 = _conv(inside, width, 3, stride)
        self.bn1 = nn.BatchNorm2d(width)
        # Out of place, here and everywhere in the zoo: an in-place ReLU overwrites what was read at a cut.
        self.relu = nn.ReLU()
        self.conv2 = _conv(width, width, 3)
        self.bn2 = nn.BatchNorm2d(width)
        self.downsample = downsample

    def forward(self, x: Tensor) -> Tensor:
        """A map in, a map out."""
        skip = x if self.downsample is None else self.downsample(x)
        y = self.relu(self.bn1(self.conv1(x)))
        return cast(Tensor, self.relu(self.bn2(self.conv2(y)) + skip))


class Bottleneck(nn.Module):
    """1×1, 3×3, 1×1 and a skip; the 3×3 carries the stride, as in torchvision ("v1.5")."""

    expansion = 4

    def __init__(self, inside: int, width: int, stride: int, downsample: nn.Module | None) -> None:
        super().__init__()
        self.conv1 = _conv(inside, width, 1)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = _conv(width, width, 3, stride)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = _conv(width, width * self.expansion, 1)
        self.bn3 = nn.BatchNorm2d(width * self.expansion)
        self.relu = nn.ReLU()
        self.downsample = downsample

    def forward(self, x: Tensor) -> Tensor:
        """A map in, a map out."""
        skip = x if self.downsample is None else self.downsample(x)
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.relu(self.bn2(self.conv2(y)))
        return cast(Tensor, self.relu(self.bn3(self.conv3(y)) + skip))


class ResNet(nn.Module):
    """A stem, four stages of residual blocks, average pooling and a linear classifier.

    `stem` is `imagenet` (7×7 with stride 2, then max-pooling: Smith et al. 2025) or `3x3` (stride 1, no
    pooling: Balogh & Jelasity 2025). `width` is a factor on 64, 128, 256 and 512 channels.

    >>> net = ResNet(BasicBlock, (2, 2, 2, 2), classes=1000)
    >>> sum(p.numel() for p in net.parameters())
    11689512
    """

    def __init__(
        self,
        block: type[BasicBlock] | type[Bottleneck],
        blocks: Sequence[int],
        *,
        classes: int = 10,
        channels: int = 3,
        width: float = 1.0,
        stem: Stem = "imagenet",
    ) -> None:
        super().__init__()
        widths = [max(1, round(base * width)) for base in (64, 128, 256, 512)]
        self.conv1 = _conv(channels, widths[0], 7, 2) if stem == "imagenet" else _conv(channels, widths[0], 3)
        self.bn1 = nn.BatchNorm2d(widths[0])
        self.relu = nn.ReLU()
        self.maxpool = nn.MaxPool2d(3, stride=2, padding=1) if stem == "imagenet" else nn.Identity()
        self.layer1 = _stage(block, widths[0], widths[0], blocks[0], stride=1)
        self.layer2 = _stage(block, widths[0] * block.expansion, widths[1], blocks[1], stride=2)
        self.layer3 = _stage(block, widths[1] * block.expansion, widths[2], blocks[2], stride=2)
        self.layer4 = _stage(block, widths[2] * block.expansion, widths[3], blocks[3], stride=2)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(widths[3] * block.expansion, classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, x: Tensor) -> Tensor:
        """Images in, logits out."""
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return cast(Tensor, self.fc(torch.flatten(self.avgpool(x), 1)))


def _conv(inside: int, outside: int, size: int, stride: int = 1) -> nn.Conv2d:
    return nn.Conv2d(inside, outside, size, stride=stride, padding=size // 2, bias=False)


def _stage(
    block: type[BasicBlock] | type[Bottleneck], inside: int, width: int, n: int, *, stride: int
) -> nn.Sequential:
    outside = width * block.expansion
    downsample = None
    if stride != 1 or inside != outside:
        downsample = nn.Sequential(_conv(inside, outside, 1, stride), nn.BatchNorm2d(outside))
    first = block(inside, width, stride, downsample)
    return nn.Sequential(first, *(block(outside, width, 1, None) for _ in range(n - 1)))


def _maker(block: type[BasicBlock] | type[Bottleneck], blocks: Sequence[int]) -> Callable[..., nn.Module]:
    def make(*, classes: int, channels: int, width: float, stem: Stem) -> ResNet:
        return ResNet(block, blocks, classes=classes, channels=channels, width=width, stem=stem)

    return make


_OPTIONS = {
    "classes": Option(10),
    "channels": Option(3),
    "width": Option(1.0),
    "stem": Option("imagenet", ("imagenet", "3x3")),
}

FAMILIES = (
    Family("resnet18", _maker(BasicBlock, (2, 2, 2, 2)), _OPTIONS),
    Family("resnet34", _maker(BasicBlock, (3, 4, 6, 3)), _OPTIONS),
    Family("resnet50", _maker(Bottleneck, (3, 4, 6, 3)), _OPTIONS),
    *(
        Family("R_" + "".join(map(str, blocks)), _maker(BasicBlock, blocks), _OPTIONS)
        for blocks in itertools.product((1, 2), repeat=4)
    ),
)
