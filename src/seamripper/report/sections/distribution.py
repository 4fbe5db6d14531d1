"""Whether stitched activations look like the receiver's own: OOD AUROC, and histograms (Balogh's Fig. 1c)."""

from __future__ import annotations

import math

from seamripper.estimate import Estimate
from seamripper.experiment.reading import Reading
from seamripper.experiment.result import Result
from seamripper.figures import Figure, Histogram, Lines, Series
from seamripper.report.sections.base import Section, cuts_of

_MOST = 12
"""Histograms that are shown."""


def distribution(run: Reading) -> Section | None:
    """AUROC by cut, then native against stitched energies, or whatever the detector scores by."""
    audits = [audit for audit in run.of("audit") if "distribution" in audit.record["verdicts"]]
    if not audits:
        return None
    figures: list[Figure] = [_lines(audits)]
    figures += [bins for audit in audits[:_MOST] if (bins := _histogram(audit)) is not None]
    text = (
        "How well a detector tells stitched activations from the receiver's own on the same inputs: an AUROC of "
        "0.5 says that it cannot, 1 that it always can. Controls with the same information say what a stitch does "
        "by itself."
    )
    return Section("distribution", "Are stitched activations like native ones?", text, tuple(figures))


def _lines(audits: list[Result]) -> Lines:
    places = cuts_of(audits)
    pairs = list(dict.fromkeys(audit.pair for audit in audits))
    series = []
    for pair in pairs:
        mine = {audit.cut: _auroc(audit) for audit in audits if audit.pair == pair}
        points = tuple(mine.get(place, Estimate(math.nan)) for place in places)
        series.append(Series(pair, points))
    series.append(Series("chance", tuple(Estimate(0.5) for _ in places), dashed=True))
    return Lines("OOD AUROC by cut", places, tuple(series), "AUROC", bounds=(0.0, 1.0))


def _auroc(audit: Result) -> Estimate:
    return Estimate.from_record(audit.record["verdicts"]["distribution"]["observed"])


def _histogram(audit: Result) -> Histogram | None:
    bins = audit.record["verdicts"]["distribution"]["figures"].get("histogram")
    if not bins:
        return None
    counts = {name: tuple(bins[name]) for name in ("native", "stitched")}
    caption = f"Score: {bins['score']}, the first seed; what lies beyond the ends is in the outermost bins."
    title = f"{bins['score']}, native against stitched: {audit.pair} at {audit.cut}"
    # Scores of a classifier are of several folds, brought to one scale.
    unit = "energy" if bins["score"] == "energy" else f"{bins['score']}, in native standard deviations"
    return Histogram(title, tuple(bins["edges"]), counts, unit, caption)
