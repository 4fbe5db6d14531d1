"""Rank by cut: how many directions the receiver's first layer sees (Smith et al. 2025, Fig. 2c)."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import replace

from seamripper.estimate import Estimate, over_seeds
from seamripper.experiment.reading import Reading
from seamripper.experiment.result import Result
from seamripper.figures import Lines, Series
from seamripper.report.sections.base import Section, cuts_of


def rank(run: Reading) -> Section | None:
    """From the audits that looked at it."""
    audits = [audit for audit in run.of("audit") if "rank" in audit.record["verdicts"]]
    if not audits:
        return None
    groups: dict[str, list[Result]] = defaultdict(list)
    for audit in audits:
        groups[f"{audit.labels['sender']} → {audit.labels['receiver']}"].append(audit)
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
    for audit in results:
        for who, ranks in audit.record["verdicts"]["rank"]["figures"]["ranks"].items():
            read["stitched" if who == "sender" else who][audit.cut] += [float(each["rank"]) for each in ranks]
    series = tuple(
        Series(
            who,
            tuple(_mean(by_cut.get(place, []), "networks" if who == "native" else "stitches") for place in places),
            dashed=who == "native",
        )
        for who, by_cut in read.items()
    )
    return Lines(f"Rank by cut, {name}", places, series, "rank")


def _mean(values: list[float], unit: str) -> Estimate:
    return replace(over_seeds(values, unit), note="mean over them") if values else Estimate(math.nan)
