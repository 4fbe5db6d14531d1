"""The benchmark on the command line: bench, and list tests."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

ZOO = """
data = { name = "digits/correlated", n = 100, n_test = 60 }
[models.net]
train = "zoo:R_1111?width=0.125"
data = "digits/digit"
n = 100
training = "?epochs=1"
seeds = [0, 1]
"""
OWN = '''
from dataclasses import dataclass
from seamripper.measures.linear_cka import LinearCKA

@dataclass(frozen=True)
class Mine(LinearCKA):
    """Linear CKA under another name."""

    name = "mine"
'''


@pytest.mark.slow
def test_measures_are_ranked_and_the_page_is_named(run: Any, tmp_path: Path) -> None:
    (tmp_path / "zoo.toml").write_text(ZOO)
    (tmp_path / "mine.py").write_text(OWN)
    words = ("bench", "--models", "zoo.toml", "--measures", "linear_cka,mine.py:Mine", "--tests", "identification")
    first = run(*words, "--engine", "local?workers=1")
    assert first.code == 0, first.err
    assert re.search(
        r"^about .+ of work for one worker \(identification .+\); a guess for compare, train: no", first.out
    )
    assert "zoo: 2 measures" in first.out
    assert "There is no mean rank: no column tells these measures apart" in first.out
    for measure in ("linear_cka", "mine"):
        assert f"│ {measure} " in first.out
    assert "identification: The share of layers whose counterpart is the most similar layer" in first.out
    assert "Sampling of structural measures: positions." in first.out
    assert "A pair of layers took " in first.out
    assert "page: runs/zoo-bench/league.html" in first.out
    assert (tmp_path / "runs" / "zoo-bench" / "league.html").is_file()
    again = run(*words, "--engine", "local?workers=1", "--json", "--out", "elsewhere")
    assert (again.code, again.err) == (0, "")
    record = again.json
    assert [row["measure"] for row in record["league"]] == ["linear_cka", "mine"]
    by_measure = {(r["measure"], r["statistic"]): r["estimate"]["value"] for r in record["ratings"]}
    for statistic in ("share within", "share between"):
        assert by_measure["linear_cka", statistic] == by_measure["mine", statistic]
    assert {r["note"] for r in record["ratings"]} == {"no interval: 2 training seeds, and it takes 3"}
    assert record["files"][0] == "elsewhere/league.html"
    third = run(*words)
    assert third.code == 0
    assert "of work for" not in third.out, "all of it is done"
    assert run("status", "runs/zoo-bench").code == 0, "a store like any other"


def test_tests_are_listed_with_how_to_read_them(run: Any) -> None:
    listed = run("list", "tests", "--json").json["tests"]
    assert set(listed) == {"identification", "sensitivity", "specificity", "shortcut"}
    assert "0.5 is chance" in listed["shortcut"]["about"]
    assert listed["sensitivity"]["options"] == {"cuts": "half", "ranks": []}
