"""The value of a measure, with its interval over samples, and the rule it was made by."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from typing import Any

from seamripper._doors import require
from seamripper.activations.sampling import Sampling as Sampling
from seamripper.errors import MeasureError
from seamripper.estimate import Estimate, fold_interval
from seamripper.measures.base import Claims, Measure, measures
from seamripper.measures.null import null_of_pair, require_permutations
from seamripper.measures.pair import Pair


def score(
    measure: Measure | str,
    pair: Pair,
    *,
    sampling: str = "rows",
    interval: bool = True,
    null: int = 0,
    seed: int = 0,
) -> Estimate:
    """The measure's score for the pair: n rows, made by `sampling`, with a 95 % interval over samples.

    The interval says how the value would move with other samples of the same data; other seeds of the networks may
    move it more. `rule` of the estimate has the measure, the sampling and the direction. With a `null` of so many
    permutations, drawn by the `seed`, `estimate.null` has what the score is worth beside those of permuted samples
    (see `seamripper.measures.null`).

    >>> import torch
    >>> from seamripper.measures.linear_cka import LinearCKA
    >>> x = torch.randn(50, 3, generator=torch.Generator().manual_seed(0))
    >>> print(score(LinearCKA(), Pair.of(x, x[:, :2])))
    0.710 [0.488, 0.931]
    """
    require(pair, Pair, "pair", error=MeasureError, advice="Make one from rows of the same samples: Pair.of(x, y).")
    require_permutations(null)
    measure = measures.make(measure)
    if measure.claims.turns and pair.x.rows is not None and pair.y.rows is not None:
        # Once for all folds: a flattened map has 65,536 columns.
        pair = pair.compact
    value = measure.value(pair)
    low, high = interval_of(measure, pair, value) if interval else (math.nan, math.nan)
    # The figures of either side, like the value, are those of rows that may be turned.
    rule = rule_of(measure.label, sampling, measure.claims.direction, measure.sides(pair))
    beside = null_of_pair(measure, pair, value, permutations=null, seed=seed) if null else None
    return Estimate(value, low, high, pair.n, "rows", rule=rule, null=beside)


def rule_of(measure: str, sampling: str, direction: str, sides: tuple[float, float] | None) -> dict[str, Any]:
    """How a score was made, as its estimate keeps it; `sides` are the values of sender and receiver, if it has any."""
    rule = {"measure": measure, "sampling": sampling, "direction": direction}
    return rule if sides is None else {**rule, "sides": sides}


def reason(measure: Measure, error: Exception) -> str:
    """Why there is no score, in a sentence that names the measure. A user's own measure may raise anything.

    >>> from seamripper.measures.linear_cka import LinearCKA
    >>> reason(LinearCKA(), ZeroDivisionError("division by zero"))
    'linear_cka raised ZeroDivisionError: division by zero.'
    """
    if isinstance(error, MeasureError):
        return str(error) if str(error).startswith(measure.name) else f"{measure.label}: {error}"
    return f"{measure.label} raised {type(error).__name__}: {error}."


def interval_of(measure: Measure, pair: Pair, value: float) -> tuple[float, float]:
    """The 95 % interval over folds of samples, within the measure's range; NaN if there are too few samples.

    A cross-validated measure has a value for each fold; for others it is the measure without each fold.
    """
    if pair.folds < 2:
        return math.nan, math.nan
    try:
        folds = measure.by_fold(pair)
        parts = folds or [measure.value(pair.without(k)) for k in range(pair.folds)]
    except Exception:
        # Too few samples are left, or a decomposition failed on them: the value itself is as good as it was.
        return math.nan, math.nan
    return fold_interval(value, parts, left_out=not folds, within=measure.claims.range)


@functools.cache
def claims_of(label: str) -> Claims | None:
    """The claims of the measure with this label; None for one that is not to be found (a user's own, stitching).

    >>> claims_of("procrustes").range[0], claims_of("my_own") is None
    (0.0, True)
    """
    try:
        # A label never names a file, which would be run.
        return measures.make(label).claims if label.partition("?")[0] in measures else None
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
