"""Papers and items by their words: what there is, what is covered, and the nearest right word for a wrong one."""

from __future__ import annotations

import math
import re
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import example_paper
import pytest
from example_paper import PAPER as EXAMPLE
from planted_paper import decided, item as planted_item, paper
from planted_worlds import rows_of

from seamripper.errors import ExperimentError, FileError
from seamripper.figures import Grid, Sheet
from seamripper.papers import PROFILES, Item, Paper, Results, Size, choose, papers
from seamripper.papers.decisions import claims_sheet
from seamripper.papers.profiles import departures

SMITH = papers["smith2025"]
ASKED = (
    *("Fig. 2b", "Fig. 2c", "Fig. C.1", "Fig. C.2", "Fig. C.3", "Fig. D.1", "Fig. E.1", "Fig. 3", "Fig. 4"),
    *("Fig. G.1", "Fig. G.2", "Fig. G.3", "Fig. G.4"),
    *("Table 1", "Table B.1", "Table C.1", "Table C.2", "Table D.1", "Table D.2", "Table D.3", "Table F.1"),
    *("Table G.1", "Table G.2"),
    *("Section 4.2", "Section 5.1", "Section 5.4", "Section D.4"),
)
"""Every table and figure of the paper that has numbers, and the sections that have claims without either."""


def item(name: str, *covers: str) -> Item:
    """An item that is never run."""
    nothing: Any = None
    return Item(name, covers, "Nothing.", nothing, ())


# ---- words


@pytest.mark.parametrize(
    ("title", "word"),
    [
        ("Fig. 2b", "fig-2b"),
        ("Fig. C.1", "fig-c1"),
        ("Fig. 3", "fig-3"),
        ("Table C.1", "table-c1"),
        ("Table 1", "table-1"),
        ("Section 4.2", "section-4.2"),
        ("§4.2", "section-4.2"),
        ("Section D.4", "section-d.4"),
    ],
)
def test_a_title_is_a_word(title: str, word: str) -> None:
    assert word in item("else", title).words


def test_an_item_goes_by_its_own_name_first_and_by_each_word_once() -> None:
    assert item("table-c1", "Table C.1", "Fig. 2b").words == ("table-c1", "fig-2b")
    assert item("mine").words == ("mine",)


def test_a_word_may_mean_several_items() -> None:
    first, second = item("a", "Table 1"), item("b", "Table 1", "Fig. 2")
    mine = Paper("mine", "Mine", (first, second))
    assert mine.choose("table-1") == (first, second)
    assert mine.choose("fig-2") == (second,)
    assert mine.choose("a") == (first,)


@pytest.mark.parametrize("word", [word for item in SMITH.items for word in item.words])
def test_every_word_finds_its_item(word: str) -> None:
    paper, items = choose(f"smith2025/{word}")
    assert paper is SMITH
    assert all(word in item.words for item in items)
    assert [item.name for item in SMITH.items if word in item.words] == [item.name for item in items]


def test_a_paper_alone_is_all_of_it() -> None:
    assert choose("smith2025") == (SMITH, SMITH.items)


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("smith2025/tabel-c1", r"smith2025 has no 'tabel-c1': did you mean 'table-c1'"),
        ("smith2025/fig2b", r"smith2025 has no 'fig2b': did you mean 'fig-2b'"),
        ("smith2025/section-42", r"did you mean 'section-4\.2'"),
        ("smith2025/", r"smith2025 has no '': there are: table-c1, "),
        ("smth2025", r"There is no paper 'smth2025': did you mean 'smith2025' or"),
        ("nosuch/table-c1", r"no paper 'nosuch': there are: balogh2025, bansal2021, hernandez2022, smith2025\."),
    ],
)
def test_a_wrong_word_gets_the_nearest_right_one(word: str, said: str) -> None:
    with pytest.raises(ExperimentError, match=said):
        choose(word)


# ---- what is covered


@pytest.mark.parametrize("title", ASKED)
def test_every_table_and_figure_of_the_paper_is_covered(title: str) -> None:
    covering = [item.name for item in SMITH.items if title in item.covers]
    assert covering, f"no item covers {title}"
    words = {word for name in covering for word in SMITH.choose(name)[0].words}
    assert any([found.name for found in SMITH.choose(word)] == covering for word in words)


def test_nothing_is_covered_that_the_paper_has_not() -> None:
    assert {title for item in SMITH.items for title in item.covers} == set(ASKED)


def test_names_are_unique_and_can_be_typed() -> None:
    names = [item.name for item in SMITH.items]
    assert len(set(names)) == len(names) == 16
    assert all(re.fullmatch(r"(table|fig|section)-[a-z0-9.]+", name) for name in names)


# ---- what it costs


@pytest.mark.parametrize("name", [item.name for item in SMITH.items])
def test_an_item_says_what_it_is_and_what_it_costs(name: str) -> None:
    (found,) = [item for item in SMITH.items if item.name == name]
    assert found.about.endswith(".")
    quick, full = (SMITH.seconds(found, profile) for profile in ("quick", "paper"))
    assert quick == SMITH.minutes[name] * 60 > 0
    assert full is not None
    assert full > 2 * quick, "the authors' sizes are larger"


@pytest.mark.parametrize("name", ["smith2025", "balogh2025"])
def test_a_night_is_between_quick_and_paper_and_not_longer_than_eight_hours(name: str) -> None:
    whole = papers[name]
    times = {profile: sum(whole.seconds(item, profile) or 0 for item in whole.items) for profile in PROFILES}
    assert times["quick"] < times["night"] < times["paper"]
    assert times["night"] <= 8 * 3600


def test_a_night_says_where_it_departs_by_its_own_sizes() -> None:
    size = Size("{#} seeds", (0, 1), tuple(range(9)), (0, 1, 2, 3))
    assert [size.departure(profile) for profile in ("quick", "night")] == [
        "2 seeds (9 in the paper's profile)",
        "4 seeds (9 in the paper's profile)",
    ]
    assert size.departure("paper") == ""


def test_what_was_never_measured_has_no_estimate(tmp_path: Path) -> None:
    whole = paper(tmp_path)
    assert whole.seconds(whole.items[0], "quick") is whole.seconds(whole.items[0], "paper") is None
    record = tmp_path / "measured.json"
    record.write_text('{"minutes": {"table-1": 2}}')
    known = Paper("mine", "Mine", whole.items, whole.sizes, record)
    assert (known.seconds(known.items[0], "quick"), known.seconds(known.items[1], "quick")) == (120, None)
    record.write_text("[]")
    with pytest.raises(FileError, match=r"measured\.json is damaged: .*`seamripper reproduce --measured` writes it"):
        Paper("mine", "Mine", whole.items, whole.sizes, record).seconds(known.items[0], "quick")


# ---- profiles


@pytest.mark.parametrize(
    ("size", "sentence"),
    [
        (Size("width {}", 0.25, 1.0), "width 0.25 (1 in the paper's profile)"),
        (Size("{} images", 10_000, None), "10,000 images (all in the paper's profile)"),
        (Size("{#} seeds", (0, 1), (0, 1, 2)), "2 seeds (3 in the paper's profile)"),
        (
            Size("with {}", "?lr=1&batch=8", "?lr=2&batch=8"),
            "with learning rate 1 (learning rate 2 in the paper's profile)",
        ),
        (Size("network {}", "zoo:a?width=1", "zoo:b"), "network a width 1 (b in the paper's profile)"),
        (Size("smaller inputs", 1, 2), "smaller inputs"),
        (Size("{} images", 5, 5), ""),
    ],
)
def test_a_size_says_where_the_quick_profile_departs(size: Size, sentence: str) -> None:
    assert size.departure() == sentence


def test_departures_are_those_of_the_sizes_that_are_used(tmp_path: Path) -> None:
    whole = paper(tmp_path)
    quick = whole.departures(whole.items[0], "quick")
    assert quick == (
        "3 seeds (4 in the paper's profile); sizes beside those of the claims:  (9 in the paper's profile).",
        "Smaller than any paper's.",
    )
    assert whole.departures(whole.items[0], "paper") == ("Smaller than any paper's.",)
    assert departures(whole.sizes, ["training"]) == "Trained with epochs 2 (epochs 20 in the paper's profile)."
    with pytest.raises(AttributeError, match="The profile has no size 'nosuch'"):
        planted_item(tmp_path, "x", (), (1, 2)).experiment(_Asks())


class _Asks:
    """A profile that is asked for what it does not have."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError("The profile has no size 'nosuch'.")


# ---- registration


def test_papers_of_third_parties_are_found_and_broken_ones_break_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    points = [
        EntryPoint("nobody2020", "planted_paper:SIZES", "seamripper.papers"),
        EntryPoint("gone2020", "no_such_module:PAPER", "seamripper.papers"),
    ]
    monkeypatch.setattr("seamripper.registry.entry_points", lambda group: points)
    papers.reload()
    try:
        assert list(papers) == ["balogh2025", "bansal2021", "hernandez2022", "smith2025"]
        assert "could not be imported: ModuleNotFoundError" in papers.broken["gone2020"]
        assert "expected a value of seamripper's Paper" in papers.broken["nobody2020"]
        with pytest.raises(ExperimentError, match="The paper 'gone2020' cannot be used"):
            choose("gone2020")
    finally:
        monkeypatch.undo()
        papers.reload()


# ---- the smallest complete paper, which is the one to copy


@pytest.mark.parametrize("item", EXAMPLE.items, ids=lambda item: item.name)
def test_the_example_is_a_whole_paper(item: Item) -> None:
    """Its experiments make jobs, and each of its claims, tables and plots is filled from their results."""
    figures = dict.fromkeys(("top1", "accuracy", "receiver_here", "receiver_unadapted"), 0.9)
    for profile in PROFILES:
        rows = rows_of(EXAMPLE, item, profile, lambda kind, labels: figures)
        reading = EXAMPLE.read(item, Results(rows), profile)
        assert [claim.says for claim in reading.claims] == [claim.sentence for claim in item.claims]
        assert len(reading.figures) == (len(item.shows) or len(item.claims))
        assert not any("–" in str(cell) for sheet in reading.figures if isinstance(sheet, Sheet) and item.shows
                       for row in sheet.rows for cell in row)  # fmt: skip
        assert not any(math.isnan(cell.value) for grid in reading.figures if isinstance(grid, Grid)
                       for row in grid.cells for cell in row)  # fmt: skip
        assert (profile != "paper") == any("in the paper's profile" in sentence for sentence in reading.departs)


def test_a_paper_of_four_items_is_short() -> None:
    assert len(EXAMPLE.items) == 4
    assert len(Path(str(example_paper.__file__)).read_text().splitlines()) < 200


# ---- claims as a table


def test_claims_are_a_table_with_status_figure_and_rule() -> None:
    sheet = claims_sheet([decided("It is so", "reproduced", "1 against 0")])
    assert sheet.columns == ("the paper says", "status", "figure", "rule")
    assert sheet.rows == (("It is so", "reproduced", "1 against 0", "It is."),)
