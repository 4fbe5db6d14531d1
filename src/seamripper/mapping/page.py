"""The verdict on an index as one HTML page, and all that is kept of it in a folder."""

from __future__ import annotations

import os
from pathlib import Path

from seamripper._files import write_json, write_text
from seamripper.estimate import Estimate
from seamripper.figures import Lines, Section, Series, Sheet
from seamripper.mapping.index import IndexVerdict, QueryTest
from seamripper.mapping.rule import RULE
from seamripper.report.html import lay_out
from seamripper.report.story import Story
from seamripper.report.verdict import Headline

PAGE, RECORD, TENSORS, ARRAY = "map.html", "map.json", "map.safetensors", "map.npy"
PARTS = {
    "own": "own document",
    "old": "results of the old query",
    "again": "results of a new index",
}
"""What is searched for, by the name that a test has for it."""
QUERIES = {
    "no map": "new queries, no map",
    "map": "new queries, mapped",
    "shuffled pairs": "control: shuffled pairs",
    "old queries": "old queries (today)",
}


def save(verdict: IndexVerdict, folder: str | os.PathLike[str]) -> Path:
    """Write the map (safetensors and .npy), all figures (JSON) and the page into a folder; the path of the page."""
    place = Path(folder)
    verdict.map.save(place / TENSORS)
    verdict.map.save_array(place / ARRAY)
    write_json(place / RECORD, verdict.as_record())
    write_text(place / PAGE, page(verdict))
    return place / PAGE


def page(verdict: IndexVerdict) -> str:
    """The verdict as one HTML file."""
    record = verdict.record
    made = (
        f"by seamripper map {record['old']['name']} {record['new']['name']}. In brackets: 95 % intervals over queries."
    )
    return lay_out(story(verdict), made)


def story(verdict: IndexVerdict) -> Story:
    """What the page says: the verdict, its rule, what the queries find, and how the map was chosen."""
    record, tests = verdict.record, verdict.tests
    question = f"Can the index of {record['old']['name']} be kept for queries by {record['new']['name']}?"
    mapped = tests["no map" if verdict.answer == "keep" else "map"]
    figures = (
        ("own document among the ten nearest", mapped.own.recall[10]),
        ("of the ten documents of a new index", mapped.again.recall[10]),
        ("the same by the old queries, today", tests["old queries"].again.recall[10]),
    )
    headline = Headline(question, f"{verdict.answer.capitalize()}. {verdict.sentence}", figures, verdict.doubt)
    about = (
        f"{record['documents']:,} documents; maps fitted on {record['fit']:,}, chosen on {record['choice']:,}, tested "
        f"on {record['test']:,}; {record['metric']} distance"
    )
    return Story("map", about, headline, (_rule(verdict), _results_section(verdict), _choice(verdict)))


def rule_words(verdict: IndexVerdict) -> str:
    """The rule with its tolerance."""
    tolerance = verdict.record["tolerance"]
    return RULE.format(share=1 - tolerance, loss=tolerance)


def figure_rows(tests: list[QueryTest]) -> list[list[str]]:
    """One row per figure, one column per set of queries; what is 1 by definition is left out."""
    rows = [["R² of the mapped rows", *(_cell(test.r2) for test in tests)]]
    for part, words in PARTS.items():
        for name in getattr(tests[0], part).figures:
            trivial = {"old queries"} if part != "again" else set()
            cells = ["–" if test.name in trivial else _cell(getattr(test, part).figures[name]) for test in tests]
            rows.append([f"{words}: {name}", *cells])
    return rows


def _cell(estimate: Estimate | None) -> str:
    return "–" if estimate is None else str(estimate)


def _rule(verdict: IndexVerdict) -> Section:
    columns = ("queries", "condition", "figure", "at least", "holds")
    words = {True: "yes", False: "no", None: "open"}
    rows = tuple((QUERIES[c.queries], c.name, str(c.figure), c.least, words[c.holds]) for c in verdict.conditions)
    return Section("rule", "The rule", rule_words(verdict), (Sheet("Conditions", columns, rows),))


def _results_section(verdict: IndexVerdict) -> Section:
    tests = list(verdict.tests.values())
    lines = []
    for part, words in PARTS.items():
        shown = [test for test in tests if part == "again" or test.name != "old queries"]
        places = tuple(str(k) for k in getattr(shown[0], part).recall)
        series = tuple(
            Series(QUERIES[t.name], tuple(getattr(t, part).recall.values()), dashed=t.name == "shuffled pairs")
            for t in shown
        )
        lines.append(Lines(f"Recall@k of {words}", places, series, "Recall@k", "k", bounds=(0.0, 1.0)))
    columns = ("figure", *(QUERIES[test.name] for test in tests))
    sheet = Sheet("All figures", columns, tuple(tuple(row) for row in figure_rows(tests)))
    text = (
        "All queries search the old index. Among results, a query's own document is left out; Recall@k of results is "
        "the share of k documents that both searches have in common, and MRR is of the first of them."
    )
    return Section("found", "What the queries find", text, (*lines, sheet))


def _choice(verdict: IndexVerdict) -> Section:
    columns = ("map", "R², cross-validated", "Recall@10 of the old query's results", "")
    rows = tuple(
        (c.label, c.r2, str(c.recall), "chosen" if c.label == verdict.map.label else "") for c in verdict.candidates
    )
    text = (
        "Ridge and rank are chosen by R² on five folds of the documents to fit on, and the kind of map by the results "
        "of queries that are neither fitted nor tested on."
    )
    return Section("choice", "How the map was chosen", text, (Sheet("Maps", columns, rows),))
