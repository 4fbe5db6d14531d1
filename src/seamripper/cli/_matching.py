"""A matching with the options that a command was given."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from seamripper.matching import Matching

NAMES = "task, direct, regression or embedding_mapping. See: seamripper list matchings."
"""For a command's help, which is not to wait for torch."""


def with_options(way: Matching, *, training: Mapping[str, Any], init: str | None) -> Matching:
    """The matching with what is asked for of its training, and of where its stitch starts; no option is ignored."""
    if way.name == "class_mapping":
        raise click.UsageError(
            "The matching 'class_mapping' is for receivers that answer with images, of which there is no accuracy to "
            "tell. [[pictures]] of a study makes and shows them (docs/experiments.md); here, take 'task', 'direct', "
            "'regression' or 'embedding_mapping'."
        )
    known = {field.name for field in dataclasses.fields(way)}
    if init is not None and "init" not in known:
        raise click.UsageError(f"The matching {way.name!r} has no --init: 'task' and 'regression' have one.")
    asked: dict[str, Any] = {} if init is None else {"init": init}
    own = {name: value for name, value in training.items() if "training" not in known and name in known}
    if "training" not in known and training.keys() - own:
        extra = ", ".join(f"--{name}" for name in sorted(training) if name not in own)
        raise click.UsageError(
            f"The matching {way.name!r} solves for its stitch and trains nothing: it has no {extra}. Leave it out, or "
            "take 'task' or 'regression'."
        )
    asked |= own
    if "training" in known:
        asked["training"] = dataclasses.replace(getattr(way, "training"), **training)  # noqa: B009
    return dataclasses.replace(way, **asked)
