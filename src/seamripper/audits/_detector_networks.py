"""The network of an energy detector: activations at a cut → a logit a class."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from seamripper.cut.place import Cut
from seamripper.models import Architecture
from seamripper.models._seeded import seeded
from seamripper.models.zoo import Value
from seamripper.models.zoo.vit import Block

_SIDE = 32
_DIM, _DEPTH, _HEADS = 192, 12, 3
_HIDDEN = 2048


def detector_network(native: Tensor, cut: Cut, *, classes: int, width: float, seed: int) -> nn.Module:
    """A classifier of activations like `native` (n, …), not yet trained.

    As in Balogh & Jelasity 2025: for maps a ResNet-18 with a 3×3 stem on maps resized to 32×32, for tokens the blocks
    of a ViT-Ti without its embedding. For vectors, which they have none of, a perceptron with two hidden layers. At
    `width` 1 they have the paper's size; it is a factor on the channels, on the tokens' width and the number of blocks,
    on the hidden units. Each unit is first brought to mean 0 and deviation 1 over `native`.

    >>> maps = torch.randn(4, 8, 7, 7)
    >>> network = detector_network(maps, Cut("layer1", (8, 7, 7), "nchw"), classes=10, width=0.1, seed=0)
    >>> network(maps).shape
    torch.Size([4, 10])
    """
    with seeded(seed):
        network: nn.Module
        if cut.layout == "nchw":
            options: dict[str, Value] = {"channels": cut.width, "classes": classes, "width": width, "stem": "3x3"}
            network = nn.Sequential(_Resized(), Architecture("resnet18", options).build())
        elif cut.layout == "ntd":
            network = _Transformer(cut, classes, width)
        else:
            network = _perceptron(cut.width, max(1, round(_HIDDEN * width)), classes)
        return nn.Sequential(_Standard(native, cut), network)


class _Standard(nn.Module):
    """Each unit with mean 0 and deviation 1 over the activations that it was made from, and their positions."""

    centre: Tensor
    scale: Tensor

    def __init__(self, native: Tensor, cut: Cut) -> None:
        super().__init__()
        unit = 1 if cut.layout == "nchw" else native.dim() - 1
        others = [axis for axis in range(native.dim()) if axis != unit]
        deviation, centre = torch.std_mean(native, dim=others, correction=0, keepdim=True)
        typical = float(deviation.square().mean().sqrt()) or 1.0
        self.register_buffer("centre", centre)
        # A unit that natively never moves must not turn what rounding adds to it into a signal.
        self.register_buffer("scale", deviation.clamp_min(0.01 * typical))

    def forward(self, activations: Tensor) -> Tensor:
        return (activations - self.centre) / self.scale


class _Resized(nn.Module):
    """Maps as maps of 32×32."""

    def forward(self, maps: Tensor) -> Tensor:
        if maps.shape[2:] == (_SIDE, _SIDE):
            return maps
        return F.interpolate(maps, size=(_SIDE, _SIDE), mode="bilinear", align_corners=False)


class _Transformer(nn.Module):
    """Blocks on tokens; the answer is read at the token before the others if there is one, else at their mean."""

    def __init__(self, cut: Cut, classes: int, width: float) -> None:
        super().__init__()
        # At full width tokens of the receiver's own width, as the paper has them; attention needs a multiple of heads.
        dim = _HEADS * max(1, round(_DIM * width / _HEADS))
        self.enter = nn.Identity() if dim == cut.width else nn.Linear(cut.width, dim)
        self.blocks = nn.Sequential(*(Block(dim, _HEADS) for _ in range(max(1, round(_DEPTH * min(width, 1.0))))))
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, classes)
        self.first = cut.prefix == 1

    def forward(self, tokens: Tensor) -> Tensor:
        tokens = self.norm(self.blocks(self.enter(tokens)))
        answer: Tensor = self.head(tokens[:, 0] if self.first else tokens.mean(1))
        return answer


def _perceptron(width: int, hidden: int, classes: int) -> nn.Module:
    return nn.Sequential(
        nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, classes)
    )
