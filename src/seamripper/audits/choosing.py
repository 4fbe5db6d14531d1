"""Choosing audits, by name with options."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from seamripper._doors import require
from seamripper._options import read_options, split_options
from seamripper._plugins import discover, named
from seamripper.audits.base import Audit
from seamripper.errors import AuditError


@functools.cache
def audits() -> Mapping[str, type[Audit]]:
    """Every audit there is, by name: the files of this package, and third parties' entry points.

    >>> audits()["margin"].question
    'Does the sender do better than the controls that should fail?'
    """
    return MappingProxyType(discover("seamripper.audits", Audit))  # type: ignore[type-abstract]


def audit_named(words: str, /) -> Audit:
    """The audit that `words` mean, with its options if there are any: `distribution?detector=energy`.

    >>> audit_named("rnak")
    Traceback (most recent call last):
    seamripper.errors.AuditError: There is no audit 'rnak': did you mean 'rank'...
    """
    require(words, str, "the name of an audit", error=AuditError)
    name, given = split_options(words, error=AuditError)
    cls = named(name, dict(audits()), what="audit", error=AuditError)
    return cls(**read_options(given, cls, f"audit {cls.name!r}", error=AuditError))


def chosen_audits(words: Sequence[str]) -> tuple[Audit, ...]:
    """The audits that these words mean, each once; `all` is every one of them."""
    found: dict[str, Audit] = {}
    for word in (part.strip() for given in words for part in given.split(",")):
        meant = [cls() for cls in audits().values()] if word == "all" else [audit_named(word)]
        found.update({one.name: one for one in meant})
    return tuple(found.values())
