"""`FILE.py:FUNCTION`: what a function of the user's own file returns."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from torch import nn

from seamripper._options import literals
from seamripper._own_code import import_file, running
from seamripper._words import did_you_mean
from seamripper.errors import ModelError
from seamripper.models.model import Model
from seamripper.models.running import use_seed
from seamripper.models.source import OpenSource


@dataclass(frozen=True)
class Factory(OpenSource):
    """What FUNCTION of FILE.py returns when it is called with the options as keywords, under `seed`."""

    name, about, form = "factory", "what your function returns", "FILE.py:FUNCTION"
    takes_path = "always"

    def build(self) -> Model:
        """The model, which the function may have trained."""
        self.require_untrained()
        file, _, function = self.model.rpartition(":")
        path = Path(file)
        with use_seed(self.seed):
            imported = import_file(path, function, error=ModelError)
        factory = getattr(imported, function, None)
        if not callable(factory):
            own = [k for k, v in vars(imported).items() if callable(v) and not k.startswith("_")]
            raise ModelError(f"{file} has no function {function!r}: {did_you_mean(function, own)}")
        with use_seed(self.seed), running(path, f"{self.model} failed", error=ModelError):
            made = factory(**literals(self.options))
        if not isinstance(made, nn.Module):
            raise ModelError(
                f"Expected {self.model} to return a torch.nn.Module, but it returned {type(made).__name__}."
            )
        return Model(made, self.model)
