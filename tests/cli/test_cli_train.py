"""seamripper train: what is written, what is told, and what is not written over."""

from __future__ import annotations

import contextlib
import os
import pty
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import seamripper as sr
from seamripper.models import predict

if TYPE_CHECKING:
    from conftest import Run

LENET = ("train", "zoo:lenet", "--data", "digits/digit", "--n", 64, "--training", "?batch=32&epochs=1")


@pytest.mark.slow
def test_the_installed_command_trains(shell: Run, tmp_path: Path) -> None:
    ran = shell(
        "train",
        "zoo:R_1111?width=0.125",
        "--data",
        "digits/digit",
        "--training",
        "?epochs=1",
        "--out",
        "sub/a.safetensors",
    )
    assert ran.code == 0
    assert "Traceback" not in ran.err
    assert "digits/digit, 1,437 samples, seed 0, 1 epochs" in ran.out
    assert "(n = 360)" in ran.out
    assert [path.name for path in (tmp_path / "sub").iterdir()] == ["a.safetensors"]
    model = sr.load(str(tmp_path / "sub" / "a.safetensors"))
    assert model.record["data"] == "digits/digit"
    assert model.record["recipe"]["epochs"] == 1


def test_the_json_tells_the_record_and_the_test_accuracy(run: Run) -> None:
    ran = run(*LENET[:-1], "?batch=32&epochs=1&lr=0.03", "--seed", 3, "--out", "a.safetensors", "--json")
    assert (ran.code, ran.err) == (0, "")
    model, test = sr.load("a.safetensors"), sr.load_data("digits/digit", "test")
    right = float((predict(model.module, test).argmax(1) == test.labels).double().mean())
    assert ran.json["test_accuracy"]["value"] == right
    assert ran.json["test_accuracy"]["n"] == 360
    assert ran.json["record"] == model.record
    assert model.record["seed"] == 3
    assert model.record["recipe"] == {
        "optimiser": "sgd",
        "lr": 0.03,
        "momentum": 0.9,
        "weight_decay": 1e-4,
        "batch": 32,
        "epochs": 1,
        "schedule": "constant",
        "warmup": 0.0,
        "drops": [1 / 3, 2 / 3],
        "l1": 0.0,
    }


def test_the_help_knows_the_usual_trainings(run: Run) -> None:
    said = " ".join(run("train", "--help").out.split())
    for word, name in (("smith", "SGD"), ("autoencoder", "Adam")):
        usual = sr.Training.make(word)
        assert usual.optimiser == name.lower()
        assert (
            f"{word} ({name}, epochs {usual.epochs}, lr {usual.lr:g}, batch {usual.batch})".replace("0.0001", "1e-4")
            in said
        )


@pytest.mark.parametrize(("flag", "word"), [("--epochs", "?epochs=…"), ("--weight-decay", "?weight_decay=…")])
def test_an_option_of_the_training_goes_into_its_word(run: Run, flag: str, word: str) -> None:
    ran = run("train", "zoo:lenet", "--data", "digits/digit", flag, 1, "--out", "a.safetensors")
    assert (ran.code, ran.out) == (2, "")
    assert (
        f"There is no {flag}: it is an option of --training. Write it into that word, for example --training '{word}'."
        in (" ".join(ran.err.split()))
    )


def test_the_trained_networks_have_learnt(networks: dict[str, Path]) -> None:
    for kind, path in networks.items():
        test = sr.load_data(f"digits/{kind}", "test")
        right = (predict(sr.load(str(path)).module, test).argmax(1) == test.labels).double().mean()
        assert right > 0.6


def test_the_same_training_is_not_done_twice(run: Run) -> None:
    first = run(*LENET, "--out", "a.safetensors", "--json")
    written = Path("a.safetensors").stat()
    again = run(*LENET, "--out", "a.safetensors", "--json")
    assert again.json == first.json
    assert Path("a.safetensors").stat().st_mtime_ns == written.st_mtime_ns


@pytest.mark.parametrize(
    ("other", "differing"),
    [
        (("--seed", 1), "seed"),
        (("--training", "?epochs=1&batch=32&lr=0.05"), "recipe"),
        (("--n", 65), "data_fingerprint"),
    ],
)
def test_another_training_is_not_written_over(run: Run, other: tuple[object, ...], differing: str) -> None:
    assert run(*LENET, "--out", "a.safetensors").code == 0
    before = Path("a.safetensors").read_bytes()
    ran = run(*LENET, *other, "--out", "a.safetensors")
    assert ran.code == 2
    assert ran.err.startswith("seamripper: a.safetensors already holds something other than this training")
    assert f"(what differs: {differing})" in ran.err
    assert Path("a.safetensors").read_bytes() == before


def test_again_writes_over(run: Run) -> None:
    assert run(*LENET, "--out", "a.safetensors").code == 0
    assert run(*LENET, "--seed", 1, "--again", "--out", "a.safetensors").code == 0
    assert sr.load("a.safetensors").record["seed"] == 1


def test_what_is_there_and_is_not_ours_is_not_written_over(run: Run) -> None:
    Path("a.safetensors").write_text("my thesis")
    ran = run(*LENET, "--out", "a.safetensors")
    assert ran.code == 2
    assert "a.safetensors is not a safetensors file" in ran.err
    assert Path("a.safetensors").read_text() == "my thesis"


def test_an_autoencoder_has_no_accuracy(run: Run) -> None:
    words = ("train", "zoo:autoencoder?channels=3", "--data", "digits/greyscale", "--n", 32, "--training", "?epochs=1")
    ran = run(*words, "--out", "a.safetensors", "--json")
    assert ran.json["test_accuracy"] is None
    assert ran.json["record"]["recipe"]["optimiser"] == "adam"
    assert "–" in run(*words, "--out", "a.safetensors").out


@pytest.mark.slow
def test_mnist_without_a_network_is_stood_in_for_and_said_so(shell: Run, tmp_path: Path) -> None:
    words = (
        *("train", "zoo:lenet", "--data", "mnist/digit", "--n", 32, "--training", "?epochs=1"),
        *("--out", "a.safetensors", "--json"),
    )
    nothing = {"SEAMRIPPER_OFFLINE": "1", "SEAMRIPPER_CACHE": str(tmp_path / "cache"), "PYTHONWARNINGS": "default"}
    ran = shell(*words, env=nothing)
    assert ran.code == 0
    assert ran.json["record"]["data"] == "digits/digit"
    assert ran.err.startswith("seamripper: The data set 'digits' (1,797 small images) stands in for mnist")
    assert ran.err.count("stands in for mnist") == 1
    assert "Warning" not in ran.err
    assert ".py" not in ran.err


@pytest.mark.slow
def test_a_terminal_gets_a_bar(started: Callable[..., subprocess.Popen[str]]) -> None:
    terminal, theirs = pty.openpty()
    process = started(*LENET[:-1], "?batch=32&epochs=40", "--out", "a.safetensors", stderr=theirs)
    os.close(theirs)
    drawn = b""
    with contextlib.suppress(OSError):  # How Linux says that nobody holds the other end any more.
        while chunk := os.read(terminal, 4096):
            drawn += chunk
    os.close(terminal)
    assert process.wait() == 0
    assert b"Traceback" not in drawn
    for part in (b"train", b"/80", b"loss", b"epoch"):
        assert part in drawn
