"""Conflict images: the input, what the receiver says, what the stitched network says."""

from __future__ import annotations

from seamripper.estimate import Estimate
from seamripper.experiment.reading import Reading
from seamripper.experiment.result import Result
from seamripper.figures import Figure, Picture, Pictures, Strip, png
from seamripper.report.sections.base import Section

_MOST = 8


def conflict(run: Reading) -> Section | None:
    """From the audits that set the cues against each other."""
    audits = [audit for audit in run.of("audit") if "conflict" in audit.record["verdicts"]]
    if not audits:
        return None
    figures: list[Figure] = []
    for audit in audits[:_MOST]:
        figures.append(_strip(audit))
        images = _images(run, audit)
        figures += [images] if images is not None else []
    text = (
        "Inputs on which the cues that agree in the data disagree. A stitched network that holds the receiver's "
        "information still gives the receiver's answers there; one that follows another cue does not."
    )
    return Section("conflict", "Where the cues disagree", text, tuple(figures))


def _strip(audit: Result) -> Strip:
    verdict = audit.record["verdicts"]["conflict"]
    groups = [(name, tuple(map(Estimate.from_record, each))) for name, each in verdict["controls"].items()]
    decided = verdict["figures"]["decided_by"]
    title = f"Agreement with the receiver on the {decided}: {audit.pair} at {audit.cut}"
    observed = Estimate.from_record(verdict["observed"])
    return Strip(title, tuple(groups), observed, "agreement with the receiver", {}, verdict["sentence"])


def _images(run: Reading, audit: Result) -> Pictures | None:
    examples = run.tensor(audit, "examples", "examples")
    if examples is None:
        return None
    pictures = []
    answers = (examples[name].tolist() for name in ("labels", "receiver", "stitched"))
    for image, label, receiver, stitched in zip(examples["images"], *answers, strict=True):
        caption = f"receiver {receiver}, stitched {stitched}"
        alt = f"An input of class {label}: the receiver says {receiver}, the stitched network {stitched}"
        pictures.append(Picture(png(image.numpy()), caption, alt, apart=receiver != stitched))
    about = audit.record.get("examples") or {}
    share = about.get("disagree")
    caption = "" if share is None else f"They disagree on {share:.1%} of the set; shown are first those where they do."
    title = f"The {about.get('set', 'set')}: {audit.pair} at {audit.cut}"
    return Pictures(title, (("what is shown", tuple(pictures)),), caption)
