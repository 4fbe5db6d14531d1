"""load: any model by its spec."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace

from seamripper._doors import require, require_path, require_whole
from seamripper.errors import ModelError
from seamripper.models._hf import from_hf
from seamripper.models.architecture import Architecture
from seamripper.models.checkpoint import load_checkpoint
from seamripper.models.imagenet import from_imagenet
from seamripper.models.libraries import from_factory, from_timm, from_torchvision
from seamripper.models.model import Model
from seamripper.models.spec import WEIGHTS_KEYS, Spec
from seamripper.models.weights import check_finite, load_weights, read_weights


def load(
    spec: str | os.PathLike[str],
    *,
    weights: str | os.PathLike[str] | None = None,
    input: tuple[int, ...] | str | None = None,
) -> Model:
    """The model that `spec` names, in eval mode.

    ================================  =======================================================================
    `zoo:NAME?option=value&…`         an architecture of our own; see `Architecture`
    `imagenet:NAME`                   one of the zoo with weights trained on ImageNet; see `models.imagenet`
    `torchvision:NAME`, `timm:NAME`   one of theirs, options passed on; untrained unless `pretrained=1`
    `hf:FOLDER` or `hf:NAME`          a model of transformers; `head=sequence-classification` and others
    `FILE.py:FUNCTION`                what your function returns; options are passed on as keywords
    `FILE.safetensors`                a checkpoint that `train` wrote
    ================================  =======================================================================

    In every spec but the last, `input=3x32x32` gives the shape of one input, and in all that have no weights of their
    own `weights=FILE` loads a state dict and `seed=N` (default 0) says from where an untrained model is drawn.
    `weights` and `input` can be arguments as well. Nothing in a file of weights is ever run. PyTorch's global generator
    is left as it was.

    >>> model = load("zoo:lenet?channels=1")
    >>> model.input, model.classes
    ((1, 28, 28), 10)
    >>> model.example().shape
    torch.Size([2, 1, 28, 28])
    """
    advice = "A model goes by a word: load('zoo:resnet18')."
    require(spec, (str, os.PathLike), "spec", error=ModelError, advice=advice)
    spec = os.fspath(spec)
    if weights is not None:
        weights = require_path(weights, "weights", error=ModelError)
    input = _sizes(input)
    parsed = Spec.parse(spec)
    if parsed.scheme == "checkpoint":
        return _checkpoint(parsed, weights, input)
    _once("weights", parsed.options.get("weights"), weights)
    _once("input", parsed.options.get("input"), input)
    file = weights or parsed.options.get("weights")
    shape = input or _shape(parsed.options.get("input"))
    source = spec
    if weights is not None:
        source += f"{'&' if '?' in spec else '?'}weights={os.fspath(weights)}"
    model = _make(parsed, source)
    if file is not None:
        load_weights(model.module, read_weights(file), origin=os.fspath(file))
    check_finite(model.module, origin=source)
    model.module.eval()
    return model if shape is None else _for_input(model, tuple(shape))


def _make(spec: Spec, source: str) -> Model:
    options = {k: v for k, v in spec.options.items() if k not in WEIGHTS_KEYS}
    seed = _whole("seed", spec.options.get("seed", "0"))
    if spec.scheme == "imagenet":
        # The source has also the weights that were given as an argument.
        return from_imagenet(spec.name, Spec.parse(source).options, source=source)
    if spec.scheme in ("zoo", "factory"):
        if "pretrained" in spec.options:
            raise ModelError(f"{source!r} has no weights of its own to ask for: give weights=FILE.")
        return (
            _zoo(spec.name, options, source=source, seed=seed)
            if spec.scheme == "zoo"
            else from_factory(spec.name, options, source=source, seed=seed)
        )
    trained = _flag("pretrained", spec.options.get("pretrained", "1" if spec.scheme == "hf" else "0"))
    if spec.scheme == "hf":
        return from_hf(spec.name, options, source=source, seed=seed, pretrained=trained)
    make = {"torchvision": from_torchvision, "timm": from_timm}[spec.scheme]
    given = "weights" in Spec.parse(source).options
    return make(spec.name, options, source=source, seed=seed, pretrained=trained, given=given)


def _zoo(name: str, options: Mapping[str, str], *, source: str, seed: int) -> Model:
    architecture = Architecture(name, options)
    return Model(architecture.build(seed), source, input=architecture.input, classes=architecture.classes)


def _checkpoint(spec: Spec, weights: str | os.PathLike[str] | None, input: tuple[int, ...] | None) -> Model:
    if weights is not None or spec.options:
        raise ModelError(
            f"{spec.name} is a checkpoint, with its own architecture and weights: load it by its name alone."
        )
    model = load_checkpoint(spec.name)
    return model if input is None else _for_input(model, tuple(input))


def _for_input(model: Model, shape: tuple[int, ...]) -> Model:
    """The model with inputs of this shape, which it is then shown."""
    fitting, wants = _fitting(model, shape), model.wants
    if wants is not None and wants.size is not None and len(fitting) == 3:
        wants = replace(wants, size=(fitting[1], fitting[2]))
    return replace(model, input=fitting, wants=wants)


def _fitting(model: Model, shape: tuple[int, ...]) -> tuple[int, ...]:
    """`shape`, unless the model is built for another."""
    recipe = model.rebuild() or ""
    if not recipe.startswith("zoo:"):
        return shape
    architecture = Architecture.parse(recipe)
    fixed = architecture.input
    if fixed is not None and fixed != shape:
        raise ModelError(f"Expected input to be {fixed}, the shape that {model.source} is built for, but got {shape}.")
    if len(shape) != 3 or shape[0] != architecture.channels:
        raise ModelError(
            f"Expected input to be the shape of an image of {architecture.channels} channels, as {model.source} takes "
            f"them, ({architecture.channels}, 64, 64) for example, but got {shape}."
        )
    return shape


def _once(name: str, asked: object, given: object) -> None:
    if asked is not None and given is not None:
        raise ModelError(f"{name} is given twice, in the spec and as an argument: keep one of them.")


def _shape(text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    sizes = text.split("x")
    if not all(size.isdecimal() and int(size) > 0 for size in sizes):
        raise ModelError(f"Expected input to be sizes joined by x, 3x32x32 for example, but got {text!r}.")
    return tuple(int(size) for size in sizes)


def _sizes(input: object) -> tuple[int, ...] | None:
    """The shape that was given as an argument: in numbers, or in a word as a spec has it."""
    if input is None or isinstance(input, str):
        return _shape(input)
    advice = "(3, 32, 32), for example."
    require(input or None, (tuple, list), "input", error=ModelError, advice=advice)
    return tuple(require_whole(size, "each size of input", least=1, error=ModelError) for size in input)  # type: ignore[attr-defined]


def _whole(name: str, text: str) -> int:
    if not text.isdecimal():
        raise ModelError(f"Expected {name} to be a whole number of at least 0, but got {text!r}.")
    return int(text)


def _flag(name: str, text: str) -> bool:
    flags = {"1": True, "true": True, "0": False, "false": False}
    if text.lower() not in flags:
        raise ModelError(f"Expected {name} to be 1 or 0, but got {text!r}.")
    return flags[text.lower()]
