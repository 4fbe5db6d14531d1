"""The runs of record: what stands on the pages is of these items, took no longer than it may, and decides enough."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from seamripper.papers import papers

DOCS = Path(__file__).parents[2] / "docs"
RECORDS = ("bansal2021", "hernandez2022")
"""Papers whose run of record is of the profile that they have now; those of the others are of earlier ones."""
MINUTES, DECIDED = 60, 0.8
each_record = pytest.mark.parametrize("name", RECORDS)


def page_of(name: str) -> str:
    return (DOCS / f"{name}.md").read_text()


@each_record
def test_it_took_no_longer_than_an_hour(name: str) -> None:
    """The page says how long all items took together; `seamripper papers` says the same of each."""
    text, paper = page_of(name), papers[name]
    (total,) = map(int, re.findall(r"^(\d+) minutes on 2 cores, ", text, re.M))
    assert sum(paper.minutes.values()) == pytest.approx(total, abs=1)
    assert sum(paper.minutes.values()) <= MINUTES
    assert {item.name for item in paper.items} == paper.minutes.keys()
    for item in paper.items:
        assert f" jobs, {paper.minutes[item.name]:.1f} min" in text.partition(item.about)[2].partition("\n")[0]


@each_record
def test_it_decides_four_fifths_of_the_claims_that_can_be_tested(name: str) -> None:
    (counted,) = re.findall(r"^\*\*Of (\d+) claims: (.*)\.\*\*$", page_of(name), re.M)
    counts = {status: int(n) for n, status in re.findall(r"(\d+) ([a-z ]+)", counted[1])}
    assert sum(counts.values()) == int(counted[0])
    asked = [claim for item in papers[name].items for claim in item.claims if not claim.beyond]
    assert int(counted[0]) == sum(bool(claim.clauses("quick")) for claim in asked), "claims of now"
    testable = int(counted[0]) - counts.get("not testable here", 0)
    assert counts["reproduced"] + counts["not reproduced"] >= DECIDED * testable


@each_record
def test_its_page_begins_with_what_was_found_and_has_every_item(name: str) -> None:
    text = page_of(name)
    assert text.startswith(f"# {papers[name].title}: profile quick\n")
    opening = text.partition("**Of ")[0]
    assert len(re.findall(r"^- ", opening, re.M)) == len(papers[name].findings) == 5
    for item in papers[name].items:
        assert f"\n## {', '.join(item.covers)}\n" in text, item.name
