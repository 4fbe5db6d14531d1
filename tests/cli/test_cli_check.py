"""seamripper check: the contract, put to a measure of your own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from seamripper.measures import measures
from seamripper.measures.contract import check

if TYPE_CHECKING:
    from conftest import Run

OWN = """
import math
from dataclasses import dataclass
from seamripper.measures import Measure
from seamripper.measures import Claims

@dataclass(frozen=True)
class Good(Measure):
    name = "good"
    paper = "nobody 2025"

    @property
    def claims(self):
        return Claims("distance", True, (0.0, math.inf), 0.0, frozenset({"orthogonal", "permutation"}), varying=False,
                      paired=False)

    def of(self, pair):
        a, b = (math.sqrt(float(side.mean @ side.mean)) for side in (pair.x, pair.y))
        return abs(a - b)

@dataclass(frozen=True)
class Bad(Good):
    name = "bad"

    def of(self, pair):
        return super().of(pair) + (0.5 if pair.x.width > pair.y.width else 0)

@dataclass(frozen=True)
class Worse(Good):
    name = "worse"

    @property
    def claims(self):
        return {}["claims"]
"""


@pytest.fixture
def own(run: Run) -> Run:
    Path("own.py").write_text(OWN)
    return run


def test_a_good_one(own: Run) -> None:
    ran = own("check", "own.py:Good")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("The contract of measures, for good\n")
    assert "all 27 clauses kept" in ran.out
    assert "BROKEN" not in ran.out
    told = own("check", "own.py:Good", "--json")
    assert told.code == 0
    assert (told.json["measure"], told.json["passed"]) == ("good", True)
    assert told.json["clauses"] == [finding.as_record() for finding in check(measures.make("own.py:Good"))]


def test_a_bad_one_ends_with_another_code(own: Run) -> None:
    ran = own("check", "own.py:Bad")
    assert (ran.code, ran.err) == (1, "")
    assert "1 of 27 clauses broken" in ran.out
    (line,) = [line for line in ran.out.splitlines() if "BROKEN" in line]
    cells = [cell.strip() for cell in line.split("│")[1:-1]]
    assert cells[0] == "symmetry"
    assert cells[2].startswith("Expected the same value with the sides changed over, but ")
    told = own("check", "own.py:Bad", "--json")
    assert (told.code, told.err, told.json["passed"]) == (1, "", False)
    assert [clause["clause"] for clause in told.json["clauses"] if not clause["passed"]] == ["symmetry"]


def test_one_whose_claims_cannot_be_had(own: Run) -> None:
    ran = own("check", "own.py:Worse")
    assert ran.code == 1
    assert "Expected claims that make sense, but it raised KeyError: 'claims'." in ran.out


def test_one_of_the_library_with_options(run: Run) -> None:
    ran = run("check", "svcca?dims=3", "--json")
    assert (ran.code, ran.json["measure"]) == (0, "svcca?dims=3")


@pytest.mark.slow
def test_the_installed_command_gives_the_same_code(shell: Run, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(OWN)
    ran = shell("check", "own.py:Bad")
    assert (ran.code, ran.err) == (1, "")
    assert "BROKEN" in ran.out


@pytest.mark.slow
def test_a_package_that_was_installed_adds_measures(shell: Run, tmp_path: Path) -> None:
    """A distribution as pip leaves it, found by the installed command."""
    site = tmp_path / "site"
    info = site / "third_party-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "third_party.py").write_text(OWN)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: third-party\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[seamripper.measures]\ngood = third_party:Good\n")
    there = {"PYTHONPATH": str(site)}
    assert "good" in shell("list", "measures", "--json", env=there).json["measures"]
    assert shell("check", "good", "--json", env=there).json["passed"]
    assert "good" not in shell("list", "measures", "--json").json["measures"]
