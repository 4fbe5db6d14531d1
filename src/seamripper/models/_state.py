"""The state of a training between two epochs, in a file: what it takes to go on as if never stopped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from seamripper._files import load_tensors, save_tensors
from seamripper.errors import SeamripperError
from seamripper.models._weights import load_weights
from seamripper.models.checkpoint import TRAINING


@dataclass
class State:
    """How far a training has come: a mean loss an epoch, and the seconds it took."""

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
    """Put a saved state back into `module` and `optimiser`; a fresh one if there is none of this very job."""
    if not path.is_file():
        return State()
    try:
        tensors, record = load_tensors(path, kind=TRAINING)
        if record["job"] != job:
            return State()
        weights = {k.removeprefix("model."): v for k, v in tensors.items() if k.startswith("model.")}
        load_weights(module, weights, origin=str(path))
        losses, seconds = [float(loss) for loss in record["losses"]], float(record["seconds"])
    except (SeamripperError, KeyError, TypeError, ValueError):
        # Nothing is lost by starting anew but time; a torn or foreign file must not end the run.
        return State()
    parameters = dict(module.named_parameters())
    for key, value in tensors.items():
        if key.startswith("optimiser."):
            _, slot, name = key.split(".", 2)
            optimiser.state[parameters[name]][slot] = _laid_out_as(parameters[name], value)
    return State(losses, seconds)


def _laid_out_as(parameter: Tensor, value: Tensor) -> Tensor:
    """`value` in the memory layout of its parameter (a step counter, which has none, as it is)."""
    return torch.empty_like(parameter).copy_(value) if value.shape == parameter.shape else value
