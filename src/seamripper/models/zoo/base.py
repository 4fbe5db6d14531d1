"""What a network of the zoo is: a choice, frozen with its options, that is built without weights."""

from __future__ import annotations

import functools
import os
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from seamripper.errors import ModelError
from seamripper.models.running import use_seed
from seamripper.registry import Choice, Registry


@dataclass(frozen=True)
class Architecture(Choice):
    """A network of the zoo without weights. A leaf is a frozen dataclass; its fields are its options.

    A leaf names the class of its network, `network`, which is called with `parts` and with all options as keywords.
    Every network has `channels`. A leaf that tells classes apart has an option `classes`; one that takes images of one
    size alone says so in `size`.

    >>> small = Architecture.parse("resnet18?width=0.25&stem=3x3")
    >>> small.spec
    'zoo:resnet18?stem=3x3&width=0.25'
    >>> small.input, small == Architecture.parse("resnet18", stem="3x3", width=0.25)
    (None, True)
    >>> sum(p.numel() for p in small.build(seed=0).parameters())
    701466
    """

    what, error = "zoo network", ModelError
    least: ClassVar = {"channels": 1, "classes": 1, "size": 1, "patch": 1}
    network: ClassVar[type[nn.Module]]
    parts: ClassVar[tuple[Any, ...]] = ()
    reconstructs: ClassVar[bool] = False
    """Whether it is an autoencoder, trained to give back its input."""

    channels: int = 3

    @staticmethod
    def parse(text: str, **options: Any) -> Architecture:
        """The network that `NAME?option=value&…` means, with or without `zoo:` before it."""
        return architectures.make(text.removeprefix("zoo:"), **options)

    @property
    def spec(self) -> str:
        """The one way to write it: the options that differ from their defaults, in alphabetical order."""
        changed = {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) != f.default}
        words = sorted(f"{name}={str(value).removesuffix('.0')}" for name, value in changed.items())
        return f"zoo:{self.name}?{'&'.join(words)}" if words else f"zoo:{self.name}"

    @property
    def input(self) -> tuple[int, ...] | None:
        """The shape of one input where the architecture fixes it."""
        return None if self.size is None else (self.channels, self.size, self.size)

    @property
    def classes(self) -> int | None:
        """How many classes it tells apart; None for an autoencoder."""
        return None

    @property
    def size(self) -> int | None:
        """The side of the images that it takes; None if it takes any."""
        return None

    def build(self, seed: int | None = None) -> nn.Module:
        """A new network, initialised from `seed`, or from PyTorch's global generator if that is None."""
        self._require_room()
        if seed is None:
            return self.make()
        with use_seed(seed):
            return self.make()

    def make(self) -> nn.Module:
        """The network itself, by PyTorch's global generator, however large it is."""
        return self.network(*self.parts, **asdict(self))

    def _require_room(self) -> None:
        """Refuse a network whose weights are more than this machine's memory holds, before any of it is taken."""
        try:
            needed = _bytes(self)
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


architectures: Registry[Architecture] = Registry(
    Architecture, "seamripper.models.zoo", what="zoo network", error=ModelError, files=False
)
"""Every network of the zoo by name. A checkpoint names one, so a Python file can never be one."""


class _NothingDrawn(TorchFunctionMode):
    """Weights are made, and nothing is drawn for them.

    On the device "meta" torch would draw by its Python references, and import the whole of its compiler for that.
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run the function, unless it draws."""
        given = kwargs or {}
        if getattr(func, "__name__", "").endswith(("normal_", "uniform_")):
            return args[0] if args else given["tensor"]
        return func(*args, **given)


@functools.cache
def _bytes(architecture: Architecture) -> int:
    """The bytes of a network's weights, counted on a device that has none."""
    with torch.device("meta"), _NothingDrawn():
        return sum(tensor.nbytes for tensor in architecture.make().state_dict().values())


def round_channels(width: float) -> int:
    """The multiple of 8 nearest to `width`, but at least 8 and not more than a tenth below it.

    As the published code of MobileNetV2 and EfficientNet rounds a width after a factor.

    >>> [round_channels(width) for width in (2, 17.6, 26.4, 44, 123.2, 11)]
    [8, 16, 24, 48, 120, 16]
    """
    nearest = max(8, int(width + 4) // 8 * 8)
    return nearest + 8 if nearest < 0.9 * width else nearest
