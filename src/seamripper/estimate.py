"""Estimate: a value with its 95 % interval, and the statistics that give one.

The rules for intervals are here, except those for two networks on the same samples: see `paired_estimate`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from statistics import fmean, stdev, variance
from typing import TYPE_CHECKING, Any, TypeAlias

from seamripper._notebook import card, facts, short
from seamripper.figures import Strip, plot as plot_figure

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

NORMAL = 1.959963984540054
"""The normal quantile of 0.975. NumPy and SciPy are imported where they are used: reading records needs neither."""
_SINGLE = 1.96
TELLING = 0.05
"""Accuracies whose difference is not known to within this are not compared in words."""
_KEYS = ("value", "interval", "n", "unit", "note", "lower_bound", "null")
Ends: TypeAlias = tuple[float, float]
CORRELATION: Ends = (-1.0, 1.0)
"""The least and the largest value of a correlation, and of a difference of two shares."""


LEVEL = 0.05
"""The share of unrelated pairs whose score may pass the threshold of a permutation null."""


@dataclass(frozen=True)
class Null:
    """A score against those of permuted samples (Gröger, Wen, Brbić 2026).

    `p` is the share of orders of the samples, the true one among them, that score as well as the true one. `threshold`
    is the score that a share of `LEVEL` of them passes, and `calibrated` how far above it the score is, on the way to
    that of a representation with itself: 0 under the null, at most 1.

    >>> print(Null(0.005, 0.41, 0.62, 200))
    p = 0.005, calibrated 0.620
    """

    p: float
    threshold: float
    calibrated: float
    permutations: int

    def __str__(self) -> str:
        return f"p = {self.p:.2g}, calibrated {self.calibrated:.3f}"


@dataclass(frozen=True, repr=False)
class Estimate:
    """A value, its 95 % interval, and how many units it rests on.

    >>> print(Estimate(0.914, 0.905, 0.922, 5000))
    0.914 [0.905, 0.922]
    """

    value: float
    low: float = math.nan
    high: float = math.nan
    n: int | None = None
    unit: str = ""
    """What n counts, and what the interval is over: samples, stitch seeds, rows."""
    values: Mapping[Hashable, float] = field(default_factory=dict, hash=False)
    """The value of each unit, so that two estimates can be paired by unit."""
    note: str = ""
    lower_bound: bool = False
    """Whether the true value may be higher, because training had not ended."""
    signed: bool = False
    """Whether it is a difference: one between 0 and 1 is no share then, and its interval may go below 0."""
    range: Ends | None = None
    """The least and the largest value that the figure can have, where that is not a share's: see `CORRELATION`."""
    rule: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """How it was made: for a score, the measure, the sampling, the direction, and the values of both sides."""
    null: Null | None = None
    """For a score: what it is worth beside those of permuted samples, if that was asked for."""

    @property
    def has_interval(self) -> bool:
        """Whether both ends of its interval are known."""
        return not (math.isnan(self.low) or math.isnan(self.high))

    @property
    def possible(self) -> Estimate:
        """The same estimate, without an upper end if it is a lower bound.

        >>> Estimate(0.9, 0.8, 1.0, lower_bound=True).possible.high
        inf
        """
        return replace(self, high=math.inf) if self.lower_bound and self.has_interval else self

    @property
    def as_share(self) -> Estimate:
        """The same estimate, its ends cut to what the figure can be: Student's interval knows no bounds.

        That is its `range`; without one, 0 to 1 if its values lie there.

        >>> rho = over_seeds([0.9, 0.1, 0.2])
        >>> print(rho, rho.as_share, replace(rho, range=CORRELATION).as_share)
        0.400 [-0.683, 1.483] 0.400 [0.000, 1.000] 0.400 [-0.683, 1.000]
        """
        bounds = self.range
        if bounds is None:
            if self.signed or not all(0 <= value <= 1 for value in (self.value, *self.values.values())):
                return self
            bounds = 0.0, 1.0
        low, high = (end if math.isnan(end) else min(bounds[1], max(bounds[0], end)) for end in (self.low, self.high))
        return replace(self, low=low, high=high)

    def __str__(self) -> str:
        """Value and interval, with an arrow if it is a lower bound.

        >>> print(Estimate(0.837, 0.495, 1.0, lower_bound=True), Estimate(142.4, 140.0, 145.2), Estimate(math.nan))
        0.837 [0.495, 1.000] ↑ 142 [140, 145] –
        """
        if math.isnan(self.value):
            return "–"
        digits = 3 if abs(self.value) < 10 else 0
        interval = f" [{self.low:.{digits}f}, {self.high:.{digits}f}]" if self.has_interval else ""
        return f"{self.value:.{digits}f}{interval}" + (" ↑" if self.lower_bound else "")

    def __repr__(self) -> str:
        given = {name: x for name, x in vars(self).items() if name == "value" or x not in ("", {}, False)}
        for name in ("null", "range"):
            if given[name] is None:
                del given[name]
        return f"Estimate({', '.join(f'{name}={x!r}' for name, x in given.items())})"

    def describe(self, *, note: bool = True) -> str:
        """Value, interval, n with what it counts, and the note.

        >>> Estimate(0.914, 0.905, 0.922, 5000, "samples", note="one seed").describe()
        '0.914 [0.905, 0.922], n = 5,000 samples (one seed)'
        """
        words = "no value" if math.isnan(self.value) else f"{self.value:.3g}"
        words += f" [{self.low:.3g}, {self.high:.3g}]" if self.has_interval else ""
        words += "" if self.n is None else f", n = {self.n:,} {self.unit}".rstrip()
        words += "" if self.null is None else f", {self.null}"
        return words + (f" ({self.note})" if note and self.note else "")

    def as_row(self) -> dict[str, Any]:
        """The estimate as columns of a table; an end that is not known, and a value that is not finite, are None.

        >>> Estimate(0.5, n=3, unit="samples").as_row()
        {'value': 0.5, 'low': None, 'high': None, 'n': 3, 'unit': 'samples'}
        """
        numbers = {name: getattr(self, name) for name in ("value", "low", "high")}
        known = {name: x if math.isfinite(x) else None for name, x in numbers.items()}
        return {**known, "n": self.n, "unit": self.unit, **({} if self.null is None else asdict(self.null))}

    def as_record(self) -> dict[str, Any]:
        """The estimate as JSON has it: numbers that are not finite are null, and empty fields are left out."""
        value, low, high = (x if math.isfinite(x) else None for x in (self.value, self.low, self.high))
        known = {name: getattr(self, name) for name in ("unit", "note", "lower_bound") if getattr(self, name)}
        rule = {name: list(x) if isinstance(x, tuple) else x for name, x in self.rule.items()}
        known |= {} if self.null is None else {"null": asdict(self.null)}
        return {**rule, "value": value, "interval": None if low is high is None else [low, high], "n": self.n, **known}

    @classmethod
    def from_record(cls, record: Mapping[str, Any] | None, *, unit: str = "", note: str = "") -> Estimate:
        """The estimate in a record, without a value if that is None. `unit` and `note` are for records without them.

        >>> Estimate.from_record({"value": 0.5, "interval": [None, None], "n": 3}, unit="stitch seeds").describe()
        '0.5, n = 3 stitch seeds'
        """
        if record is None:
            return cls(math.nan, note=note)
        ends = (record["value"], *(record["interval"] or (None, None)))
        value, low, high = (math.nan if x is None else float(x) for x in ends)
        rule = {key: tuple(x) if isinstance(x, list) else x for key, x in record.items() if key not in _KEYS}
        null = record.get("null")
        more = {"unit": record.get("unit", unit), "note": record.get("note", note), "null": null and Null(**null)}
        return cls(value, low, high, record["n"], **more, lower_bound=record.get("lower_bound", False), rule=rule)

    def minus(self, other: Estimate) -> Estimate:
        """The difference: paired by unit if the two share two units or more, else by Newcombe (1998).

        It has no upper end if this one is a lower bound, and no lower end if the other one is.

        >>> print(over_seeds({0: 0.9, 1: 0.92}).minus(over_seeds({0: 0.5, 1: 0.51})))
        0.405 [0.341, 0.469]
        """
        units = [unit for unit in self.values if unit in other.values]
        if len(units) > 1:
            gap = over_seeds([self.values[unit] - other.values[unit] for unit in units], self.unit)
        else:
            gap = Estimate(self.value - other.value, n=_fewest((self, other)), unit=self.unit)
            if self.has_interval or other.has_interval:
                low, high = _newcombe([_exact(self)], [_exact(other)])
                gap = replace(gap, low=low, high=high)
        if not gap.has_interval:
            return gap
        low, high = -math.inf if other.lower_bound else gap.low, math.inf if self.lower_bound else gap.high
        return replace(gap, low=low, high=high)

    def plot(self) -> Figure:
        """The value with its interval on a scale, as a matplotlib figure."""
        known = [x for x in (self.value, self.low, self.high) if math.isfinite(x)]
        bounds = (0.0, 1.0) if all(0 <= x <= 1 for x in known) else None
        how = ", ".join(str(self.rule[name]) for name in ("measure", "direction") if name in self.rule)
        return plot_figure(Strip(self.describe(), (), self, how or "value", bounds=bounds))

    def _repr_html_(self) -> str:
        interval = f"[{self.low:.4f}, {self.high:.4f}]" if self.has_interval else "none"
        rows: list[tuple[str, object]] = [("value", f"{self.value:.4f}"), ("95 % interval", interval)]
        rows.append(("n", self.n if not self.unit else f"{self.n:,} {self.unit}"))
        rows += [(name, x) for name, x in self.rule.items() if name not in ("measure", "sides")]
        rows += [] if self.null is None else list(asdict(self.null).items())
        rows += list(zip(("of the sender", "of the receiver"), self.rule.get("sides", ()), strict=False))
        return card(short(str(self.rule.get("measure", "Estimate"))), facts(rows))


BySeed: TypeAlias = Sequence[tuple[int, Estimate]]
"""An estimate over samples for each seed."""


# ---- over samples


def proportion(hits: float, n: int) -> Estimate:
    """A share of n samples with Wilson's score interval, which keeps its level near 0 and 1 (Wilson 1927).

    `hits` may be a sum of numbers between 0 and 1. None of them varies more than hits do, so the interval of their mean
    is then rather too wide than too narrow, and has a width even if all of them are 1.

    >>> proportion(95, 100)
    Estimate(value=0.95, low=0.888..., high=0.978..., n=100, unit='samples')
    """
    p, z2 = hits / n, NORMAL**2
    centre = (p + z2 / (2 * n)) / (1 + z2 / n)
    half = NORMAL / (1 + z2 / n) * math.sqrt(p * (1 - p) / n + z2 / (4 * n * n))
    # At p = 0 and 1 the interval ends there exactly; rounding must not push it past.
    return Estimate(p, min(max(0.0, centre - half), p), max(min(1.0, centre + half), p), n, "samples")


def bootstrap(value: float, resamples: NDArray[np.float64], n: int) -> Estimate:
    """A value from n samples, with the interval that holds 95 % of its resamples.

    >>> import numpy as np
    >>> print(bootstrap(0.5, np.linspace(0, 1, 1001), 40))
    0.500 [0.025, 0.975]
    """
    import numpy as np

    low, high = np.quantile(resamples, [0.025, 0.975])
    return Estimate(value, min(float(low), value), max(float(high), value), n, "samples")


def reach_of_all(deviations: NDArray[np.float64], observed: float) -> tuple[float, float]:
    """How many errors intervals that hold for several values at once reach, and the p of the largest one `observed`.

    `deviations` has a row for each resample: how far each value deviates there, in errors. What counts is the largest
    of a row (max-T: Westfall & Young 1993). No interval is narrower than that of a single value.

    >>> import numpy as np
    >>> reach_of_all(np.arange(999.0)[:, None] * [0.005, 0.01], 9.9)
    (9.48..., 0.01)
    """
    import numpy as np

    largest = deviations.max(1)
    reach = max(_SINGLE, float(np.quantile(largest, 0.95)))
    return reach, float((1 + (largest >= observed).sum()) / (1 + len(largest)))


def fold_interval(value: float, parts: Sequence[float], *, left_out: bool, within: Ends) -> Ends:
    """The interval value ± t · standard error, cut at the ends of `within`.

    If each part is the value with one of g folds `left_out`, the error is the jackknife's, √((g − 1)/g · Σ (θ₋ₖ −
    mean)²) (Shao & Wu 1989); if it is the value of one fold, it is √(Σ (θₖ − mean)² / g(g − 1)).
    """
    g, mean = len(parts), math.fsum(parts) / len(parts)
    weight = (g - 1) / g if left_out else 1 / (g * (g - 1))
    half = _student(g - 1) * math.sqrt(weight * math.fsum((part - mean) ** 2 for part in parts))
    return max(within[0], value - half), min(within[1], value + half)


def relative_size(squares: Sequence[float], reference: Sequence[float]) -> Estimate:
    """√(Σ squares / Σ reference), one number of each per sample, with the interval of a jackknife over samples.

    So large is a difference beside what it is a difference from. Beside nothing at all, any difference is infinite.

    >>> print(relative_size([0.01, 0.04, 0.09], [1.0, 4.0, 9.0]), relative_size([0.0, 0.0], [0.0, 0.0]))
    0.100 [0.100, 0.100] 0.000 [0.000, 0.000]
    """
    above, below, n = math.fsum(squares), math.fsum(reference), len(squares)
    if above == 0:
        return Estimate(0.0, 0.0, 0.0, n, "samples")
    if not (below > 0 and math.isfinite(above)):
        return Estimate(math.inf, n=n, unit="samples")
    value = math.sqrt(above / below)
    return jackknife(
        lambda a, b: math.sqrt(max(a, 0.0) / b) if b > 0 else value, squares, reference, within=(0.0, math.inf)
    )


def jackknife(
    figure: Callable[..., float], *columns: Sequence[float], within: Ends = (-math.inf, math.inf), unit: str = "samples"
) -> Estimate:
    """`figure(Σ of each column)`, with the interval of a jackknife over units; a column has one number per unit.

    With the sums and the numbers of tokens of each text as columns, the mean over tokens is `sums / numbers`, and texts
    are the units of its interval, as the tokens of one text are not independent. `within` are the ends that the figure
    cannot pass. A share of exactly 0 or 1 has Wilson's interval, as if each unit were one trial.

    >>> def mean(sums, numbers):
    ...     return sums / numbers
    >>> print(jackknife(mean, [30, 12, 20, 22], [40] * 4), jackknife(mean, [4, 4], [4, 4], within=(0, 1)))
    0.525 [0.231, 0.819] 1.000 [0.342, 1.000]
    """
    totals = [math.fsum(column) for column in columns]
    rests = ([total - x for total, x in zip(totals, row, strict=True)] for row in zip(*columns, strict=True))
    n = len(columns[0])
    try:
        value = figure(*totals)
        parts = [figure(*rest) for rest in rests] if n > 1 else []
    except ZeroDivisionError:
        return Estimate(math.nan, n=n, unit=unit)
    if within == (0, 1) and value in within:
        return replace(proportion(value * n, n), unit=unit)
    if not parts:
        return Estimate(value, n=n, unit=unit)
    return Estimate(value, *fold_interval(value, parts, left_out=True, within=within), n, unit)


def _student(freedom: float, looks: int = 1) -> float:
    """The quantile of 0.975 of Student's distribution; for so many looks, that of a tail as many times smaller."""
    from scipy.special import ndtri, stdtrit

    share = 1 - 0.025 / looks
    return float(ndtri(share) if math.isinf(freedom) else stdtrit(freedom, share))


# ---- over seeds


def over_seeds(values: Sequence[float] | Mapping[Any, float], unit: str = "seeds") -> Estimate:
    """The mean over seeds, or other units, with Student's interval; a single unit gives no interval.

    >>> print(over_seeds([0.90, 0.92, 0.94]))
    0.920 [0.870, 0.970]
    >>> over_seeds([0.9]).has_interval
    False
    """
    by_unit = dict(values) if isinstance(values, Mapping) else {}
    numbers = list(values.values()) if isinstance(values, Mapping) else values
    n, mean = len(numbers), math.fsum(numbers) / len(numbers)
    if n < 2:
        return Estimate(mean, n=n, unit=unit, values=by_unit)
    deviation = math.sqrt(math.fsum((v - mean) ** 2 for v in numbers) / (n - 1))
    half = _student(n - 1) * deviation / math.sqrt(n)
    return Estimate(mean, mean - half, mean + half, n, unit, by_unit)


def with_units(estimate: Estimate, n: int) -> Estimate:
    """An estimate over two seeds or more as it would be over n of them, with the same value and deviation.

    >>> print(with_units(over_seeds([0.90, 0.92, 0.94]), 12))
    0.920 [0.907, 0.933]
    """
    now = estimate.n or 2
    ratio = _student(n - 1) / math.sqrt(n) / (_student(now - 1) / math.sqrt(now))
    low, high = (estimate.value + ratio * (end - estimate.value) for end in (estimate.low, estimate.high))
    return replace(estimate, low=low, high=high, n=n)


def with_looks(estimate: Estimate, looks: int) -> Estimate:
    """An estimate whose interval is wide enough for so many of its kind to hold together at 95 % (Bonferroni).

    Over seeds it grows by Student's quantiles, over samples by those of the normal distribution.

    >>> print(with_looks(over_seeds([0.90, 0.92, 0.94]), 4), with_looks(Estimate(0.9, 0.88, 0.92, 900, "samples"), 4))
    0.920 [0.818, 1.022] 0.900 [0.875, 0.925]
    """
    if looks == 1 or not estimate.has_interval:
        return estimate
    freedom = estimate.n - 1 if estimate.n and estimate.unit != "samples" else math.inf
    ratio = _student(freedom, looks) / _student(freedom)
    low, high = (estimate.value + ratio * (end - estimate.value) for end in (estimate.low, estimate.high))
    return replace(estimate, low=low, high=high)


def deviation_over_seeds(values: Sequence[float]) -> Estimate:
    """The standard deviation s over n seeds; its interval s √((n − 1) / χ²) is wide for few seeds.

    >>> print(deviation_over_seeds([0.90, 0.92, 0.97]))
    0.036 [0.019, 0.227]
    """
    from scipy.special import chdtri

    s, df = stdev(values), len(values) - 1
    low, high = (s * math.sqrt(df / float(chdtri(df, tail))) for tail in (0.025, 0.975))
    return Estimate(s, low, high, len(values), "stitch seeds")


# ---- over samples and seeds


def mean_over(estimates: Sequence[Estimate]) -> Estimate:
    """The mean of the estimates of several stitch seeds; its interval covers those over seeds and over samples.

    The estimate of a single seed is returned as it is. Seeds share their samples, so more seeds do not make the error
    over samples smaller: the ends of those intervals are averaged. So seeds that all give 1.000 are no certainty.

    >>> print(mean_over([proportion(100, 100)] * 3))
    1.000 [0.963, 1.000]
    """
    if len(estimates) == 1:
        return estimates[0]
    seeds = over_seeds([estimate.value for estimate in estimates])
    samples = fmean(estimate.low for estimate in estimates), fmean(estimate.high for estimate in estimates)
    return _wider(seeds.value, (seeds.low, seeds.high), samples, estimates, len(estimates))


def difference(a: BySeed, b: BySeed) -> Estimate:
    """mean a − mean b; its interval covers those over seeds and over samples.

    Over seeds it is Student's for the differences seed by seed if both have the same seeds, else Welch's (1947). Over
    samples it is Newcombe's (1998), which takes the two as independent. Networks on the same samples find the same ones
    hard, so for them it is too wide rather than too narrow.

    >>> def seeds(*values):
    ...     return [(seed, Estimate(value, value - 0.01, value + 0.01, 1000)) for seed, value in enumerate(values)]
    >>> print(difference(seeds(0.90, 0.92, 0.94), seeds(0.50, 0.53, 0.53)))
    0.400 [0.375, 0.425]
    """
    ours, theirs = ([estimate for _, estimate in side] for side in (a, b))
    numbers = [estimate.value for estimate in ours], [estimate.value for estimate in theirs]
    over = _by_seed(dict(a), dict(b)) if _same_seeds(a, b) else _welch(*numbers)
    value = fmean(numbers[0]) - fmean(numbers[1])
    return _wider(value, over, _newcombe(ours, theirs), (*ours, *theirs), min(len(a), len(b)))


def _same_seeds(a: BySeed, b: BySeed) -> bool:
    ours, theirs = ([seed for seed, _ in side] for side in (a, b))
    return len(a) > 1 and sorted(ours) == sorted(theirs) and len(set(ours)) == len(ours)


def _by_seed(a: Mapping[int, Estimate], b: Mapping[int, Estimate]) -> Ends:
    gap = over_seeds([estimate.value - b[seed].value for seed, estimate in a.items()])
    return gap.low, gap.high


def _welch(a: Sequence[float], b: Sequence[float]) -> Ends:
    """Welch's interval; a side with one value counts as constant, as its variance is unknown."""
    errors = [(variance(side) / len(side), len(side) - 1) for side in (a, b) if len(side) > 1]
    if not errors:
        return math.nan, math.nan
    middle, total = fmean(a) - fmean(b), math.fsum(error for error, _ in errors)
    if total == 0:
        return middle, middle
    freedom = total**2 / math.fsum(error**2 / df for error, df in errors)
    half = _student(freedom) * math.sqrt(total)
    return middle - half, middle + half


def _newcombe(a: Sequence[Estimate], b: Sequence[Estimate]) -> Ends:
    """Each end from the errors in its direction, as intervals near 0 and 1 are asymmetric."""

    def reach(side: Sequence[Estimate], *, up: bool) -> float:
        return fmean((e.high - e.value) if up else (e.value - e.low) for e in side)

    value = fmean(e.value for e in a) - fmean(e.value for e in b)
    below = math.hypot(reach(a, up=False), reach(b, up=True))
    return value - below, value + math.hypot(reach(a, up=True), reach(b, up=False))


def _exact(estimate: Estimate) -> Estimate:
    """The estimate; one without an interval, such as a published value, counts as exact."""
    return estimate if estimate.has_interval else replace(estimate, low=estimate.value, high=estimate.value)


def _wider(value: float, seeds: Ends, samples: Ends, of: Sequence[Estimate], k: int) -> Estimate:
    """An estimate whose interval covers both; an unknown one does not count."""
    known = [ends for ends in (seeds, samples) if math.isfinite(ends[0]) and math.isfinite(ends[1])]
    low, high = min((low for low, _ in known), default=math.nan), max((high for _, high in known), default=math.nan)
    note = "mean over seeds; the interval is the wider of that over samples and that over seeds" if k > 1 else ""
    unit = " × ".join(filter(None, (of[0].unit or "samples", f"{k} stitch seeds" if k > 1 else "")))
    return Estimate(value, low, high, _fewest(of), unit, note=note)


def _fewest(estimates: Sequence[Estimate]) -> int | None:
    return min((estimate.n for estimate in estimates if estimate.n is not None), default=None)
