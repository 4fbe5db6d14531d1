"""What a section is, and what several of them share: grouping by cut, and means over seeds."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from seamripper._stats import over_seeds
from seamripper.report.figures import Figure, Point, as_point
from seamripper.report.reading import Result


@dataclass(frozen=True)
class Section:
    """A part of the page. `switches` are what its figures can be chosen by; `details` are what cells open."""

    name: str
    title: str
    text: str
    figures: tuple[Figure, ...]
    switches: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    details: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def cuts_of(results: Iterable[Result]) -> tuple[str, ...]:
    """The cuts of these results, in the order in which the experiment names them."""
    return tuple(dict.fromkeys(one.cut for one in results))


def over(results: Sequence[Result], figure: str) -> Point:
    """A functional figure over training seeds, or over those of the stitch; of one result, its own interval.

    The unit is a pair of networks: stitches between the same two are averaged first.
    """
    units: dict[tuple[Any, Any], list[float]] = defaultdict(list)
    for one in results:
        value = one.record["result"][figure]["value"]
        if value is not None:
            units[one.labels.get("sender_seed"), one.labels.get("receiver_seed")].append(value)
    if not units:
        return Point(math.nan)
    means = [math.fsum(values) / len(values) for values in units.values()]
    if len(means) > 1:
        return _point(means, "training seeds")
    (values,) = units.values()
    if len(values) > 1:
        return _point(values, "stitch seeds")
    return as_point(results[0].record["result"][figure], "one seed, interval over samples")


def _point(values: Sequence[float], units: str) -> Point:
    found = over_seeds(values)
    # Shares lie between 0 and 1; Student's interval over two seeds does not know that.
    low, high = max(0.0, found.low), min(1.0, found.high)
    return Point(found.value, low, high, found.n, f"mean over {found.n} {units}")


def series_name(one: Result, several: Mapping[str, bool]) -> str:
    """What tells a line from the others: the sender, and whatever else differs."""
    words = [str(one.labels["sender"])]
    words += [str(one.labels[name]) for name in ("matching", "stitch", "freeze") if several[name]]
    return ", ".join(words)


def several(results: Sequence[Result]) -> dict[str, bool]:
    """Which of the choices differ among these results."""
    names = ("matching", "stitch", "freeze", "data")
    return {name: len({one.labels.get(name) for one in results}) > 1 for name in names}
