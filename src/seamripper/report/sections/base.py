"""What a section is, and what several of them share: grouping by cut, and means over seeds."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from seamripper.estimate import Estimate, over_seeds
from seamripper.experiment.result import Result
from seamripper.figures import Figure


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
    return tuple(dict.fromkeys(result.cut for result in results))


def over(results: Sequence[Result], figure: str) -> Estimate:
    """A figure over training seeds, or over those of the stitch; of one result, with its own interval.

    The unit is a pair of networks, or the receiver where the figure is of the receiver alone: what was measured of the
    same unit is averaged first.
    """
    roles = ("receiver",) if figure.startswith("receiver") else ("sender", "receiver")
    units: dict[tuple[Any, ...], list[Estimate]] = defaultdict(list)
    for result in results:
        estimate = Estimate.from_record(result.record["result"][figure], note="one seed, interval over samples")
        if not math.isnan(estimate.value):
            units[tuple(result.labels.get(f"{role}_seed") for role in roles)].append(estimate)
    if not units:
        return Estimate(math.nan)
    means = [math.fsum(estimate.value for estimate in unit) / len(unit) for unit in units.values()]
    if len(means) > 1:
        return _mean(means, "training seeds" if len(roles) == 1 else "pairs of training seeds")
    (estimates,) = units.values()
    if len(estimates) > 1 and len(roles) > 1:
        return _mean([estimate.value for estimate in estimates], "stitch seeds")
    # Several stitches into one receiver say the same of the receiver alone.
    return estimates[0]


def _mean(values: Sequence[float], unit: str) -> Estimate:
    return replace(over_seeds(values, unit).as_share, note="mean and interval over them")


def accuracy_of(outcome: Mapping[str, Any]) -> Estimate:
    """The accuracy of an outcome's record, with its label and seed."""
    return Estimate.from_record(outcome["result"]["top1"], note=f"{outcome['label']}, seed {outcome['seed']}")


def score_of(score: Mapping[str, Any] | None, comparison: Mapping[str, Any]) -> Estimate:
    """A cell of a comparison. Its interval is over samples; rows may be more (positions), or fewer (those kept)."""
    estimate, samples = Estimate.from_record(score), comparison["record"]["n"]
    if estimate.n is None or estimate.unit != "rows":
        return estimate
    note = f"interval over {comparison['record']['rule']['folds']} folds of samples" if estimate.has_interval else ""
    if estimate.n < samples:
        return replace(estimate, note=note)
    rows = f"{estimate.n:,} rows" if estimate.n > samples else ""
    return replace(estimate, n=samples, unit="samples", note="; ".join(filter(None, (rows, note))))


def series_name(result: Result, several: Mapping[str, bool]) -> str:
    """The name of a line: the sender, and whatever else differs."""
    words = [str(result.labels["sender"])]
    words += [str(result.labels[name]) for name in ("matching", "stitch", "freeze") if several[name]]
    return ", ".join(words)


def several(results: Sequence[Result]) -> dict[str, bool]:
    """Which of the choices differ among these results."""
    names = ("matching", "stitch", "freeze", "data")
    return {name: len({result.labels.get(name) for result in results}) > 1 for name in names}
