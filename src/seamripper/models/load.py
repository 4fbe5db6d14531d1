"""load: any model by its spec."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Literal

import torch

from seamripper._devices import as_device, as_dtype, take_turns
from seamripper._doors import require, require_path, require_whole
from seamripper.errors import ModelError
from seamripper.models.model import Model
from seamripper.models.running import use_seed
from seamripper.models.source import ModelSource, recipe_of, source_of
from seamripper.models.weights import check_finite, load_weights, read_weights
from seamripper.models.zoo import Architecture


def load(
    spec: str | os.PathLike[str],
    *,
    weights: str | os.PathLike[str] | None = None,
    input: tuple[int, ...] | str | None = None,
    device: str | torch.device | None = None,
    dtype: str | torch.dtype | None = None,
    resident: Literal["both", "one"] = "both",
) -> Model:
    """The model that `spec` names, in eval mode.

    ================================  =======================================================================
    `zoo:NAME?option=value&…`         an architecture of our own; see `Architecture`
    `imagenet:NAME`                   one of the zoo with weights trained on ImageNet; see `models.imagenet`
    `torchvision:NAME`, `timm:NAME`   one of theirs, options passed on; untrained unless `pretrained=1`
    `hf:FOLDER` or `hf:NAME`          a model of transformers; `head=sequence-classification` and others
    `FILE.py:FUNCTION`                what your function returns; options are passed on as keywords
    `FILE.safetensors`                a checkpoint that `train` wrote
    `MINE:NAME`                       one of a third party's; see `ModelSource`
    ================================  =======================================================================

    In every spec but a checkpoint's, `input=3x32x32` gives the shape of one input. Where models have no weights of
    their own, `weights=FILE` loads a state dict, and an untrained model is drawn from `seed=N` (default 0). `weights`
    and `input` can also be given as arguments. `device` is where the model computes from then on (`cpu`, `cuda`,
    `cuda:1`, `mps`, or the best that there is, `auto`), `dtype` the precision of its weights (`float64`, `float32`,
    `bfloat16`, `float16`); without them the model stays as its source gives it, most often float32 on the CPU. With
    `resident="one"`, models are on a device one at a time: each waits in main memory until it runs. Nothing
    in a file of weights is ever run. PyTorch's global generator is left as it was.

    >>> model = load("zoo:lenet?channels=1")
    >>> model.input, model.classes
    ((1, 28, 28), 10)
    >>> model.example().shape
    torch.Size([2, 1, 28, 28])
    """
    advice = "A model is given by name: load('zoo:resnet18')."
    require(spec, (str, os.PathLike), "spec", error=ModelError, advice=advice)
    place = None if device is None else as_device(device)
    precision = None if dtype is None else as_dtype(dtype)
    if resident not in ("both", "one"):
        raise ModelError(f"Expected resident to be both or one, but got {resident!r}.")
    given = _shape(input)
    source, spec = _source_with(os.fspath(spec), weights, given)
    shape = given or _shape(source.input)
    with use_seed(source.seed):
        model = replace(source.build(), source=spec)
    if source.weights is not None:
        load_weights(model.module, read_weights(source.weights), origin=source.weights)
    check_finite(model.module, origin=spec)
    model.module.eval()
    if precision is not None:
        model.module.to(precision)
    if place is not None and resident == "one":
        take_turns(model.module, place)
    elif place is not None:
        model.module.to(place)
    return model if shape is None else _for_input(model, shape)


def _source_with(
    spec: str, weights: str | os.PathLike[str] | None, shape: tuple[int, ...] | None
) -> tuple[ModelSource, str]:
    """The source that a spec names, with these weights, and the spec that names it with them."""
    source = source_of(spec)
    for name, argument in (("weights", weights), ("input", shape)):
        if argument is not None and getattr(source, name) is not None:
            raise ModelError(f"{name} is given twice, in the spec and as an argument: keep one of them.")
    if weights is None:
        return source, spec
    source = replace(source, weights=require_path(weights, "weights", error=ModelError))
    return source, f"{spec}{'&' if '?' in spec else '?'}weights={source.weights}"


def _for_input(model: Model, shape: tuple[int, ...]) -> Model:
    """The model with inputs of this shape, unless it is built for another."""
    recipe, wants = recipe_of(model) or "", model.wants
    if recipe.startswith("zoo:"):
        architecture = Architecture.parse(recipe)
        fixed, channels = architecture.input, architecture.channels
        if fixed is not None and fixed != shape:
            raise ModelError(
                f"Expected input to be {fixed}, the shape that {model.source} is built for, but got {shape}."
            )
        if len(shape) != 3 or shape[0] != channels:
            raise ModelError(
                f"Expected input to be the shape of an image of {channels} channels, as {model.source} takes them, for "
                f"example ({channels}, 64, 64), but got {shape}."
            )
    if wants is not None and wants.size is not None and len(shape) == 3:
        wants = replace(wants, size=(shape[1], shape[2]))
    return replace(model, input=shape, wants=wants)


def _shape(input: object) -> tuple[int, ...] | None:
    """The shape of one input: in numbers, or in a word as a spec has it."""
    if input is None:
        return None
    if isinstance(input, str):
        sizes = input.split("x")
        if not all(size.isdecimal() and int(size) > 0 for size in sizes):
            raise ModelError(f"Expected input to be sizes joined by x, for example 3x32x32, but got {input!r}.")
        return tuple(map(int, sizes))
    require(input or None, (tuple, list), "input", error=ModelError, advice="(3, 32, 32), for example.")
    return tuple(require_whole(size, "each size of input", least=1, error=ModelError) for size in input)  # type: ignore[attr-defined]
