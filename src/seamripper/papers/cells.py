"""Cells: figures of an experiment's results, found by their labels, with the seeds behind them."""

from __future__ import annotations

import functools
import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Any

from seamripper._stats import Estimate, over_seeds
from seamripper.errors import ExperimentError
from seamripper.experiment.kinds import Row
from seamripper.report.figures import Pictures, Point

LEARNING = (0.05, 0.01)
"""A stitch is still learning if its loss fell by more than this share, and by more than so much, over the last fifth of
its steps. A share alone would not do: cross-entropy that has come near to 0 goes on halving, and no answer changes."""


@dataclass(frozen=True)
class Spread:
    """A figure for each unit: a trained network, or pair of them, of one seed. Stitch seeds are averaged within.

    >>> Spread({0: 0.90, 1: 0.92, 2: 0.94}).told
    '0.920 [0.870, 0.970], 3 seeds'
    """

    values: Mapping[Any, float]
    within: Estimate | None = None
    """Of one unit: the interval over its samples."""
    learning: bool = False
    """Whether stitches were still learning when their training ended: the figure is then a lower bound."""

    @classmethod
    def over(cls, parts: Mapping[Any, Spread]) -> Spread:
        """One figure of several, each a unit.

        >>> Spread.over({"a": Spread({0: 0.5, 1: 0.7}), "b": Spread({0: 0.8})}).values
        {'a': 0.6, 'b': 0.8}
        """
        return cls({name: part.value for name, part in parts.items()}, learning=any(p.learning for p in parts.values()))

    @property
    def estimate(self) -> Estimate:
        """Mean and interval over the units; of one unit, over its samples."""
        if len(self.values) > 1 or self.within is None:
            return over_seeds(list(self.values.values()))
        return self.within

    @property
    def at_rest(self) -> Spread:
        """The same of a claim about so long a training, whatever a longer one would do."""
        return replace(self, learning=False)

    @property
    def possible(self) -> Estimate:
        """The same, as far as it can be told: of what is still learning the interval has no upper end.

        >>> Spread({0: 0.90, 1: 0.92}, learning=True).possible.high
        inf
        """
        found = self.estimate
        return replace(found, high=math.inf) if self.learning and not math.isnan(found.high) else found

    @property
    def value(self) -> float:
        """The mean."""
        return fmean(self.values.values())

    @property
    def told(self) -> str:
        """Value, interval and how many seeds."""
        found, n = self.estimate, len(self.values)
        interval = "" if math.isnan(found.low) else f" [{found.low:.3f}, {found.high:.3f}]"
        units = f"{n} seeds" if n > 1 else f"one seed, n = {found.n:,}"
        return f"{found.value:.3f}{interval}, {units}" + (", still learning" if self.learning else "")

    @property
    def point(self) -> Point:
        """As a figure draws it."""
        found, n = self.estimate, len(self.values)
        low, high = found.low, found.high
        if all(0 <= value <= 1 for value in self.values.values()):
            # Shares lie between 0 and 1; Student's interval over few seeds does not know that.
            low, high = max(0.0, low), min(1.0, high)
        note = f"mean over {n} seeds" if n > 1 else "one seed, interval over samples"
        note += ", still learning" if self.learning else ""
        unit = "seeds" if n > 1 else "samples"
        return Point(found.value, low, high, found.n, note, self.learning, unit)

    def minus(self, other: Spread) -> Estimate:
        """The difference, as far as it can be told: with no upper end if this one is still learning, no lower if that.

        Paired by unit where both have the same, else of two figures with their own errors.
        """
        found = self._minus(other)
        if math.isnan(found.low):
            return found
        low, high = -math.inf if other.learning else found.low, math.inf if self.learning else found.high
        return replace(found, low=low, high=high)

    def _minus(self, other: Spread) -> Estimate:
        shared = [unit for unit in self.values if unit in other.values]
        if len(shared) > 1:
            return over_seeds([self.values[unit] - other.values[unit] for unit in shared])
        a, b = self.estimate, other.estimate
        gap, n = a.value - b.value, min(a.n, b.n)
        if math.isnan(a.low) and math.isnan(b.low):
            return Estimate(gap, math.nan, math.nan, n)
        # Each end from the errors towards it, as intervals near 0 and 1 are uneven (Newcombe 1998).
        (down, up), (their_down, their_up) = _errors(a), _errors(b)
        return Estimate(gap, gap - math.hypot(down, their_up), gap + math.hypot(up, their_down), n)


_RISING = ("top1", "top5")
"""Figures that go up as a stitch learns."""


def _errors(found: Estimate) -> tuple[float, float]:
    """How far an interval goes down and up. A figure without one (a published one, say) counts as exact."""
    return (0.0, 0.0) if math.isnan(found.low) else (found.value - found.low, found.high - found.value)


@dataclass(frozen=True, eq=False)
class Cells:
    """The rows of an experiment's results table, and its image rows."""

    rows: Sequence[Row]
    pictures: tuple[Pictures, ...] = ()
    errors: tuple[str, ...] = field(default=())

    def of(self, figure: str, **labels: Any) -> Spread:
        """The figure under these labels. A label that is a set may have any of its values.

        >>> row = {"figure": "top1", "value": 0.9, "receiver_seed": 0, "low": 0.8, "high": 1.0, "n": 10}
        >>> Cells([row, {**row, "receiver_seed": 1, "value": 0.8}]).of("top1").told
        '0.850 [0.215, 1.485], 2 seeds'
        """
        found = self.some(figure, **labels)
        if found is None:
            raise ExperimentError(
                f"The results have no figure {figure!r} with {labels}: some jobs have failed or were not run. "
                "`seamripper status` on the store tells which."
            )
        return found

    def some(self, figure: str, **labels: Any) -> Spread | None:
        """The same, or None if there is none."""
        known = self._figures.get(figure, [])
        rows = [row for row in known if all(_is(row, key, value) for key, value in labels.items())]
        if not rows:
            return None
        units: dict[Any, list[float]] = defaultdict(list)
        for row in rows:
            units[_unit(row)].append(row["value"])
        learning = figure in _RISING and any(row.get("key") in self._learning for row in rows)
        within = None
        if len(rows) == 1 and rows[0].get("low") is not None:
            (row,) = rows
            within = Estimate(row["value"], row["low"], row["high"], row["n"])
        elif len(units) == 1:
            # One network, several stitches: these are the units.
            (values,) = units.values()
            return Spread(dict(enumerate(values)), learning=learning)
        return Spread({unit: fmean(values) for unit, values in units.items()}, within, learning)

    @functools.cached_property
    def _figures(self) -> Mapping[str, list[Row]]:
        """The rows that have a value, by figure."""
        found: dict[str, list[Row]] = defaultdict(list)
        for row in self.rows:
            if row.get("value") is not None:
                found[row["figure"]].append(row)
        return found

    @functools.cached_property
    def _learning(self) -> frozenset[Any]:
        """The jobs whose stitch was still learning, by key."""
        losses = {row.get("key"): row["value"] for row in self._figures.get("loss_end", [])}
        share, least = LEARNING
        falls = {row.get("key"): row["value"] for row in self._figures.get("falling", [])}
        return frozenset(key for key, fall in falls.items() if fall > share and fall * losses.get(key, 1.0) > least)

    def alone(self, **labels: Any) -> Spread:
        """The receiver as it was trained, on the samples of the stitch: before its statistics could adapt."""
        return self.some("receiver_unadapted", **labels) or self.of("receiver_here", **labels)

    def own(self, **labels: Any) -> Spread:
        """The receiver as it was trained, on its own task."""
        return self.some("own_unadapted", **labels) or self.of("receiver_own", **labels)

    def counts(self, column: str, **labels: Any) -> Counter[str]:
        """How often a column says what, in the rows with these labels."""
        rows = [row for row in self.rows if all(_is(row, key, value) for key, value in labels.items())]
        return Counter(str(row[column]) for row in rows if row.get(column) is not None)


def _is(row: Row, key: str, wanted: Any) -> bool:
    return row.get(key) in wanted if isinstance(wanted, (set, frozenset)) else row.get(key) == wanted


def _unit(row: Row) -> Any:
    """The training seed that a row is of: the receiver's, or the sender's where the receiver has none, or its own."""
    for name in ("receiver_seed", "sender_seed"):
        if row.get(name) is not None:
            return row[name]
    return row.get("seed")
