"""Results of an item, selected by their labels: each value with its interval and the seeds behind it."""

from __future__ import annotations

import functools
import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seamripper.errors import ExperimentError
from seamripper.estimate import Estimate, over_seeds
from seamripper.experiment.parts.base import at_rest, unpack_hits
from seamripper.figures import Figure

_RISING = ("top1", "top5")
"""Figures that go up as a stitch learns."""
_DIFFERENCES = ("penalty", "excess_penalty")
"""Figures that may lie below 0."""
_ROLES = {"top1": "stitched", "receiver_here": "receiver", "receiver_unadapted": "unadapted"}
"""Whose accuracy a figure is, of those whose answers to each sample are known."""
Hits = Mapping[str, Any]
"""The samples' fingerprint (`test`), and which of them each network gets right."""
SampleShares = tuple[str, NDArray[np.float64]]
Labels = Mapping[str, Any]
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Several:
    """Values of a label that make one estimate together, and what they are called."""

    values: tuple[Any, ...]
    called: str = ""


class Units(Several):
    """Values that are the units of the estimate: three untrained senders, say, in place of three seeds."""


class Range(Several):
    """Values over which the estimate is the range, highest minus lowest, of each seed."""


@dataclass(frozen=True, init=False)
class Select:
    """Values of the results: a figure under labels. A label given as a tuple is an axis, and each value a cell.

    A label given as a set may have any of its values, one given as None is free. Of several figures, the first that
    the results have is taken.

    >>> select = Select("top1", sender=("colour", "digit"), receiver="digit")
    >>> list(select.cells())
    [{'sender': 'colour', 'receiver': 'digit'}, {'sender': 'digit', 'receiver': 'digit'}]
    """

    figures: tuple[str, ...]
    labels: Labels
    called: str = ""

    def __init__(self, *figures: str, **labels: Any) -> None:
        fixed = {key: frozenset(value) if isinstance(value, set) else value for key, value in labels.items()}
        object.__setattr__(self, "figures", figures)
        object.__setattr__(self, "labels", fixed)

    def with_name(self, called: str) -> Select:
        """The same, with a name for its values in sentences and figures."""
        select = Select(*self.figures, **self.labels)
        object.__setattr__(select, "called", called)
        return select

    @property
    def axes(self) -> dict[str, tuple[Any, ...]]:
        """The labels that have several values."""
        return {key: value for key, value in self.labels.items() if isinstance(value, tuple)}

    def cells(self) -> Iterator[dict[str, Any]]:
        """The labels of each cell: the product of the axes, in their order."""
        for values in itertools.product(*self.axes.values()):
            yield {**self.labels, **dict(zip(self.axes, values, strict=True))}

    def with_labels(self, **labels: Any) -> Select:
        """The same with other labels."""
        return Select(*self.figures, **{**self.labels, **labels}).with_name(self.called)

    def beside(self, cell: Labels, axes: Mapping[str, tuple[Any, ...]]) -> dict[str, Any]:
        """The labels of what stands beside a cell of another selection, which has these axes.

        A label that this selection leaves out is the cell's own; one with an axis of both is aligned by position.
        A training has no labels but its model: the receiver.

        >>> Select("rank_native", freeze="all").beside({"receiver": "digit", "freeze": "weights"}, {})
        {'receiver': 'digit', 'freeze': 'all'}
        """
        if self.labels.get("kind") == "train":
            return {"model": cell.get("receiver"), **self.labels}
        pairs = {key: dict(zip(axes[key], values, strict=True)) for key, values in self.axes.items()}
        return {**cell, **{key: pairs[key][cell[key]] if key in pairs else v for key, v in self.labels.items()}}


ALONE = Select("receiver_unadapted", "receiver_here").with_name("that of the receiver as it was trained")
"""The receiver alone on the samples of the stitch, before its statistics could adapt."""
OWN = Select("own_unadapted", "receiver_own").with_name("that of the receiver as it was trained, on its own task")
TRAINED = Select("accuracy", kind="train").with_name("that of the receiver as it was trained, on its own task")
"""The same of a receiver whose stitch has no samples, as noise has none."""


@dataclass(frozen=True, eq=False)
class Results:
    """The rows of an item's results table, and its image rows."""

    rows: Sequence[Row]
    pictures: tuple[Figure, ...] = ()
    hits: Mapping[str, Hits] = field(default_factory=dict, repr=False)
    """Which samples the networks of a job get right, by the job's key."""

    def of(self, figures: Sequence[str], labels: Labels) -> Estimate:
        """The estimate of a cell; an error if the results have none.

        >>> row = {"figure": "top1", "value": 0.9, "receiver_seed": 0, "low": 0.8, "high": 1.0, "n": 10}
        >>> str(Results([row, {**row, "receiver_seed": 1, "value": 0.8}]).of(["top1"], {}))
        '0.850 [0.215, 1.485]'
        """
        estimate = self.find(figures, labels)
        if estimate is None:
            asked = {key: value for key, value in labels.items() if value is not None}
            raise ExperimentError(
                f"The results have no figure {figures[-1]!r} with {asked}: some jobs have failed or were not run. "
                "`seamripper status` on the store tells which."
            )
        return estimate

    def find(self, figures: Sequence[str], labels: Labels) -> Estimate | None:
        """The same, or None if the results have none."""
        parts = [(key, value) for key, value in labels.items() if isinstance(value, Several)]
        if not parts:
            return next((x for figure in figures if (x := self._estimate(figure, labels)) is not None), None)
        ((key, several),) = parts
        estimates = {value: self.find(figures, {**labels, key: value}) for value in several.values}
        known = {value: estimate for value, estimate in estimates.items() if estimate is not None}
        if len(known) < len(estimates):
            return None
        return _over_units(known) if isinstance(several, Units) else _range(list(known.values()))

    def _estimate(self, figure: str, labels: Labels) -> Estimate | None:
        estimate = self._plain_estimate(figure, labels)
        if estimate is None:
            return None
        hits = self._hits_of(figure, labels) if figure in _ROLES else None
        return replace(estimate, signed=figure in _DIFFERENCES, rule={} if hits is None else {"hits": hits})

    def _hits_of(self, figure: str, labels: Labels) -> SampleShares | None:
        """Of each sample, by how many of the networks it is named rightly; None if they saw others, or nobody knows."""
        rows = _with_labels(self._figures.get(figure, ()), labels)
        known = [self.hits.get(row.get("key", "")) for row in rows]
        packed = [(hits["test"], row["n"], hits[_ROLES[figure]]) for hits, row in zip(known, rows, strict=True) if hits]
        if len(packed) < len(rows) or len({(test, n) for test, n, _ in packed}) != 1:
            return None
        return packed[0][0], np.mean([unpack_hits(text, n) for _, n, text in packed], axis=0)

    def _plain_estimate(self, figure: str, labels: Labels) -> Estimate | None:
        rows = _with_labels(self._figures.get(figure, ()), labels)
        if not rows:
            return None
        learning = figure in _RISING and any(row.get("key") in self._learning for row in rows)
        units: dict[Any, list[float]] = defaultdict(list)
        for row in rows:
            units[_unit(row)].append(row["value"])
        values = {unit: fmean(several) for unit, several in units.items()}
        if len(rows) == 1 and rows[0].get("low") is not None:
            (row,) = rows
            return _with_note(
                Estimate(row["value"], row["low"], row["high"], row["n"], row.get("unit") or "samples", values),
                learning,
            )
        if len(units) == 1:
            # One network, several stitches: these are the units.
            (several,) = units.values()
            values = dict(enumerate(several))
        # A row of a figure that is no share says what it can be: a correlation, say, lies between -1 and 1.
        return _with_note(replace(over_seeds(values), range=rows[0].get("range")), learning)

    @functools.cached_property
    def _figures(self) -> Mapping[str, list[Row]]:
        """The rows that have a value, by figure."""
        figures: dict[str, list[Row]] = defaultdict(list)
        for row in self.rows:
            if row.get("value") is not None:
                figures[row["figure"]].append(row)
        return figures

    @functools.cached_property
    def _learning(self) -> frozenset[Any]:
        """The jobs whose stitch was still learning, by key."""
        losses = {row.get("key"): row["value"] for row in self._figures.get("loss_end", [])}
        falls = {row.get("key"): row["value"] for row in self._figures.get("falling", [])}
        return frozenset(key for key, fall in falls.items() if not at_rest(fall, losses.get(key, 1.0)))

    def counts(self, column: str, labels: Labels) -> Counter[str]:
        """How often a column says what, in the rows with these labels."""
        rows = _with_labels(self.rows, labels)
        return Counter(str(row[column]) for row in rows if row.get(column) is not None)


def _over_units(parts: Mapping[Any, Estimate]) -> Estimate:
    """One estimate of several, each of which is a unit."""
    learning = any(part.lower_bound for part in parts.values())
    estimate = _with_note(over_seeds({name: part.value for name, part in parts.items()}), learning)
    hits = [part.rule["hits"] for part in parts.values() if "hits" in part.rule]
    if len(hits) < len(parts) or len({test for test, _ in hits}) != 1:
        return estimate
    return replace(estimate, rule={"hits": (hits[0][0], np.mean([shares for _, shares in hits], axis=0))})


def _range(parts: Sequence[Estimate]) -> Estimate:
    """The range of several estimates, seed by seed, so that the seeds stay the unit."""
    seeds = [seed for seed in parts[0].values if all(seed in part.values for part in parts)]
    spans = {s: max(p.values[s] for p in parts) - min(p.values[s] for p in parts) for s in seeds}
    if not spans:
        return Estimate(math.nan)
    estimate = _with_note(over_seeds(spans), learning=any(part.lower_bound for part in parts))
    # Those that still learn may yet come to the same, or part: nothing is known of their range.
    return replace(estimate, low=math.nan, high=math.nan) if estimate.lower_bound else estimate


def _with_note(estimate: Estimate, learning: bool) -> Estimate:
    """The estimate with a note on its units, and on whether stitches were still learning."""
    n = len(estimate.values)
    note = f"mean over {n} seeds" if n > 1 else "one seed, interval over samples"
    return replace(estimate, lower_bound=learning, note=note + (", still learning" if learning else ""))


def _with_labels(rows: Iterable[Row], labels: Labels) -> list[Row]:
    """The rows that have these labels: any of a set's values; one that is None is free."""
    sets = [(key, v if isinstance(v, frozenset) else (v,)) for key, v in labels.items() if v is not None]
    return [row for row in rows if all(row.get(key) in values for key, values in sets)]


def _unit(row: Row) -> Any:
    """The training seed that a row is of: the receiver's, or the sender's where the receiver has none, or its own."""
    for name in ("receiver_seed", "sender_seed"):
        if row.get(name) is not None:
            return row[name]
    return row.get("seed")
