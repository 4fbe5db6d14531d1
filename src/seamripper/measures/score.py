"""The value of a measure, with its interval over samples, and the rule it was made by."""

from __future__ import annotations

import math
from typing import Any

from seamripper._doors import require
from seamripper.activations.sampling import Sampling as Sampling
from seamripper.errors import MeasureError
from seamripper.estimate import Estimate, fold_interval
from seamripper.measures.base import Measure
from seamripper.measures.choosing import measure_named
from seamripper.measures.pair import Pair


def score(measure: Measure | str, pair: Pair, *, sampling: str = "rows", interval: bool = True) -> Estimate:
    """The measure's score for the pair: n rows, made by `sampling`, with a 95 % interval over samples.

    The interval says how the value would move with other samples of the same data; other seeds of the networks may
    move it more. `rule` of the estimate has the measure, the sampling and the direction.

    >>> import torch
    >>> from seamripper.measures.linear_cka import LinearCKA
    >>> x = torch.randn(50, 3, generator=torch.Generator().manual_seed(0))
    >>> print(score(LinearCKA(), Pair.of(x, x[:, :2])))
    0.710 [0.488, 0.931]
    """
    require(pair, Pair, "pair", error=MeasureError, advice="Make one of rows of the same samples: Pair.of(x, y).")
    measure = as_measure(measure)
    if measure.claims.turns and pair.x.rows is not None and pair.y.rows is not None:
        # Once for all folds: a flattened map has 65,536 columns.
        pair = pair.turned
    value = measure.value(pair)
    low, high = interval_of(measure, pair, value) if interval else (math.nan, math.nan)
    # The figures of either side, like the value, are those of rows that may be turned.
    rule = rule_of(measure.label, sampling, measure.claims.direction, measure.sides(pair))
    return Estimate(value, low, high, pair.n, "rows", rule=rule)


def rule_of(measure: str, sampling: str, direction: str, sides: tuple[float, float] | None) -> dict[str, Any]:
    """How a score was made, as its estimate keeps it; `sides` are the values of sender and receiver, if it has any."""
    rule = {"measure": measure, "sampling": sampling, "direction": direction}
    return rule if sides is None else {**rule, "sides": sides}


def as_measure(measure: Measure | str) -> Measure:
    """The measure, or the one that a word means."""
    require(measure, (Measure, str), "measure", error=MeasureError)
    return measure_named(measure) if isinstance(measure, str) else measure


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
