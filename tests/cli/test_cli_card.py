"""seamripper card: how a number in a file was made, and the same number made again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from conftest import Run

NETS = ("zoo:lenet?channels=3&seed=0", "zoo:lenet?channels=3&seed=1")


def test_cards_of_files(tmp_path: Path, run: Run) -> None:
    run("compare", *NETS, "--data", "digits/digit", "--n", "60", "--cuts", "conv2", "--out", "run")
    said = run("card", "run", "linear_cka", "--out", "card.json").out
    assert said.startswith("linear_cka, conv2, conv2: ")
    assert "written to card.json" in said
    assert run("card", "card.json", "--remake").out.strip().endswith("the number of the card.")
    record = json.loads((tmp_path / "card.json").read_text())
    record["row"]["value"] += 0.01
    (tmp_path / "card.json").write_text(json.dumps(record))
    other = run("card", "card.json", "--remake", "--json")
    assert other.code == 1
    assert json.loads(other.out)["remade"]["same"] is False


def test_cards_of_a_stitch(tmp_path: Path, run: Run) -> None:
    places = [f"{net}@conv2" for net in NETS]
    data = ("--data", "digits/digit", "--n", "60", "--n-test", "40", "--matching", "direct")
    run("stitch", *places, *data, "--methods", "methods.json")
    again = run("card", "methods.json", "top1", "--remake")
    assert (again.code, "the number of the card." in again.out) == (0, True)
    assert "stitch 'affine'" in again.out or "stitch 'conv'" in again.out


def test_cards_of_measured_files(run: Run) -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((60, 4))
    np.save("a.npy", x)
    np.save("b.npy", x[:, :3] + rng.standard_normal((60, 3)))
    run("measure", "a.npy", "b.npy", "-m", "linear_cka,mutual_knn", "--null", 19, "--methods", "methods.json")
    again = run("card", "methods.json", "mutual_knn", "--remake")
    assert (again.code, "the number of the card." in again.out) == (0, True)
    for words in (
        "mutual_knn: 0.",
        "p = ",
        "in a.npy (sha256 ",
        "60 samples",
        "19 permutations",
        "Each sample is one row",
    ):
        assert words in again.out
    np.save("b.npy", x[:, :3])
    other = run("card", "methods.json", "mutual_knn", "--remake")
    assert (other.code, "The receiver has the fingerprint" in other.err) == (2, True)
