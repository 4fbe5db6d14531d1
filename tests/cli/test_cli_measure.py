"""seamripper measure and activations: from models to files, and from files to scores."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch

import seamripper as sr
from seamripper.cli.measure_command import USUAL
from seamripper.measures import measures

if TYPE_CHECKING:
    from conftest import Run


def saved(path: str, *shape: int, seed: int = 0) -> np.ndarray:
    array = np.random.default_rng(seed).normal(size=shape).astype("float32")
    np.save(path, array)
    return array


@pytest.fixture
def rows(run: Run) -> tuple[np.ndarray, np.ndarray]:
    """a.npy and b.npy, related."""
    a = saved("a.npy", 100, 6)
    b = (a[:, :4] + 0.5 * np.random.default_rng(1).normal(size=(100, 4))).astype("float32")
    np.save("b.npy", b)
    return a, b


# ---- scores


def test_scores_of_two_arrays(run: Run, rows: tuple[np.ndarray, np.ndarray]) -> None:
    ran = run("measure", "a.npy", "b.npy", "-m", "linear_cka", "-m", "opd,svcca?dims=3", "--json")
    assert (ran.code, ran.err) == (0, "")
    assert [found["measure"] for found in ran.json] == ["linear_cka", "opd", "svcca?dims=3"]
    a, b = (array.astype("float64") - array.mean(0, dtype="float64") for array in rows)
    cka = np.linalg.norm(a.T @ b) ** 2 / (np.linalg.norm(a.T @ a) * np.linalg.norm(b.T @ b))
    found = ran.json[0]
    assert found["value"] == pytest.approx(cka, abs=1e-12)
    assert (found["n"], found["sampling"], found["direction"]) == (100, "rows", "similarity")
    assert found["interval"][0] < found["value"] < found["interval"][1]
    opd = 2 - 2 * np.linalg.norm(a.T @ b, "nuc") / (np.linalg.norm(a) * np.linalg.norm(b))
    assert ran.json[1]["value"] == pytest.approx(opd, abs=1e-12)


def test_they_are_those_of_the_library(run: Run, rows: tuple[np.ndarray, np.ndarray]) -> None:
    pair = sr.Pair.of(*(torch.from_numpy(array) for array in rows))
    for found in run("measure", "a.npy", "b.npy", "--json").json:
        assert found.pop("difference") is False
        assert found == sr.score(measures.make(found["measure"]), pair).as_record()


def test_the_usual_measures_exist_and_are_of_several_kinds(run: Run, rows: tuple[np.ndarray, np.ndarray]) -> None:
    ran = run("measure", "a.npy", "b.npy", "--json")
    assert [found["measure"] for found in ran.json] == list(USUAL)
    assert set(USUAL) <= set(measures)
    assert {found["direction"] for found in ran.json} == {"similarity", "distance"}


def test_the_table(run: Run, rows: tuple[np.ndarray, np.ndarray]) -> None:
    ran = run("measure", "a.npy", "b.npy", "-m", "linear_cka")
    (found,) = run("measure", "a.npy", "b.npy", "-m", "linear_cka", "--json").json
    assert ran.out.startswith("a.npy and b.npy, sampling: rows\n")
    (line,) = [line for line in ran.out.splitlines() if "linear_cka" in line]
    low, high = found["interval"]
    assert [cell.strip() for cell in line.split("│")[1:-1]] == [
        "linear_cka",
        "similarity: higher is more alike",
        f"{found['value']:.4f}",
        f"[{low:.4f}, {high:.4f}]",
        "100",
    ]


def test_directions_and_differences_are_said(run: Run, rows: tuple[np.ndarray, np.ndarray]) -> None:
    words = ("measure", "a.npy", "b.npy", "-m", "opd,effective_rank,paired_retrieval")
    told = {found["measure"]: found for found in run(*words, "--json").json}
    assert [told[name]["difference"] for name in ("opd", "effective_rank", "paired_retrieval")] == [False, True, False]
    out = run(*words).out
    sides = told["effective_rank"]["sides"]
    assert "distance: lower is more alike" in out
    assert f"difference of {sides[0]:.4g} and {sides[1]:.4g}" in out
    assert "A difference of 0 says that both sides have the same figure" in out
    assert "A difference" not in run("measure", "a.npy", "b.npy", "-m", "opd").out
    assert told["paired_retrieval"]["value"] > 0.02


def test_a_null_is_shown_beside_the_scores(run: Run, rows: tuple[np.ndarray, np.ndarray]) -> None:
    words = ("measure", "a.npy", "b.npy", "-m", "linear_cka", "-m", "effective_rank", "--null", "39")
    first, second = run(*words, "--json").json
    assert set(first["null"]) == {"p", "threshold", "calibrated", "permutations"}
    assert "null" not in second
    lines = run(*words).out.splitlines()
    shown = [[cell.strip() for cell in line.split("│")[1:-1]][-2:] for line in lines if "│" in line]
    assert shown == [[f"{first['null']['p']:.4f}", f"{first['null']['calibrated']:.4f}"], ["–", "–"]]


def test_the_order_of_the_files_is_sender_and_receiver(run: Run, rows: tuple[np.ndarray, np.ndarray]) -> None:
    there = run("measure", "a.npy", "b.npy", "-m", "regression_r2", "--json").json[0]["value"]
    back = run("measure", "b.npy", "a.npy", "-m", "regression_r2", "--json").json[0]["value"]
    assert there > back + 0.1


@pytest.mark.parametrize(("sampling", "n"), [("positions", 400), ("flatten", 50), ("pool", 50)])
def test_maps_by_each_sampling(run: Run, sampling: str, n: int) -> None:
    maps = saved("a.npy", 50, 3, 2, 4)
    other = saved("b.npy", 50, 5, 2, 4, seed=1)
    ran = run("measure", "a.npy", "b.npy", "-m", "linear_cka,debiased_cka", "--sampling", sampling, "--json")
    assert [found["sampling"] for found in ran.json] == [sampling] * 2
    # What needs the rows themselves is taken over one position of each sample.
    assert [found["n"] for found in ran.json] == [n, 50]
    made = {"positions": lambda m: m.transpose(0, 2, 3, 1).reshape(400, -1), "flatten": lambda m: m.reshape(50, -1),
            "pool": lambda m: m.mean((2, 3))}[sampling]  # fmt: skip
    a, b = (made(m.astype("float64")) for m in (maps, other))
    a, b = a - a.mean(0), b - b.mean(0)
    cka = np.linalg.norm(a.T @ b) ** 2 / (np.linalg.norm(a.T @ a) * np.linalg.norm(b.T @ b))
    assert ran.json[0]["value"] == pytest.approx(cka, abs=1e-6)


def test_a_measure_that_cannot_be_computed_says_why_and_the_others_are_shown(run: Run) -> None:
    saved("a.npy", 8, 12)
    saved("b.npy", 8, 5, seed=1)
    ran = run("measure", "a.npy", "b.npy", "-m", "linear_cka,cca_mean")
    assert ran.code == 0
    assert "linear_cka" in ran.out
    assert "cca_mean needs more samples than columns" in ran.out
    told = run("measure", "a.npy", "b.npy", "-m", "linear_cka,cca_mean", "--json").json
    assert told[0]["value"] is not None
    assert (told[1]["measure"], told[1]["value"], told[1]["interval"]) == ("cca_mean", None, None)
    assert told[1]["reason"].startswith("cca_mean needs more samples than columns")


def test_if_none_can_be_computed_it_is_an_error(run: Run) -> None:
    saved("a.npy", 8, 12)
    saved("b.npy", 8, 5, seed=1)
    ran = run("measure", "a.npy", "b.npy", "-m", "cca_mean,mutual_knn")
    assert (ran.code, ran.out) == (2, "")
    assert "cca_mean needs more samples than columns" in ran.err
    assert "mutual_knn" in ran.err
    assert run("measure", "a.npy", "b.npy", "-m", "cca_mean", "--json").json["error"]["kind"] == "MeasureError"


OWN = """
import math
from dataclasses import dataclass
from seamripper.measures import Measure
from seamripper.measures import Claims

@dataclass(frozen=True)
class Mine(Measure):
    name = "mine"
    paper = "nobody 2025"
    factor: float = 1.0

    @property
    def claims(self):
        return Claims("distance", True, (0.0, math.inf), 0.0, frozenset({"orthogonal", "permutation"}), varying=False)

    def of(self, pair):
        a, b = (math.sqrt(float(side.mean @ side.mean)) for side in (pair.x, pair.y))
        return self.factor * abs(a - b)

@dataclass(frozen=True)
class Faulty(Mine):
    name = "faulty"

    def of(self, pair):
        return {}["nothing"]
"""


def test_a_measure_of_your_own(run: Run, rows: tuple[np.ndarray, np.ndarray]) -> None:
    Path("mine.py").write_text(OWN)
    ran = run("measure", "a.npy", "b.npy", "-m", "mine.py:Mine?factor=2", "--json")
    lengths = [float(np.linalg.norm(array.mean(0, dtype="float64"))) for array in rows]
    assert ran.json[0]["measure"] == "mine?factor=2.0"
    assert ran.json[0]["value"] == pytest.approx(2 * abs(lengths[0] - lengths[1]), abs=1e-9)


def test_what_your_own_raises_is_a_sentence(run: Run, rows: tuple[np.ndarray, np.ndarray]) -> None:
    Path("mine.py").write_text(OWN)
    ran = run("measure", "a.npy", "b.npy", "-m", "linear_cka,mine.py:Faulty")
    assert ran.code == 0
    assert "faulty raised KeyError: 'nothing'." in ran.out
    ran = run("measure", "a.npy", "b.npy", "-m", "mine.py:Faulty")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "seamripper: faulty raised KeyError: 'nothing'.\n"


# ---- activations


def test_from_a_model_to_a_score(run: Run, networks: dict[str, Path]) -> None:
    for kind, path in networks.items():
        words = ("activations", f"{path}@layer2", "--data", "digits/correlated", "--n", 60)
        ran = run(*words, "--out", f"{kind}.safetensors")
        assert (ran.code, ran.err) == (0, "")
        assert f"written to          │ {kind}.safetensors" in ran.out
        assert "60 of digits/correlated, test" in ran.out
    ran = run("measure", "digit.safetensors", "colour.safetensors", "-m", "linear_cka", "--sampling", "pool", "--json")
    assert (ran.code, ran.err) == (0, "")
    samples = sr.load_data("digits/correlated", "test", n=60)
    pooled = [
        sr.collect(sr.split(sr.load(str(networks[kind])), "layer2"), samples).values.mean((2, 3))
        for kind in ("digit", "colour")
    ]
    expected = sr.score(measures.make("linear_cka"), sr.Pair.of(*pooled), sampling="pool")
    (found,) = ran.json
    assert found.pop("difference") is False
    assert found.pop("interval") == pytest.approx([expected.low, expected.high])
    assert found == pytest.approx({k: v for k, v in expected.as_record().items() if k != "interval"})


def test_a_file_of_activations_says_what_it_is_of(run: Run, networks: dict[str, Path]) -> None:
    path = networks["digit"]
    words = ("activations", f"{path}@layer2", "--data", "digits/digit", "--split", "train", "--n", 20)
    ran = run(*words, "--out", "a.safetensors", "--json")
    assert (ran.code, ran.err) == (0, "")
    assert ran.json["file"] == "a.safetensors"
    found = sr.Activations.load("a.safetensors")
    samples = sr.load_data("digits/digit", "train", n=20)
    assert found.made_from == ran.json["activations"]["made_from"]
    assert found.made_from == {
        "model": str(path),
        "data": "digits/digit",
        "split": "train",
        "fingerprint": sr.load(str(path)).fingerprint,
        "samples": samples.fingerprint,
    }
    assert torch.equal(found.ids, samples.ids)
    assert torch.equal(found.labels, samples.labels)
    assert found.cut.name == "layer2"


# ---- what is given wrongly


def shelf() -> None:
    saved("a.npy", 60, 6)
    saved("fewer.npy", 50, 6)
    saved("maps.npy", 60, 3, 4, 4)
    saved("small.npy", 60, 3, 2, 2)
    sick = saved("sick.npy", 60, 6)
    sick[7, 2] = np.nan
    np.save("sick.npy", sick)
    np.save("pickled.npy", np.array([[{}]], dtype=object), allow_pickle=True)
    Path("text.npy").write_text("0.1 0.2\n")
    Path("text.safetensors").write_text("0.1 0.2\n" * 9)
    cut = sr.Cut("layer2", (6,), "nd")
    g = torch.Generator().manual_seed(0)
    values, labels, ids = torch.randn(60, 6, generator=g), torch.zeros(60, dtype=torch.int64), torch.arange(60)
    sr.Activations(cut, values, labels, ids).save("a.safetensors")
    sr.Activations(cut, values, labels, ids.flip(0)).save("turned.safetensors")
    sr.Activations(cut, values, labels, ids + 1).save("others.safetensors")


def test_the_good_ones_of_that_shelf_are_taken(run: Run) -> None:
    shelf()
    for words in (
        ("a.npy", "a.safetensors"),
        ("turned.safetensors", "a.npy"),
        ("maps.npy", "a.npy", "--sampling", "pool"),
    ):
        assert run("measure", *words, "-m", "linear_cka").code == 0
