"""Models that others' code builds: torchvision, timm, and functions in a user's own Python file.

torchvision and timm are imported only when asked for. torchvision's wheel is linked against CUDA. Beside a CPU build of
torch its compiled part cannot load, and its import stops at two operators that this part would have defined. We define
their signatures and import again: models, transforms and data sets then work, and so does timm; detection operators and
`torchvision.io` do not.
"""

from __future__ import annotations

import importlib
import json
import re
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import nn

from seamripper._own_code import import_file, running
from seamripper._words import did_you_mean, need
from seamripper.errors import ModelError
from seamripper.models.contract import InputContract, interpolation_named
from seamripper.models.model import Model
from seamripper.models.running import use_seed
from seamripper.models.weights import load_weights

_SYMPTOM = re.compile(r"operator torchvision::q?nms does not exist")
_SCHEMA = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
_kept: list[torch.library.Library] = []
"""The library that holds the two signatures: they go when it is collected."""


class TorchvisionRepairWarning(UserWarning):
    """The installed torchvision was repaired in memory; its compiled operators are missing."""


def import_torchvision() -> ModuleType:
    """torchvision, repaired if it needs to be, with a warning the first time."""
    try:
        return need("torchvision", extra="vision", what="A torchvision model")
    except RuntimeError as e:
        if _kept or not _SYMPTOM.search(str(e)):
            raise
    _repair()
    warnings.warn(
        "The compiled part of torchvision could not be loaded beside this build of torch, so it goes on "
        "without it: models and transforms work, detection operators and torchvision.io do not. "
        "To be rid of this, install builds of torch and torchvision that belong together.",
        TorchvisionRepairWarning,
        stacklevel=2,
    )
    return importlib.import_module("torchvision")


def import_timm() -> ModuleType:
    """timm, after torchvision, whose broken import would break it."""
    import_torchvision()
    return need("timm", extra="vision", what="A timm model")


def _repair() -> None:
    library = torch.library.Library("torchvision", "FRAGMENT")  # type: ignore[no-untyped-call]
    for name in ("nms", "qnms"):
        library.define(name + _SCHEMA)  # type: ignore[no-untyped-call]
    _kept.append(library)
    for name in [m for m in sys.modules if m.partition(".")[0] == "torchvision"]:
        del sys.modules[name]


_WORDS = {"True": True, "False": False, "None": None}


def literal(text: str) -> Any:
    """What a value in a spec means to a library: a number, true/false, a list, or else the text itself.

    >>> literal("32"), literal("true"), literal("avg")
    (32, True, 'avg')
    """
    if text in _WORDS:
        return _WORDS[text]
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def from_torchvision(
    name: str, options: Mapping[str, str], *, source: str, seed: int, pretrained: bool, given: bool
) -> Model:
    """A classifier of torchvision, untrained from `seed` or with its default weights; `given` if others follow."""
    models = import_torchvision().models
    known = models.list_models(module=models)
    if name not in known:
        raise ModelError(f"torchvision has no {name!r}: {did_you_mean(name, known)}")
    choices = {k: literal(v) for k, v in options.items()}
    try:
        with use_seed(seed):
            module: nn.Module = models.get_model(name, weights=None, **choices)
    except Exception as e:
        raise ModelError(f"torchvision could not build {source!r}: {e}") from e
    weights = models.get_model_weights(name).DEFAULT
    if pretrained:
        try:
            fetched = weights.get_state_dict(progress=False, check_hash=True, weights_only=True)
        except Exception as e:
            raise _unfetched(source, e) from e
        load_weights(module, fetched, origin=str(weights))
    size = choices.get("image_size") or _crop(weights)
    published = len(weights.meta.get("categories", ())) or None
    classes = choices.get("num_classes", published)
    return Model(
        module,
        source,
        input=None if size is None else (3, size, size),
        classes=classes,
        # Weights in a file that have the published classes are taken for published ones.
        wants=_transforms(weights, size) if pretrained or (given and classes == published) else None,
    )


def _transforms(weights: Any, size: int | None) -> InputContract | None:
    """What torchvision does to a picture before it shows it to a network with these weights."""
    preset = weights.transforms()
    if not all(hasattr(preset, name) for name in ("mean", "std", "interpolation")):
        return None
    return InputContract(
        f"torchvision's transforms for {weights}",
        mean=tuple(preset.mean),
        std=tuple(preset.std),
        size=None if size is None else (size, size),
        interpolation=interpolation_named(preset.interpolation.value),
    )


def from_timm(name: str, options: Mapping[str, str], *, source: str, seed: int, pretrained: bool, given: bool) -> Model:
    """A model of timm, untrained from `seed` or with its default weights; `given` if others follow."""
    timm = import_timm()
    # Asked of timm itself and not of the list alone: a name may carry a tag, as in resnet18.a1_in1k.
    if not timm.is_model(name):
        raise ModelError(f"timm has no {name!r}: {did_you_mean(name, timm.list_models())}")
    choices = {k: literal(v) for k, v in options.items()}
    try:
        with use_seed(seed):
            module: nn.Module = timm.create_model(name, pretrained=False, **choices)
    except Exception as e:
        raise ModelError(f"timm could not build {source!r}: {e}") from e
    if pretrained:
        try:
            with use_seed(seed):
                module = timm.create_model(name, pretrained=True, **choices)
        except Exception as e:
            raise _unfetched(source, e) from e
    classes = int(getattr(module, "num_classes", 0))
    config: Mapping[str, Any] = getattr(module, "pretrained_cfg", {})
    shape = _timm_input(module, choices)
    # Weights in a file that have the published classes are taken for published ones.
    known = pretrained or (given and classes == config.get("num_classes"))
    wants = _config(config, shape) if known else None
    return Model(module, source, input=shape, classes=classes or None, wants=wants)


def _config(config: Mapping[str, Any], shape: tuple[int, ...] | None) -> InputContract | None:
    """What timm's configuration of published weights says of their inputs."""
    if not {"mean", "std"} <= config.keys():
        return None
    return InputContract(
        f"timm's pretrained_cfg of {config.get('architecture', 'this model')}",
        mean=tuple(config["mean"]),
        std=tuple(config["std"]),
        size=None if shape is None else (shape[1], shape[2]),
        interpolation=interpolation_named(config.get("interpolation", "bilinear")),
    )


def _timm_input(module: nn.Module, choices: Mapping[str, Any]) -> tuple[int, ...] | None:
    config: Mapping[str, Any] = getattr(module, "pretrained_cfg", {})
    expected = config.get("input_size")
    if expected is None:
        return None
    # The configuration is of the published weights; a network asked for with another img_size says so itself.
    sides = getattr(getattr(module, "patch_embed", None), "img_size", None) or expected[1:]
    return (choices.get("in_chans", expected[0]), *sides)


def _crop(weights: Any) -> int | None:
    size = getattr(weights.transforms, "keywords", {}).get("crop_size")
    return size if isinstance(size, int) else None


def _unfetched(source: str, error: Exception) -> ModelError:
    first = (str(error).splitlines() or [""])[0]
    return ModelError(
        f"The weights of {source!r} could not be fetched ({type(error).__name__}: {first}). "
        "Is there a connection? If you have them as a file, leave out pretrained and give weights=FILE."
    )


def from_factory(name: str, options: Mapping[str, str], *, source: str, seed: int) -> Model:
    """What FUNCTION of FILE.py returns when called with the options as keywords, under `seed`."""
    file, _, function = name.rpartition(":")
    path = Path(file)
    with use_seed(seed):
        imported = import_file(path, function, error=ModelError)
    factory = getattr(imported, function, None)
    if not callable(factory):
        own = [k for k, v in vars(imported).items() if callable(v) and not k.startswith("_")]
        raise ModelError(f"{file} has no function {function!r}: {did_you_mean(function, own)}")
    with use_seed(seed), running(path, f"{name} failed", error=ModelError):
        made = factory(**{k: literal(v) for k, v in options.items()})
    if not isinstance(made, nn.Module):
        raise ModelError(f"Expected {name} to return a torch.nn.Module, but it returned {type(made).__name__}.")
    return Model(made, source)
