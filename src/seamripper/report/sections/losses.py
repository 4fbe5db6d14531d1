"""Loss curves of the stitches that were trained."""

from __future__ import annotations

from collections import defaultdict

from seamripper.experiment.reading import Reading
from seamripper.experiment.result import Result
from seamripper.figures import Lines, curves
from seamripper.report.sections.base import Section, series_name, several

_FIGURES = 8
"""How many figures are shown."""


def losses(run: Reading) -> Section | None:
    """One figure per cut, with the first seed of each sender."""
    stitches = run.of("stitch")
    differ = several(stitches)
    groups: dict[tuple[str, str], dict[str, Result]] = defaultdict(dict)
    for stitch in stitches:
        groups[stitch.cut, str(stitch.labels["receiver"])].setdefault(series_name(stitch, differ), stitch)
    figures = [lines for (cut, receiver), each in groups.items() if (lines := _lines(run, cut, receiver, each))]
    if not figures:
        return None
    text = (
        "The training loss of each stitch, step by step: the first seed of each, means over equal stretches of steps."
    )
    return Section("losses", "How the stitches were found", text, tuple(figures[:_FIGURES]))


def _lines(run: Reading, cut: str, receiver: str, results: dict[str, Result]) -> Lines | None:
    losses = {}
    for name, result in results.items():
        tensors = run.tensor(result, "stitch", "stitch")
        if tensors is not None and "curve.loss" in tensors and len(tensors["curve.loss"]) > 1:
            losses[name] = tensors["curve.loss"].tolist()
    return curves(f"Loss at {cut}, into {receiver}", losses) if losses else None
