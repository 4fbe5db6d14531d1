"""Accuracy by cut: lines with bands over seeds, the receiver alone as a dashed line (Smith et al. 2025, Fig. 2b)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from seamripper.experiment.reading import Reading
from seamripper.experiment.result import Result
from seamripper.figures import Lines, Series
from seamripper.report.sections.base import Section, cuts_of, over, series_name, several


def accuracy(run: Reading) -> Section | None:
    """One figure for each receiver and data set."""
    groups: dict[tuple[str, str], list[Result]] = defaultdict(list)
    for stitch in run.of("stitch"):
        groups[stitch.labels["receiver"], stitch.labels["data"]].append(stitch)
    if not groups:
        return None
    figures = tuple(_lines(receiver, data, results) for (receiver, data), results in groups.items())
    return Section(
        "accuracy",
        "What the stitched networks can do",
        "Accuracy of sender's front, stitch and receiver's back on samples that the stitch was not fitted on. The "
        "dashed line is the receiver alone on the same samples. Bands are 95 % intervals over seeds where there "
        "are several, else over samples. A stitch that works is no evidence that both networks use the same "
        "information.",
        figures,
    )


def _lines(receiver: str, data: str, results: Sequence[Result]) -> Lines:
    places, differ = cuts_of(results), several(results)
    by_name: dict[str, list[Result]] = defaultdict(list)
    for stitch in results:
        by_name[series_name(stitch, differ)].append(stitch)
    series = [
        Series(name, tuple(over([stitch for stitch in each if stitch.cut == place], "top1") for place in places))
        for name, each in by_name.items()
    ]
    alone = tuple(over([stitch for stitch in results if stitch.cut == place], "receiver_here") for place in places)
    series.append(Series(f"{receiver} alone", alone, dashed=True))
    return Lines(f"Accuracy by cut, into {receiver} on {data}", places, tuple(series), "accuracy")
