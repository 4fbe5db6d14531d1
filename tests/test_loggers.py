"""Loggers: the figures arrive in the real tools, and are read back from their own folders with their own readers."""

from __future__ import annotations

import contextlib
import io
import json
import math
import shutil
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import seamripper as sr
from seamripper.cards import WithMethods
from seamripper.cli import main
from seamripper.errors import LogError, MissingExtraError
from seamripper.loggers import Entry, Logger, loggers

NETS = ("zoo:lenet?channels=3&seed=0", "zoo:lenet?channels=3&seed=1")
DATA = ("--data", "digits/digit", "--n", "40")
ENTRY = Entry(
    "compare",
    {"svcca?dims=20/conv1/fc1": 0.1 + 0.2, "svcca?dims=20/conv1/fc1/low": 0.125},
    {"function": "seamripper.compare", "n": 9},
    "How it was made.",
)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def seamripper(*words: str) -> tuple[int, str, str]:
    """Exit code, output and messages of a command."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(list(words))
        except SystemExit as e:
            return int(e.code or 0), out.getvalue(), err.getvalue()
    return 0, out.getvalue(), err.getvalue()


# ---- what is logged


def test_an_entry_has_every_finite_figure_and_the_method() -> None:
    samples = sr.load_data("digits/digit", "test", n=40)
    result = sr.compare(*map(sr.load, NETS), samples, sender_cuts=["conv2"], receiver_cuts=["fc1"], null=19)
    entry = Entry.of("compare", result, [None, Path("file")])
    score = result.score("linear_cka", "conv2", "fc1")
    assert entry.figures == {
        "linear_cka/conv2/fc1": score.value,
        "linear_cka/conv2/fc1/low": score.low,
        "linear_cka/conv2/fc1/high": score.high,
        "linear_cka/conv2/fc1/p": score.null and score.null.p,
    }
    assert isinstance(result, WithMethods)
    assert entry.method["sender"]["source"] == NETS[0]
    assert entry.files == (Path("file"),)


def test_a_table_of_a_study_is_an_entry() -> None:
    rows = [
        {
            "experiment": "e",
            "kind": "stitch",
            "cut": "a",
            "seed": 1,
            "figure": "top1",
            "value": 0.5,
            "low": math.nan,
            "n": 9,
        },
        {"experiment": "e", "cut": "b", "status": "failed", "value": None},
    ]
    entry = Entry.of_table(
        "run", ["experiment", "kind", "cut", "seed", "figure", "value", "low", "n"], rows, {"study": "e"}
    )
    assert entry.figures == {"stitch/a/1/top1": 0.5}


# ---- the tools


def test_tensorboard_reads_its_event_file_back(here: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    for number in (1, 2):
        said = loggers.make("tensorboard?folder=logs").log(ENTRY)
        assert "tensorboard --logdir logs" in said
        assert len(list((here / "logs").iterdir())) == number
    events = EventAccumulator(str(next((here / "logs").iterdir())))
    events.Reload()
    values = {name: events.Scalars(name)[0].value for name in events.Tags()["scalars"]}
    # TensorBoard keeps single precision.
    assert values == pytest.approx(dict(ENTRY.figures))
    (text,) = events.Tensors("method/text_summary")
    assert b"How it was made." in text.tensor_proto.string_val[0]
    assert b"seamripper.compare" in text.tensor_proto.string_val[0]


def wandb_records(folder: Path) -> Iterator[Any]:
    """The records of the one offline run in the folder, as wandb's own messages.

    They lie in a log of LevelDB's form: seven bytes, then blocks of 32,768 in which each part of a record has its
    checksum, its length and its type (1 whole, 2 first, 3 middle, 4 last).
    """
    from wandb.proto.wandb_internal_pb2 import Record

    (path,) = folder.glob("wandb/offline-run-*/*.wandb")
    data, at, parts = path.read_bytes(), 7, b""
    assert data[:4] == b":W&B"
    while at + 7 <= len(data):
        left = 32768 - at % 32768
        if left < 7:
            at += left
            continue
        _, size, kind = struct.unpack_from("<IHB", data, at)
        parts = data[at + 7 : at + 7 + size] if kind in (1, 2) else parts + data[at + 7 : at + 7 + size]
        at += 7 + size
        if kind in (1, 4):
            record = Record()
            record.ParseFromString(parts)
            yield record


@pytest.mark.slow
def test_wandb_reads_its_offline_run_back(here: Path) -> None:
    (here / "note.json").write_text("{}")
    said = loggers.make("wandb?project=mine&folder=logs").log(
        Entry(ENTRY.command, ENTRY.figures, ENTRY.method, ENTRY.text, (Path("note.json"),))
    )
    assert "wandb sync" in said
    history: dict[str, float] = {}
    config: dict[str, Any] = {}
    for record in wandb_records(here / "logs"):
        for item in record.history.item:
            history["/".join(item.nested_key) or item.key] = json.loads(item.value_json)
        for item in record.run.config.update:
            config[item.key] = json.loads(item.value_json)
        if record.HasField("run"):
            assert (record.run.project, record.run.notes) == ("mine", ENTRY.text)
    assert {name: history[name] for name in ENTRY.figures} == dict(ENTRY.figures)
    assert config["method"] == dict(ENTRY.method)
    assert list((here / "logs").glob("wandb/offline-run-*/files/note.json"))
    # Nothing of the machine, the environment or the code comes along.
    assert not list((here / "logs").glob("wandb/offline-run-*/files/*metadata*"))


@pytest.mark.slow
def test_mlflow_reads_its_store_back(here: Path) -> None:
    (here / "note.json").write_text("{}")
    logger = loggers.make("mlflow?folder=logs&experiment=mine")
    said = logger.log(Entry(ENTRY.command, ENTRY.figures, ENTRY.method, ENTRY.text, (Path("note.json"),)))
    assert f"sqlite:///{here}/logs/mlflow.db" in said
    logger.log(ENTRY)
    from mlflow.tracking import MlflowClient

    client = MlflowClient(tracking_uri=f"sqlite:///{here}/logs/mlflow.db")
    experiment = client.get_experiment_by_name("mine")
    runs = client.search_runs([experiment.experiment_id], order_by=["start_time ASC"])
    assert [run.info.status for run in runs] == ["FINISHED"] * 2
    first = runs[0]
    assert first.data.metrics == {"svcca_dims_20/conv1/fc1": 0.1 + 0.2, "svcca_dims_20/conv1/fc1/low": 0.125}
    assert first.data.tags["mlflow.note.content"] == ENTRY.text
    assert {file.path for file in client.list_artifacts(first.info.run_id)} == {"method.json", "note.json"}
    assert json.loads((next(here.glob("logs/artifacts/*/artifacts/method.json"))).read_text()) == dict(ENTRY.method)
    # A run that fails is not left open.
    shutil.rmtree(here / "logs" / "artifacts")
    (here / "logs" / "artifacts").write_text("a file, where a folder is to be")
    with pytest.raises(LogError, match="could not keep the figures"):
        logger.log(ENTRY)
    last = client.search_runs([experiment.experiment_id], order_by=["start_time DESC"])[0]
    assert last.info.status == "FAILED"


# ---- on the command line


def scalars(folder: Path) -> dict[str, float]:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    (place,) = folder.iterdir()
    events = EventAccumulator(str(place))
    events.Reload()
    return {name: events.Scalars(name)[0].value for name in events.Tags()["scalars"]}


def test_commands_log_what_they_print(here: Path) -> None:
    cuts = ("--sender-cuts", "conv2", "--receiver-cuts", "fc1", "-m", "linear_cka")
    code, out, err = seamripper("compare", *NETS, *DATA, *cuts, "--json", "--log", "tensorboard?folder=a")
    score = json.loads(out)["matrices"]["linear_cka"]["scores"][0][0]
    assert code == 0
    assert "tensorboard: event file in a/compare-" in err
    assert scalars(here / "a")["linear_cka/conv2/fc1"] == pytest.approx(score["value"])
    places = (f"{NETS[0]}@conv2", f"{NETS[1]}@conv2", "--n-test", "30", "--matching", "direct")
    code, out, _ = seamripper("stitch", *places, *DATA, "--json", "--log", "tensorboard?folder=b")
    assert scalars(here / "b")["top1"] == pytest.approx(json.loads(out)["result"]["top1"]["value"])
    more = ("--null", "0", "--cuts", "conv2")
    code, out, _ = seamripper("diff", *NETS, *DATA, *more, "--json", "--log", "tensorboard?folder=c")
    assert code == 1
    assert scalars(here / "c")["answers/agreement"] == pytest.approx(json.loads(out)["answers"]["agreement"]["value"])


@pytest.mark.slow
def test_audit_map_measure_and_swap_log_what_they_print(here: Path) -> None:
    places = (f"{NETS[0]}@conv2", f"{NETS[1]}@conv2")
    choices = (
        "--matching",
        "direct",
        "--audits",
        "conflict?n=20",
        "--controls",
        "self",
        "--interventions",
        "greyscale",
    )
    words = (*DATA, "--n-test", "40", "--seeds", "1", *choices, "--json", "--log", "tensorboard?folder=a")
    code, out, err = seamripper("audit", *places, *words)
    observed = json.loads(out)["verdicts"]["conflict"]["observed"]["value"]
    assert (code, scalars(here / "a")["conflict/observed"]) == (0, pytest.approx(observed)), err
    words = ("--data", "digits/digit", "--n", "100", "--queries", "20", "--json", "--log", "tensorboard?folder=b")
    _, out, _ = seamripper("map", *places, *words)
    recall = json.loads(out)["tests"]["map"]["own"]["Recall@10"]["value"]
    assert scalars(here / "b")["map/own/Recall@10"] == pytest.approx(recall)
    np.save("x.npy", np.random.default_rng(0).normal(size=(40, 3)))
    _, out, _ = seamripper("measure", "x.npy", "x.npy", "-m", "opd", "--json", "--log", "tensorboard?folder=c")
    assert scalars(here / "c")["opd"] == pytest.approx(json.loads(out)[0]["value"])
    words = ("--data", "digits/digit", "--n", "60", "--n-test", "30", "--old-cuts", "fc2", "--new-cuts", "fc2")
    _, out, _ = seamripper("swap", *NETS, *words, "--no-audit", "--json", "--log", "tensorboard?folder=d")
    logged, verdict = scalars(here / "d"), json.loads(out)
    assert logged["test/penalty"] == pytest.approx(verdict["loss"]["penalty"]["value"])
    assert logged["test/flips"] == len(verdict["flips"])
    assert logged["learning curve/48/p"] == pytest.approx(verdict["loss"]["p_worse"])


def test_a_study_logs_its_table(here: Path) -> None:
    (here / "mine.py").write_text("def f(k=0, seed=0):\n    return {'double': 2.0 * k}\n")
    (here / "study.toml").write_text('name = "study"\n[[call]]\nfunction = "mine.py:f"\ngrid = { k = [1, 2] }\n')
    code, _, err = seamripper("run", "study.toml", "--engine", "local?workers=1", "--quiet", "--log", "tensorboard")
    assert code == 0, err
    assert sorted(scalars(here / "tensorboard").values()) == [2.0, 4.0]


def test_what_is_wrong_with_a_logger_is_said_before_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    code, _, err = seamripper("compare", "zoo:nothing", "zoo:nothing", *DATA, "--log", "wandbb")
    assert (code, "There is no logger 'wandbb': did you mean 'wandb'?" in err) == (2, True)
    monkeypatch.setitem(__import__("sys").modules, "tensorboard", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'seamripper\[tensorboard\]'"):
        loggers.make("tensorboard").require()
    code, _, err = seamripper("compare", "zoo:nothing", "zoo:nothing", *DATA, "--log", "tensorboard")
    assert (code, "seamripper[tensorboard]" in err) == (2, True)


@dataclass(frozen=True)
class Broken(Logger):
    """A third party's logger, which fails."""

    name = "broken"
    about = "Fails."

    def require(self) -> None:
        """It seems to work."""

    def write(self, entry: Entry) -> str:
        raise OSError("the disk is full\nand more")


def test_what_goes_wrong_in_a_tool_is_a_sentence(here: Path) -> None:
    with pytest.raises(LogError, match=r"broken could not keep the figures \(OSError: the disk is full\)"):
        Broken().log(ENTRY)
    (here / "logs").write_text("a file")
    with pytest.raises(LogError, match="tensorboard\\?folder=logs could not keep"):
        loggers.make("tensorboard?folder=logs").log(ENTRY)
