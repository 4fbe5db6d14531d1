"""Loss curves of the stitches that were trained."""

from __future__ import annotations

from collections import defaultdict

from seamripper.experiment.reading import Reading
from seamripper.experiment.result import Result
from seamripper.report.figures import Lines, Point, Series
from seamripper.report.sections.base import Section, series_name, several

_POINTS, _FIGURES = 50, 8
"""Points of a line, and figures that are shown."""


def losses(run: Reading) -> Section | None:
    """A figure for each cut; the first seed of each sender."""
    stitches = run.of("stitch")
    differ = several(stitches)
    groups: dict[tuple[str, str], dict[str, Result]] = defaultdict(dict)
    for one in stitches:
        groups[one.cut, str(one.labels["receiver"])].setdefault(series_name(one, differ), one)
    figures = [
        figure for (cut, receiver), each in groups.items() if (figure := _lines(run, cut, receiver, each)) is not None
    ]
    if not figures:
        return None
    text = (
        "The training loss of each stitch, step by step: the first seed of each, means over equal stretches of steps."
    )
    return Section("losses", "How the stitches were found", text, tuple(figures[:_FIGURES]))


def _lines(run: Reading, cut: str, receiver: str, each: dict[str, Result]) -> Lines | None:
    series, most = [], 0
    curves = {}
    for name, one in each.items():
        kept = run.tensor(one, "stitch", "stitch")
        if kept is not None and "curve.loss" in kept and len(kept["curve.loss"]) > 1:
            curves[name] = kept["curve.loss"].tolist()
            most = max(most, len(curves[name]))
    if not curves:
        return None
    stretch = -(-most // _POINTS)
    places = tuple(str(k * stretch + 1) for k in range(-(-most // stretch)))
    for name, values in curves.items():
        means = [sum(part) / len(part) for k in range(0, len(values), stretch) if (part := values[k : k + stretch])]
        points = [Point(value, note=f"mean of {stretch} steps") for value in means]
        series.append(Series(name, tuple(points) + (Point(float("nan")),) * (len(places) - len(points))))
    return Lines(f"Loss at {cut}, into {receiver}", places, tuple(series), "loss", x="step")
