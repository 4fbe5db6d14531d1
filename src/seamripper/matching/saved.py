"""The halves of a match that was saved, read back with the weights of its file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

from seamripper._devices import copy_in_memory, settle_like
from seamripper.cut.split import Split, as_model, split
from seamripper.errors import FileError
from seamripper.models import Model, load
from seamripper.models.contract import InputContract
from seamripper.models.source import source_of
from seamripper.models.weights import load_weights


def saved_half(
    role: str,
    record: Mapping[str, Any],
    weights: dict[str, Tensor],
    given: nn.Module | Model | str | None,
    path: Any,
    example: dict[str, Tensor],
) -> Split:
    """The half of a match that a file describes: with the model that was given, or that which the file may name."""
    if given is None and not _buildable(record["recipe"]):
        raise FileError(
            f"{path} was made with a {role} that seamripper cannot build by itself ({record['source']}): "
            f"pass it, Match.load(path, {role}=model)."
        )
    if isinstance(given, nn.Module):
        given = Model(given, record["source"])
    base = load(record["recipe"]) if given is None else as_model(given, role)
    module = base.module if given is None else copy_in_memory(base.module)
    load_weights(module, weights, origin=os.fspath(path))
    # Once more, now that all is known to fit: to take the weights in the precision that they were saved in.
    module.load_state_dict(weights, strict=False, assign=True)
    shape = tuple(record["input"])
    wants = record.get("wants") and InputContract.from_record(record["wants"])
    settle_like(module, base.module)
    model = Model(module, record["source"], shape, record["classes"], record["record"], wants)
    half = split(model, record["cut"]["name"], example or model.example(2, input=shape), way=record["way"])
    if half.fingerprint != record["fingerprint"]:
        raise FileError(f"The {role}'s weights in {path} are not those that the match was made with: it was changed.")
    return half


def _buildable(recipe: str | None) -> bool:
    """Whether a model may be built on a file's word: by a package, and without its asking for further files.

    A file must not name code that is then run.
    """
    if recipe is None:
        return False
    source = source_of(recipe)
    return source.buildable and source.architecture == recipe
