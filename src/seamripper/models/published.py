"""Published ImageNet weights: the files, how they are read, and their layers under our names."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from seamripper.errors import CheckpointError

FILES = {
    "model.json": "11e0ca5744e311734bb5117e707beee6030fe9712b4bbb4352b5b3796f7c7a21",
    "group1-shard1of25.bin": "d5c6bb03c77bdf1ea6f8eb118b3c94c57d6f7efacf8861fc73594ffd8877316b",
    "group1-shard2of25.bin": "819a0a0f30eaa41029e08b87bdcabf60dc679db71084723d75c54be594f32ff6",
    "group1-shard3of25.bin": "c5950ca99bf5ae8835a85cfa9484e0872c66da544591b5a09763da6ca9f381f7",
    "group1-shard4of25.bin": "4149057628830a72f7ed037fbd358ecd793644e2303cc9c05e08a398508bacf7",
    "group1-shard5of25.bin": "6acf18e1f9b23d7e46c69a564804e50b71eebf49a506ab7b1341ea12647b4cb0",
    "group1-shard6of25.bin": "2a9fd82430b3a0ddf6b22e55afd74d3df8e998f83c465df62a0f1860cfc07825",
    "group1-shard7of25.bin": "c10bef2322a77b2d206385619eec9b9a85f258922c005491543401007da1fd10",
    "group1-shard8of25.bin": "2fc0ac3b3986557b07da5a313dd1ee8484f4b35e378b66d3cfe0d968caf709ff",
    "group1-shard9of25.bin": "a605e09d1b2ee835fe2eb26a02d68625225b302a729c1ad9a3d38a0957a7b13d",
    "group1-shard10of25.bin": "47c655265ac0b20c4cad9d065262fe4277226a2d2a244bcdddc0fef77d018eff",
    "group1-shard11of25.bin": "073a6b6db536b520421ed9e8f02672389d69f989338bc915aebfcfc58a5eccee",
    "group1-shard12of25.bin": "dc247e231d228ebdc762cab00ab6c96e17f580f68ea7fc090ff380b4da763f00",
    "group1-shard13of25.bin": "50ca035754ebd9f3446947846277121d2625fe71fbfd53c19e3b335bedc8122e",
    "group1-shard14of25.bin": "eb11b5cb61d4187b77dd3235139ed19bf85968b5d26ef223454764dfd87b2f0b",
    "group1-shard15of25.bin": "0ee5b52dddb24102aa922ec98e6b6195819581fd6d91ab557fe1bb08c14d71da",
    "group1-shard16of25.bin": "fb8020849dba47898d333f8b6633de1e523e0c7abd075e7ba50fc51b685a3b14",
    "group1-shard17of25.bin": "10414497cb9f078af8a00b67890ddcff572583829e5e2cfeedf5caa9ebe6b529",
    "group1-shard18of25.bin": "c01b8d808bf2c407d1c2470d0479e54f5f560a1e2eb346af948a722b4db0eb36",
    "group1-shard19of25.bin": "05f6c00a9c0c12d2fe7518c4969326f4c38588628bc5416171b8a2b3184832ca",
    "group1-shard20of25.bin": "afead9ccdbc9351a6ea4402c2399761f10fd264dd7c1d823f6149060b495b23e",
    "group1-shard21of25.bin": "6fbdfd6c39f81fffec77c7335e05424366105febc6a89ef5a1525325a57fefe7",
    "group1-shard22of25.bin": "7902676117d927cbcf8ff1416e5b7599c0ff5cad180abbf3fa059350c0b6007f",
    "group1-shard23of25.bin": "cae336f261879ffa84c0be87a994c197785a791479a5d4623d438e2870284fc7",
    "group1-shard24of25.bin": "5fe72b82c074715edd900d2874792ebc04fbe3646558e70d28431c8d32a01c3d",
    "group1-shard25of25.bin": "16108b36200de685a022d55ad60cdbc2c631140fffbda0e875f8dd54ed5577e1",
}


LIST = "model.json"
_BYTES = 4


def read_tfjs(read: Callable[[str], bytes]) -> dict[str, Tensor]:
    """Every weight by its name, in TensorFlow's layout; `read` gives the bytes of `model.json` and of a file it names.

    >>> listed = {"name": "fc/bias", "shape": [2], "dtype": "float32"}
    >>> files = {
    ...     "model.json": json.dumps({"weightsManifest": [{"paths": ["a.bin"], "weights": [listed]}]}).encode(),
    ...     "a.bin": np.array([0.5, -1], "<f4").tobytes(),
    ... }
    >>> read_tfjs(files.__getitem__)
    {'fc/bias': tensor([ 0.5000, -1.0000])}
    """
    try:
        groups = json.loads(read(LIST))["weightsManifest"]
        tensors: dict[str, Tensor] = {}
        for group in groups:
            # Files of a group are one row of bytes: a weight may begin in one and end in the next.
            payload = b"".join(read(path) for path in group["paths"])
            tensors |= _tensors(payload, group["weights"])
    except (ValueError, KeyError, TypeError) as e:
        raise CheckpointError(
            f"Expected {LIST} to list files and weights, as TensorFlow.js writes it, but it does not "
            f"({type(e).__name__}: {e}). Fetch it again."
        ) from e
    return tensors


def _tensors(payload: bytes, listed: list[Mapping[str, Any]]) -> dict[str, Tensor]:
    """Cut a row of bytes into the weights that are listed; every byte belongs to one."""
    sizes = [math.prod(_shape(weight)) for weight in listed]
    if _BYTES * sum(sizes) != len(payload):
        raise CheckpointError(
            f"Expected {_BYTES * sum(sizes):,} bytes for the {len(listed)} weights that {LIST} lists, "
            f"but got {len(payload):,}. Fetch the files again."
        )
    tensors, start = {}, 0
    for weight, size in zip(listed, sizes, strict=True):
        # Copied: the bytes are read-only, and PyTorch's tensors are not.
        numbers = np.frombuffer(payload, "<f4", count=size, offset=start).astype(np.float32)
        tensors[str(weight["name"])] = torch.from_numpy(numbers.reshape(_shape(weight)))
        start += _BYTES * size
    return tensors


def _shape(weight: Mapping[str, Any]) -> tuple[int, ...]:
    """The shape of a weight that is plain float32; others (integers, quantised) none of ours has."""
    if weight["dtype"] != "float32" or "quantization" in weight:
        raise CheckpointError(
            f"Expected {weight['name']} to be float32, but it is {weight['dtype']}"
            f"{', quantised' if 'quantization' in weight else ''}: such weights cannot be read here."
        )
    shape = tuple(weight["shape"])
    if not all(type(size) is int and size > 0 for size in shape):
        raise CheckpointError(f"Expected the shape of {weight['name']} to be whole numbers above 0, but got {shape}.")
    return shape


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
KERAS_KINDS = {
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
    block = re.fullmatch(r"_blocks\.(\d+)\.(\w+)", layer)
    if block is None:
        return f"{_lookup(layer, _LITE)}.{kind}"
    place, own = int(block[1]), block[2]
    if place >= len(places):
        raise CheckpointError(f"Expected {len(places)} blocks, but there are weights for {name}.")
    return f"{places[place]}.{_lookup(own, _LITE_BLOCK if place else _LITE_FIRST)}.{kind}"


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
    block = re.fullmatch(r"(res|bn)([2-5])([a-f])_branch(1|2[abc])", layer)
    if block is None:
        return f"{_lookup(layer, _KERAS_WHOLE)}.{_lookup(kind, KERAS_KINDS)}"
    # Keras counts the stem as the first stage, and blocks by letter.
    place = f"layer{int(block[2]) - 1}.{ord(block[3]) - ord('a')}"
    return f"{place}.{_KERAS_BRANCH[f'{block[1]} {block[4]}']}.{_lookup(kind, KERAS_KINDS)}"


def _torch_layout(tensor: Tensor) -> Tensor:
    if tensor.dim() == 4:
        return tensor.permute(3, 2, 0, 1).contiguous()
    return tensor.T.contiguous() if tensor.dim() == 2 else tensor


def _lookup(name: str, names: Mapping[str, str]) -> str:
    if name not in names:
        raise CheckpointError(f"Expected a layer of {', '.join(names)}, but there are weights for {name!r}.")
    return names[name]
