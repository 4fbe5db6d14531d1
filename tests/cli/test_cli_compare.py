"""seamripper compare: the tables, the file, the options on their way to the library, and what a stop leaves behind."""

from __future__ import annotations

import json
import math
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import seamripper as sr
from seamripper.cli.compare_command import digits
from seamripper.comparing import Rule
from seamripper.data import trim
from seamripper.measures import measures
from seamripper.models import import_torchvision

if TYPE_CHECKING:
    from conftest import Run

DATA = ("--data", "digits/digit", "--n", 96, "--batch", 16)
STAGES = ("layer1", "layer2", "layer3", "layer4")


@pytest.fixture
def pair(networks: dict[str, Path]) -> tuple[str, str]:
    return str(networks["colour"]), str(networks["digit"])


def cells(out: str) -> list[list[str]]:
    """The figures of every row of every table, without the names that begin the rows."""
    rows = [line.strip("│").split("│") for line in out.splitlines() if line.startswith("│")]
    return [[cell.strip() for cell in row[1:]] for row in rows]


@pytest.fixture
def small_bert(tmp_path: Path) -> str:
    """A Hugging Face model of random weights, in a folder with its tokenizer."""
    # It may need its repair before transformers looks for it.
    import_torchvision()
    transformers = pytest.importorskip("transformers")
    folder = tmp_path / "bert"
    folder.mkdir()
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "good", "bad", "film", "book", "very"]
    (folder / "vocab.txt").write_text("\n".join(words) + "\n")
    transformers.BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    config = transformers.BertConfig(
        vocab_size=len(words), hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=16,
        max_position_embeddings=16,
    )  # fmt: skip
    transformers.BertModel(config).eval().save_pretrained(folder)
    return f"hf:{folder}"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["text", "parquet"])
def test_texts_are_tokenised_as_the_model_wants(run: Run, small_bert: str, tmp_path: Path, kind: str) -> None:
    """Nobody says which tokenizer: it is the model's own, whose ids stand for the words of its vocabulary."""
    texts = [f"{('good', 'bad')[k % 2]} {('film', 'book')[k // 2 % 2]}{' very' * (k % 5)}" for k in range(60)]
    if kind == "text":
        (tmp_path / "texts.txt").write_text("\n".join(texts))
        word = "text:texts.txt?tokens=12"
    else:
        arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        parquet.write_table(arrow.table({"text": texts}), tmp_path / "texts.parquet")
        word = "parquet:texts.parquet?tokens=12"
    cuts = ("--sender-cuts", "encoder.layer.0", "--receiver-cuts", "encoder.layer.1")
    ran = run("compare", small_bert, small_bert, "--data", word, *cuts, "--json")
    assert ran.code == 0, ran.out
    folder = small_bert.removeprefix("hf:")
    expected = sr.load_data(f"{word}&tokenizer={folder}", "test")
    assert isinstance(expected.inputs, dict)
    assert expected.inputs["input_ids"].max() == 9
    assert ran.json["record"]["data"]["fingerprint"] == trim(expected).fingerprint


def test_tables_files_and_a_report_are_made(run: Run, pair: tuple[str, str], tmp_path: Path) -> None:
    ran = run("compare", *pair, *DATA, "--measures", "linear_cka,opd", "--out", "run")
    assert ran.code == 0
    assert "Traceback" not in ran.err
    assert ran.out.startswith("memory for 4 × 4 cuts, whatever the number of samples: 5 MB (sums ")
    assert f"sender {pair[0]}, receiver {pair[1]}" in ran.out
    made = "96 samples of digits/digit, sampling positions, 96 to 4,704 rows, 5 folds"
    assert f"linear_cka, a similarity: {made}" in ran.out
    assert f"opd, a distance: {made}" in ran.out
    assert "sender ↓ receiver → ┃ layer1 ┃ layer2 ┃ layer3 ┃ layer4 ┃" in ran.out
    assert ran.out.endswith("\nwritten to run/comparison.json\nreport: run/report.html\n")
    assert "Which layers of “colour-0” and “digit-0” are alike?" in (tmp_path / "run" / "report.html").read_text()
    (result,) = sr.Run.open(tmp_path / "run").results
    assert (result.kind, result.pair) == ("compare", "colour-0 → digit-0")
    found = sr.Comparison.load(tmp_path / "run")
    expected = [row for name in ("linear_cka", "opd") for row in found[name].values]
    assert cells(ran.out) == [[f"{value:.3f}" for value in row] for row in expected]


def test_a_null_is_shown_beside_the_scores(run: Run, pair: tuple[str, str], tmp_path: Path) -> None:
    words = ("-m", "linear_cka,opd,effective_rank", "--cuts", "layer3,layer4", "--sampling", "pool", "--null", 39)
    ran = run("compare", *pair, *DATA, *words, "--out", "run")
    assert ran.code == 0
    assert ran.out.startswith("memory for 2 × 2 cuts, for 96 samples: ")
    found = sr.Comparison.load(tmp_path / "run")
    for name, word, side in (("linear_cka", "Largest", "above"), ("opd", "Smallest", "below")):
        null = found[name].null
        assert null is not None
        best = (max if word == "Largest" else min)(value for row in found[name].values for value in row)
        assert f"{word} score: {best:.3f}, p = {null.p:.2g}, calibrated {null.calibrated:.3f}; " in ran.out
        assert f"5 % of 39 permutations of the samples come {side} {null.threshold:.3f}." in ran.out
        for row in found[name].scores:
            for score in row:
                assert score is not None
                assert score.null is not None
                star = "*" if score.null.p <= 0.05 else ""
                assert f"{score.value:.3f} | {score.null.calibrated:.3f}{star}" in ran.out
    assert "effective_rank does not depend on which sample is which" in ran.out
    html = (tmp_path / "run" / "report.html").read_text()
    assert "beside 39 permutations of the samples: p = " in html
    assert ", calibrated 0." in html


@pytest.mark.slow
def test_the_json_is_what_the_library_finds(run: Run, pair: tuple[str, str]) -> None:
    ran = run("compare", *pair, *DATA, "-m", "linear_cka", "-m", "mutual_knn", "--json")
    assert ran.code == 0
    assert ran.err.startswith("memory for 4 × 4 cuts")
    samples = sr.load_data("digits/digit", "test", n=96)
    models = (sr.load(path) for path in pair)
    expected = sr.compare(*models, samples, measures=["linear_cka", "mutual_knn"], rule=Rule(batch=16))
    assert ran.json["matrices"] == json.loads(json.dumps(expected.as_record()["matrices"]))
    assert {"measure", "value", "n", "sampling", "interval"} <= set(ran.json["matrices"]["linear_cka"]["scores"][0][0])
    assert (ran.json["senders"], ran.json["file"]) == (list(STAGES), None)


def test_the_options_are_the_rule(run: Run, pair: tuple[str, str], tmp_path: Path) -> None:
    words = ("--data", "digits/digit", "--split", "train", "--n", 90, "--seed", 7, "--sampling", "pool", "--batch", 10)
    ran = run(
        "compare", *pair, *words, "--keep", 33, "--folds", 3, "--no-interval", "-m", "rsa", "--json", "--out", "r"
    )
    assert ran.code == 0
    asked = {"sampling": "pool", "batch": 10, "folds": 3, "keep": 33, "interval": False, "seed": 7}
    assert ran.json["record"]["rule"].items() >= asked.items()
    data = sr.load_data("digits/digit", "train", n=90, seed=7)
    assert ran.json["record"]["data"]["fingerprint"] == data.fingerprint
    score = ran.json["matrices"]["rsa"]["scores"][0][0]
    assert (score["n"], score["interval"], score["sampling"]) == (33, None, "pool")
    assert ran.json["file"] == str(Path("r") / "comparison.json")
    assert (tmp_path / "r" / "comparison.json").is_file()


@pytest.mark.parametrize(
    ("words", "senders", "receivers"),
    [
        (("--cuts", "layer1, layer3"), ["layer1", "layer3"], ["layer1", "layer3"]),
        (("--cuts", "layer1", "--receiver-cuts", "layer4*"), ["layer1"], ["layer4"]),
        (("--sender-cuts", "layer2,conv1"), ["conv1", "layer2"], list(STAGES)),
    ],
)
def test_cuts_of_both_or_of_either(
    run: Run, pair: tuple[str, str], words: tuple[str, ...], senders: list[str], receivers: list[str]
) -> None:
    ran = run("compare", *pair, *DATA, "-m", "linear_cka", "--json", *words)
    assert (ran.json["senders"], ran.json["receivers"]) == (senders, receivers)


def test_a_cell_without_a_score_is_a_dash_with_its_reason(run: Run, pair: tuple[str, str]) -> None:
    ran = run("compare", *pair, "--data", "digits/digit", "--n", 40, "--sampling", "pool", "-m", "cca_mean")
    assert ran.code == 0
    assert [[cell == "–" for cell in row] for row in cells(ran.out)] == [[False, False, False, True]] * 3 + [[True] * 4]
    notes = [line for line in ran.out.splitlines() if line.startswith("– at ")]
    assert len(notes) == 4
    assert notes[0].startswith("– at layer1 × layer4: cca_mean needs more samples than columns")
    assert "got 40 for widths 8 and 64" in notes[0]
    assert notes[3] == "– at 4 more, for other reasons: see --json or --out"


def test_exactly(run: Run, pair: tuple[str, str]) -> None:
    fast, exact = (
        run("compare", *pair, *DATA, "-m", "linear_cka", "--json", *more).json for more in ((), ("--exact",))
    )
    assert exact["record"]["sender"]["forward"] == "plain"
    assert exact["record"]["dtype"] == "activations float32, products float64, sums float64"
    values = [[cell["value"] for row in f["matrices"]["linear_cka"]["scores"] for cell in row] for f in (fast, exact)]
    assert values[0] == pytest.approx(values[1], abs=1e-5)
    assert values[0] != values[1]


def test_a_stream_has_the_scores_of_memory(run: Run, pair: tuple[str, str], tmp_path: Path) -> None:
    digits = sr.load_data("digits/digit", "test", n=120)
    np.save(tmp_path / "digits.npy", digits.inputs)  # type: ignore[arg-type]
    options = ("--data", "npy:digits.npy", "--split", "train", "--batch", 16, "-m", "linear_cka", "--json")
    ours, theirs = (run("compare", *pair, *options, *more).json for more in (("--stream",), ()))
    assert ours["record"]["data"]["fingerprint"] == theirs["record"]["data"]["fingerprint"]
    values = [[cell["value"] for row in f["matrices"]["linear_cka"]["scores"] for cell in row] for f in (ours, theirs)]
    assert values[0] == pytest.approx(values[1], abs=1e-5)
    assert run("compare", *pair, *options, "--stream", "--n", 50).code == 2


def test_one_reason_for_many_cells_is_told_once(run: Run, pair: tuple[str, str]) -> None:
    ran = run("compare", *pair, *DATA, "-m", "linear_cka,rsa", "--keep", 0)
    assert ran.code == 0
    (note,) = [line for line in ran.out.splitlines() if line.startswith("– at ")]
    assert note.startswith("– at layer1 × layer1 and 15 more: rsa: This measure needs rows, and none were kept")


@pytest.mark.slow
def test_with_many_measures_a_file_has_the_rest(run: Run, pair: tuple[str, str], tmp_path: Path) -> None:
    few = (*DATA, "--cuts", "layer3,layer4", "--no-interval")
    ran = run("compare", *pair, *few, "-m", "all", "--out", "run")
    assert ran.code == 0
    found = sr.Comparison.load(tmp_path / "run")
    assert len(found.matrices) >= len(measures)
    assert ran.out.count("samples of digits/digit, sampling positions") == 4
    assert f"\nall {len(found.matrices)} matrices written to run/comparison.json\nreport: run/report.html\n" in ran.out
    ran = run("compare", *pair, *few, "-m", "moments")
    wanted = [name for name, cls in measures.items() if cls().claims.needs == "moments"]
    for name in wanted:
        assert f"\n{name}, a " in ran.out
    assert "written to" not in ran.out


def test_many_cuts_go_by_numbers(run: Run, pair: tuple[str, str]) -> None:
    ran = run("compare", *pair, *DATA, "-m", "linear_cka", "--sender-cuts", "layer1", "--receiver-cuts", "*")
    names = sr.cuts(sr.load(pair[1]))
    assert len(cells(ran.out)[0]) == len(names)
    assert "sender ↓ receiver → ┃     1 ┃     2 ┃" in ran.out
    assert f"receiver: {', '.join(f'{k} {cut.name}' for k, cut in enumerate(names, 1))}\n" in ran.out


@pytest.mark.slow
def test_functional_matrices(run: Run, pair: tuple[str, str], tmp_path: Path) -> None:
    words = ("-m", "linear_cka,direct_functional,task_functional", "--cuts", "layer2,layer4", "--out", "run")
    ran = run("compare", *pair, *DATA, *words, "--task-samples", 40, "--matching", "task?epochs=1")
    assert ran.code == 0
    assert "the sender's activations on 16 held-out samples are kept in memory" in ran.out
    others = "of digits/digit, scored on 16 others, the last of 5 folds"
    titles = [line for line in ran.out.splitlines() if ", a similarity: " in line]
    assert titles == [
        f"direct_functional, a similarity: stitched on 80 samples {others}",
        f"task_functional, a similarity: stitched on 40 samples {others}",
        "linear_cka, a similarity: 96 samples of digits/digit, sampling positions, 96 to 1,536 rows, 5 folds",
    ]
    found = sr.Comparison.load(tmp_path / "run")
    assert found.record["functional"]["task_functional"]["training"]["epochs"] == 1
    assert cells(ran.out)[0] == [digits(value) for value in found["direct_functional"].values[0]]
    assert len(list((tmp_path / "run" / "cells").iterdir())) == 8


@pytest.mark.slow
def test_progress_is_told_where_no_terminal_is(
    run: Run, pair: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("seamripper.cli.output.PLAIN_EVERY", 0.0)
    words = (*DATA, "-m", "direct_functional", "--cuts", "layer4")
    said = run("compare", *pair, *words).err
    assert "the pass: 1/6\nthe pass: 2/6, about 1 s left\n" in said
    assert "direct_functional: 1/1, accuracy " in said
    quiet = run("compare", *pair, *words, "--json").err
    assert [line.partition(" ")[0] for line in quiet.splitlines()] == ["memory", "the"]


@pytest.mark.parametrize(
    ("value", "shown"), [(0.12345, "0.123"), (-1.0, "-1.000"), (1234.5, "1.23e+03"), (math.inf, "inf")]
)
def test_three_digits(value: float, shown: str) -> None:
    assert digits(value) == shown


# ---- a stop


def wait_for(condition: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 120
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.slow
def test_cells_that_were_finished_survive_a_stop(
    started: Callable[..., subprocess.Popen[str]], run: Run, pair: tuple[str, str], tmp_path: Path
) -> None:
    words = ("compare", *pair, *DATA, "-m", "task_functional", "--cuts", "layer3,layer4",
             "--matching", "task?epochs=60", "--out", "run")  # fmt: skip
    folder = tmp_path / "run" / "cells"
    process = started(*words, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
    wait_for(lambda: folder.is_dir() and any(folder.glob("task*.json")), process)
    process.send_signal(signal.SIGINT)
    assert "Traceback" not in process.communicate(timeout=120)[1]
    assert process.returncode == 130
    before = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    assert 0 < len(before) < 4
    assert not (tmp_path / "run" / "comparison.json").exists()
    assert run(*words).code == 0
    assert len(list(folder.iterdir())) == 4
    assert {path: path.stat().st_mtime_ns for path in before} == before


# ---- bad input
