"""The scale that a score stands on: what the measure of that label claims."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable

from seamripper.measures.base import Claims, measures


@functools.cache
def claims_of(label: str) -> Claims | None:
    """The claims of the measure with this label; None for one that is not to be found (a user's own, stitching).

    >>> claims_of("procrustes").range[0], claims_of("my_own") is None
    (0.0, True)
    """
    try:
        return measures.make(label).claims
    except Exception:
        # A label may come from a file, and a third party's measure may raise anything: the score is there without it.
        return None


def ends_of(label: str, values: Iterable[float]) -> tuple[float, float]:
    """The ends of the colours for these values: of the measure's range, where that is finite; else of the values.

    A range that goes below zero begins at zero where no value is below it, as half of the colours would be unused.

    >>> ends_of("linear_cka", [0.5, 0.7]), ends_of("debiased_cka", [0.5]), ends_of("my_own", [3.0, 5.0])
    ((0.0, 1.0), (0.0, 1.0), (0.0, 5.0))
    """
    claims, known = claims_of(label), [value for value in values if math.isfinite(value)] or [0.0]
    bottom, top = (-math.inf, math.inf) if claims is None else claims.range
    low = 0.0 if min(known) >= 0 else bottom if math.isfinite(bottom) else min(known)
    return min(low, *known), max(top if math.isfinite(top) else max(known), *known)
