"""EfficientNet-Lite 0, 1 and 2 (Tan & Le 2019, without squeeze-and-excitation), with timm's layer names and arithmetic.

They pad as TensorFlow does: a stride of 2 on an even map leaves the first row and column without padding.
Dropout and stochastic depth, which do nothing but in training, are left out, as timm leaves them out unless asked.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, cast

import torch
from torch import Tensor, nn

from seamripper.models.zoo.base import Architecture, round_channels
from seamripper.models.zoo.normalise import Way, normaliser

_STAGES = ((3, 1, 16), (3, 2, 24), (5, 2, 40), (3, 2, 80), (5, 1, 112), (5, 2, 192), (3, 1, 320))
"""Size of the convolution, first stride and width of each stage; all but the first widen sixfold inside."""
_EXPANSION = 6
_STEM, _HEAD = 32, 1280
"""Widths that are the same in every Lite, however wide its stages are."""
BLOCKS = {
    "efficientnet_lite0": (1, 2, 2, 3, 3, 4, 1),
    "efficientnet_lite1": (1, 3, 3, 4, 4, 5, 1),
    "efficientnet_lite2": (1, 3, 3, 4, 4, 5, 1),
}
"""How many blocks each stage has: those of Lite0 times 1.1 or 1.2, rounded up, but for the first and the last."""


class SamePad(nn.Module):
    """Zeros around a map, as TensorFlow's "same" has them before a convolution of an odd `size` with a stride of 2.

    ⌈n/2⌉ places come out of n, so size − 2 rows are added if n is even and size − 1 if it is odd; of an odd number the
    larger half goes behind.

    >>> SamePad(3)(torch.ones(1, 1, 2, 3))[0, 0]
    tensor([[0., 1., 1., 1., 0.],
            [0., 1., 1., 1., 0.],
            [0., 0., 0., 0., 0.]])
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.behind = size // 2

    def forward(self, x: Tensor) -> Tensor:
        """A map in, a larger map out."""
        top, left = (self.behind - 1 + n % 2 for n in (x.shape[2], x.shape[3]))
        return nn.functional.pad(x, (left, self.behind, top, self.behind))


class Separable(nn.Module):
    """The block of the first stage, which widens nothing: a convolution on each channel, then 1×1."""

    def __init__(self, inside: int, outside: int, *, size: int) -> None:
        super().__init__()
        self.conv_dw = _conv(inside, inside, size, groups=inside)
        self.bn1 = _norm(inside)
        self.act1 = nn.ReLU6()
        self.conv_pw = _conv(inside, outside, 1)
        self.bn2 = _norm(outside)
        self.skips = inside == outside

    def forward(self, x: Tensor) -> Tensor:
        """A map in, a map out."""
        y = self.act1(self.bn1(self.conv_dw(x)))
        y = cast(Tensor, self.bn2(self.conv_pw(y)))
        return x + y if self.skips else y


class Inverted(nn.Module):
    """1×1 to six times the channels, a convolution on each of them, 1×1 back, and a skip where the shape stays."""

    def __init__(self, inside: int, outside: int, *, size: int, stride: int) -> None:
        super().__init__()
        hidden = inside * _EXPANSION
        self.conv_pw = _conv(inside, hidden, 1)
        self.bn1 = _norm(hidden)
        self.act1 = nn.ReLU6()
        self.pad = SamePad(size) if stride == 2 else None
        self.conv_dw = _conv(hidden, hidden, size, stride=stride, groups=hidden)
        self.bn2 = _norm(hidden)
        self.act2 = nn.ReLU6()
        self.conv_pwl = _conv(hidden, outside, 1)
        self.bn3 = _norm(outside)
        self.skips = stride == 1 and inside == outside

    def forward(self, x: Tensor) -> Tensor:
        """A map in, a map out."""
        y = self.act1(self.bn1(self.conv_pw(x)))
        y = y if self.pad is None else self.pad(y)
        y = self.act2(self.bn2(self.conv_dw(y)))
        y = cast(Tensor, self.bn3(self.conv_pwl(y)))
        return x + y if self.skips else y


class EfficientNetLite(nn.Module):
    """A stem, seven stages of blocks, a 1×1 convolution, pooling and a linear classifier.

    `blocks` says how many blocks each stage has; `width` is a factor on the stages' channels, which are then rounded to
    multiples of eight. With `normalise` plain RGB images in 0 … 1 go in.

    >>> net = EfficientNetLite(BLOCKS["efficientnet_lite0"], classes=1000)
    >>> sum(p.numel() for p in net.parameters()), [len(stage) for stage in net.blocks]
    (4652008, [1, 2, 2, 3, 3, 4, 1])
    """

    def __init__(
        self,
        blocks: Sequence[int],
        *,
        classes: int = 10,
        channels: int = 3,
        width: float = 1.0,
        normalise: Way = "none",
    ) -> None:
        super().__init__()
        self.normalise = normaliser(normalise, channels)
        self.pad = SamePad(3)
        self.conv_stem = _conv(channels, _STEM, 3, stride=2)
        self.bn1 = _norm(_STEM)
        self.act1 = nn.ReLU6()
        widths = [_STEM, *(round_channels(base * width) for _, _, base in _STAGES)]
        self.blocks = nn.Sequential(*(_stage(k, n, widths[k], widths[k + 1]) for k, n in enumerate(blocks)))
        self.conv_head = _conv(widths[-1], _HEAD, 1)
        self.bn2 = _norm(_HEAD)
        self.act2 = nn.ReLU6()
        self.global_pool = nn.AdaptiveAvgPool2d((1, 1))
        self.classifier = nn.Linear(_HEAD, classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                # By what one output channel reaches: PyTorch's own rule forgets that each channel has its own kernel.
                fan = module.out_channels // module.groups * math.prod(module.kernel_size)
                nn.init.normal_(module.weight, 0, math.sqrt(2 / fan))

    def forward(self, x: Tensor) -> Tensor:
        """Images in, logits out."""
        x = x if self.normalise is None else self.normalise(x)
        x = self.blocks(self.act1(self.bn1(self.conv_stem(self.pad(x)))))
        x = self.act2(self.bn2(self.conv_head(x)))
        return cast(Tensor, self.classifier(torch.flatten(self.global_pool(x), 1)))


def _conv(inside: int, outside: int, size: int, *, stride: int = 1, groups: int = 1) -> nn.Conv2d:
    padding = size // 2 if stride == 1 else 0  # With a stride, SamePad has padded already.
    return nn.Conv2d(inside, outside, size, stride=stride, padding=padding, groups=groups, bias=False)


def _norm(width: int) -> nn.BatchNorm2d:
    return nn.BatchNorm2d(width, eps=1e-3)


def _stage(k: int, n: int, inside: int, outside: int) -> nn.Sequential:
    size, stride, _ = _STAGES[k]
    if k == 0:
        return nn.Sequential(Separable(inside, outside, size=size))
    first = Inverted(inside, outside, size=size, stride=stride)
    return nn.Sequential(first, *(Inverted(outside, outside, size=size, stride=1) for _ in range(n - 1)))


@dataclass(frozen=True)
class LiteArchitecture(Architecture):
    """What all of them have; a leaf says how many blocks each stage has."""

    network = EfficientNetLite
    between: ClassVar = {"width": (0, math.inf)}
    classes: int = 10
    width: float = 1.0
    normalise: Way = "none"


@dataclass(frozen=True)
class Lite0(LiteArchitecture):
    """EfficientNet-Lite 0."""

    name, parts = "efficientnet_lite0", (BLOCKS["efficientnet_lite0"],)


@dataclass(frozen=True)
class Lite1(LiteArchitecture):
    """EfficientNet-Lite 1: as Lite 0, but deeper."""

    name, parts = "efficientnet_lite1", (BLOCKS["efficientnet_lite1"],)


@dataclass(frozen=True)
class Lite2(LiteArchitecture):
    """EfficientNet-Lite 2: as Lite 1, but wider."""

    name, parts = "efficientnet_lite2", (BLOCKS["efficientnet_lite2"],)
    width: float = 1.1
