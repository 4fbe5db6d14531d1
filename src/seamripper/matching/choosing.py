"""Choosing a matching by name or from a record."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from seamripper._doors import require
from seamripper._options import read_options, split_options
from seamripper._plugins import discover, named
from seamripper.errors import MatchError
from seamripper.matching.base import Matching
from seamripper.models.training import Training


@functools.cache
def matchings() -> dict[str, type[Matching]]:
    """Every matching there is, by name.

    >>> list(matchings())
    ['class_mapping', 'direct', 'embedding_mapping', 'regression', 'task']
    """
    return discover("seamripper.matching", Matching)  # type: ignore[type-abstract]


def matching_named(words: str, /, **options: Any) -> Matching:
    """The matching that goes by the name, with these options; they may stand behind the name.

    There, options of its training stand beside its own.

    >>> matching_named("direct", ridge=0.1).ridge, matching_named("direct?ridge=0.1").ridge
    (0.1, 0.1)
    >>> matching_named("task?init=direct&epochs=3").training.epochs
    3
    """
    require(words, str, "the name of a matching", error=MatchError)
    name, written = split_options(words, error=MatchError)
    kind = named(name, matchings(), what="matching", error=MatchError)
    try:
        return with_written(kind(**options), written)
    except TypeError as e:
        raise MatchError(f"The matching {name!r} cannot be made so: {e}.") from e


def with_written(matching: Matching, options: Mapping[str, str]) -> Matching:
    """The matching with options as a word has them, still as text: its own, and those of its training."""
    own = {field.name for field in fields(matching)}
    trained = {field.name for field in fields(Training)} - own if "training" in own else set()
    what = f"matching {matching.name!r}"
    read = read_options({k: v for k, v in options.items() if k not in trained}, type(matching), what, error=MatchError)
    learning = {key: value for key, value in options.items() if key in trained}
    if learning:
        given = read_options(learning, Training, f"training of the {what}", error=MatchError)
        read["training"] = replace(getattr(matching, "training"), **given)  # noqa: B009
    return replace(matching, **read)


def as_matching(matching: Matching | str, name: str = "matching") -> Matching:
    """The matching, or the one that a word means.

    >>> as_matching("direct")
    Direct(...)
    """
    require(matching, (Matching, str), name, error=MatchError)
    return matching if isinstance(matching, Matching) else matching_named(matching)


def matching_from_record(record: Mapping[str, Any]) -> Matching:
    """The matching that `as_record` wrote down; options of a training that are not there are the matching's own.

    >>> mapping = matching_from_record({"name": "class_mapping", "training": {"epochs": 2}})
    >>> mapping.training.epochs, mapping.training.lr
    (2, 0.01)
    """
    options = {key: value for key, value in record.items() if key != "name"}
    if "training" in options:
        own = getattr(matchings().get(record["name"]), "training", Training())
        options["training"] = replace(own, **options["training"])
    if options.get("label_map") is not None:
        options["label_map"] = tuple(options["label_map"])
    return matching_named(record["name"], **options)
