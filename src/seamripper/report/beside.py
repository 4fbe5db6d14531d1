"""Two runs side by side: the verdicts of both, every figure that both have with its difference, and their figures."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from seamripper.figures import Figure, Lines, Section, Sheet, Strip, twins
from seamripper.report.story import Story
from seamripper.report.verdict import Headline

_KEY = 5
"""The first columns of the table of all figures: what names a figure. Behind them are value, low, high and n."""


def beside(stories: tuple[Story, Story], names: tuple[str, str]) -> Story:
    """The page of two runs."""
    shared = list(_shared_rows(*stories))
    apart = sum(row[-1] == "yes" for row in shared)
    question = f"How does {names[1]} differ from {names[0]}?"
    verdict = f"{len(shared)} figures are in both runs; the intervals of {apart} of them lie apart."
    doubt = "Intervals that overlap may hide a difference, and of many that lie apart some do so by chance."
    sections = [*_verdicts(stories, names), _figures(shared, names), *_pictures(stories, names)]
    return Story(" beside ".join(names), "", Headline(question, verdict, (), doubt), tuple(sections))


def _verdicts(stories: tuple[Story, Story], names: tuple[str, str]) -> Iterator[Section]:
    """What each run says of each pair."""
    sides = [{row.pair: row for row in story.first.pairs} for story in stories]
    rows = []
    for pair in dict.fromkeys(pair for side in sides for pair in side):
        cells: list[Any] = []
        for side in sides:
            row = side.get(pair)
            cells += ["", ""] if row is None else [row.answer, f"{row.estimate} ({row.figure})"]
        rows.append((pair, *cells))
    columns = tuple(column for name in names for column in (name, f"{name}: deciding figure"))
    if rows:
        sheet = Sheet("Verdicts", ("pair", *columns), tuple(rows))
        yield Section("verdicts", "What was judged", "", (sheet,))


def _shared_rows(a: Story, b: Story) -> Iterator[tuple[Any, ...]]:
    """The figures that both runs have: what each is, both values, their difference, and whether intervals lie apart."""
    ours, theirs = ({row[:_KEY]: row[_KEY:] for row in _table(story)} for story in (a, b))
    for key, (value, low, high, *_) in ours.items():
        if key not in theirs or value is None or theirs[key][0] is None:
            continue
        other, other_low, other_high = theirs[key][:3]
        ends = (low, high, other_low, other_high)
        known = all(end is not None and math.isfinite(end) for end in ends)
        apart = ("yes" if low > other_high or other_low > high else "no") if known else "unknown"
        yield *key, value, other, other - value, apart


def _table(story: Story) -> tuple[tuple[Any, ...], ...]:
    sheets = (figure for section, figure in story.figures if section == "table" and isinstance(figure, Sheet))
    return next((sheet.rows for sheet in sheets if len(sheet.columns) > _KEY + 4), ())


def _figures(rows: list[tuple[Any, ...]], names: tuple[str, str]) -> Section:
    columns = ("kind", "what", "cut", "measure", "figure", *names, "difference", "intervals apart")
    text = f"Every figure that both runs have; the difference is {names[1]} minus {names[0]}."
    return Section("figures", "Figures in both", text, (Sheet(f"{len(rows):,} figures", columns, tuple(rows)),))


def _pictures(stories: tuple[Story, Story], names: tuple[str, str]) -> Iterator[Section]:
    """Each section with the figures of both runs beside each other; those with the same title on one axis."""
    for section in dict.fromkeys(section.name for story in stories for section in story.sections):
        sides = [next((s for s in story.sections if s.name == section), None) for story in stories]
        figures = [{f.title: f for f in side.figures if f.kind != "sheet"} if side else {} for side in sides]
        shown: list[Figure] = []
        for title in dict.fromkeys(title for side in figures for title in side):
            pair = _on_one_axis([side[title] for side in figures if title in side])
            which = [name for name, side in zip(names, figures, strict=True) if title in side]
            shown += [replace(f, title=f"{name}: {title}") for name, f in zip(which, pair, strict=True)]
        if shown:
            known = next(side for side in sides if side is not None)
            yield Section(section, known.title, known.text, tuple(shown))


def _on_one_axis(figures: list[Figure]) -> list[Figure]:
    lines = [figure for figure in figures if isinstance(figure, Lines)]
    strips = [figure for figure in figures if isinstance(figure, Strip)]
    if len(lines) == len(figures) and len({figure.log for figure in lines}) == 1:
        return list(twins(lines))
    return list(twins(strips)) if len(strips) == len(figures) else figures
