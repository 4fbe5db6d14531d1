"""A league as files: JSON, CSV, Markdown, and one HTML page."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from seamripper._files import atomic
from seamripper._words import word_list
from seamripper.benchmark.league import COLUMNS, League, columns_in_words, rating_rows
from seamripper.cards import PART
from seamripper.estimate import Estimate
from seamripper.experiment.results import as_csv
from seamripper.figures import Figure, Section, Strip
from seamripper.report.html import lay_out
from seamripper.report.markdown import figure_lines
from seamripper.report.story import Story
from seamripper.report.verdict import Headline

PAGE, TEXT, TABLE, RECORD = "league.html", "league.md", "league.csv", "league.json"
METHODS = PART.format("league")


def save(league: League, folder: Path | None = None) -> dict[str, Path]:
    """Write the league into a folder, by default that of its store: page, text, table, record, and methods cards."""
    folder = league.folder if folder is None else folder
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in rating_rows(league.ratings)]
    texts = {
        PAGE: page(league),
        TEXT: markdown(league),
        TABLE: as_csv(COLUMNS, rows),
        RECORD: json.dumps(league.as_record(), indent=1, allow_nan=False) + "\n",
    }
    for name, text in texts.items():
        with atomic(folder / name) as file:
            file.write(text.encode())
    methods = [] if not league.made_from else [league.methods().save(folder / METHODS).name]
    return {name: folder / name for name in (*texts, *methods)}


def page(league: League) -> str:
    """The league as one HTML file."""
    return lay_out(story(league), f"by seamripper bench. {league.caption}")


def story(league: League) -> Story:
    """What the page says: who leads, then the league, then test by test."""
    abouts = league.figure_sentences()
    first = Section("league", "League", " ".join(league.cost_sentences()), (league.table,))
    sections = tuple(
        Section(test.name, test.label, abouts[test.label], (*_strips(league, test.label), league.tables[test.label]))
        for test in league.tests
    )
    return Story(league.name, league.about, _headline(league), (first, *sections))


def markdown(league: League) -> str:
    """The league as text."""
    return "\n".join(_lines(league)) + "\n"


def _lines(league: League) -> Iterator[str]:
    first = _headline(league)
    yield from (f"# {league.name}: a benchmark of measures", "", f"**{first.verdict}**", "")
    yield from (f"Strongest reason to doubt: {first.doubt}", "")
    for section in story(league).sections:
        yield from (f"## {section.title}", "", section.text, "")
        for figure in section.figures:
            if figure.kind == "sheet":
                yield from figure_lines(figure, {})


def _strips(league: League, test: str) -> Iterator[Figure]:
    """For each statistic of a test a dot with its interval per measure, best first, and chance as a line."""
    for column in league.columns:
        if column[0] != test:
            continue
        ratings = [rating for (place, _), rating in league.overall.items() if place == column]
        ratings.sort(key=lambda rating: -rating.estimate.value)
        levels = [rating.chance for rating in ratings if rating.chance is not None]
        chance = {"chance": Estimate(levels[0])} if levels else {}
        groups = tuple((rating.measure, (rating.estimate,)) for rating in ratings)
        bounds = (0.0, 1.0) if all(_is_share(rating.estimate) for rating in ratings) else None
        yield Strip(f"{test}: {column[1]}", groups, None, column[1], chance, bounds=bounds)


def _is_share(estimate: Estimate) -> bool:
    known = [x for x in (estimate.value, estimate.low, estimate.high) if x == x]
    return all(0 <= x <= 1 for x in known)


def _headline(league: League) -> Headline:
    question = "Which measures of similarity can be trusted on these networks?"
    names = list(league.mean_ranks)
    if not names:
        why = (
            "No measure could be rated."
            if not league.counts
            else (
                f"No measure is rated by all {league.counted} columns that count, so they have no common order."
                if league.counted
                else "No column tells these measures apart."
            )
        )
        return Headline(question, why, (), _doubt(league))
    columns = [column for column in league.columns if column not in league.uncounted]
    tests = ", ".join(dict.fromkeys(test for test, _ in columns))
    verdict = f"By mean rank over {columns_in_words(len(columns))} ({tests}), "
    first = [name for place, name in league.places if place == 1]
    verdict += f"{word_list(first, quote='')} {'share the first place' if len(first) > 1 else 'comes first'}"
    verdict += f", then {' and '.join(names[1:3])}." if len(names) > len(first) == 1 else "."
    figures = tuple(
        (f"{names[0]}, {column[0]}: {column[1]}", league.overall[column, names[0]].estimate) for column in columns
    )
    return Headline(question, verdict, figures[:3], _doubt(league))


def _doubt(league: League) -> str:
    """What most limits the league: jobs that failed, too few seeds, or nothing better than chance."""
    if league.trouble:
        return f"Some jobs failed: {league.trouble[0]}"
    shown = [league.overall[key] for key in league.overall if key[0] in league.columns]
    bare = [rating for rating in shown if not rating.estimate.has_interval]
    if bare:
        return f"{len(bare)} of {len(shown)} ratings have no interval ({bare[0].note or 'too few training seeds'})."
    if not any(rating.is_marked for rating in shown):
        return "No rating is better than chance after the adjustment for the number of measures."
    least = min((rating.estimate.n or 0 for rating in shown), default=0)
    return f"A rank has no interval: measures whose intervals overlap (n = {least} networks or more) may change places."
