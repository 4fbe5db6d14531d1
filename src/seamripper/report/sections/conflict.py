"""Conflict images: the input, what the receiver says, what the stitched network says."""

from __future__ import annotations

from seamripper.experiment.reading import Reading
from seamripper.experiment.result import Result
from seamripper.report.figures import Figure, Picture, Pictures, Point, Strip, as_point
from seamripper.report.png import png
from seamripper.report.sections.base import Section, audited_point, samples_of

_MOST = 8


def conflict(run: Reading) -> Section | None:
    """From the audits that set the cues against each other."""
    audits = [one for one in run.of("audit") if "conflict" in one.record["verdicts"]]
    if not audits:
        return None
    figures: list[Figure] = []
    for one in audits[:_MOST]:
        figures.append(_strip(one))
        images = _images(run, one)
        figures += [images] if images is not None else []
    text = (
        "Inputs on which the cues that agree in the data disagree. A stitched network that holds the receiver's "
        "information still gives the receiver's answers there; one that follows another cue does not."
    )
    return Section("conflict", "Where the cues disagree", text, tuple(figures))


def _strip(one: Result) -> Strip:
    verdict = one.record["verdicts"]["conflict"]
    groups: list[tuple[str, tuple[Point, ...]]] = [
        (name, tuple(as_point(each, unit="samples") for each in points)) for name, points in verdict["controls"].items()
    ]
    decided = verdict["figures"]["decided_by"]
    title = f"Agreement with the receiver on the {decided}: {one.pair} at {one.cut}"
    observed = audited_point(one.record, verdict["observed"], samples_of(verdict, one.record))
    return Strip(title, tuple(groups), observed, "agreement with the receiver", {}, verdict["sentence"])


def _images(run: Reading, one: Result) -> Pictures | None:
    kept = run.tensor(one, "examples", "examples")
    if kept is None:
        return None
    shown = []
    for image, label, receiver, stitched in zip(
        kept["images"], kept["labels"].tolist(), kept["receiver"].tolist(), kept["stitched"].tolist(), strict=True
    ):
        caption = f"receiver {receiver}, stitched {stitched}"
        alt = f"An input of class {label}: the receiver says {receiver}, the stitched network {stitched}"
        shown.append(Picture(png(image.numpy()), caption, alt, apart=receiver != stitched))
    told = one.record.get("examples") or {}
    share = told.get("disagree")
    caption = "" if share is None else f"They disagree on {share:.1%} of the set; shown are first those where they do."
    title = f"The {told.get('set', 'set')}: {one.pair} at {one.cut}"
    return Pictures(title, (("what is shown", tuple(shown)),), caption)
