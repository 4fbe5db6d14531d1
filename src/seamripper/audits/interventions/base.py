"""Intervention: a change of the inputs that takes one cue away, or sets it against the others."""

from __future__ import annotations

import abc
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from seamripper.audits.interventions.inputs import Kind, kind_of
from seamripper.data.base import check_seed
from seamripper.data.samples import Inputs, Samples
from seamripper.errors import AuditError
from seamripper.registry import Choice, Registry


@dataclass(frozen=True)
class Intervention(Choice):
    """The choice of an intervention. Leaves are frozen dataclasses with a `name` and their options."""

    what, error = "intervention", AuditError
    about: ClassVar[str]
    """One line for a list."""
    kind: ClassVar[Kind]
    """The inputs that it is for."""

    @abc.abstractmethod
    def change(self, samples: Samples, *, seed: int) -> Inputs:
        """The changed inputs, as a model takes them; `InapplicableError` for inputs of another kind."""

    def apply(self, samples: Samples, *, seed: int = 0) -> Samples:
        """The same samples, with the same ids and labels and with changed inputs."""
        return samples.with_inputs(self.change(samples, seed=check_seed(seed)), name=f"{samples.name}, {self.label}")


interventions: Registry[Intervention] = Registry(
    Intervention, "seamripper.audits.interventions", what="intervention", error=AuditError
)
"""Every intervention by name. `interventions.make("hue_rotation?degrees=180")` makes one."""


def chosen_interventions(
    choices: Iterable[Intervention | str] | Intervention | str, samples: Samples
) -> tuple[Intervention, ...]:
    """The interventions that these words name; `default` is all of them for this kind of inputs, `none` is none."""
    words = interventions.several(choices)
    if "none" in words:
        if len(words) > 1:
            raise AuditError("Expected interventions to be 'none' or a list of others, but got both.")
        return ()

    def usual() -> list[Intervention]:
        kind = kind_of(samples)
        return [cls() for cls in interventions.values() if cls.kind == kind]

    return tuple(interventions.many(words, {"default": usual}))
