"""Intervention: a change of the inputs that takes one cue away, or sets it against the others."""

from __future__ import annotations

import abc
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from seamripper.data.base import check_seed
from seamripper.data.samples import Inputs, Samples
from seamripper.errors import AuditError, InapplicableError
from seamripper.registry import Choice, Registry

Kind = Literal["image", "text", "audio"]


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
        """The samples' inputs, changed, as a model takes them; `InapplicableError` for inputs of another kind."""

    def apply(self, samples: Samples, *, seed: int = 0) -> Samples:
        """The same samples, by the same ids and labels, with their inputs changed."""
        return samples.with_inputs(self.change(samples, seed=check_seed(seed)), name=f"{samples.name}, {self.label}")


interventions: Registry[Intervention] = Registry(
    Intervention, "seamripper.audits.interventions", what="intervention", error=AuditError
)
"""Every intervention by name. `interventions.make("hue_rotation?degrees=180")` makes one."""


def chosen_interventions(
    choices: Iterable[Intervention | str] | Intervention | str, samples: Samples
) -> tuple[Intervention, ...]:
    """The interventions that these words mean; `default` is all for this kind of inputs, `none` none."""
    words, groups = interventions.several(choices), dict[str, list[Intervention]]()
    if "none" in words:
        if len(words) > 1:
            raise AuditError("Expected interventions to be 'none', or others, but got both.")
        return ()
    if "default" in words:
        kind = kind_of(samples)
        groups["default"] = [cls() for cls in interventions.values() if cls.kind == kind]
    return tuple(interventions.many(words, groups))


def images(samples: Samples, what: str, *, channels: tuple[int, ...] = (1, 3)) -> Tensor:
    """The samples' images (n, c, h, w) as a model takes them, a copy; an error if they are none."""
    inputs = samples.batch(slice(None))
    if isinstance(inputs, Tensor) and inputs.dim() == 4 and inputs.shape[1] in channels and inputs.is_floating_point():
        return inputs.clone()
    shown = f"inputs of shape {samples.shape}" if isinstance(inputs, Tensor) else "named inputs"
    kinds = " or ".join(map(str, channels))
    raise InapplicableError(f"{what} is for images with {kinds} channels, but {samples.name} has {shown}.")


def limits(samples: Samples) -> tuple[float, float]:
    """The least and the largest value that a pixel can have: of pictures black and white, else those that occur."""
    assert isinstance(samples.inputs, Tensor)
    if samples.pictures:
        mean, std = (torch.tensor(value).reshape(-1) for value in (samples.mean, samples.std))
        return float((-mean / std).min()), float(((1 - mean) / std).max())
    return float(samples.inputs.min()), float(samples.inputs.max())


def kind_of(samples: Samples) -> Kind:
    """What the inputs are: tokens are text, (n, c, h, w) images, (n, t) and (n, 1, t) sound.

    Spectrograms are (n, c, h, w) as well: for them, interventions of sound are asked for by name.
    """
    if isinstance(samples.inputs, Mapping):
        if "input_ids" in samples.inputs:
            return "text"
        raise InapplicableError(
            f"{samples.name} has named inputs without `input_ids`: no intervention is known for it."
        )
    dims = samples.inputs.dim()
    if dims == 4:
        return "image"
    if dims == 2 or (dims == 3 and samples.inputs.shape[1] == 1):
        return "audio"
    raise InapplicableError(
        f"{samples.name} has inputs of shape {samples.shape}, for which no intervention is known. Give a conflict set."
    )
