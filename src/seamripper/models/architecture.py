"""Architecture: a network of the zoo by its name and options, without weights."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from torch import nn

from seamripper._options import split_options
from seamripper._words import did_you_mean
from seamripper.errors import ModelError
from seamripper.models.running import use_seed
from seamripper.models.spec import write_spec
from seamripper.models.zoo import FAMILIES, Value


@dataclass(frozen=True)
class Architecture:
    """A zoo family and its options, all of them: those that are not given take the family's defaults.

    >>> small = Architecture.parse("resnet18?width=0.25&stem=3x3")
    >>> small.spec
    'zoo:resnet18?stem=3x3&width=0.25'
    >>> small.classes, small.input
    (10, None)
    >>> small == Architecture("resnet18", {"stem": "3x3", "width": 0.25, "classes": 10})
    True
    >>> sum(p.numel() for p in small.build(seed=0).parameters())
    701466
    """

    family: str
    # Left out of the hash because a dict has none; equality still looks at it.
    options: Mapping[str, Value] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if self.family not in FAMILIES:
            raise ModelError(f"The zoo has no {self.family!r}: {did_you_mean(self.family, list(FAMILIES))}")
        object.__setattr__(self, "options", FAMILIES[self.family].complete(self.options))

    @classmethod
    def parse(cls, text: str) -> Architecture:
        """Read `FAMILY?option=value&…`, with or without `zoo:` before it."""
        family, options = split_options(text.removeprefix("zoo:"), error=ModelError)
        return cls(family, options)

    @property
    def spec(self) -> str:
        """The one way to write it: the options that differ from their defaults, in alphabetical order."""
        defaults = FAMILIES[self.family].options
        changed = {k: _shown(v) for k, v in self.options.items() if v != defaults[k].default}
        return "zoo:" + write_spec(self.family, changed)

    @property
    def input(self) -> tuple[int, ...] | None:
        """The shape of one input where the architecture fixes it."""
        shape = FAMILIES[self.family].input
        return None if shape is None else shape(self.options)

    @property
    def channels(self) -> int:
        """How many channels an input image has."""
        return int(self.options["channels"])

    @property
    def classes(self) -> int | None:
        """How many classes it tells apart; None for an autoencoder."""
        return int(self.options["classes"]) if "classes" in self.options else None

    @property
    def reconstructs(self) -> bool:
        """Whether it is an autoencoder, trained to give back its input."""
        return FAMILIES[self.family].task == "reconstruct"

    def build(self, seed: int | None = None) -> nn.Module:
        """A new network, initialised from `seed`, or from PyTorch's global generator if that is None."""
        self._require_room()
        make = FAMILIES[self.family].make
        if seed is None:
            return make(**self.options)
        with use_seed(seed):
            return make(**self.options)

    def _require_room(self) -> None:
        """Refuse a network whose weights are more than this machine's memory holds, before any of it is taken."""
        try:
            needed = _bytes(self.family, tuple(self.options.items()))
        except (RuntimeError, TypeError, OverflowError) as e:
            why = (str(e).splitlines() or [type(e).__name__])[0]
            raise ModelError(f"{self.spec} cannot be built: {why}. Choose smaller options.") from e
        there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        if needed > there:
            raise ModelError(
                f"{self.spec} has {needed / 1e9:,.0f} GB of weights, and this machine has {there / 1e9:,.0f} GB of "
                "memory. Choose smaller options: width, classes."
            )

    def __str__(self) -> str:
        return self.spec


@functools.cache
def _bytes(family: str, options: tuple[tuple[str, Value], ...]) -> int:
    """The bytes of a network's weights, counted on a device that has none."""
    with torch.device("meta"):
        return sum(tensor.nbytes for tensor in FAMILIES[family].make(**dict(options)).state_dict().values())


def _shown(value: Value) -> str:
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)
