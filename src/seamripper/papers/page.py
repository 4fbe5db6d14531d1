"""A reproduction as a page, and as text for documentation."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from seamripper._files import atomic
from seamripper.cards import PART
from seamripper.estimate import Estimate
from seamripper.figures import Figure, Lines, Section, Series, Sheet, hue
from seamripper.papers.checks import FAILS, HOLDS, OPEN, UNTESTABLE
from seamripper.papers.decisions import claims_sheet
from seamripper.papers.profiles import departures
from seamripper.papers.reproduce import ItemReport, Reproduction
from seamripper.report.html import lay_out
from seamripper.report.markdown import figure_lines
from seamripper.report.paper import write_figures
from seamripper.report.story import Story
from seamripper.report.verdict import Headline

PAGE, TEXT = "reproduction.html", "reproduction.md"
_MARKS = (
    "In brackets: 95 % intervals over seeds, or over samples where there is one network. ↑: a lower bound, as stitches "
    "were still learning when their training ended."
)


def save(reproduction: Reproduction) -> tuple[Path, Path]:
    """Write the page and the text into the reproduction's folder, and how the numbers of each item were made.

    The paths of page and text.
    """
    paths = reproduction.folder / PAGE, reproduction.folder / TEXT
    for path, text in zip(paths, (page(reproduction), markdown(reproduction)), strict=True):
        _write(path, text)
    for report in reproduction.reports:
        if report.made_from:
            report.methods().save(reproduction.folder / PART.format(report.item.name))
    return paths


def save_docs(reproduction: Reproduction, path: Path) -> list[Path]:
    """Write the text to `path`, and its figures beside it in a folder of the same name; the paths."""
    folder = path.with_suffix("")
    whole = story(reproduction, cells=False)
    titles = [figure.title for _, figure in whole.figures if figure.kind != "sheet"]
    files = write_figures(whole, folder, format="svg")
    names = {title: f"{folder.name}/{file.name}" for title, file in zip(titles, files, strict=True)}
    _write(path, markdown(reproduction, figures=names))
    return [path, *files]


def save_measured(reproduction: Reproduction, path: Path) -> None:
    """Write the record of how long the items took, which a paper ships as `measured.json`."""
    _write(path, json.dumps(reproduction.measured, indent=1) + "\n")


def _write(path: Path, text: str) -> None:
    with atomic(path) as file:
        file.write(text.encode())


def page(reproduction: Reproduction) -> str:
    """The reproduction as one HTML file."""
    return lay_out(story(reproduction), f"by {command(reproduction)}. {_MARKS}")


def story(reproduction: Reproduction, *, cells: bool = True) -> Story:
    """What the page says: findings, the scoreboard, departures, items, and what goes beyond the paper.

    With `cells`, an item has every cell of its claims.
    """
    paper, findings = reproduction.paper, reproduction.findings
    first = [Section("findings", "What is found here", "\n".join(findings), ())] if findings else []
    items = [_section(report, cells=cells) for report in reproduction.reports]
    sections = (*first, *_scoreboard(reproduction), *_departures(reproduction), *items, *_beyond(reproduction))
    title = f"{paper.title}, profile {reproduction.profile}"
    return Story(paper.name, title, _headline(reproduction), _coloured_by_name(sections))


def _coloured_by_name(sections: Sequence[Section]) -> tuple[Section, ...]:
    """The sections, with lines of one name in one colour wherever they stand; so are their baselines and the authors'.

    Names that most figures have come first, as the first colours are the easiest to tell apart.
    """
    plots = [figure for section in sections for figure in section.figures if isinstance(figure, Lines)]
    counts = Counter(name for plot in plots for name in dict.fromkeys(_line_name(line) for line in plot.series))
    colours = {name: hue(k) for k, (name, _) in enumerate(counts.most_common())}

    def with_colours(figure: Figure) -> Figure:
        if not isinstance(figure, Lines):
            return figure
        return replace(figure, series=tuple(replace(line, colour=colours[_line_name(line)]) for line in figure.series))

    return tuple(replace(section, figures=tuple(map(with_colours, section.figures))) for section in sections)


def _line_name(line: Series) -> str:
    """What a line is about: the name of a baseline or of the authors' numbers without what it says of them.

    >>> _line_name(Series("Digit alone", (), dashed=True)), _line_name(Series("Digit (authors)", ()))
    ('Digit', 'Digit')
    """
    return line.name.removesuffix(" alone").removesuffix(" (authors)")


def command(reproduction: Reproduction) -> str:
    """The command that makes it; one for each item, if no word means just these."""
    paper, items = reproduction.paper, tuple(report.item for report in reproduction.reports)
    words = [f"{paper.name}/{word}" for word in items[0].words if paper.choose(word) == items]
    if items == paper.items:
        words = [paper.name]
    which = words[:1] or [f"{paper.name}/{item.name}" for item in items]
    return " && ".join(f"seamripper reproduce {word} --profile {reproduction.profile}" for word in which)


def _headline(reproduction: Reproduction) -> Headline:
    counts, order = reproduction.counts, (HOLDS, FAILS, OPEN, UNTESTABLE)
    total = sum(counts.values())
    words = ", ".join(f"{counts[status]} {status}" for status in order if counts[status])
    shown = [status for status in order if counts[status] or status != UNTESTABLE]
    figures = tuple((status, Estimate(float(counts[status]), note=f"of {total} claims")) for status in shown)
    verdict = f"Of {total} claims: {words}." if total else "No claim could be decided."
    return Headline(f"Does {reproduction.paper.title} hold up?", verdict, figures, _doubt(reproduction))


def _doubt(reproduction: Reproduction) -> str:
    """The strongest reason to doubt: what fails or depends on something, cannot be tested, or could not be read.

    Of several it is the one with the most weight: that which fails by most, in widths of its interval.
    """
    claims = [(report.item.name, claim) for report in reproduction.reports for claim in report.claims]
    doubtful = [(n, c) for n, c in claims if c.status.startswith("depends on") or (c.status == FAILS and not c.beyond)]
    doubtful = doubtful or [(n, c) for n, c in claims if c.status == UNTESTABLE and not c.beyond]
    if doubtful:
        name, claim = max(doubtful, key=lambda each: each[1].weight)
        return f"{name}: “{claim.says}”: {claim.status} ({claim.figure})."
    for report in reproduction.reports:
        if report.reading is None:
            return f"{report.item.name} could not be read: {report.trouble}"
    return "No claim failed; whether the sizes of this profile are enough, each claim's interval tells."


def _scoreboard(reproduction: Reproduction) -> Iterator[Section]:
    """One row per claim of the paper."""
    columns = ("the paper says", "where", "ours", "status", "if it is open: why, and what would decide it")
    claims = [(r, claim) for r in reproduction.reports for claim in r.claims if not claim.beyond]
    rows = tuple(
        (c.claim.says, c.claim.where or report.item.name, c.figure, c.status, c.notes(report.minutes))
        for report, c in claims
    )
    if rows:
        yield Section("scoreboard", "Scoreboard", "One row per claim.", (Sheet("Every claim", columns, rows),))


def _departures(reproduction: Reproduction) -> Iterator[Section]:
    """Where the profile departs from the paper, and where items do, each sentence once."""
    readings = [(report.item, report.reading) for report in reproduction.reports if report.reading is not None]
    used = frozenset(name for _, reading in readings for name in reading.sizes)
    smaller = departures(reproduction.paper.sizes, used, reproduction.profile)
    items: dict[str, list[str]] = {}
    for item, _ in readings:
        for sentence in item.departs:
            items.setdefault(sentence, []).append(item.name)
    lines = [smaller] if smaller else []
    lines += [f"{', '.join(names)}: {sentence}" for sentence, names in items.items()]
    if lines:
        yield Section("departures", "Where this departs from the paper", "\n".join(lines), ())


def _beyond(reproduction: Reproduction) -> Iterator[Section]:
    """Questions that the paper does not ask."""
    claims = [claim for report in reproduction.reports for claim in report.claims if claim.beyond]
    if claims:
        columns = ("question", "answer", "figure", "rule")
        sheet = replace(claims_sheet(claims), title="Questions that the paper does not ask", columns=columns)
        yield Section("beyond", "Beyond the paper", "These are not counted among the paper's claims.", (sheet,))


def _section(report: ItemReport, *, cells: bool) -> Section:
    item, reading = report.item, report.reading
    title = ", ".join(item.covers)
    text = f"{item.about} {report.cost}."
    if reading is None:
        return Section(item.name, title, f"{text} It could not be read: {report.trouble}", ())
    text += f" Some jobs failed: {report.trouble}" if report.trouble else ""
    claims = [claim for claim in reading.claims if not claim.beyond]
    first = (claims_sheet(claims),) if claims else ()
    every_cell = (reading.cells,) if cells and reading.cells.rows else ()
    return Section(item.name, title, text, (*first, *reading.figures, *every_cell), folded=True)


# ---- text


def markdown(reproduction: Reproduction, *, figures: dict[str, str] | None = None) -> str:
    """The reproduction as text; `figures` are the files of figures, by title."""
    return "\n".join(_lines(reproduction, figures or {})) + "\n"


def _lines(reproduction: Reproduction, figures: dict[str, str]) -> Iterator[str]:
    whole = story(reproduction, cells=False)
    minutes = reproduction.seconds / 60
    yield from (f"# {reproduction.paper.title}: profile {reproduction.profile}", "")
    for finding in reproduction.findings:
        yield from (f"- {finding}", "")
    yield from (f"**{whole.first.verdict}**", "")
    yield from (f"    {command(reproduction)}", "", f"{minutes:.0f} minutes{_provenance_words(reproduction)}.", "")
    yield from (f"Strongest reason to doubt: {whole.first.doubt}", "", _MARKS, "")
    for section in whole.sections:
        if section.name != "findings":
            yield from (f"## {section.title}", "", section.text.replace("\n", "\n\n"), "")
        drawn = [line for figure in section.figures for line in figure_lines(figure, figures)]
        # The mark lets a site read Markdown inside; without the empty lines nothing does.
        if section.folded and drawn:
            drawn = ["<details markdown>", "<summary>Tables and figures</summary>", "", *drawn, "</details>", ""]
        yield from drawn


def _provenance_words(reproduction: Reproduction) -> str:
    """On what, with which versions, and from which commits."""
    made = reproduction.made
    packages = made.get("packages", {})
    words = [f" on {made['cores']} cores"] if "cores" in made else []
    words += [f"{name} {packages[name]}" for name in ("seamripper", "torch") if name in packages]
    return ", ".join((*words, *(f"commit {code[:12]}" for code in made.get("revisions", ()))))
