"""Models of the user's own: a function in a Python file that returns one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from torch import nn

from seamripper._own_code import import_file, running
from seamripper._words import did_you_mean
from seamripper.errors import ModelError
from seamripper.models._libraries import literal
from seamripper.models._seeded import seeded
from seamripper.models.model import Model


def from_factory(name: str, options: Mapping[str, str], *, source: str, seed: int) -> Model:
    """What FUNCTION of FILE.py returns when called with the options as keywords, under `seed`."""
    file, _, function = name.rpartition(":")
    path = Path(file)
    with seeded(seed):
        imported = import_file(path, function, error=ModelError)
    factory = getattr(imported, function, None)
    if not callable(factory):
        own = [k for k, v in vars(imported).items() if callable(v) and not k.startswith("_")]
        raise ModelError(f"{file} has no function {function!r}: {did_you_mean(function, own)}")
    with seeded(seed), running(path, f"{name} failed", error=ModelError):
        made = factory(**{k: literal(v) for k, v in options.items()})
    if not isinstance(made, nn.Module):
        raise ModelError(f"Expected {name} to return a torch.nn.Module, but it returned {type(made).__name__}.")
    return Model(made, source)
