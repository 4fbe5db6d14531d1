"""Images that stitched networks make: reconstructions (Smith's Fig. 4), what arrives at a layer (Hernandez' Fig. 6)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from seamripper.experiment.reading import Reading
from seamripper.experiment.result import Result
from seamripper.report.figures import Picture, Pictures, as_point
from seamripper.report.png import png
from seamripper.report.sections.base import Section

_MOST = 24
_JUDGED = (
    ("Named as the paired class by the judge", ("judged_as_paired",)),
    ("Confidence of the judge", ("judge_confidence", "judge_confidence_own")),
    ("Distance to the nearest of the receiver's train images", ("nearest", "nearest_own", "nearest_input")),
    ("Contrast", ("contrast", "contrast_own")),
)
_OF = {"own": "of the receiver's own test images ", "input": "of what is shown "}


def pictures(run: Reading) -> Section | None:
    """Image rows of every such job."""
    figures = [shown for one in run.of("pictures")[:_MOST] if (shown := _rows(run, one)) is not None]
    if not figures:
        return None
    text = (
        "Each column is one sample: what is shown, what the networks themselves make of it, and what the stitched "
        "network makes, or what arrives at the receiver's first layer."
    )
    if any("receiver_data" in one.labels for one in run.of("pictures")[:_MOST]):
        text += " Where the receiver has data of its own, the receiver itself is shown the first samples of that."
    return Section("pictures", "Images that the stitched networks make", text, tuple(figures))


def _rows(run: Reading, one: Result) -> Pictures | None:
    kept = run.tensor(one, "pictures", "pictures")
    if kept is None:
        return None
    rows = []
    for name in one.record["rows"]:
        images = tuple(
            Picture(png(image.numpy()), alt=f"{name}, sample {k + 1}, {one.pair} at {one.cut}")
            for k, image in enumerate(kept[name])
        )
        rows.append((name, images))
    title = f"{one.pair} at {one.cut}, {one.labels.get('matching', '')}"
    return Pictures(title, tuple(rows), _caption(one.record))


def _caption(record: Mapping[str, Any]) -> str:
    """The error, and what a judge says of the stitched images, with the same of real ones beside it."""
    told, judged = [], record.get("judged", {})
    if record.get("error") is not None:
        told.append(
            f"Mean squared error between stitched and shown images: {as_point(record['error'], unit='images').told}."
        )
    for what, names in _JUDGED:
        figures = [
            _OF.get(name.rpartition("_")[2], "") + as_point(judged[name], unit="images").told
            for name in names
            if name in judged
        ]
        if figures:
            told.append(f"{what}: {'; '.join(figures)}.")
    return " ".join(told) or "Stitched and shown images are not of one shape."
