"""Kinds of jobs, a file each."""

from __future__ import annotations

import functools

from seamripper.experiment.kinds.base import Kind, Output, Row, kinds

__all__ = ["Kind", "Output", "Row", "kind_named", "kinds"]


@functools.cache
def kind_named(name: str) -> Kind:
    """The kind that goes by this name."""
    return kinds.make(name)
