"""Images that stitched networks make: reconstructions (Smith's Fig. 4), what arrives at a layer (Hernandez' Fig. 6)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from seamripper.estimate import Estimate
from seamripper.experiment.reading import Reading
from seamripper.experiment.result import Result
from seamripper.figures import Picture, Pictures, png
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
    figures = [rows for result in run.of("pictures")[:_MOST] if (rows := _rows(run, result)) is not None]
    if not figures:
        return None
    text = (
        "Each column is one sample: what is shown, what the networks themselves make of it, and what the stitched "
        "network makes, or what arrives at the receiver's first layer."
    )
    if any("receiver_data" in result.labels for result in run.of("pictures")[:_MOST]):
        text += " Where the receiver has data of its own, the receiver itself is shown the first samples of that."
    return Section("pictures", "Images that the stitched networks make", text, tuple(figures))


def _rows(run: Reading, result: Result) -> Pictures | None:
    images_by_row = run.tensor(result, "pictures", "pictures")
    if images_by_row is None:
        return None
    rows = []
    for name in result.record["rows"]:
        images = tuple(
            Picture(png(image.numpy()), alt=f"{name}, sample {k + 1}, {result.pair} at {result.cut}")
            for k, image in enumerate(images_by_row[name])
        )
        rows.append((name, images))
    title = f"{result.pair} at {result.cut}, {result.labels.get('matching', '')}"
    return Pictures(title, tuple(rows), _caption(result.record))


def _caption(record: Mapping[str, Any]) -> str:
    """The error, and what a judge says of the stitched images, with the same of real ones beside it."""
    sentences, judged = [], record.get("judged", {})
    if record.get("error") is not None:
        sentences.append(f"Mean squared error between stitched and shown images: {_images(record['error'])}.")
    for what, names in _JUDGED:
        figures = [_OF.get(name.rpartition("_")[2], "") + _images(judged[name]) for name in names if name in judged]
        if figures:
            sentences.append(f"{what}: {'; '.join(figures)}.")
    return " ".join(sentences) or "Stitched and shown images do not have the same shape."


def _images(record: Mapping[str, Any]) -> str:
    return Estimate.from_record(record, unit="images").describe()
