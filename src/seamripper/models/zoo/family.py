"""Family: an architecture with options still open, and the options it takes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from torch import nn

from seamripper._words import did_you_mean, word_list
from seamripper.errors import ModelError

Value: TypeAlias = int | float | str

_NOUN = {int: "a whole number of at least 1", float: "a number above 0"}


@dataclass(frozen=True)
class Option:
    """One option: its default, which also says its type, and its allowed values if they are few.

    >>> Option(1.0).read("0.25", "width"), Option(10).read(100, "classes")
    (0.25, 100)
    """

    default: Value
    choices: tuple[Value, ...] = ()

    def read(self, given: object, name: str) -> Value:
        """`given`, a value or its text, as a value of the right type."""
        value = self._typed(given)
        if value is None or (self.choices and value not in self.choices):
            wanted = word_list(map(str, self.choices), last="or") if self.choices else _NOUN[type(self.default)]
            raise ModelError(f"Expected option {name!r} to be {wanted}, but got {given!r}.")
        return value

    def _typed(self, given: object) -> Value | None:
        if isinstance(given, bool):
            return None
        if isinstance(self.default, str):
            return given if isinstance(given, str) else None
        try:
            if isinstance(self.default, int):
                whole = int(given) if isinstance(given, int | str) else 0
                return whole if whole >= 1 else None
            number = float(given) if isinstance(given, int | float | str) else math.nan
        except ValueError:
            return None
        return number if math.isfinite(number) and number > 0 else None


@dataclass(frozen=True)
class Family:
    """How a zoo architecture is made, by `make(**options)`, and what it is for.

    `input` gives the shape of one input where the options fix it; it is None for networks that take any size.
    """

    name: str
    make: Callable[..., nn.Module]
    options: Mapping[str, Option]
    task: Literal["classify", "reconstruct"] = "classify"
    input: Callable[[Mapping[str, Value]], tuple[int, ...]] | None = None

    def complete(self, given: Mapping[str, object]) -> dict[str, Value]:
        """Every option of this family by name: the given ones, checked, and the defaults of the others."""
        for name in given:
            if name not in self.options:
                hint = did_you_mean(name, sorted(self.options))
                raise ModelError(f"The zoo's {self.name!r} has no option {name!r}: {hint}")
        return {
            name: option.read(given.get(name, option.default), name) for name, option in sorted(self.options.items())
        }


def round_channels(width: float) -> int:
    """The multiple of 8 nearest to `width`, but at least 8 and not more than a tenth below it.

    As the published code of MobileNetV2 and EfficientNet rounds a width after a factor.

    >>> [round_channels(width) for width in (2, 17.6, 26.4, 44, 123.2, 11)]
    [8, 16, 24, 48, 120, 16]
    """
    nearest = max(8, int(width + 4) // 8 * 8)
    return nearest + 8 if nearest < 0.9 * width else nearest
