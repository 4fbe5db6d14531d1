"""The verdict on a swap as one HTML page, and all that is kept of it in a folder."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from seamripper._doors import require_path
from seamripper._files import write_json, write_text
from seamripper.errors import FileError
from seamripper.estimate import Estimate
from seamripper.figures import Lines, Section, Series, Sheet
from seamripper.report.html import lay_out
from seamripper.report.story import Story
from seamripper.report.verdict import Headline
from seamripper.swapping.cost import Cost
from seamripper.swapping.export import Export, write_all
from seamripper.swapping.joints import Trial
from seamripper.swapping.loss import count_flips
from seamripper.swapping.verdict import ANSWERS, SwapVerdict, tost_words

PAGE, RECORD = "swap.html", "swap.json"
_CHECKED = 5
"""Samples on which every file of the network is compared with the network."""


def save(verdict: SwapVerdict, folder: str | os.PathLike[str]) -> tuple[Path, tuple[Export, ...]]:
    """Write the network in all its forms, all figures (JSON) and the page into a folder: the page, and the forms."""
    place = Path(require_path(folder, "folder", error=FileError))
    place.mkdir(parents=True, exist_ok=True)
    exports = write_all(verdict.match, verdict.network, verdict.few.batch(slice(0, _CHECKED)), place)
    record = {**verdict.as_record(), "exports": [export.as_record() for export in exports]}
    write_json(place / RECORD, record)
    write_text(place / PAGE, page(verdict, exports))
    return place / PAGE, exports


def page(verdict: SwapVerdict, exports: Sequence[Export] = ()) -> str:
    """The verdict as one HTML file."""
    record = verdict.record
    made = (
        f"by seamripper swap {record['old']['source']} {record['new']['source']}. In brackets: 95 % intervals over "
        "samples"
    )
    return lay_out(_story(verdict, exports), made)


def _story(verdict: SwapVerdict, exports: Sequence[Export]) -> Story:
    record, loss = verdict.record, verdict.loss
    question = f"May {record['new']['source']} be put under the head of {record['old']['source']}?"
    what = "accuracy" if loss.yardstick == "labels" else "agreement with the old network"
    figures = (
        ("lost" if loss.yardstick == "labels" else "answers that change", loss.penalty),
        (f"{what}, joined network", loss.joined),
        (f"{what}, old network", loss.old),
    )
    text = " ".join((f"{ANSWERS[verdict.answer]}.", verdict.sentence, verdict.consequence))
    about = (
        f"{record['data']['test']['name']}: stitches fitted on {record['fitted']:,} samples, chosen on "
        f"{record['choice']:,}, tested on {record['test']:,}; tolerance {loss.tolerance:g}"
    )
    return Story("swap", about, Headline(question, text, figures, verdict.doubt), tuple(_sections(verdict, exports)))


def _sections(verdict: SwapVerdict, exports: Sequence[Export]) -> Iterator[Section]:
    yield _joint(verdict)
    yield _flips(verdict)
    yield _curve(verdict)
    yield Section("cost", "What it costs", COST_NOTE, (Sheet("Cost", COST_COLUMNS, tuple(cost_rows(verdict.costs))),))
    yield _audit(verdict)
    if exports:
        rows = tuple((e.form, e.file or "–", "–" if e.gap is None else f"{e.gap:.1g}", e.why) for e in exports)
        text = f"Each file was read back and asked about {_CHECKED} samples. It takes what the new model takes."
        columns = ("form", "file", "largest difference, relative", "why not")
        yield Section("files", "The joined network", text, (Sheet("Files", columns, rows),))


def _joint(verdict: SwapVerdict) -> Section:
    rows = tuple(
        (
            t.new_cut.name,
            t.old_cut.name,
            t.match.stitch.name,
            t.label,
            str(t.loss.penalty),
            _mark(verdict, t),
            t.match.status,
        )
        for t in verdict.trials
    )
    columns = ("new, up to", "old, from … on", "stitch", "matching", "loss on the samples that choose", "", "status")
    text = f"Chosen: {verdict.joint}.\n{tost_words(verdict.loss)} The loss of the chosen one is of test samples alone."
    figures = [Sheet("What was tried", columns, rows)]
    if verdict.failed:
        figures.append(Sheet("What does not fit", ("cuts", "why"), tuple(verdict.failed.items())))
    return Section("joint", "Which cut, which stitch", text, tuple(figures))


def _mark(verdict: SwapVerdict, trial: Trial) -> str:
    return "chosen" if trial is verdict.chosen else ""


def _flips(verdict: SwapVerdict) -> Section:
    rows = tuple((f.id, f.old, f.new, f.label, _kind(f.old == f.label, f.new == f.label)) for f in verdict.flips)
    counts = ", ".join(f"{count:,} {name}" for name, count in count_flips(verdict.flips).items())
    columns = ("sample (id)", "old answer", "new answer", "label", "")
    sheet = Sheet("Samples that flip", columns, rows, f"Classes are by number. By labels: {counts}.")
    return Section("flips", "Which samples flip", verdict.consequence, (sheet,) if rows else (), folded=len(rows) > 50)


def _kind(before: bool, after: bool) -> str:
    return "right → wrong" if before else "wrong → right" if after else "wrong → wrong"


def _curve(verdict: SwapVerdict) -> Section:
    points = verdict.curve.points
    series = (
        Series("loss", tuple(point.loss.penalty for point in points)),
        Series("tolerance", (Estimate(verdict.loss.tolerance),) * len(points), dashed=True),
    )
    lines = Lines(
        "Loss on the test samples, by samples to fit on",
        tuple(f"{point.n:,}" for point in points),
        series,
        "error(joined) − error(old)" if verdict.loss.yardstick == "labels" else "answers that change",
        "samples to fit on",
    )
    rows = tuple((p.n, str(p.loss.penalty), p.loss.p_worse, p.loss.answer) for p in points)
    sheet = Sheet("Learning curve", ("samples to fit on", "loss", "p, worse by the tolerance", "answer"), rows)
    text = (
        f"{verdict.curve.sentence}\nThe cuts, the stitch and the matching stay; with direct matching the ridge is "
        "chosen anew for each size. Sizes are tested from the largest down, until one fails."
    )
    return Section("curve", "How many samples the stitch needs", text, (lines, sheet))


COST_COLUMNS = ("network", "parameters", "GFLOPs per sample", "milliseconds per sample")
COST_NOTE = (
    "FLOPs are those of products, convolutions and attention. Time was measured on this machine, in batches of 8, in "
    "turns: the median of 7 runs, and in brackets the fastest and the slowest."
)


def cost_rows(costs: Mapping[str, Cost]) -> Iterator[tuple[str, ...]]:
    """One row per network, in the order of `COST_COLUMNS`."""
    for name, cost in costs.items():
        seconds = (cost.seconds.value, cost.seconds.low, cost.seconds.high)
        middle, fastest, slowest = (f"{1000 * second:.3g}" for second in seconds)
        yield name, f"{cost.parameters:,}", f"{cost.flops / 1e9:.3g}", f"{middle} [{fastest}, {slowest}]"


def _audit(verdict: SwapVerdict) -> Section:
    audited = verdict.audit
    if audited is None:
        return Section("audit", "Does it work for the right reason?", verdict.reason, ())
    rows = tuple((name, v.answer, str(v.observed), v.sentence) for name, v in audited.verdicts.items())
    text = f"{verdict.reason}\n{audited.judgement.reason}\nWhat would change this: {audited.judgement.experiment}"
    skipped = "".join(f"\n{name} was skipped: {why}" for name, why in audited.skipped.items())
    sheet = Sheet("Audits", ("audit", "answer", "observed", "in a sentence"), rows)
    return Section("audit", "Does it work for the right reason?", text + skipped, (sheet,))
