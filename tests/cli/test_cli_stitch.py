"""seamripper stitch: every matching, the figures, the file, and the options on their way to the library."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch

import seamripper as sr
from seamripper.matching import Direct, EmbeddingMapping, Matching, Regression, Task, matchings

if TYPE_CHECKING:
    from conftest import Run

SOLVED = ("--data", "digits/correlated", "--n", 200, "--n-test", 100)
"""For the matching 'direct', which has no epochs."""
FEW = (*SOLVED, "--matching", "task?epochs=2")


@pytest.fixture
def pair(networks: dict[str, Path]) -> tuple[str, str]:
    return f"{networks['colour']}@layer2", f"{networks['digit']}@layer2"


MINE = """
import torch

def make(split, n=40):
    draws = torch.Generator().manual_seed(len(split))
    for k in range(n):
        yield torch.randn(1, 28, 28, generator=draws), k % 10

def same(n=40):
    return make("train", n)
"""


def test_a_function_of_your_file_gives_train_and_test(run: Run, tmp_path: Path) -> None:
    """Both are counted from 0, and are other samples all the same; without `split` they are the same samples."""
    (tmp_path / "mine.py").write_text(MINE)
    words = ("stitch", *["zoo:lenet?channels=1@relu1"] * 2, "--matching", "direct", "--json", "--data")
    ran = run(*words, "mine.py:make?n=30")
    assert (ran.code, ran.json["result"]["n"], ran.json["result"]["data"]) == (0, 30, "test of mine.py:make")
    refused = run(*words, "mine.py:same")
    assert refused.code != 0
    assert "the stitch was fitted on" in refused.json["error"]["message"]


@pytest.mark.slow
def test_the_table_tells_what_the_stitched_network_can_do(run: Run, pair: tuple[str, str]) -> None:
    ran = run("stitch", *pair, "--data", "digits/correlated", "--matching", "task", "--out", "match.safetensors")
    assert ran.code == 0
    assert "Traceback" not in ran.err
    # The paths of a test can be long, and the title is then folded.
    assert "→".join(pair) in "".join(ran.out.split())
    for row in ("stitched network, top-1", "receiver alone, same data", "penalty", "agreement with the receiver"):
        assert row in ran.out
    assert "fitted on 1,437 samples of digits/correlated, scored on 360 others" in ran.out
    assert "stitch 'affine', matching 'task', freeze 'all', seed 0\nstatus: ok" in ran.out
    assert "written to match.safetensors" in ran.out
    assert "That a stitch works does not show that both networks use the same information" in ran.out


@pytest.mark.slow
@pytest.mark.parametrize("matching", ["task", "direct", "regression", "embedding_mapping"])
def test_the_json_is_what_the_library_finds(run: Run, pair: tuple[str, str], matching: str) -> None:
    ran = run(
        "stitch", *pair, *SOLVED, "--matching", matching if matching == "direct" else f"{matching}?epochs=2", "--json"
    )
    assert (ran.code, ran.err) == (0, "")
    sender, receiver = (sr.split(sr.load(path), cut) for path, _, cut in (name.rpartition("@") for name in pair))
    training = sr.Training(epochs=2)
    mapping = EmbeddingMapping(replace(EmbeddingMapping().training, epochs=2))
    ways: dict[str, Matching] = {"task": Task(training), "direct": Direct(), "embedding_mapping": mapping}
    way = ways.get(matching, Regression(training))
    found = sr.match(sender, receiver, sr.load_data("digits/correlated", "train", n=200), matching=way)
    test, own = (sr.load_data(f"digits/{kind}", "test", n=100) for kind in ("correlated", "digit"))
    assert ran.json["result"] == sr.evaluate(found, test, own=own).as_record()
    assert ran.json["match"]["figures"] == found.as_record()["figures"]
    assert ran.json["match"]["matching"]["name"] == matching
    assert ran.json["match"]["status"] == "ok"
    assert ran.json["file"] is None


def test_a_figure_that_cannot_be_told_is_not_a_nan(run: Run, pair: tuple[str, str]) -> None:
    """Two steps do not say whether a loss still falls."""
    out = run("stitch", *pair, *FEW).out
    assert "\n  falling: cannot be determined\n" in out
    assert "nan" not in out.replace(pair[0], "").replace(pair[1], "").lower()


def test_figures_hang_together(run: Run, pair: tuple[str, str]) -> None:
    result = run("stitch", *pair, *FEW, "--json").json["result"]
    for name in ("top1", "top5", "penalty", "agreement", "receiver_here", "receiver_own", "relative_accuracy"):
        low, high = result[name]["interval"]
        assert low <= result[name]["value"] <= high
        assert result[name]["n"] == 100
    assert result["penalty"]["value"] == pytest.approx(result["receiver_here"]["value"] - result["top1"]["value"])
    assert result["top5"]["value"] >= result["top1"]["value"]
    assert result["n"] == 100


def test_samples_held_out_are_not_said_to_be_fitted_on(run: Run, pair: tuple[str, str]) -> None:
    said = run("stitch", *pair, *SOLVED, "--matching", "direct").out
    assert "fitted on 160 samples of digits/correlated, 40 held out, scored on 100 others" in said
    assert "residual_held_out" in said


@pytest.mark.slow
@pytest.mark.parametrize("matching", ["task", "direct", "regression", "embedding_mapping"])
def test_a_written_match_is_the_same_network(run: Run, pair: tuple[str, str], matching: str) -> None:
    few = SOLVED if matching == "direct" else FEW
    ran = run("stitch", *pair, *few, "--matching", matching, "--out", "match.safetensors", "--json")
    assert ran.json["file"] == "match.safetensors"
    loaded = sr.Match.load("match.safetensors")
    test, own = (sr.load_data(f"digits/{kind}", "test", n=100) for kind in ("correlated", "digit"))
    assert sr.evaluate(loaded, test, own=own).as_record() == ran.json["result"]
    assert json.loads(json.dumps(loaded.as_record())) == ran.json["match"]


def test_the_identity_between_a_network_and_itself_changes_nothing(run: Run, networks: dict[str, Path]) -> None:
    place = f"{networks['digit']}@layer2"
    result = run("stitch", place, place, *FEW, "--stitch", "identity", "--json").json["result"]
    assert result["agreement"]["value"] == 1
    assert result["penalty"]["value"] == 0
    assert result["top1"] == result["receiver_here"]


def test_options_reach_the_library(run: Run, pair: tuple[str, str]) -> None:
    made = run(
        *("stitch", *pair, "--data", "digits/correlated", "--n", 100, "--n-test", 50, "--seed", 7, "--json"),
        *("--matching", "task?epochs=1&lr=0.01&batch=64&optimiser=sgd&schedule=cosine&init=random"),
        *("--freeze", "weights", "--stitch", "bn_affine"),
    ).json["match"]
    training = made["matching"]["training"]
    assert {key: training[key] for key in ("optimiser", "lr", "epochs", "batch")} == {
        "optimiser": "sgd",
        "lr": 0.01,
        "epochs": 1,
        "batch": 64,
    }
    assert training["schedule"] == "cosine"
    assert (made["matching"]["init"], made["freeze"], made["stitch"]["name"]) == ("random", "weights", "bn_affine")
    assert (made["made_from"]["seed"], made["made_from"]["fit"]["n"]) == (7, 100)


def test_a_mapping_goes_by_its_own_defaults(run: Run, pair: tuple[str, str]) -> None:
    few = ("--data", "digits/correlated", "--n", 40, "--n-test", 40, "--json", "--matching")
    own = json.loads(json.dumps(EmbeddingMapping().as_record()))
    assert run("stitch", *pair, *few, "embedding_mapping").json["match"]["matching"] == own
    asked = run("stitch", *pair, *few, "embedding_mapping?epochs=1&lr=0.001").json["match"]["matching"]
    assert asked == {**own, "training": {**own["training"], "epochs": 1, "lr": 0.001}}


@pytest.mark.parametrize("command", ["stitch", "audit"])
def test_the_help_names_every_matching(run: Run, command: str) -> None:
    said = " ".join(run(command, "--help").out.split())
    told = said.partition("--matching WORD")[2].partition("--stitch")[0]
    named = set(re.findall(r"\w+", told)) & set(matchings)
    assert named == set(matchings) - {"class_mapping"}, "which has no accuracy to tell"


@pytest.mark.parametrize("command", ["stitch", "audit"])
@pytest.mark.parametrize(
    ("flag", "word"),
    [("--epochs", "task?epochs=…"), ("--weight-decay", "task?weight_decay=…"), ("--ridge", "direct?ridge=…")],
)
def test_an_option_of_the_matching_goes_into_its_word(run: Run, command: str, flag: str, word: str) -> None:
    """It is refused before a model is read: there is none of this name."""
    ran = run(command, "none@a", "none@b", "--data", "digits/correlated", flag, 1)
    assert (ran.code, ran.out) == (2, "")
    assert (
        f"There is no {flag}: it is an option of --matching. Write it into that word, for example --matching '{word}'."
        in (" ".join(ran.err.split()))
    )


@pytest.mark.parametrize("command", ["stitch", "audit"])
@pytest.mark.parametrize(
    ("word", "option"),
    [("direct?init=identity", "init"), ("embedding_mapping?init=identity", "init"), ("direct?epochs=3", "epochs"),
     ("task?ridge=1", "ridge")],
)  # fmt: skip
def test_an_option_that_a_matching_does_not_have_is_not_ignored(run: Run, command: str, word: str, option: str) -> None:
    """It is refused before a model is read: there is none of this name."""
    ran = run(command, "none@a", "none@b", "--data", "digits/correlated", "--matching", word)
    assert (ran.code, ran.out) == (2, "")
    assert f"The matching {word.partition('?')[0]!r} has no option {option!r}: " in ran.err


@pytest.mark.parametrize("command", ["stitch", "audit"])
def test_a_mapping_into_images_has_no_accuracy_to_tell(run: Run, pair: tuple[str, str], command: str) -> None:
    """It is refused before anything is trained, not when the images are to be scored."""
    ran = run(command, *pair, "--data", "digits/correlated", "--matching", "class_mapping")
    assert ran.code == 2
    assert "'class_mapping' is for receivers that answer with images, and images have no accuracy" in ran.err
    assert "[[pictures]] table of a study makes and shows them" in ran.err


def test_a_ridge_is_finite(run: Run) -> None:
    infinite = run("stitch", "none@a", "none@b", "--data", "digits/correlated", "--matching", "direct?ridge=inf")
    said = "Expected ridge of the matching 'direct' to be a number of at least 0, but got 'inf'."
    assert (infinite.code, said in infinite.err) == (2, True)


def test_a_ridge_damps(run: Run, pair: tuple[str, str]) -> None:
    words = ("stitch", *pair, *SOLVED, "--json", "--matching")
    plain, damped = (run(*words, f"direct?ridge={ridge}").json["match"]["figures"] for ridge in (0, 10))
    assert damped["residual_in_sample"] > plain["residual_in_sample"]


def test_cuts_of_unlike_shape_are_joined_by_a_stitch_that_fits(run: Run, networks: dict[str, Path]) -> None:
    ran = run("stitch", f"{networks['colour']}@layer1", f"{networks['digit']}@layer3", *FEW, "--json")
    assert ran.code == 0
    assert ran.json["match"]["stitch"]["name"] == "resize"


def test_a_receiver_that_was_never_trained_has_no_task_of_its_own(run: Run, networks: dict[str, Path]) -> None:
    words = ("stitch", f"{networks['colour']}@layer2", "zoo:R_1111?width=0.125@layer2", *FEW)
    assert run(*words, "--json").json["result"]["receiver_own"] is None
    assert "not known" in run(*words).out


def test_a_receiver_whose_own_data_is_gone_is_stitched_all_the_same(run: Run, tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    for split in ("train", "test"):
        for kind, shade in (("dark", 20), ("light", 230)):
            folder = tmp_path / "shades" / split / kind
            folder.mkdir(parents=True)
            for k in range(3):
                image.new("RGB", (28, 28), (shade + k,) * 3).save(folder / f"{k}.png")
    words = ("--data", "folder:shades", "--training", "?epochs=1", "--out", "shades.safetensors")
    assert run("train", "zoo:R_1111?width=0.25&classes=2", *words).code == 0
    (tmp_path / "shades").rename(tmp_path / "elsewhere")
    place = "shades.safetensors@layer2"
    ran = run("stitch", place, place, "--data", "folder:elsewhere", "--matching", "direct", "--json")
    assert ran.code == 0
    assert ran.json["result"]["receiver_own"] is None
    assert ran.err == (
        "seamripper: The receiver was not evaluated on its own task. "
        "There is no folder shades. Say which one after the colon: 'folder:PATH'.\n"
    )


def test_progress_is_told_where_no_terminal_is(
    run: Run, pair: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("seamripper.cli.output.PLAIN_EVERY", 0.0)
    said = run("stitch", *pair, *FEW).err.splitlines()
    # One batch an epoch; how long the rest takes is not known before the second.
    assert re.fullmatch(r"task matching: 1/2, loss [\d.]+, epoch 1", said[1])
    assert re.fullmatch(r"task matching: 2/2, loss [\d.]+, epoch 2", said[2])
    assert said[3] == "scoring: 1/1"
    assert run("stitch", *pair, *FEW, "--json").err == ""


def test_the_global_generator_is_left_alone(run: Run, pair: tuple[str, str]) -> None:
    torch.manual_seed(5)
    before = torch.get_rng_state()
    assert run("stitch", *pair, *FEW).code == 0
    assert torch.equal(torch.get_rng_state(), before)
