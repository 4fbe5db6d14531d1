"""Papers and items by their words: what there is, what is covered, and the nearest right word for a wrong one."""

from __future__ import annotations

import re
from typing import Any

import pytest

from seamripper.errors import ExperimentError
from seamripper.papers import Claim, Item, Paper, chosen, papers
from seamripper.papers.base import _word, claims_sheet

SMITH = papers()["smith2025"]
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
    return Item(name, covers, "Nothing.", nothing, nothing, 2.0, 10.0)


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
    assert _word(title) == word
    assert word in item("else", title).words


def test_an_item_goes_by_its_own_name_first_and_by_each_word_once() -> None:
    assert item("table-c1", "Table C.1", "Fig. 2b").words == ("table-c1", "fig-2b")
    assert item("mine").words == ("mine",)


def test_a_word_may_mean_several_items() -> None:
    first, second = item("a", "Table 1"), item("b", "Table 1", "Fig. 2")
    paper = Paper("mine", "Mine", (first, second))
    assert paper.chosen("table-1") == (first, second)
    assert paper.chosen("fig-2") == (second,)
    assert paper.chosen("a") == (first,)


@pytest.mark.parametrize("word", [word for item in SMITH.items for word in item.words])
def test_every_word_finds_its_item(word: str) -> None:
    paper, items = chosen(f"smith2025/{word}")
    assert paper is SMITH
    assert all(word in item.words for item in items)
    assert [item.name for item in SMITH.items if word in item.words] == [item.name for item in items]


def test_a_paper_alone_is_all_of_it() -> None:
    assert chosen("smith2025") == (SMITH, SMITH.items)


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("smith2025/tabel-c1", r"smith2025 has no 'tabel-c1': did you mean 'table-c1'"),
        ("smith2025/fig2b", r"smith2025 has no 'fig2b': did you mean 'fig-2b'"),
        ("smith2025/section-42", r"did you mean 'section-4\.2'"),
        ("smith2025/", r"smith2025 has no '': there are: table-c1, "),
        ("smth2025", r"There is no paper 'smth2025': did you mean 'smith2025'\?"),
        ("nosuch/table-c1", r"There is no paper 'nosuch': there are: smith2025\."),
    ],
)
def test_a_wrong_word_gets_the_nearest_right_one(word: str, said: str) -> None:
    with pytest.raises(ExperimentError, match=said):
        chosen(word)


# ---- what is covered


@pytest.mark.parametrize("title", ASKED)
def test_every_table_and_figure_of_the_paper_is_covered(title: str) -> None:
    covering = [item.name for item in SMITH.items if title in item.covers]
    assert covering, f"no item covers {title}"
    assert [one.name for one in SMITH.chosen(_word(title))] == covering


def test_nothing_is_covered_that_the_paper_has_not() -> None:
    assert {title for item in SMITH.items for title in item.covers} == set(ASKED)


def test_names_are_unique_and_can_be_typed() -> None:
    names = [item.name for item in SMITH.items]
    assert len(set(names)) == len(names) == 16
    assert all(re.fullmatch(r"(table|fig|section)-[a-z0-9.]+", name) for name in names)


@pytest.mark.parametrize("item", SMITH.items, ids=lambda item: item.name)
def test_an_item_says_what_it_is_and_what_it_costs(item: Item) -> None:
    assert item.about.endswith(".")
    assert item.name in item.words
    assert item.seconds("quick") == item.minutes * 60
    assert item.seconds("paper") == pytest.approx(item.minutes * 60 * item.times)
    assert item.minutes > 0
    assert item.times > 1, "the authors' sizes are larger"


def test_the_quick_profile_is_quick() -> None:
    assert sum(item.seconds("quick") for item in SMITH.items) < 2 * 3600


# ---- claims as a table


def test_claims_are_a_table_with_status_figure_and_rule() -> None:
    sheet = claims_sheet([Claim("It is so", "It is.", "reproduced", "1 against 0")])
    assert sheet.columns == ("the paper says", "status", "figure", "rule")
    assert sheet.rows == (("It is so", "reproduced", "1 against 0", "It is."),)
