"""Choosing controls, by name with options."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from types import MappingProxyType

from seamripper._doors import require
from seamripper._options import read_options, split_options
from seamripper._plugins import discover, named
from seamripper.controls.base import Control
from seamripper.errors import AuditError


@functools.cache
def controls() -> Mapping[str, type[Control]]:
    """Every control there is, by name: the files of this package, and third parties' entry points.

    >>> controls()["self"].known
    'same'
    """
    return MappingProxyType(discover("seamripper.controls", Control))  # type: ignore[type-abstract]


def control_named(words: str, /) -> Control:
    """The control that `words` mean, with its options if there are any: `clustered_noise?radius=0.5`.

    >>> control_named("shuffeled")
    Traceback (most recent call last):
    seamripper.errors.AuditError: There is no control 'shuffeled': did you mean 'shuffled'...
    """
    require(words, str, "the name of a control", error=AuditError)
    name, given = split_options(words, error=AuditError)
    cls = named(name, dict(controls()), what="control", error=AuditError)
    return cls(**read_options(given, cls, f"control {cls.name!r}", error=AuditError))


def controls_named(words: str, /) -> tuple[Control, ...]:
    """The controls that these words mean, with commas between them.

    >>> [control.name for control in controls_named("self, shuffled")]
    ['self', 'shuffled']
    """
    return tuple(control_named(word.strip()) for word in words.split(","))
