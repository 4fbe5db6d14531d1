"""`torchvision:NAME`: classifiers of torchvision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import nn

from seamripper._options import literals
from seamripper._words import did_you_mean
from seamripper.errors import ModelError
from seamripper.models.contract import InputContract, nearest_interpolation
from seamripper.models.libraries import Library, import_torchvision
from seamripper.models.model import Model
from seamripper.models.weights import load_weights


@dataclass(frozen=True)
class Torchvision(Library):
    """A classifier or segmentation network of torchvision, untrained or with its default weights."""

    name, about = "torchvision", "a model of torchvision"

    def build(self) -> Model:
        """The network, with what its weights are said to want."""
        models = import_torchvision().models
        dense = models.list_models(module=models.segmentation)
        known = [*models.list_models(module=models), *dense]
        if self.model not in known:
            raise ModelError(f"torchvision has no {self.model!r}: {did_you_mean(self.model, known)}")
        options = literals(self.options)
        # A segmentation network would fetch a backbone by itself.
        backbone = {"weights_backbone": None} if self.model in dense else {}
        with self.building():
            module: nn.Module = models.get_model(self.model, weights=None, **backbone, **options)
        weights = models.get_model_weights(self.model).DEFAULT
        if self.pretrained:
            with self.fetching():
                state = weights.get_state_dict(progress=False, check_hash=True, weights_only=True)
            load_weights(module, state, origin=str(weights))
        size = options.get("image_size") or _crop(weights)
        published = len(weights.meta.get("categories", ())) or None
        classes = options.get("num_classes", published)
        wants = _contract(weights, size) if self.has_published_weights(classes, published) else None
        return Model(module, self.label, None if size is None else (3, size, size), classes, wants=wants)


def _contract(weights: Any, size: int | None) -> InputContract | None:
    """What torchvision does to a picture before it shows it to a network with these weights."""
    preset = weights.transforms()
    if not all(hasattr(preset, name) for name in ("mean", "std", "interpolation")):
        return None
    return InputContract(
        f"torchvision's transforms for {weights}",
        mean=tuple(preset.mean),
        std=tuple(preset.std),
        size=None if size is None else (size, size),
        interpolation=nearest_interpolation(preset.interpolation.value),
    )


def _crop(weights: Any) -> int | None:
    size = getattr(weights.transforms, "keywords", {}).get("crop_size")
    return size if isinstance(size, int) else None
