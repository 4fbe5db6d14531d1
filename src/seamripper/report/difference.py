"""The difference between two checkpoints as one HTML page."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path

from seamripper._files import write_text
from seamripper.comparing import CutDifference, Difference
from seamripper.comparing.difference import brief
from seamripper.estimate import Estimate
from seamripper.figures import Lines, Section, Series, Sheet
from seamripper.report.html import lay_out
from seamripper.report.story import Story
from seamripper.report.verdict import Headline

PAGE = "diff.html"
_COLUMNS = ("cut", "relative error", "CKA", "null of CKA", "agreement", "KL", "stitched: agreement", "stitched: KL")
CUT_CAPTION = (
    "Agreement and KL (in nats): the base against the changed model's front joined to the base's back, as it is and "
    "through a linear stitch."
)


def save_page(difference: Difference, folder: str | os.PathLike[str]) -> Path:
    """Write the page into the folder; where it is."""
    path = Path(folder) / PAGE
    write_text(path, difference_page(difference))
    return path


def difference_page(difference: Difference) -> str:
    """The difference as one HTML file."""
    record = difference.record
    base, changed = (record[role]["source"] for role in ("base", "changed"))
    story = Story("diff", f"{base} → {changed}", _headline(difference), tuple(_sections(difference)))
    made = f"by seamripper diff from {record['n']:,} samples of {record['data']['name']}"
    return lay_out(story, made)


def _cut_row(cut: CutDifference) -> tuple[str, ...]:
    """A cut with all its intervals, in the order of `_COLUMNS`; a dash where there is nothing."""
    cka = ("–", "–") if cut.cka is None else (str(cut.cka), str(cut.cka.null or "–"))
    answers = []
    for result in (cut.spliced, cut.stitched):
        answers += ["–", "–"] if result is None else [str(result.agreement), brief(result.kl or Estimate(math.nan))]
    return (cut.name, brief(cut.error), *cka, *answers)


def _headline(difference: Difference) -> Headline:
    record, first, answers = difference.record, difference.first, difference.answers
    question = f"What changed from {record['base']['source']} to {record['changed']['source']}?"
    figures = [] if first is None else [(f"relative error at {first.name}", first.error)]
    if answers is not None:
        figures.append(("agreement of the answers", answers.agreement))
        figures += [] if answers.kl is None else [("KL of the answers, in nats", answers.kl)]
    return Headline(question, f"{difference.verdict} {difference.consequence}", tuple(figures), difference.doubt)


def _sections(difference: Difference) -> Iterator[Section]:
    record, tolerance = difference.record, difference.tolerance
    sheet = Sheet("Every cut", _COLUMNS, tuple(map(_cut_row, difference.cuts)), CUT_CAPTION)
    text = f"Stitches were fitted on {record['fitted']:,} samples and scored on {record['held_out']:,} others."
    failed = [f"{cut.name}: {reason}" for cut in difference.cuts for reason in cut.failed]
    yield Section("cuts", "At the cuts of the base", "\n".join((text, *failed)), (sheet,))
    rows = tuple(
        (layer.name, brief(layer.error), "yes" if layer.within(tolerance) else "no", layer.note)
        for layer in difference.layers
    )
    table = Sheet("Every layer", ("layer", "relative error", f"within {tolerance:.2g}", ""), rows)
    yield Section("layers", "Every layer, in the order in which the base runs", "", (*_curve(difference), table))
    if difference.unaligned:
        reasons = Sheet("Layers", ("layer", "why"), tuple(difference.unaligned.items()))
        yield Section("unaligned", "What could not be aligned", "", (reasons,))


def _curve(difference: Difference) -> Iterator[Lines]:
    """The errors by layer, on a log scale; none if nothing differs."""
    known = [layer for layer in difference.layers if 0 < layer.error.value < math.inf]
    if known:
        places = tuple(layer.name for layer in known)
        series = (
            Series("relative error", tuple(layer.error for layer in known)),
            Series("tolerance", (Estimate(difference.tolerance),) * len(known), dashed=True),
        )
        log = difference.tolerance > 0
        yield Lines("Relative error by layer", places, series, "relative error", "layer", log=log)
