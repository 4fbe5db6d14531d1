"""Whether stitched activations look like the receiver's own: OOD AUROC, and histograms (Balogh's Fig. 1c)."""

from __future__ import annotations

import math

from seamripper.experiment.reading import Reading
from seamripper.experiment.result import Result
from seamripper.report.figures import Figure, Histogram, Lines, Point, Series
from seamripper.report.sections.base import Section, audited_point, cuts_of

_MOST = 12
"""Histograms that are shown."""


def distribution(run: Reading) -> Section | None:
    """AUROC by cut, then native against stitched energies, or whatever the detector scores by."""
    audits = [one for one in run.of("audit") if "distribution" in one.record["verdicts"]]
    if not audits:
        return None
    figures: list[Figure] = [_lines(audits)]
    figures += [shown for one in audits[:_MOST] if (shown := _histogram(one)) is not None]
    text = (
        "How well a detector tells stitched activations from the receiver's own on the same inputs: an AUROC of "
        "0.5 says that it cannot, 1 that it always can. Controls with the same information say what a stitch does "
        "by itself."
    )
    return Section("distribution", "Are stitched activations like native ones?", text, tuple(figures))


def _lines(audits: list[Result]) -> Lines:
    places = cuts_of(audits)
    pairs = list(dict.fromkeys(one.pair for one in audits))
    series = []
    for pair in pairs:
        mine = {one.cut: _auroc(one) for one in audits if one.pair == pair}
        points = tuple(mine.get(place, Point(math.nan)) for place in places)
        series.append(Series(pair, points))
    series.append(Series("chance", tuple(Point(0.5) for _ in places), dashed=True))
    return Lines("OOD AUROC by cut", places, tuple(series), "AUROC", bounds=(0.0, 1.0))


def _auroc(one: Result) -> Point:
    verdict = one.record["verdicts"]["distribution"]
    return audited_point(one.record, verdict["observed"], verdict["figures"]["n"])


def _histogram(one: Result) -> Histogram | None:
    found = one.record["verdicts"]["distribution"]["figures"].get("histogram")
    if not found:
        return None
    counts = {name: tuple(found[name]) for name in ("native", "stitched")}
    caption = f"Score: {found['score']}, the first seed; what lies beyond the ends is in the outermost bins."
    title = f"{found['score']}, native against stitched: {one.pair} at {one.cut}"
    # Scores of a classifier are of several folds, brought to one scale.
    unit = "energy" if found["score"] == "energy" else f"{found['score']}, in native standard deviations"
    return Histogram(title, tuple(found["edges"]), counts, unit, caption)
