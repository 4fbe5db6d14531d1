"""Reading a match back from its file."""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

from seamripper._doors import require_path
from seamripper._files import load_tensors, understood
from seamripper.cut.split import Split, as_model, split
from seamripper.errors import FileError
from seamripper.matching.base import matchings
from seamripper.matching.match import Match, build_layer
from seamripper.models import Model, load
from seamripper.models.contract import InputContract
from seamripper.models.running import use_seed
from seamripper.models.spec import Spec
from seamripper.models.weights import load_weights
from seamripper.stitches import stitches

_BUILDABLE = ("zoo", "timm", "torchvision")
"""Models that are built on a file's word: those of packages. A file must not name code that is then run."""


def load_match(
    path: str | os.PathLike[str],
    *,
    sender: nn.Module | Model | str | None = None,
    receiver: nn.Module | Model | str | None = None,
) -> Match:
    """Read a match back.

    Models that the file cannot name (bare modules, a `FILE.py:FUNCTION`) are given here, with any weights: they are
    copied, and the copy's weights come from the file. Nothing that a file names is run. PyTorch's global generator is
    left as it was.
    """
    path = require_path(path, "path", error=FileError)
    with understood(path):
        return _match_of(path, sender, receiver)


def _match_of(
    path: str | os.PathLike[str], sender: nn.Module | Model | str | None, receiver: nn.Module | Model | str | None
) -> Match:
    tensors, record = load_tensors(path, kind="match")
    halves = {}
    for role, given in (("sender", sender), ("receiver", receiver)):
        weights = {k.removeprefix(f"{role}."): v for k, v in tensors.items() if k.startswith(f"{role}.")}
        halves[role] = _half(role, record[role], weights, given, path)
    choice = stitches.from_record(record["stitch"])
    # Whatever a layer draws when it is built is then read from the file.
    with use_seed(0):
        layer = build_layer(choice, halves["sender"], halves["receiver"])
    layer.load_state_dict({k.removeprefix("stitch."): v for k, v in tensors.items() if k.startswith("stitch.")})
    layer.eval().requires_grad_(False)
    return Match(
        halves["sender"],
        halves["receiver"],
        choice,
        layer,
        matchings.from_record(record["matching"]),
        record["freeze"],
        record["status"],
        record["figures"],
        {k.removeprefix("curve."): v for k, v in tensors.items() if k.startswith("curve.")},
        record["made_from"],
        tensors["fitted"],
    )


def _half(
    role: str,
    record: Mapping[str, Any],
    weights: dict[str, Tensor],
    given: nn.Module | Model | str | None,
    path: Any,
) -> Split:
    if given is None and not _buildable(record["recipe"]):
        raise FileError(
            f"{path} was made with a {role} that seamripper cannot build by itself ({record['source']}): "
            f"give it, load_match(path, {role}=model)."
        )
    if isinstance(given, nn.Module):
        given = Model(given, record["source"])
    base = load(record["recipe"]) if given is None else as_model(given, role)
    module = base.module if given is None else copy.deepcopy(base.module)
    load_weights(module, weights, origin=os.fspath(path))
    # Once more, now that all is known to fit: to take the weights in the precision that they were saved in.
    module.load_state_dict(weights, strict=False, assign=True)
    shape = tuple(record["input"])
    wants = record.get("wants") and InputContract.from_record(record["wants"])
    model = Model(module, record["source"], shape, record["classes"], record["record"], wants)
    half = split(model, record["cut"]["name"], model.example(2, input=shape), way=record["way"])
    if half.fingerprint != record["fingerprint"]:
        raise FileError(f"The {role}'s weights in {path} are not those that the match was made with: it was changed.")
    return half


def _buildable(recipe: str | None) -> bool:
    """Whether a model may be built on a file's word: by a package, and without its asking for further files."""
    if recipe is None:
        return False
    spec = Spec.parse(recipe)
    return spec.scheme in _BUILDABLE and spec.architecture == recipe
