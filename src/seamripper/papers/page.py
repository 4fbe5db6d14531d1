"""A reproduction as a page, and as text for documentation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from seamripper._files import atomic
from seamripper.estimate import Estimate
from seamripper.figures import Figure, Lines, Sheet, describe
from seamripper.papers.base import claims_sheet
from seamripper.papers.reproduce import Outcome, Reproduction
from seamripper.report.html import cell, lay_out
from seamripper.report.paper import write_figures
from seamripper.report.sections.base import Section
from seamripper.report.story import Story
from seamripper.report.verdict import Headline

PAGE, TEXT = "reproduction.html", "reproduction.md"
_ORDER = ("reproduced", "not reproduced", "not decided at this size")
_MARKS = (
    "In brackets: 95 % intervals over seeds, or over samples where there is one network. ↑: a lower bound, as stitches "
    "were still learning when their training ended."
)


def save(found: Reproduction) -> tuple[Path, Path]:
    """Write the page and the text into the reproduction's folder; their paths."""
    paths = found.folder / PAGE, found.folder / TEXT
    for path, text in zip(paths, (page(found), markdown(found)), strict=True):
        with atomic(path) as file:
            file.write(text.encode())
    return paths


def save_docs(found: Reproduction, path: Path) -> list[Path]:
    """Write the text to `path`, and its figures beside it in a folder of the same name; the paths."""
    folder = path.with_suffix("")
    drawn = [figure.title for _, figure in story(found).figures if figure.kind != "sheet"]
    files = write_figures(story(found), folder, format="svg")
    named = {title: f"{folder.name}/{file.name}" for title, file in zip(drawn, files, strict=True)}
    with atomic(path) as file:
        file.write(markdown(found, figures=named).encode())
    return [path, *files]


def page(found: Reproduction) -> str:
    """The reproduction as one HTML file."""
    return lay_out(story(found), f"by {command(found)}. {_MARKS}")


def story(found: Reproduction) -> Story:
    """What the page tells: how many claims hold, then item by item."""
    sections = tuple(_section(outcome) for outcome in found.outcomes)
    return Story(found.paper.name, f"{found.paper.title}, profile {found.profile}", _headline(found), sections)


def command(found: Reproduction) -> str:
    """The command that makes it; one for each item, if no word means just these."""
    paper, items = found.paper, tuple(outcome.item for outcome in found.outcomes)
    words = [f"{paper.name}/{word}" for word in items[0].words if paper.chosen(word) == items]
    if items == paper.items:
        words = [paper.name]
    which = words[:1] or [f"{paper.name}/{item.name}" for item in items]
    return " && ".join(f"seamripper reproduce {word} --profile {found.profile}" for word in which)


def _headline(found: Reproduction) -> Headline:
    counts = found.counts
    total = sum(counts.values())
    said = ", ".join(f"{counts[status]} {status}" for status in _ORDER if counts[status])
    figures = tuple((status, Estimate(float(counts[status]), note=f"of {total} claims")) for status in _ORDER)
    apart = [
        (outcome.item, claim)
        for outcome in found.outcomes
        if outcome.finding
        for claim in outcome.finding.claims
        if claim.status == "depends on the leak" or (claim.status == "not reproduced" and not claim.beyond)
    ]
    doubt = "No claim failed; whether the sizes of this profile are enough, each claim's interval tells."
    lost = [outcome for outcome in found.outcomes if outcome.finding is None]
    if lost:
        doubt = f"{lost[0].item.name} could not be read: {lost[0].trouble}"
    if apart:
        item, claim = apart[0]
        doubt = f"{item.name}: “{claim.says}”: {claim.status} ({claim.figure})."
    verdict = f"Of {total} claims: {said}." if total else "No claim could be decided."
    return Headline(f"Does {found.paper.title} hold up?", verdict, figures, doubt)


def _section(outcome: Outcome) -> Section:
    item, finding = outcome.item, outcome.finding
    text = f"{item.about} {outcome.jobs} jobs, {outcome.seconds / 60:.1f} min."
    if finding is None:
        return Section(item.name, _title(outcome), f"{text} It could not be read: {outcome.trouble}", ())
    departs = f" Where it departs from the paper: {' '.join(finding.departs)}" if finding.departs else ""
    trouble = f" Some jobs failed: {outcome.trouble}" if outcome.trouble else ""
    return Section(
        item.name, _title(outcome), text + departs + trouble, (claims_sheet(finding.claims), *finding.figures)
    )


def _title(outcome: Outcome) -> str:
    return ", ".join(outcome.item.covers)


# ---- text


def markdown(found: Reproduction, *, figures: dict[str, str] | None = None) -> str:
    """The reproduction as text; `figures` are files of drawn figures, by title."""
    return "\n".join(_lines(found, figures or {})) + "\n"


def _lines(found: Reproduction, figures: dict[str, str]) -> Iterator[str]:
    first = _headline(found)
    minutes = found.seconds / 60
    yield from (f"# {found.paper.title}: profile {found.profile}", "", f"**{first.verdict}**", "")
    yield from (f"    {command(found)}", "", f"{minutes:.0f} minutes{_with(found)}.", "")
    yield from (f"Strongest reason to doubt: {first.doubt}", "", _MARKS, "")
    for outcome in found.outcomes:
        section = _section(outcome)
        yield from (f"## {section.title}", "", section.text, "")
        for figure in section.figures:
            yield from _figure(figure, figures)


def _with(found: Reproduction) -> str:
    """On what, with which versions, and from which commits."""
    packages = found.made.get("packages", {})
    words = [f" on {found.made['cores']} cores"] if "cores" in found.made else []
    words += [f"{name} {packages[name]}" for name in ("seamripper", "torch") if name in packages]
    revisions = [f"commit {one[:12]}" for one in found.made.get("revisions", ())]
    return ", ".join((*words, *revisions))


def _figure(figure: Figure, files: dict[str, str]) -> Iterator[str]:
    yield from (f"**{figure.title}**", "")
    if figure.title in files:
        yield from (f"![{describe(figure)}]({files[figure.title]})", "")
    if isinstance(figure, Sheet):
        yield from _table(figure.columns, figure.rows)
    elif isinstance(figure, Lines):
        rows = [(series.name, *map(str, series.points)) for series in figure.series]
        yield from _table((figure.y, *figure.places), rows)
    if figure.caption:
        yield from (figure.caption, "")


def _table(columns: Any, rows: Any) -> Iterator[str]:
    yield f"| {' | '.join(map(_cell, columns))} |"
    yield "|" + "---|" * len(columns)
    for row in rows:
        yield f"| {' | '.join(_cell(cell(value)) for value in row)} |"
    yield ""


def _cell(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("&", "&amp;").replace("<", "&lt;").replace("|", "\\|")
