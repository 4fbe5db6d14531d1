"""Kinds of jobs, a file each."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from types import MappingProxyType

from seamripper._plugins import discover, named
from seamripper.errors import ExperimentError
from seamripper.experiment.kinds.base import Kind, Output, Row

__all__ = ["Kind", "Output", "Row", "kind_named", "kinds"]


@functools.cache
def kinds() -> Mapping[str, Kind]:
    """Every kind of job there is, by name.

    >>> list(kinds())
    ['activations', 'audit', 'call', 'compare', 'control', 'noise', 'pass', 'pictures', 'stitch', 'train']
    """
    return MappingProxyType({name: cls() for name, cls in discover(__name__, Kind).items()})  # type: ignore[type-abstract]


def kind_named(name: str) -> Kind:
    """The kind that goes by this name."""
    named(name, {word: type(kind) for word, kind in kinds().items()}, what="kind of job", error=ExperimentError)
    return kinds()[name]
