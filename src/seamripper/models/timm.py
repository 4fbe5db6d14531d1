"""`timm:NAME`: models of timm."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch import nn

from seamripper._options import literals
from seamripper._words import did_you_mean
from seamripper.errors import ModelError
from seamripper.models.contract import InputContract, nearest_interpolation
from seamripper.models.libraries import Library, import_timm
from seamripper.models.model import Model


@dataclass(frozen=True)
class Timm(Library):
    """A model of timm, untrained or with its default weights."""

    name, about = "timm", "a model of timm"

    def build(self) -> Model:
        """The network, with what its weights are said to want."""
        timm = import_timm()
        # Asked of timm itself and not of the list alone: a name may carry a tag, as in resnet18.a1_in1k.
        if not timm.is_model(self.model):
            raise ModelError(f"timm has no {self.model!r}: {did_you_mean(self.model, timm.list_models())}")
        options = literals(self.options)
        with self.building():
            module: nn.Module = timm.create_model(self.model, pretrained=False, **options)
        if self.pretrained:
            with self.fetching():
                module = timm.create_model(self.model, pretrained=True, **options)
        classes = int(getattr(module, "num_classes", 0))
        config: Mapping[str, Any] = getattr(module, "pretrained_cfg", {})
        shape = _input(module, config, options)
        known = self.has_published_weights(classes, config.get("num_classes"))
        wants = _contract(config, shape) if known else None
        return Model(module, self.label, input=shape, classes=classes or None, wants=wants)


def _input(module: nn.Module, config: Mapping[str, Any], options: Mapping[str, Any]) -> tuple[int, ...] | None:
    expected = config.get("input_size")
    if expected is None:
        return None
    # The configuration is of the published weights; a network asked for with another img_size says so itself.
    sides = getattr(getattr(module, "patch_embed", None), "img_size", None) or expected[1:]
    return (options.get("in_chans", expected[0]), *sides)


def _contract(config: Mapping[str, Any], shape: tuple[int, ...] | None) -> InputContract | None:
    """What timm's configuration of published weights says of their inputs."""
    if not {"mean", "std"} <= config.keys():
        return None
    return InputContract(
        f"timm's pretrained_cfg of {config.get('architecture', 'this model')}",
        mean=tuple(config["mean"]),
        std=tuple(config["std"]),
        size=None if shape is None else (shape[1], shape[2]),
        interpolation=nearest_interpolation(config.get("interpolation", "bilinear")),
    )
