"""Choosing a matching by name or from a record."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from seamripper._plugins import discover, named
from seamripper.errors import MatchError
from seamripper.matching.base import Matching
from seamripper.matching.training import Schedule, Training


@functools.cache
def matchings() -> dict[str, type[Matching]]:
    """Every matching there is, by name.

    >>> list(matchings())
    ['class_mapping', 'direct', 'embedding_mapping', 'regression', 'task']
    """
    return discover("seamripper.matching", Matching)  # type: ignore[type-abstract]


def matching_named(name: str, /, **options: Any) -> Matching:
    """The matching that goes by `name`, with these options.

    >>> matching_named("direct", ridge=0.1).ridge
    0.1
    """
    kind = named(name, matchings(), what="matching", error=MatchError)
    try:
        return kind(**options)
    except TypeError as e:
        raise MatchError(f"The matching {name!r} cannot be made so: {e}.") from e


def matching_from_record(record: Mapping[str, Any]) -> Matching:
    """The matching that `as_record` wrote down; options of a training that are not there are the matching's own.

    >>> mapping = matching_from_record({"name": "class_mapping", "training": {"epochs": 2}})
    >>> mapping.training.epochs, mapping.training.lr
    (2, 0.01)
    """
    options = {key: value for key, value in record.items() if key != "name"}
    if "training" in options:
        training = dict(options["training"])
        if "schedule" in training:
            schedule = dict(training["schedule"])
            if "drops" in schedule:
                schedule["drops"] = tuple(schedule["drops"])
            training["schedule"] = Schedule(**schedule)
        own = getattr(matchings().get(record["name"]), "training", Training())
        options["training"] = replace(own, **training)
    if options.get("label_map") is not None:
        options["label_map"] = tuple(options["label_map"])
    return matching_named(record["name"], **options)
