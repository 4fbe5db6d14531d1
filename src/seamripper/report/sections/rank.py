"""Rank by cut: how many directions the receiver's first layer sees (Smith et al. 2025, Fig. 2c)."""

from __future__ import annotations

import math
from collections import defaultdict

from seamripper._stats import over_seeds
from seamripper.experiment.reading import Reading
from seamripper.experiment.result import Result
from seamripper.report.figures import Lines, Point, Series
from seamripper.report.sections.base import Section, cuts_of


def rank(run: Reading) -> Section | None:
    """From the audits that looked at it."""
    audits = [one for one in run.of("audit") if "rank" in one.record["verdicts"]]
    if not audits:
        return None
    groups: dict[str, list[Result]] = defaultdict(list)
    for one in audits:
        groups[f"{one.labels['sender']} → {one.labels['receiver']}"].append(one)
    figures = tuple(_lines(name, results) for name, results in groups.items())
    text = (
        "Rank of the activations at the receiver's first layer behind the cut: of its own (native), of the "
        "stitched ones, and of controls. A rank far from the native one says that the receiver is shown something "
        "that it never makes."
    )
    return Section("rank", "Rank behind the stitch", text, figures)


def _lines(name: str, results: list[Result]) -> Lines:
    places = cuts_of(results)
    read: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for one in results:
        for who, ranks in one.record["verdicts"]["rank"]["figures"]["ranks"].items():
            read["stitched" if who == "sender" else who][one.cut] += [float(each["rank"]) for each in ranks]
    series = tuple(
        Series(
            who,
            tuple(_mean(by_cut.get(place, []), "networks" if who == "native" else "stitches") for place in places),
            dashed=who == "native",
        )
        for who, by_cut in read.items()
    )
    return Lines(f"Rank by cut, {name}", places, series, "rank")


def _mean(values: list[float], unit: str) -> Point:
    if not values:
        return Point(math.nan)
    found = over_seeds(values)
    return Point(found.value, found.low, found.high, found.n, "mean over them", unit=unit)
