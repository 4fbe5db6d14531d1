"""Choosing interventions: by name with options, or those that are there for a kind of inputs."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from seamripper._doors import require
from seamripper._options import read_options, split_options
from seamripper._plugins import discover, named
from seamripper.audits.interventions.base import Intervention, kind_of
from seamripper.data.samples import Samples
from seamripper.errors import AuditError


@functools.cache
def interventions() -> Mapping[str, type[Intervention]]:
    """Every intervention there is, by name: the files of this package, and third parties' entry points.

    >>> interventions()["greyscale"].kind
    'image'
    """
    return MappingProxyType(discover("seamripper.audits.interventions", Intervention))  # type: ignore[type-abstract]


def intervention_named(words: str, /) -> Intervention:
    """The intervention that `words` mean, with its options if there are any: `hue_rotation?degrees=180`.

    >>> intervention_named("grayscale")
    Traceback (most recent call last):
    seamripper.errors.AuditError: There is no intervention 'grayscale': did you mean 'greyscale'...
    """
    require(words, str, "the name of an intervention", error=AuditError)
    name, given = split_options(words, error=AuditError)
    cls = named(name, dict(interventions()), what="intervention", error=AuditError)
    return cls(**read_options(given, cls, f"intervention {cls.name!r}", error=AuditError))


def chosen_interventions(words: Sequence[str], samples: Samples) -> tuple[Intervention, ...]:
    """The interventions that these words mean; `default` stands for all that are for this kind of samples."""
    found: dict[str, Intervention] = {}
    for word in (part.strip() for given in words for part in given.split(",")):
        if word == "default":
            kind = kind_of(samples)
            meant = [cls() for cls in interventions().values() if cls.kind == kind]
        else:
            meant = [intervention_named(word)]
        found.update({one.label: one for one in meant})
    return tuple(found.values())
