"""Choosing measures: by words, in groups, or all that there are."""

from __future__ import annotations

from collections.abc import Iterable

from seamripper.measures.base import Measure, measures

DIRECT, TASK = "direct_functional", "task_functional"
FUNCTIONAL: dict[str, str] = {
    DIRECT: "Relative accuracy of the two networks joined by least squares, on samples that were not fitted on.",
    TASK: "Relative accuracy of the two networks joined by a stitch trained on the task, from the direct one on.",
}
"""The matrices that `compare` fills by stitching the models, with a line on each: no measure may have their names."""


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
