"""Studies: each worker has its device, models are trained and compared there, and a precision is part of a result."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from in_process import InProcess
from seamripper.errors import ExperimentError, SeamripperError
from seamripper.experiment import Experiment, Store, Summary, run, table
from seamripper.experiment.engines import Local, Terms
from test_devices import pretend

NETWORKS = """
data = { name = "digits/correlated", n = 120, n_test = 60 }
[models.net]
train = "zoo:R_1111?width=0.125"
data = "digits/correlated"
n = 120
training = "?epochs=1&batch=32"
seeds = [0, 1]
"""
STITCH = """
[[stitch]]
senders = ["net/0"]
receivers = ["net/1"]
pairing = "all"
cuts = ["layer1"]
matchings = ["direct", "task?epochs=1&batch=32"]
"""
OTHERS = """
[[compare]]
senders = ["net/0"]
receivers = ["net/1"]
pairing = "all"
sender_cuts = ["layer1", "layer2"]
receiver_cuts = ["layer1", "layer2"]
measures = ["linear_cka", "rsa"]
[[functional]]
senders = ["net/0"]
receivers = ["net/1"]
pairing = "all"
sender_cuts = ["layer1"]
receiver_cuts = ["layer1", "layer2"]
matchings = ["direct"]
[[probe]]
models = ["net/0"]
cuts = ["layer2"]
ranks = [2]
[[noise]]
receivers = ["net/0"]
cuts = ["layer2"]
matchings = ["task?epochs=1&batch=32"]
per_class = 12
per_class_test = 6
rank = true
[[audit]]
senders = ["net/0"]
receivers = ["net/1"]
pairing = "all"
cuts = ["layer2"]
matching = "direct"
audits = ["margin", "conflict", "rank"]
controls = ["self", "random_sender", "clustered_noise"]
interventions = ["greyscale"]
"""
PICTURES = """
[models.auto]
train = "zoo:autoencoder?channels=3"
data = "digits/correlated"
n = 120
training = "?lr=0.002&batch=16&epochs=1"
seeds = [0, 1]
[matchings]
classes = "class_mapping?epochs=1&batch=32"
[[pictures]]
senders = ["auto/0"]
receivers = ["auto/1"]
pairing = "all"
cuts = ["encoder"]
matchings = ["direct", "regression?epochs=1&batch=32"]
judge = "net"
n = 3
[[pictures]]
senders = ["auto/0"]
receivers = ["auto/1"]
pairing = "all"
cuts = ["encoder"]
receiver_data = { name = "digits/greyscale", n = 120, n_test = 60 }
matchings = ["classes", "embedding_mapping?epochs=1&batch=32"]
n = 3
[[pictures]]
senders = ["net/0"]
receivers = ["net/1"]
pairing = "all"
cuts = ["layer1 -> before:conv1"]
matchings = ["direct", "task?epochs=1&batch=32"]
n = 3
"""


def carried_out(folder: Path, text: str, **asked: str) -> tuple[Summary, dict[str, float]]:
    """What a study came to, and its figures by their labels."""
    folder.mkdir()
    (folder / "study.toml").write_text(text)
    summary = run(Experiment.read(folder / "study.toml"), folder / "store", engine=InProcess(), **asked)
    with Store(folder / "store") as store:
        failed = [store.result(key) for key in summary.failed]
        assert not failed, failed[0] and failed[0].record["traceback"]
        rows = table(store, "study")[1]
    labels = ("kind", "sender_cut", "receiver_cut", "matching", "measure", "figure", "model", "seed", "control")
    return summary, {
        " ".join(str(row.get(label)) for label in labels): row["value"] for row in rows if row.get("value") is not None
    }


@pytest.mark.slow
def test_a_study_gives_the_same_figures_on_a_device(tmp_path: Path) -> None:
    """Everything a study can ask for, trainings too, on the device of the worker, and nothing astray."""
    _, plain = carried_out(tmp_path / "memory", NETWORKS + STITCH + OTHERS)
    with pretend("cuda"):
        _, there = carried_out(tmp_path / "device", NETWORKS + STITCH + OTHERS, device="cuda")
    assert there.keys() == plain.keys()
    assert len(there) > 20
    for name, value in plain.items():
        assert there[name] == pytest.approx(value, abs=0.05), name


@pytest.mark.slow
def test_pictures_are_the_same_on_a_device(tmp_path: Path) -> None:
    """The images that stitched networks make, of classifiers and of autoencoders, and what a judge says of them."""
    _, plain = carried_out(tmp_path / "memory", NETWORKS + PICTURES)
    with pretend("cuda"):
        _, there = carried_out(tmp_path / "device", NETWORKS + PICTURES, device="cuda")
    assert len([name for name in plain if name.startswith("pictures")]) > 10
    assert there == pytest.approx(plain, abs=0.01)


@pytest.mark.slow
def test_a_precision_is_part_of_what_a_result_is(tmp_path: Path) -> None:
    text = NETWORKS + STITCH.replace(', "task?epochs=1&batch=32"', "")
    first, _ = carried_out(tmp_path / "study", text)
    assert first.did == 3
    path = tmp_path / "study" / "study.toml"
    half = run(Experiment.read(path), path.parent / "store", engine=InProcess(), dtype="bfloat16")
    assert (half.did, half.before) == (1, 2)  # Networks are trained in float32, and trained once.
    again = run(Experiment.read(path), path.parent / "store", engine=InProcess())
    assert again.did == 0
    path.write_text('dtype = "bfloat16"\n' + text)
    assert run(Experiment.read(path), path.parent / "store", engine=InProcess()).did == 0
    with pytest.raises(ExperimentError, match=r"`dtype`.*but got 'int8'"):
        run(Experiment.read(path), path.parent / "store", dtype="int8")


def test_each_worker_sees_its_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of those that are visible: a job of Slurm's sees the GPUs that it was given, and no others."""
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    engine = Local(4)
    for gpus, given, expected in (
        (1.0, None, ["0", "1", "0", "1"]),
        (0.5, None, ["0", "0", "1", "1"]),
        (2.0, None, ["0,1"] * 4),
        (1.0, "5,7", ["5", "7", "5", "7"]),
    ):
        if given is not None:
            monkeypatch.setenv("CUDA_VISIBLE_DEVICES", given)
        engine.terms = Terms.on("cuda", "nowhere", 1, gpus)
        assert [engine._device(k)["CUDA_VISIBLE_DEVICES"] for k in range(4)] == expected
    for device, gpus, terms in (
        (None, 0.0, (0.0, None)),
        (None, 0.5, (0.5, "cuda")),
        ("cuda", 0.0, (1.0, "cuda")),
        ("cuda:1", 0.0, (0.0, "cuda:1")),
        ("cpu", 0.5, (0.0, "cpu")),
        ("auto", 0.5, (0.0, "cpu")),
    ):
        agreed = Terms.on(device, "nowhere", 1, gpus)
        assert (agreed.gpus, agreed.device) == terms


def test_a_device_that_is_not_here_is_refused_before_anything_begins(tmp_path: Path) -> None:
    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    (tmp_path / "study.toml").write_text(NETWORKS + STITCH)
    for device, refusal in (("cuda", "asks for 1 GPU, and this machine has 0"), ("cuda:3", "no device 'cuda:3'")):
        with pytest.raises(SeamripperError, match=refusal):
            run(Experiment.read(tmp_path / "study.toml"), tmp_path / "store", engine="local", device=device)
    assert not list((tmp_path / "store").glob("journals/*"))
