"""Published weights under our layer names: who published them called their layers otherwise."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from torch import Tensor

from seamripper.errors import CheckpointError

_LITE = {"_conv_stem": "conv_stem", "_bn0": "bn1", "_conv_head": "conv_head", "_bn1": "bn2", "_fc": "classifier"}
_LITE_FIRST = {"_depthwise_conv": "conv_dw", "_bn1": "bn1", "_project_conv": "conv_pw", "_bn2": "bn2"}
_LITE_BLOCK = {
    "_expand_conv": "conv_pw",
    "_bn0": "bn1",
    "_depthwise_conv": "conv_dw",
    "_bn1": "bn2",
    "_project_conv": "conv_pwl",
    "_bn2": "bn3",
}
_KERAS_WHOLE = {"conv1": "conv1", "bn_conv1": "bn1", "fc1000": "fc"}
_KERAS_BRANCH = {
    "res 1": "downsample.0",
    "bn 1": "downsample.1",
    **{f"res 2{letter}": f"conv{k}" for k, letter in enumerate("abc", 1)},
    **{f"bn 2{letter}": f"bn{k}" for k, letter in enumerate("abc", 1)},
}
_KERAS_KIND = {
    "kernel": "weight",
    "bias": "bias",
    "gamma": "weight",
    "beta": "bias",
    "moving_mean": "running_mean",
    "moving_variance": "running_var",
}


def from_lite(weights: Mapping[str, Tensor], blocks: Sequence[int]) -> dict[str, Tensor]:
    """Weights of the package efficientnet-lite-pytorch, whose blocks are in one row, for a network of stages.

    `_blocks.3._expand_conv.weight` of Lite0, whose stages have 1, 2, 2 … `blocks`, is `blocks.2.0.conv_pw.weight`.
    The first block expands nothing, and timm calls its layers otherwise than those of the others.

    >>> import torch
    >>> list(from_lite({"_bn0.weight": torch.ones(2), "_blocks.3._bn1.bias": torch.ones(2)}, (1, 2, 2)))
    ['bn1.weight', 'blocks.2.0.bn2.bias']
    """
    places = [f"blocks.{stage}.{k}" for stage, n in enumerate(blocks) for k in range(n)]
    return {_lite_name(name, places): tensor for name, tensor in weights.items()}


def _lite_name(name: str, places: Sequence[str]) -> str:
    layer, _, kind = name.rpartition(".")
    found = re.fullmatch(r"_blocks\.(\d+)\.(\w+)", layer)
    if found is None:
        return f"{_known(layer, _LITE)}.{kind}"
    place, own = int(found[1]), found[2]
    if place >= len(places):
        raise CheckpointError(f"Expected {len(places)} blocks, but there are weights for {name}.")
    return f"{places[place]}.{_known(own, _LITE_BLOCK if place else _LITE_FIRST)}.{kind}"


def from_keras(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Weights of Keras' ResNet-50 under torchvision's names and in PyTorch's layout.

    ==========================================  ==================================================================
    `conv1`, `bn_conv1`, `fc1000`               `conv1`, `bn1`, `fc`
    `res3b_branch2a`, `bn3b_branch2a`           `layer2.1.conv1`, `layer2.1.bn1`; 2b and 2c are `conv2`, `conv3`
    `res3a_branch1`, `bn3a_branch1`             `layer2.0.downsample.0`, `layer2.0.downsample.1`
    `kernel` (h, w, in, out) or (in, out)       `weight` (out, in, h, w) or (out, in)
    `gamma`, `beta`, `moving_mean` and so on    `weight`, `bias`, `running_mean`, `running_var`
    ==========================================  ==================================================================

    >>> import torch
    >>> [(name, tuple(t.shape)) for name, t in from_keras({"res4f_branch2b/kernel": torch.ones(3, 3, 4, 5)}).items()]
    [('layer3.5.conv2.weight', (5, 4, 3, 3))]
    """
    return {_keras_name(name): _torch_layout(tensor) for name, tensor in weights.items()}


def _keras_name(name: str) -> str:
    layer, _, kind = name.partition("/")
    found = re.fullmatch(r"(res|bn)([2-5])([a-f])_branch(1|2[abc])", layer)
    if found is None:
        return f"{_known(layer, _KERAS_WHOLE)}.{_known(kind, _KERAS_KIND)}"
    # Keras counts the stem as the first stage, and blocks by letter.
    place = f"layer{int(found[2]) - 1}.{ord(found[3]) - ord('a')}"
    return f"{place}.{_KERAS_BRANCH[f'{found[1]} {found[4]}']}.{_known(kind, _KERAS_KIND)}"


def _torch_layout(tensor: Tensor) -> Tensor:
    if tensor.dim() == 4:
        return tensor.permute(3, 2, 0, 1).contiguous()
    return tensor.T.contiguous() if tensor.dim() == 2 else tensor


def _known(name: str, names: Mapping[str, str]) -> str:
    if name not in names:
        raise CheckpointError(f"Expected a layer of {', '.join(names)}, but there are weights for {name!r}.")
    return names[name]
