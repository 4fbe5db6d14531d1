"""Choosing measures: by words, in groups, or all that there are."""

from __future__ import annotations

from collections.abc import Iterable

from seamripper.measures._by_stitching import FUNCTIONAL
from seamripper.measures.base import Measure, measures


def chosen(choices: Iterable[Measure | str] | Measure | str) -> tuple[Measure, ...]:
    """The measures that these words mean, each once; commas separate several.

    `all` is every measure in every variant that has a name of its own; `moments`, `batches` and `rows` are those of
    them that are computed from moments, from sums over minibatches, and from kept rows. None stands for the
    functional matrices, which need the models.

    >>> [measure.label for measure in chosen("linear_cka,linear_cka")]
    ['linear_cka']
    """
    variants = [variant for cls in measures.values() for variant in cls.variants()]
    groups = {"all": variants}
    for need in ("moments", "batches", "rows"):
        groups[need] = [measure for measure in variants if measure.claims.needs == need]
    return tuple(measures.many(choices, groups))


def asked_for(choices: Iterable[str | Measure] | str | Measure) -> tuple[tuple[Measure, ...], tuple[str, ...]]:
    """The measures that were asked for, and the names of the matrices that are filled by stitching.

    >>> asked_for(["linear_cka,direct_functional", "linear_cka"])
    ((LinearCKA(),), ('direct_functional',))
    """
    words = measures.several(choices)
    functional = tuple(dict.fromkeys(word for word in words if isinstance(word, str) and word in FUNCTIONAL))
    return chosen([word for word in words if word not in functional]), functional
