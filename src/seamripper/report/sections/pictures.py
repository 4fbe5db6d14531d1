"""Images that stitched networks make: reconstructions (Smith's Fig. 4), what arrives at a layer (Hernandez' Fig. 6)."""

from __future__ import annotations

from seamripper.report.figures import Picture, Pictures, as_point
from seamripper.report.png import png
from seamripper.report.reading import Reading, Result
from seamripper.report.sections.base import Section

_MOST = 24


def pictures(run: Reading) -> Section | None:
    """Image rows of every such job."""
    figures = [shown for one in run.of("pictures")[:_MOST] if (shown := _rows(run, one)) is not None]
    if not figures:
        return None
    text = (
        "Each column is one sample: what is shown, what the networks themselves make of it, and what the stitched "
        "network makes, or what arrives at the receiver's first layer."
    )
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
    error = as_point(one.record.get("error"))
    caption = f"Mean squared error between stitched and shown images: {error.told}."
    return Pictures(f"{one.pair} at {one.cut}, {one.labels.get('matching', '')}", tuple(rows), caption)
