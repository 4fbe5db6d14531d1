"""Residual networks (He et al. 2016), with torchvision's layer names and arithmetic.

`R_abcd` (Hernandez et al. 2022) has a, b, c and d basic blocks in its four stages; R_2222 is ResNet-18.
ResNet-50 is also there in the form that Keras publishes weights for: see `ResNetForm`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, cast

import torch
from torch import Tensor, nn

from seamripper.models.zoo.base import Architecture
from seamripper.models.zoo.normalise import Way, normaliser

Stem = Literal["imagenet", "3x3"]


@dataclass(frozen=True)
class ResNetForm:
    """What published residual networks of one shape differ in; the defaults are torchvision's ("v1.5").

    `early` puts a bottleneck's stride on its first 1×1 convolution, as He et al. (2016) have it, not on its 3×3.

    >>> FORMS["keras"]
    ResNetForm(bias=True, eps=0.001, early=True)
    """

    bias: bool = False
    eps: float = 1e-5
    early: bool = False

    def conv(self, inside: int, outside: int, size: int, stride: int = 1) -> nn.Conv2d:
        """A convolution that keeps the size of a map but for its stride."""
        return nn.Conv2d(inside, outside, size, stride=stride, padding=size // 2, bias=self.bias)

    def norm(self, width: int) -> nn.BatchNorm2d:
        """A batch norm."""
        return nn.BatchNorm2d(width, eps=self.eps)


FORMS = {"torchvision": ResNetForm(), "keras": ResNetForm(bias=True, eps=1e-3, early=True)}


class BasicBlock(nn.Module):
    """Two 3×3 convolutions and a skip: y = relu(x' + bn2(conv2(relu(bn1(conv1(x))))))."""

    expansion = 1

    def __init__(self, inside: int, width: int, stride: int, downsample: nn.Module | None, form: ResNetForm) -> None:
        super().__init__()
        self.conv1 = form.conv(inside, width, 3, stride)
        self.bn1 = form.norm(width)
        # Out of place, here and everywhere in the zoo: an in-place ReLU overwrites what was read at a cut.
        self.relu = nn.ReLU()
        self.conv2 = form.conv(width, width, 3)
        self.bn2 = form.norm(width)
        self.downsample = downsample

    def forward(self, x: Tensor) -> Tensor:
        """A map in, a map out."""
        skip = x if self.downsample is None else self.downsample(x)
        y = self.relu(self.bn1(self.conv1(x)))
        return cast(Tensor, self.relu(self.bn2(self.conv2(y)) + skip))


class Bottleneck(nn.Module):
    """1×1, 3×3, 1×1 and a skip; which of the first two carries the stride is the form's to say."""

    expansion = 4

    def __init__(self, inside: int, width: int, stride: int, downsample: nn.Module | None, form: ResNetForm) -> None:
        super().__init__()
        first, second = (stride, 1) if form.early else (1, stride)
        self.conv1 = form.conv(inside, width, 1, first)
        self.bn1 = form.norm(width)
        self.conv2 = form.conv(width, width, 3, second)
        self.bn2 = form.norm(width)
        self.conv3 = form.conv(width, width * self.expansion, 1)
        self.bn3 = form.norm(width * self.expansion)
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

    `blocks` are the kind of block and how many of them each stage has. `stem` is `imagenet` (7×7 with stride
    2, then max-pooling: Smith et al. 2025) or `3x3` (stride 1, no pooling: Balogh & Jelasity 2025). `width` is a factor
    on 64, 128, 256 and 512 channels. `form` is one of `FORMS`; with `normalise` plain RGB images in 0 … 1 go in.

    >>> net = ResNet((BasicBlock, (2, 2, 2, 2)), classes=1000)
    >>> sum(p.numel() for p in net.parameters())
    11689512
    """

    def __init__(
        self,
        blocks: tuple[type[BasicBlock] | type[Bottleneck], Sequence[int]],
        *,
        classes: int = 10,
        channels: int = 3,
        width: float = 1.0,
        stem: Stem = "imagenet",
        form: str = "torchvision",
        normalise: Way = "none",
    ) -> None:
        super().__init__()
        self.normalise = normaliser(normalise, channels)
        block, counts = blocks
        widths = [max(1, round(base * width)) for base in (64, 128, 256, 512)]
        as_in = FORMS[form]
        self.conv1 = as_in.conv(channels, widths[0], *((7, 2) if stem == "imagenet" else (3, 1)))
        self.bn1 = as_in.norm(widths[0])
        self.relu = nn.ReLU()
        # Keras pads with zeros and not with −∞: the same, as nothing behind a ReLU is below zero.
        self.maxpool = nn.MaxPool2d(3, stride=2, padding=1) if stem == "imagenet" else nn.Identity()
        self.layer1 = _stage(block, widths[0], widths[0], counts[0], stride=1, form=as_in)
        self.layer2 = _stage(block, widths[0] * block.expansion, widths[1], counts[1], stride=2, form=as_in)
        self.layer3 = _stage(block, widths[1] * block.expansion, widths[2], counts[2], stride=2, form=as_in)
        self.layer4 = _stage(block, widths[2] * block.expansion, widths[3], counts[3], stride=2, form=as_in)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(widths[3] * block.expansion, classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
                if module.bias is not None:
                    nn.init.zeros_(module.bias)

    def forward(self, x: Tensor) -> Tensor:
        """Images in, logits out."""
        x = x if self.normalise is None else self.normalise(x)
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return cast(Tensor, self.fc(torch.flatten(self.avgpool(x), 1)))


def _stage(
    block: type[BasicBlock] | type[Bottleneck], inside: int, width: int, n: int, *, stride: int, form: ResNetForm
) -> nn.Sequential:
    outside = width * block.expansion
    downsample = None
    if stride != 1 or inside != outside:
        downsample = nn.Sequential(form.conv(inside, outside, 1, stride), form.norm(outside))
    first = block(inside, width, stride, downsample, form)
    return nn.Sequential(first, *(block(outside, width, 1, None, form) for _ in range(n - 1)))


@dataclass(frozen=True)
class ResNetArchitecture(Architecture):
    """What all residual networks have; a leaf says its block, and how many of them each stage has."""

    network = ResNet
    between: ClassVar = {"width": (0, math.inf)}
    classes: int = 10
    width: float = 1.0
    stem: Stem = "imagenet"


@dataclass(frozen=True)
class ResNet18(ResNetArchitecture):
    """A residual network of eight basic blocks."""

    name, parts = "resnet18", ((BasicBlock, (2, 2, 2, 2)),)


@dataclass(frozen=True)
class ResNet34(ResNetArchitecture):
    """A residual network of sixteen basic blocks."""

    name, parts = "resnet34", ((BasicBlock, (3, 4, 6, 3)),)


@dataclass(frozen=True)
class ResNet50(ResNetArchitecture):
    """A residual network of sixteen bottlenecks, in torchvision's form or in that of Keras."""

    name, parts = "resnet50", ((Bottleneck, (3, 4, 6, 3)),)
    form: Literal["torchvision", "keras"] = "torchvision"
    normalise: Way = "none"


for _blocks in itertools.product((1, 2), repeat=4):
    _name = "R_" + "".join(map(str, _blocks))
    _about = f"A residual network of {', '.join(map(str, _blocks[:3]))} and {_blocks[3]} basic blocks in its stages."
    _own = {"__doc__": _about, "__module__": __name__, "name": _name, "parts": ((BasicBlock, _blocks),)}
    # By its name among the file's own classes, where the registry looks for them.
    globals()[_name] = type(_name, (ResNetArchitecture,), _own)
