"""Cells: figures of an experiment's results, found by their labels, with the seeds behind them."""

from __future__ import annotations

import functools
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Any

from seamripper.errors import ExperimentError
from seamripper.estimate import Estimate, over_seeds
from seamripper.experiment.parts.base import Row
from seamripper.figures import Pictures

LEARNING = (0.05, 0.01)
"""A stitch is still learning if its loss fell by more than this share, and by more than so much, over the last fifth of
its steps. A share alone would not do: cross-entropy that has come near to 0 goes on halving, and no answer changes."""


_RISING = ("top1", "top5")
"""Figures that go up as a stitch learns."""


@dataclass(frozen=True, eq=False)
class Cells:
    """The rows of an experiment's results table, and its image rows."""

    rows: Sequence[Row]
    pictures: tuple[Pictures, ...] = ()
    errors: tuple[str, ...] = field(default=())

    def of(self, figure: str, **labels: Any) -> Estimate:
        """The figure under these labels. A label that is a set may have any of its values.

        >>> row = {"figure": "top1", "value": 0.9, "receiver_seed": 0, "low": 0.8, "high": 1.0, "n": 10}
        >>> Cells([row, {**row, "receiver_seed": 1, "value": 0.8}]).of("top1").describe()
        '0.85 [0.215, 1.49], n = 2 seeds (mean over 2 seeds)'
        """
        estimate = self.some(figure, **labels)
        if estimate is None:
            raise ExperimentError(
                f"The results have no figure {figure!r} with {labels}: some jobs have failed or were not run. "
                "`seamripper status` on the store tells which."
            )
        return estimate

    def some(self, figure: str, **labels: Any) -> Estimate | None:
        """The same, or None if there is none."""
        known = self._figures.get(figure, [])
        rows = [row for row in known if all(_is(row, key, value) for key, value in labels.items())]
        if not rows:
            return None
        units: dict[Any, list[float]] = defaultdict(list)
        for row in rows:
            units[_unit(row)].append(row["value"])
        learning = figure in _RISING and any(row.get("key") in self._learning for row in rows)
        means = {unit: fmean(values) for unit, values in units.items()}
        if len(rows) == 1 and rows[0].get("low") is not None:
            (row,) = rows
            ends = row["value"], row["low"], row["high"], row["n"]
            return noted(Estimate(*ends, "samples", means, lower_bound=learning))
        if len(units) == 1:
            # One network, several stitches: these are the units.
            (values,) = units.values()
            means = dict(enumerate(values))
        return noted(replace(over_seeds(means), lower_bound=learning))

    @functools.cached_property
    def _figures(self) -> Mapping[str, list[Row]]:
        """The rows that have a value, by figure."""
        by_figure: dict[str, list[Row]] = defaultdict(list)
        for row in self.rows:
            if row.get("value") is not None:
                by_figure[row["figure"]].append(row)
        return by_figure

    @functools.cached_property
    def _learning(self) -> frozenset[Any]:
        """The jobs whose stitch was still learning, by key."""
        losses = {row.get("key"): row["value"] for row in self._figures.get("loss_end", [])}
        share, least = LEARNING
        falls = {row.get("key"): row["value"] for row in self._figures.get("falling", [])}
        return frozenset(key for key, fall in falls.items() if fall > share and fall * losses.get(key, 1.0) > least)

    def alone(self, **labels: Any) -> Estimate:
        """The receiver as it was trained, on the samples of the stitch: before its statistics could adapt."""
        return self.some("receiver_unadapted", **labels) or self.of("receiver_here", **labels)

    def own(self, **labels: Any) -> Estimate:
        """The receiver as it was trained, on its own task."""
        return self.some("own_unadapted", **labels) or self.of("receiver_own", **labels)

    def counts(self, column: str, **labels: Any) -> Counter[str]:
        """How often a column says what, in the rows with these labels."""
        rows = [row for row in self.rows if all(_is(row, key, value) for key, value in labels.items())]
        return Counter(str(row[column]) for row in rows if row.get(column) is not None)


def over_parts(parts: Mapping[Any, Estimate]) -> Estimate:
    """One estimate of several, each of which is a unit.

    >>> over_parts({"a": over_seeds({0: 0.5, 1: 0.7}), "b": over_seeds({0: 0.8})}).values
    {'a': 0.6, 'b': 0.8}
    """
    mean = over_seeds({name: part.value for name, part in parts.items()})
    return noted(replace(mean, lower_bound=any(part.lower_bound for part in parts.values())))


def noted(estimate: Estimate) -> Estimate:
    """The estimate with a note on its units, and on whether stitches were still learning."""
    n = len(estimate.values)
    note = f"mean over {n} seeds" if n > 1 else "one seed, interval over samples"
    return replace(estimate, note=note + (", still learning" if estimate.lower_bound else ""))


def _is(row: Row, key: str, wanted: Any) -> bool:
    return row.get(key) in wanted if isinstance(wanted, (set, frozenset)) else row.get(key) == wanted


def _unit(row: Row) -> Any:
    """The training seed that a row is of: the receiver's, or the sender's where the receiver has none, or its own."""
    for name in ("receiver_seed", "sender_seed"):
        if row.get(name) is not None:
            return row[name]
    return row.get("seed")
