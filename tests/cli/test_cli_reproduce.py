"""Papers on the command line: papers, reproduce."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from planted_paper import called, item, paper

from seamripper.papers import Paper, papers


class Point:
    """An entry point of a third party, with a paper behind it."""

    def __init__(self, whole: Paper) -> None:
        self.name, self.value, self.load = whole.name, "nobody:PAPER", lambda: whole


@pytest.fixture
def register(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Paper], Paper]]:
    """Register a paper as a third party does."""

    def enter(whole: Paper) -> Paper:
        monkeypatch.setattr("seamripper.registry.entry_points", lambda group: [Point(whole)])
        papers.reload()
        return whole

    yield enter
    monkeypatch.undo()
    papers.reload()


@pytest.fixture
def tiny(tmp_path: Path, register: Callable[[Paper], Paper]) -> Paper:
    """A tiny paper, with a record of how long its items take."""
    (tmp_path / "measured.json").write_text('{"minutes": {"table-1": 0.1, "fig-3": 0.1}}')
    return register(replace(paper(tmp_path), measured=tmp_path / "measured.json"))


# ---- what there is


def test_papers_are_listed_with_items_and_what_they_cost(run: Any) -> None:
    found = run("papers")
    assert (found.code, found.err) == (0, "")
    assert "smith2025: Functional Alignment Can Mislead" in found.out
    for one in papers["smith2025"].items:
        assert f"│ {one.name} " in found.out
    assert "all of it" in found.out
    assert "seamripper reproduce PAPER, or PAPER/ITEM" in found.out
    listed = run("list", "papers", "--json").json
    assert listed["papers"]["smith2025"]["about"] == papers["smith2025"].title


def test_papers_speak_json(run: Any, tiny: Paper) -> None:
    found = next(paper for paper in run("papers", "--json").json if paper["paper"] == tiny.name)
    assert (found["paper"], found["title"]) == (tiny.name, tiny.title)
    assert found["items"][0] == {
        "item": "table-1",
        "covers": ["Table 1", "Fig. 2"],
        "about": "What table-1 shows.",
        "seconds": {"quick": 6.0, "night": 6.0, "paper": 12.0},
    }


# ---- a reproduction


def test_a_paper_is_reproduced_and_told(run: Any, tiny: Paper, tmp_path: Path) -> None:
    found = run("reproduce", "nobody2020", "--engine", "local?workers=1")
    assert found.code == 0
    assert "table-1 (Table 1, Fig. 2): 6 jobs" in found.out
    assert "  reproduced: The smaller, the better (table-1)\n      0.8" in found.out
    assert "  not reproduced: The smaller, the better (fig-3)" in found.out
    assert f"{tiny.title}: 1 reproduced, 1 not reproduced; " in found.out
    folder = tmp_path / "runs" / "nobody2020-quick"
    assert "report: runs/nobody2020-quick/reproduction.html" in found.out
    assert "Of 2 claims: 1 reproduced, 1 not reproduced." in (folder / "reproduction.html").read_text()
    assert (folder / "reproduction.md").read_text().startswith(f"# {tiny.title}: profile quick")
    assert run("status", "runs/nobody2020-quick").code == 0, "a store like any other"
    before = called(tmp_path)
    assert run("reproduce", "nobody2020", "--engine", "local?workers=1").code == 0
    assert called(tmp_path) == before, "nothing is done twice"


def test_one_item_by_any_of_its_words_into_a_store_of_its_own(run: Any, tiny: Paper, tmp_path: Path) -> None:
    found = run("reproduce", "nobody2020/fig-2", "--profile", "paper", "--store", "mine", "--engine", "local?workers=1")
    assert found.code == 0
    assert "fig-3" not in found.out
    plan = (
        "nobody2020, profile paper: about 12 s on two cores, estimated from the quick profile's minutes: table-1 12 s."
    )
    assert plan in found.out
    assert {word.partition("/")[0] for word in called(tmp_path)} == {"1", "5", "9"}
    text = (tmp_path / "mine" / "reproduction.md").read_text()
    assert "    seamripper reproduce nobody2020/table-1 --profile paper" in text


def test_a_reproduction_speaks_json(run: Any, tiny: Paper) -> None:
    found = run("reproduce", "nobody2020", "--engine", "local?workers=1", "--json")
    assert (found.code, found.err) == (0, "")
    record = found.json
    assert (record["paper"], record["profile"], record["store"]) == ("nobody2020", "quick", "runs/nobody2020-quick")
    assert record["claims"] == {"reproduced": 1, "not reproduced": 1}
    assert [one["item"] for one in record["items"]] == ["table-1", "fig-3"]
    assert [one["status"] for one in record["items"][0]["claims"]] == ["reproduced", "not reproduced"]
    assert record["files"] == [f"runs/nobody2020-quick/reproduction.{kind}" for kind in ("html", "md")]


def test_quiet_says_nothing(run: Any, tiny: Paper) -> None:
    found = run("reproduce", "nobody2020/fig-3", "--engine", "local?workers=1", "--quiet")
    assert (found.code, found.out, found.err) == (0, "", "")


def test_text_for_documentation_is_written_with_its_figures(run: Any, tiny: Paper, tmp_path: Path) -> None:
    assert run("reproduce", "nobody2020/fig-3", "--engine", "local?workers=1", "--quiet", "--docs", "docs/mine.md",
               "--measured", "mine.json").code == 0  # fmt: skip
    assert set(json.loads((tmp_path / "mine.json").read_text())["minutes"]) == {"fig-3"}
    text = (tmp_path / "docs" / "mine.md").read_text()
    (figure,) = (tmp_path / "docs" / "mine").iterdir()
    assert f"](mine/{figure.name})" in text


# ---- what goes wrong


@pytest.fixture
def broken(tmp_path: Path, register: Callable[[Paper], Paper]) -> Paper:
    """A paper of which one item fails."""
    bad, good = item(tmp_path, "table-1", ("Table 1",), (13, 1)), item(tmp_path, "fig-3", ("Fig. 3",), (1, 5))
    return register(paper(tmp_path, bad, good))


@pytest.mark.slow
def test_failed_jobs_are_told_with_exit_code_1_and_stop_nothing(run: Any, broken: Paper, tmp_path: Path) -> None:
    found = run("reproduce", "nobody2020", "--engine", "local?workers=1")
    assert found.code == 1
    assert "thirteen is not liked" in found.err
    assert "  could not be read: The results have no figure 'top1'" in found.out
    assert "ValueError: thirteen is not liked" in found.out
    assert "  reproduced: The smaller, the better (fig-3)" in found.out
    assert "no claim could be decided" in run("reproduce", "nobody2020/table-1", "--engine", "local?workers=1").out
    record = run("reproduce", "nobody2020", "--engine", "local?workers=1", "--json")
    assert record.code == 1
    assert "thirteen is not liked" in record.json["items"][0]["trouble"]
    assert record.json["items"][1]["trouble"] is None
    (tmp_path / "forgiven").touch()
    assert run("reproduce", "nobody2020", "--engine", "local?workers=1", "--retry-failed", "--quiet").code == 0


def test_a_damaged_record_of_times_is_told_with_what_to_do(run: Any, tiny: Paper, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "reproduction.json").write_text("{")
    found = run("reproduce", "nobody2020", "--store", "mine")
    assert found.code == 2
    assert "reproduction.json is damaged" in found.err
    assert "Remove it, and run this again; no result is lost with it." in found.err
    assert called(tmp_path) == []
