"""Findings: a sentence says what its claims support, with the numbers of the results, and says what is missing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from example_paper import PAPER as EXAMPLE
from planted_paper import decided, item as planted_item, paper
from planted_worlds import rows_of

from seamripper.errors import ExperimentError
from seamripper.papers import Finding, ItemReading, ItemReport, Paper, Reproduction, Results, Select, papers
from seamripper.papers.page import markdown, page

ROWS = [{"figure": "top1", "value": value, "receiver_seed": seed} for seed, value in enumerate((0.90, 0.92, 0.94))]
FINDING = Finding("It works ({task:.2f}).", "It fails ({task}).", "Who knows ({task:.1f})?", ("It is so", "It is not"),
                  {"task": ("table-1", Select("top1"))})  # fmt: skip
YES, NO, OPEN = "reproduced", "not reproduced", "not decided at this size"


def sentence(*statuses: str, rows: Any = ROWS, finding: Finding = FINDING) -> str:
    claims = [decided(says, status, "1") for says, status in zip(("It is so", "It is not so"), statuses, strict=False)]
    return finding.sentence(claims, {"table-1": Results(rows)})


@pytest.mark.parametrize(
    ("statuses", "text"),
    [
        ((YES, YES), "It works (0.92 [0.87, 0.97])."),
        ((YES, NO), "It fails (0.920 [0.870, 0.970])."),
        ((NO, OPEN), "It fails (0.920 [0.870, 0.970])."),
        ((YES, OPEN), "Who knows (0.9 [0.9, 1.0])?"),
        ((YES, "not testable here"), "Who knows (0.9 [0.9, 1.0])?"),
        ((OPEN, OPEN), "Who knows (0.9 [0.9, 1.0])?"),
    ],
)
def test_the_wording_is_what_the_claims_support(statuses: tuple[str, str], text: str) -> None:
    assert sentence(*statuses) == f"{text} (It is so: {statuses[0]}; It is not: {statuses[1]})"


def test_what_is_missing_is_said() -> None:
    assert sentence(YES, YES, rows=[]).startswith("It works ((not measured)).")
    assert sentence(YES) == "Not known here, as the results do not tell: “It is not”."
    assert sentence(YES, YES, rows=ROWS[:1]).startswith("It works (0.90)."), "one seed has no interval"


def test_the_claims_own_answers_are_understood() -> None:
    for value, word in ((0.999, "It is."), (0.5, "It is not.")):
        finding = Finding("It is.", "It is not.", "Open.", ("Is colour learnt perfectly",))
        rows = rows_of(EXAMPLE, EXAMPLE.items[3], "quick", lambda kind, labels, v=value: {"accuracy": v})
        claims = EXAMPLE.read(EXAMPLE.items[3], Results(rows), "quick").claims
        assert finding.sentence(claims, {}).startswith(word)


@pytest.mark.parametrize(
    ("top1", "start"),
    [
        ({"colour": 0.99, "digit": 0.93}, "Colour fits Digit wherever it is stitched into it, with an"),
        ({"colour": 0.91, "digit": 0.93}, "Colour does not fit Digit everywhere: its accuracy is 0.91 ["),
    ],
)  # fmt: skip
def test_the_page_of_the_example_begins_with_its_finding(top1: dict[str, float], start: str, tmp_path: Path) -> None:
    def world(kind: str, labels: Any) -> dict[str, float]:
        return {**dict.fromkeys(("accuracy", "receiver_here"), 0.95), "top1": top1.get(labels.get("sender"), 0.9)}

    reports = [
        ItemReport(item, EXAMPLE.read(item, Results(rows_of(EXAMPLE, item, "quick", world)), "quick"), 60.0, 9)
        for item in EXAMPLE.items
    ]
    whole = Reproduction(EXAMPLE, "quick", tmp_path, tuple(reports))
    (finding,) = whole.findings
    assert finding.startswith(start)
    assert whole.as_record()["findings"] == [finding]
    lines = markdown(whole).splitlines()
    assert lines[2] == f"- {finding}"
    text = page(whole)
    assert text.index(f"<p>{finding}</p>") < text.index("<h2>Scoreboard</h2>")
    alone = Reproduction(EXAMPLE, "quick", tmp_path, tuple(reports[3:]))
    assert alone.findings == (), "a finding of items that were not asked for is left out"
    lost = Reproduction(EXAMPLE, "quick", tmp_path, (reports[0], ItemReport(EXAMPLE.items[1], None, 1.0, 9, "no")))
    assert lost.findings[0].startswith("Not known here")


def test_a_finding_about_what_there_is_not_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ExperimentError, match=r"names to be an item and a Select of one cell, but 'deep' is none"):
        Finding("{deep}", "", "", ("It is so",))
    with pytest.raises(ExperimentError, match="but 'deep' is none"):
        Finding("{deep}", "", "", ("It is so",), {"deep": ("table-1", Select("top1", cut=(1, 2)))})
    for claims in ((), "It is so"):
        with pytest.raises(ExperimentError, match=r"Expected claims of the finding 'It is\.' to be a tuple"):
            Finding("It is.", "", "", claims)  # type: ignore[arg-type]
    items = paper(tmp_path).items
    for start, n in (("The larger", 0), ("The smaller", 3)):
        with pytest.raises(ExperimentError, match=f"Expected one claim of mine to begin with '{start}', .* but {n} do"):
            Paper("mine", "Mine", items, findings=(Finding("", "", "", (start,)),))
    wrong = Finding("", "", "", ("The smaller, the better (fig-3)",), {"x": ("fig-33", Select("top1"))})
    with pytest.raises(ExperimentError, match="mine has no item 'fig-33': did you mean 'fig-3'"):
        Paper("mine", "Mine", items, findings=(wrong,))


def test_a_reading_without_results_has_no_numbers(tmp_path: Path) -> None:
    item = planted_item(tmp_path, "table-1", ("Table 1",), (1, 2), says="It is so")
    finding = Finding("It works ({task:.2f}).", "", "", ("It is so",), {"task": ("table-1", Select("top1"))})
    whole = Paper("mine", "Mine", (item,), findings=(finding,))
    report = ItemReport(item, ItemReading((decided("It is so", YES, "1"),), ()), 1.0, 1)
    assert Reproduction(whole, "quick", tmp_path, (report,)).findings[0].startswith("It works ((not measured)).")


def test_the_page_of_every_paper_begins_with_five_sentences() -> None:
    assert {name: len(papers[name].findings) for name in papers} == dict.fromkeys(papers, 5)
