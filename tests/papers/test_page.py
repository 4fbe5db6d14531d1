"""A reproduction as a page and as text: counts, claims, tables and figures; names of others are escaped."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import pytest
from planted_paper import EVIL, ROWS, decided, hostile, item, paper

from seamripper.errors import FileError
from seamripper.estimate import Estimate
from seamripper.figures import Lines, Series, Sheet, hue
from seamripper.papers import Claim, Item, ItemReading, ItemReport, Reproduction, Results, Select, papers
from seamripper.papers.decisions import decide
from seamripper.papers.page import PAGE, TEXT, command, markdown, page, save, save_docs, save_measured, story


def report(of: Item, *, trouble: str = "") -> ItemReport:
    return ItemReport(of, of.read(Results(ROWS), "quick"), 90.0, 9, trouble)


@pytest.fixture
def found(tmp_path: Path) -> Reproduction:
    """Two items, of whose three claims one is beyond the paper."""
    first = item(tmp_path, "table-1", ("Table 1", "Fig. 2"), (1, 2, 3), says="The smaller, the better", beyond=True)
    whole = paper(tmp_path, first, item(tmp_path, "fig-3", ("Fig. 3",), (5, 1)))
    claims = (
        decided("It is not so", "not reproduced", "0 against 1: -1.000"),
        decided("Who knows", "not decided at this size", "1 against 1"),
    )
    second = ItemReading(claims, (Sheet("A | B", ("a|b",), (("c|d",),)),))
    reading = dataclasses.replace(whole.items[0].read(Results(ROWS), "quick"), departs=first.departs)
    reports = (ItemReport(whole.items[0], reading, 90.0, 9), ItemReport(whole.items[1], second, 30.0, 6))
    return Reproduction(whole, "quick", tmp_path, reports)


# ---- the page


def test_the_page_has_the_counts_and_every_claim(found: Reproduction) -> None:
    text = page(found)
    assert "Of 3 claims: 1 reproduced, 1 not reproduced, 1 not decided at this size." in text
    assert "Does Nobody&#39;s Paper (Nobody 2020) hold up?" in text
    for one in (claim for report in found.reports for claim in report.claims):
        assert one.says in text
        assert one.rule in text
    assert "fig-3: “It is not so”: not reproduced" in text, "the strongest reason to doubt"
    assert "by seamripper reproduce nobody2020 --profile quick" in text


def test_the_page_has_tables_and_drawn_figures(found: Reproduction) -> None:
    text = page(found)
    assert text.count("<polyline") == 2, "one line, drawn for wide pages and for narrow ones"
    assert text.count('<table class="sortable') == 7, (
        "the scoreboard, claims of both items, a table of each, the cells of the first, and what is beyond the paper"
    )
    assert text.count('aria-label="Lines by size, 1 to 3. Lines of accuracy by size.') == 2
    names = [section.name for section in story(found).sections]
    assert names == ["scoreboard", "departures", "table-1", "fig-3", "beyond"]


def test_the_scoreboard_has_a_row_for_each_claim_of_the_paper(found: Reproduction) -> None:
    (sheet,) = story(found).sections[0].figures
    assert isinstance(sheet, Sheet)
    assert sheet.columns[:4] == ("the paper says", "where", "ours", "status")
    assert [(row[0], row[1], row[3]) for row in sheet.rows] == [
        ("The smaller, the better", "table-1", "reproduced"),
        ("It is not so", "fig-3", "not reproduced"),
        ("Who knows", "fig-3", "not decided at this size"),
    ]


def test_an_open_claim_says_on_the_page_what_would_decide_it_and_at_which_cost(tmp_path: Path) -> None:
    near = [{"figure": "top1", "size": 1, "seed": seed, "value": 0.93 + 0.02 * (seed - 1)} for seed in range(3)]
    base = [{"figure": "top1", "size": 2, "seed": seed, "value": 0.9} for seed in range(3)]
    of = item(tmp_path, "table-1", ("Table 1",), (1, 2))
    reading = of.read(Results([*near, *base]), "quick")
    open_ = Reproduction(paper(tmp_path, of), "quick", tmp_path, (ItemReport(of, reading, 360.0, 6, minutes=6.0),))
    words = "5 in place of 3 would decide it, if values and deviations stay (at least 4.0 more minutes)."
    assert words in page(open_)
    assert words in markdown(open_)
    assert words in open_.as_record()["items"][0]["claims"][0]["notes"]


def test_departures_are_told_once(tmp_path: Path) -> None:
    items = item(tmp_path, "table-1", ("Table 1",), (1, 2)), item(tmp_path, "fig-3", ("Fig. 3",), (1, 3))
    whole = paper(tmp_path, *items)
    for profile, smaller in (("quick", 1), ("paper", 0)):
        reports = tuple(ItemReport(of, whole.read(of, Results(ROWS), profile), 1.0, 1) for of in items)
        text = markdown(Reproduction(whole, profile, tmp_path, reports))
        assert text.count("3 seeds (4 in the paper's profile)") == smaller
        assert text.count("Smaller than any paper's.") == 1
        assert "table-1, fig-3: Smaller than any paper's." in text


def test_tables_of_items_are_folded_and_what_is_beyond_the_paper_stands_apart(found: Reproduction) -> None:
    text = page(found)
    assert text.count('<details class="folded">') == 2
    assert text.count("<details") == text.count("</details>")
    scoreboard, beyond = text.index('<section id="scoreboard">'), text.index('<section id="beyond">')
    first = text.index('<details class="folded">')
    assert scoreboard < first < beyond
    assert "The smaller, the better, reversed" not in text[scoreboard:first]
    lines = markdown(found).splitlines()
    assert lines.index("## Beyond the paper") > lines.index("## Fig. 3")
    assert "| question | answer | figure | rule |" in lines
    assert lines.count("<details markdown>") == lines.count("</details>") == 2
    assert lines.index("| question | answer | figure | rule |") > len(lines) - 1 - lines[::-1].index("</details>")


def test_hostile_names_are_escaped_wherever_they_stand(tmp_path: Path) -> None:
    text = page(hostile(tmp_path))
    assert EVIL not in text
    assert text.count("&lt;script&gt;") > 12
    assert text.count("<script") == 2, "the page's own, and its data"


def test_the_hostile_name_would_be_seen_unescaped() -> None:
    assert EVIL in f"<h1>{EVIL}</h1>"
    assert EVIL.startswith("<script>")


def test_an_item_that_could_not_be_read_says_why(found: Reproduction) -> None:
    first, second = found.reports
    lost = dataclasses.replace(found, reports=(first, ItemReport(second.item, None, 1.0, 6, "two is not liked")))
    for text in (page(lost), markdown(lost)):
        assert "It could not be read: two is not liked" in text
        assert "fig-3 could not be read: two is not liked" in text, "no claim failed: this is the reason to doubt"
    nothing = dataclasses.replace(found, reports=(ItemReport(first.item, None, 1.0, 6, "no"),))
    assert "No claim could be decided." in page(nothing)
    assert "Of 0 claims" not in page(nothing)


def test_that_a_claim_rests_on_the_leak_is_a_reason_to_doubt(found: Reproduction) -> None:
    first, _ = found.reports
    assert first.reading
    assert first.reading.claims[1].status == "not reproduced"
    alone = dataclasses.replace(found, reports=(first,))
    assert "No claim failed;" in markdown(alone), "what the paper does not claim cannot fail"
    leak = decided("Does it rest on it?", "depends on the leak", "2 of 2, 1 of 2", beyond=True)
    leaky = dataclasses.replace(first, reading=dataclasses.replace(first.reading, claims=(leak,)))
    assert "table-1: “Does it rest on it?”: depends on the leak" in markdown(
        dataclasses.replace(found, reports=(leaky,))
    )


def test_of_several_reasons_to_doubt_the_one_with_the_most_weight_is_told(found: Reproduction) -> None:
    rows = [{"figure": "top1", "value": v + d, "cell": cell, "receiver_seed": k}
            for cell, v in (("near", 0.87), ("far", 0.3)) for k, d in enumerate((-0.01, 0.0, 0.01))]  # fmt: skip
    claims = [decide(Claim(f"It is {cell}", "", Select("top1", cell=cell), "at least", bound=0.9), Results(rows), {})
              for cell in ("near", "far")]  # fmt: skip
    (first, _) = found.reports
    assert first.reading
    both = dataclasses.replace(first, reading=dataclasses.replace(first.reading, claims=tuple(claims)))
    assert [claim.status for claim in both.claims] == ["not reproduced"] * 2
    assert "Strongest reason to doubt: table-1: “It is far”" in markdown(dataclasses.replace(found, reports=(both,)))


def test_a_claim_that_misses_by_little_is_no_strong_doubt_because_its_interval_has_no_width(
    found: Reproduction,
) -> None:
    """What is missed counts, and not what lies within the slack; one value for all seeds has an interval of width 0."""
    values = {"same": (0.899, 0.899, 0.899), "far": (0.29, 0.3, 0.31)}
    rows = [{"figure": "top1", "value": v, "cell": cell, "receiver_seed": k}
            for cell, seeds in values.items() for k, v in enumerate(seeds)]  # fmt: skip
    claims = [decide(Claim(f"It is {cell}", "", Select("top1", cell=cell), "at least", bound=0.9), Results(rows), {})
              for cell in ("same", "far")]  # fmt: skip
    (first, _) = found.reports
    assert first.reading
    both = dataclasses.replace(first, reading=dataclasses.replace(first.reading, claims=tuple(claims)))
    assert [claim.status for claim in both.claims] == ["not reproduced"] * 2
    assert "Strongest reason to doubt: table-1: “It is far”" in markdown(dataclasses.replace(found, reports=(both,)))


def test_a_failed_job_is_told_beside_what_could_be_read(found: Reproduction) -> None:
    (first, second) = found.reports
    some = dataclasses.replace(found, reports=(dataclasses.replace(first, trouble="two is not liked"), second))
    assert "Some jobs failed: two is not liked" in page(some)


# ---- the command


def test_the_command_makes_what_is_shown() -> None:
    smith = papers["smith2025"]

    def told(*names: str, profile: Any = "quick") -> str:
        items = [one for one in smith.items if one.name in names]
        return command(Reproduction(smith, profile, Path(), tuple(ItemReport(one, None, 0.0, 0) for one in items)))

    assert told(*(one.name for one in smith.items)) == "seamripper reproduce smith2025 --profile quick"
    assert told("table-c1", profile="paper") == "seamripper reproduce smith2025/table-c1 --profile paper"
    for word in ("table-1", "fig-2b", "table-f1", "section-4.2"):
        names = [one.name for one in smith.choose(word)]
        said = told(*names).split()[2]
        assert [one.name for one in smith.choose(said.partition("/")[2])] == names, "a word may mean several items"
    both = [f"seamripper reproduce smith2025/{name} --profile quick" for name in ("table-c1", "fig-3")]
    assert told("table-c1", "fig-3") == " && ".join(both)


# ---- text


def test_the_text_has_counts_claims_and_tables(found: Reproduction) -> None:
    lines = markdown(found).splitlines()
    assert lines[0] == "# Nobody's Paper (Nobody 2020): profile quick"
    assert "**Of 3 claims: 1 reproduced, 1 not reproduced, 1 not decided at this size.**" in lines
    assert "    seamripper reproduce nobody2020 --profile quick" in lines
    assert "2 minutes." in lines
    assert "Strongest reason to doubt: fig-3: “It is not so”: not reproduced (0 against 1: -1.000)." in lines
    assert "## Table 1, Fig. 2" in lines
    assert "| the paper says | status | figure | rule |" in lines
    assert [line for line in lines if line.startswith("| It is not so | not reproduced |")]
    assert "| accuracy | 1 | 2 | 3 |" in lines, "a figure is told as a table"


def test_every_row_of_a_table_has_as_many_cells_as_the_table(tmp_path: Path, found: Reproduction) -> None:
    for text in (markdown(found), markdown(hostile(tmp_path))):
        width = 0
        for line in text.splitlines():
            if line.startswith("|"):
                cells = len(re.findall(r"(?<!\\)\|", line)) - 1
                width = width or cells
                assert cells == width, line
            else:
                width = 0


def test_pipes_of_titles_and_cells_do_not_break_the_text(found: Reproduction) -> None:
    text = markdown(found)
    assert "| a\\|b |\n|---|\n| c\\|d |" in text


@pytest.mark.parametrize(
    ("point", "told"),
    [
        (Estimate(0.9141, 0.905, 0.923), "0.914 [0.905, 0.923]"),
        (Estimate(0.8371, 0.4951, 1.0, lower_bound=True), "0.837 [0.495, 1.000] ↑"),
        (Estimate(0.9141), "0.914"),
        (Estimate(142.4, 140.0, 145.0), "142 [140, 145]"),
        (Estimate(142.4), "142"),
        (Estimate(float("nan")), "–"),
    ],
)
def test_a_point_in_a_table(point: Estimate, told: str) -> None:
    assert str(point) == told


def test_drawn_figures_are_named_in_the_text(found: Reproduction) -> None:
    text = markdown(found, figures={"Lines by size, 1 to 3": "figs/1.svg"})
    assert re.search(r"!\[Lines by size, 1 to 3\. Lines of accuracy by size\. .*\]\(figs/1\.svg\)", text)


# ---- files


def test_both_files_are_written(found: Reproduction) -> None:
    paths = save(found)
    assert paths == (found.folder / PAGE, found.folder / TEXT)
    assert paths[0].read_text() == page(found)
    assert paths[1].read_text() == markdown(found)
    assert sorted(path.name for path in found.folder.iterdir()) == [PAGE, TEXT], "and nothing beside them"


def test_a_file_that_cannot_be_made_leaves_the_old_one(found: Reproduction, monkeypatch: pytest.MonkeyPatch) -> None:
    save(found)
    before = [(found.folder / name).read_bytes() for name in (PAGE, TEXT)]

    def full(_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(FileError, match="The disk is full"):
        save(dataclasses.replace(found, profile="paper"))
    assert [(found.folder / name).read_bytes() for name in (PAGE, TEXT)] == before
    assert sorted(path.name for path in found.folder.iterdir()) == [PAGE, TEXT]


def test_the_text_for_documentation_has_its_figures_beside_it(found: Reproduction, tmp_path: Path) -> None:
    paths = save_docs(found, tmp_path / "docs" / "mine.md")
    assert [path.relative_to(tmp_path).as_posix() for path in paths] == [
        "docs/mine.md",
        "docs/mine/01-table-1-Lines-by-size-1-to-3.svg",
    ]
    text = paths[0].read_text()
    (named,) = re.findall(r"\]\((.*?)\)", text)
    drawn = (paths[0].parent / named).read_bytes()
    assert drawn.lstrip().startswith(b"<?xml")
    again = save_docs(found, tmp_path / "again" / "mine.md")
    assert [path.read_bytes() for path in again] == [path.read_bytes() for path in paths], (
        "the same figure, the same file"
    )


def test_the_text_says_what_it_was_made_with(found: Reproduction) -> None:
    packages = {"seamripper": "0.1.0", "torch": "2.13.0", "numpy": "2.4"}
    made = {"cores": 2, "packages": packages, "revisions": ["0123456789abcdef", "fedcba9876543210+"]}
    text = markdown(dataclasses.replace(found, made=made))
    assert "2 minutes on 2 cores, seamripper 0.1.0, torch 2.13.0, commit 0123456789ab, commit fedcba987654." in text
    assert "\n2 minutes.\n" in markdown(found)


def test_how_long_items_took_is_written_as_a_paper_ships_it(found: Reproduction, tmp_path: Path) -> None:
    made = {"cores": 2, "revisions": ["0123456789abcdef"]}
    save_measured(dataclasses.replace(found, made=made), tmp_path / "measured.json")
    assert json.loads((tmp_path / "measured.json").read_text()) == {
        "profile": "quick",
        "cores": 2,
        "commits": ["0123456789ab"],
        "minutes": {"table-1": 1.5, "fig-3": 0.5},
    }


def test_a_line_has_one_colour_in_all_figures_of_a_paper_by_its_name(found: Reproduction) -> None:
    """The second figure has the lines in another order, and more of them than there are first colours."""
    points = (Estimate(0.5), Estimate(0.6))
    names = [f"net {k}" for k in range(12)]
    lines = [Series(name, points) for name in names]
    alone, authors = Series("net 3 alone", points, dashed=True), Series("net 3 (authors)", points, dashed=True)
    plots = (
        Lines("Some", ("a", "b"), (lines[9], lines[3], alone), "y"),
        Lines("All", ("a", "b"), (*reversed(lines), authors), "y"),
    )
    reading = ItemReading((), plots)
    page_story = story(dataclasses.replace(found, reports=(ItemReport(found.paper.items[0], reading, 1.0, 1),)))
    some, every = (
        {line.name: line.colour for line in figure.series}
        for _, figure in page_story.figures
        if isinstance(figure, Lines)
    )
    assert some["net 9"] == every["net 9"]
    assert some["net 3"] == some["net 3 alone"] == every["net 3"] == every["net 3 (authors)"]
    assert len({every[name] for name in names}) == 12
    assert {some["net 3"], some["net 9"]} == {hue(0), hue(1)}, "what stands in both has the clearest colours"
