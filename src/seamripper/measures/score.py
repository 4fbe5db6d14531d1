"""Score: the value of a measure, with its interval, and the rule it was made by."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from seamripper._doors import require
from seamripper._notebook import card, draw_scale, facts, short
from seamripper.activations.sampling import Sampling as Sampling
from seamripper.errors import MeasureError
from seamripper.measures.base import Claims, Measure, measures
from seamripper.measures.pair import Pair

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Score:
    """The value of a measure for one pair: n rows, made by `sampling`, with a 95 % interval over samples.

    The interval is over folds of samples (see `interval_of`), with Student's t for so few of them. It says how the
    value would move with other samples of the same data; other seeds of the networks may move it more.
    """

    measure: str
    value: float
    low: float
    high: float
    n: int
    sampling: str
    direction: str
    sides: tuple[float, float] | None = None

    def __str__(self) -> str:
        return f"{self.measure} {self.value:.4f} [{self.low:.4f}, {self.high:.4f}] (n = {self.n}, {self.sampling})"

    def as_record(self) -> dict[str, Any]:
        """The score as JSON has it; an interval that could not be had is null."""
        interval = [self.low, self.high] if math.isfinite(self.low) and math.isfinite(self.high) else None
        record = {
            "measure": self.measure,
            "value": self.value,
            "n": self.n,
            "sampling": self.sampling,
            "interval": interval,
            "direction": self.direction,
        }
        return record if self.sides is None else {**record, "sides": list(self.sides)}

    def plot(self) -> Figure:
        """The value with its interval on the measure's scale, as a matplotlib figure."""
        claims = claims_of(self.measure)
        ends, itself = (claims.range, claims.self_score) if claims else ((-math.inf, math.inf), None)
        label = f"{short(self.measure, 60)} ({self.direction}), 95 % interval over samples"
        return draw_scale(str(self), self, ends, x=label, itself=itself)

    def _repr_html_(self) -> str:
        interval = f"[{self.low:.4f}, {self.high:.4f}]" if math.isfinite(self.high - self.low) else "none"
        rows: list[tuple[str, object]] = [
            ("value", f"{self.value:.4f}"),
            ("95 % interval", interval),
            ("n", self.n),
            ("sampling", self.sampling),
            ("direction", self.direction),
        ]
        if self.sides is not None:
            rows += [("of the sender", self.sides[0]), ("of the receiver", self.sides[1])]
        return card(short(self.measure), facts(rows))


def score(measure: Measure | str, pair: Pair, *, sampling: str = "rows", interval: bool = True) -> Score:
    """The measure's score for the pair.

    >>> import torch
    >>> from seamripper.measures.linear_cka import LinearCKA
    >>> x = torch.randn(50, 3, generator=torch.Generator().manual_seed(0))
    >>> print(score(LinearCKA(), Pair.of(x, x[:, :2])))
    linear_cka 0.7097 [0.4883, 0.9311] (n = 50, rows)
    """
    require(pair, Pair, "pair", error=MeasureError, advice="Make one of rows of the same samples: Pair.of(x, y).")
    measure = measures.make(measure)
    if measure.claims.turns and pair.x.rows is not None and pair.y.rows is not None:
        # Once for all folds: a flattened map has 65,536 columns.
        pair = pair.compact
    value = measure.value(pair)
    low, high = interval_of(measure, pair, value) if interval else (math.nan, math.nan)
    # The figures of either side, like the value, are those of rows that may be turned.
    return Score(measure.label, value, low, high, pair.n, sampling, measure.claims.direction, measure.sides(pair))


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
    """The 95 % interval value ± t · standard error, kept within the measure's range; NaN if there are too few samples.

    The error is the jackknife's, √((g − 1)/g · Σ (θ₋ₖ − mean)²) with θ₋ₖ the measure without fold k of g (Shao & Wu
    1989). A cross-validated measure has a value for each fold already: there it is √(Σ (θₖ − mean)² / g(g − 1)).
    """
    # Here, as importing it leaves a filter of warnings behind.
    from scipy.special import stdtrit

    g = pair.folds
    if g < 2:
        return math.nan, math.nan
    try:
        folds = measure.by_fold(pair)
        parts = folds or [measure.value(pair.without(k)) for k in range(g)]
    except Exception:
        # Too few samples are left, or a decomposition failed on them: the value itself is as good as it was.
        return math.nan, math.nan
    middle = math.fsum(parts) / g
    weight = 1 / (g * (g - 1)) if folds else (g - 1) / g
    half = float(stdtrit(g - 1, 0.975)) * math.sqrt(weight * math.fsum((v - middle) ** 2 for v in parts))
    bottom, top = measure.claims.range
    return max(bottom, value - half), min(top, value + half)


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
