"""Checkpoints: a zoo model in one file that knows what it is."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from seamripper._devices import as_dtype, device_of, move
from seamripper._files import load_tensors, read_record, save_tensors, understood
from seamripper._options import changed_options
from seamripper.errors import CheckpointError, ModelError, SeamripperError
from seamripper.models.contract import InputContract
from seamripper.models.model import Model
from seamripper.models.running import versions
from seamripper.models.source import OpenSource, recipe_of
from seamripper.models.weights import check_finite, load_weights
from seamripper.models.zoo import Architecture

KIND = "model"
TRAINING = "training"
"""The kind of a file that holds an unfinished training."""


def save_checkpoint(model: Model, path: str | os.PathLike[str]) -> None:
    """Write a zoo model to `path` (.safetensors), so that `load(path)` gives it back.

    Zoo models alone, because a checkpoint is loaded by its record: one that named a user's file or a package
    could make whoever opens it run code.
    """
    path = require_name(path)
    recipe = recipe_of(model) or ""
    if not recipe.startswith("zoo:"):
        raise CheckpointError(
            f"Expected a model of the zoo, but got {model.source}. Save the weights of other models with "
            "safetensors.torch.save_model, and load them with weights=FILE."
        )
    record: dict[str, Any] = {
        "architecture": Architecture.parse(recipe).spec,
        "input": None if model.input is None else list(model.input),
        "classes": model.classes,
        "training": {k: v for k, v in model.record.items() if k != "architecture"},
        "wants": None if model.wants is None else model.wants.as_record(),
        "versions": versions(),
    }
    save_tensors(path, model.module.state_dict(), record, kind=KIND)


def load_checkpoint(path: str | os.PathLike[str]) -> Model:
    """The model that `save_checkpoint` wrote, in eval mode."""
    path = Path(path)
    kind, record = read_record(path)
    if kind is None:
        raise CheckpointError(
            f"{path} holds weights but not the architecture they belong to: give it, for example "
            f"'zoo:resnet18?weights={path}'."
        )
    if kind == TRAINING:
        raise CheckpointError(f"{path} holds a training that was not finished: run it again and it goes on.")
    if kind != KIND:
        raise CheckpointError(f"Expected {path} to hold a model, but it holds a {kind}.")
    with understood(path, error=CheckpointError):
        try:
            architecture = Architecture.parse(record["architecture"])
            training, shape, classes = record["training"], record["input"], record["classes"]
            # Older checkpoints have none.
            wants = InputContract.from_record(record["wants"]) if record.get("wants") else None
        except (ModelError, KeyError) as e:
            made = record.get("versions", {}).get("seamripper", "another version")
            raise CheckpointError(
                f"{path} was written by seamripper {made} and its record cannot be read here: {e}"
            ) from e
        about = {"architecture": architecture.spec, **training}
        shape = None if shape is None else tuple(shape)
        tensors, _ = load_tensors(path, kind=KIND)
        module = architecture.build(seed=0).to(as_dtype(about.get("dtype", "float32")))
    load_weights(module, tensors, origin=str(path))
    check_finite(module, origin=str(path))
    return Model(module.eval(), str(path), input=shape, classes=classes, record=about, wants=wants)


@dataclass(frozen=True)
class Checkpoint(OpenSource):
    """A checkpoint that `train` wrote, by the name of its file alone."""

    name, about, form = "checkpoint", "a checkpoint that `seamripper train` wrote", "FILE.safetensors"
    takes_path = "always"

    def __post_init__(self) -> None:
        super().__post_init__()
        if changed_options(self).keys() - {"model"}:
            raise ModelError(
                f"{self.model} is a checkpoint, with its own architecture and weights: load it by its name alone."
            )

    @property
    def architecture(self) -> str | None:
        """None: it is the checkpoint that says what it holds."""
        return None

    def build(self) -> Model:
        """The model."""
        return load_checkpoint(self.model)


def require_name(path: str | os.PathLike[str]) -> Path:
    """`path`, if a checkpoint may have that name."""
    path = Path(path)
    if path.suffix != ".safetensors":
        raise CheckpointError(f"Expected the name of a checkpoint to end in .safetensors, but got {path.name!r}.")
    return path


@dataclass
class State:
    """How far a training has come: the mean loss of each epoch, and the seconds they took."""

    losses: list[float] = field(default_factory=list)
    seconds: float = 0.0


def save_state(
    path: Path, state: State, module: nn.Module, optimiser: torch.optim.Optimizer, job: Mapping[str, Any]
) -> None:
    """Write the state with the weights and what the optimiser remembers."""
    tensors = {f"model.{k}": v for k, v in module.state_dict().items()}
    for name, parameter in module.named_parameters():
        for key, value in optimiser.state.get(parameter, {}).items():
            if isinstance(value, Tensor):
                tensors[f"optimiser.{key}.{name}"] = value
    record = {"job": dict(job), "losses": state.losses, "seconds": state.seconds}
    save_tensors(path, tensors, record, kind=TRAINING)


def load_state(path: Path, module: nn.Module, optimiser: torch.optim.Optimizer, job: Mapping[str, Any]) -> State:
    """Put a saved state of this very job back into `module` and `optimiser`; without one, return a fresh state."""
    if not path.is_file():
        return State()
    try:
        tensors, record = load_tensors(path, kind=TRAINING)
        if record["job"] != job:
            return State()
        weights = {k.removeprefix("model."): v for k, v in tensors.items() if k.startswith("model.")}
        load_weights(module, move(weights, device_of(module)), origin=str(path))
        losses, seconds = [float(loss) for loss in record["losses"]], float(record["seconds"])
    except (SeamripperError, KeyError, TypeError, ValueError):
        # Nothing is lost by starting anew but time; a torn or foreign file must not end the run.
        return State()
    parameters = dict(module.named_parameters())
    for key, value in tensors.items():
        if key.startswith("optimiser."):
            _, slot, name = key.split(".", 2)
            optimiser.state[parameters[name]][slot] = _in_layout_of(parameters[name], value)
    return State(losses, seconds)


def _in_layout_of(parameter: Tensor, value: Tensor) -> Tensor:
    """`value` on the device and in the memory layout of its parameter (a step counter, which has none, as it is)."""
    if value.shape != parameter.shape:
        return value
    return torch.empty_like(parameter).copy_(move(value, parameter.device))
