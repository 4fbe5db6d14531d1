"""seamripper map: one screen, JSON, exit codes, the folder, and two encoders."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import seamripper as sr
from seamripper.mapping import EmbeddingMap, map_embeddings

if TYPE_CHECKING:
    from conftest import Run


@pytest.fixture
def files(run: Run) -> None:
    """old.npy, and new.npy: the same rows turned; shuffled.npy: those in another order."""
    rng = np.random.default_rng(0)
    old = rng.normal(size=(600, 8)).astype("f4")
    new = (old @ np.linalg.qr(rng.normal(size=(8, 8)))[0]).astype("f4")
    np.save("old.npy", old)
    np.save("new.npy", new)
    np.save("shuffled.npy", new[rng.permutation(600)])


def test_a_rotation_is_kept_with_the_map(run: Run, files: None) -> None:
    ran = run("map", "old.npy", "new.npy", "--out", "out")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("KEEP WITH THE MAP\n")
    for words in ("own document: Recall@1", "results of a new index: MRR", "Rule: ", "Strongest reason to doubt: "):
        assert words in ran.out
    # One screen.
    assert len(ran.out.splitlines()) <= 30
    files_written = {"map.html", "map.json", "map.npy", "map.safetensors", "methods.json"}
    assert {path.name for path in Path("out").iterdir()} == files_written
    assert EmbeddingMap.load("out/map.safetensors").kind == "orthogonal"


@pytest.mark.parametrize(
    ("new", "answer", "code"),
    [("old.npy", "keep", 0), ("new.npy", "keep with the map", 0), ("shuffled.npy", "embed again", 1)],
)
def test_json_and_the_exit_code(run: Run, files: None, new: str, answer: str, code: int) -> None:
    ran = run("map", "old.npy", new, "--json")
    assert (ran.code, ran.err) == (code, "")
    expected = {**map_embeddings("old.npy", new).as_record(), "report": None}
    assert ran.json == expected
    assert ran.json["answer"] == answer


def test_too_few_queries_to_decide(run: Run, files: None) -> None:
    # Of ten queries that all hit, the interval begins at 0.72.
    ran = run("map", "old.npy", "new.npy", "--queries", "10")
    assert ran.code == 3
    assert ran.out.startswith("UNDECIDED\n")
    assert "would decide" in ran.out


def test_two_encoders(run: Run, networks: dict[str, Path]) -> None:
    ends = [f"{networks[kind]}@layer2" for kind in ("digit", "colour")]
    ran = run("map", *ends, "--data", "digits/correlated", "--n", "100", "--json")
    assert ran.code in (0, 1, 3)
    samples = sr.load_data("digits/correlated", "test", n=100)
    rows = [sr.collect(sr.split(sr.load(str(networks[k])), "layer2"), samples) for k in ("digit", "colour")]
    assert ran.json["tests"] == map_embeddings(*rows).as_record()["tests"]
