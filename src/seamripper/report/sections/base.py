"""What a section is, and what several of them share: grouping by cut, and means over seeds."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from seamripper._stats import over_seeds
from seamripper.experiment.result import Result
from seamripper.report.figures import Figure, Point, as_point


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

    The unit is a pair of networks, or the receiver where the figure is of the receiver alone: what was measured of the
    same unit is averaged first.
    """
    roles = ("receiver",) if figure.startswith("receiver") else ("sender", "receiver")
    units: dict[tuple[Any, ...], list[Mapping[str, Any]]] = defaultdict(list)
    for result in results:
        estimate = result.record["result"][figure]
        if estimate is not None and estimate["value"] is not None:
            units[tuple(result.labels.get(f"{role}_seed") for role in roles)].append(estimate)
    if not units:
        return Point(math.nan)
    means = [math.fsum(each["value"] for each in unit) / len(unit) for unit in units.values()]
    if len(means) > 1:
        return _mean_over(means, "training seeds" if len(roles) == 1 else "pairs of training seeds")
    (estimates,) = units.values()
    if len(estimates) > 1 and len(roles) > 1:
        return _mean_over([each["value"] for each in estimates], "stitch seeds")
    # Several stitches into one receiver say the same of the receiver alone.
    return as_point(estimates[0], "one seed, interval over samples", unit="samples")


def _mean_over(values: Sequence[float], unit: str) -> Point:
    mean = over_seeds(values)
    # Shares lie between 0 and 1; Student's interval over two seeds does not know that.
    low, high = max(0.0, mean.low), min(1.0, mean.high)
    return Point(mean.value, low, high, mean.n, "mean and interval over them", unit=unit)


def audited_point(record: Mapping[str, Any], estimate: Mapping[str, Any] | None, samples: int, note: str = "") -> Point:
    """A figure of an audit, which is a mean over stitch seeds where there are several.

    Its interval is then the wider of that over samples and that over seeds, and its n in the record counts the seeds
    alone: both are named here.
    """
    seeds = len(record["record"]["seeds"])
    if estimate is None or estimate["n"] > seeds:
        return as_point(estimate, note, unit="samples")
    many = f" × {seeds} stitch seeds" if seeds > 1 else ""
    how = "mean over seeds; the interval is the wider of that over samples and that over seeds" if seeds > 1 else ""
    return as_point({**estimate, "n": samples}, "; ".join(filter(None, (note, how))), unit=f"samples{many}")


def samples_of(verdict: Mapping[str, Any], record: Mapping[str, Any]) -> int:
    """The samples that a verdict rests on: as many as those of its controls, or else of the test set."""
    counts: list[int] = [estimate["n"] for estimates in verdict["controls"].values() for estimate in estimates]
    return max(counts, default=int(record["record"]["data"]["test"]["n"]))


def score_point(score: Mapping[str, Any] | None, comparison: Mapping[str, Any]) -> Point:
    """A cell of a comparison. Its interval is over samples; rows may be more (positions), or fewer (those kept)."""
    if score is None or score["value"] is None:
        return Point(math.nan)
    record = comparison["record"]
    if score["measure"] in record.get("functional", {}):
        return as_point(score, unit="held-out samples")
    note = f"interval over {record['rule']['folds']} folds of samples" if score["interval"] else ""
    if score["n"] < record["n"]:
        return as_point(score, note, unit="rows")
    rows = f"{score['n']:,} rows" if score["n"] > record["n"] else ""
    return as_point({**score, "n": record["n"]}, "; ".join(filter(None, (rows, note))), unit="samples")


def series_name(one: Result, several: Mapping[str, bool]) -> str:
    """What tells a line from the others: the sender, and whatever else differs."""
    words = [str(one.labels["sender"])]
    words += [str(one.labels[name]) for name in ("matching", "stitch", "freeze") if several[name]]
    return ", ".join(words)


def several(results: Sequence[Result]) -> dict[str, bool]:
    """Which of the choices differ among these results."""
    names = ("matching", "stitch", "freeze", "data")
    return {name: len({one.labels.get(name) for one in results}) > 1 for name in names}
