"""Pictures: rows of images of autoencoders that are stitched together, and of what arrives at a first layer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import seamripper as sr
from seamripper._files import load_tensors
from seamripper._stats import over_seeds
from seamripper.errors import ExperimentError
from seamripper.experiment import Experiment, Local, Store, run, table
from seamripper.experiment.desk import Desk
from seamripper.experiment.expand import expand
from seamripper.experiment.identity import Identities
from seamripper.experiment.job import Graph, Job
from seamripper.experiment.kinds import kind_named
from seamripper.experiment.kinds._images import as_bytes
from seamripper.experiment.kinds.pictures import _error, _rows, require_images, showing
from seamripper.experiment.tensors import Tensors

STUDY = """
[data]
name = "digits/digit"
n = 200
n_test = 40

[models.auto]
train = "zoo:autoencoder?channels=3"
data = "digits/greyscale"
n = 400
lr = 0.002
batch = 16
epochs = 5
seeds = [0, 1]

[models.net]
train = "zoo:R_1111?width=0.125"
data = "digits/digit"
n = 200
epochs = 1
seeds = [0, 1]

[matchings.quick]
way = "task"
init = "direct"
epochs = 1

[matchings.slow]
way = "regression"
init = "direct"
epochs = 1

[[pictures]]
senders = ["auto/0"]
receivers = ["auto/1"]
pairing = "all"
cuts = ["encoder"]
matchings = ["direct", "slow"]
data = "digits/greyscale"

[[pictures]]
senders = ["net/0"]
receivers = ["net/1"]
pairing = "all"
cuts = ["layer1 -> before:conv1"]
matchings = ["direct", "quick"]
n = 5
seed = 2
"""
AUTO, NET = {"receiver": "auto"}, {"receiver": "net"}


class Bench:
    """Carries out the jobs of the study in this process."""

    def __init__(self, folder: Path) -> None:
        (folder / "study.toml").write_text(STUDY)
        experiment = Experiment.read(folder / "study.toml")
        self.graph: Graph = expand(experiment, Identities({}, folder=str(folder)))
        self.desk = Desk(Tensors(folder / "tensors", folder / "damaged"), lambda key: folder / "work" / key)
        self.found: dict[str, Any] = {}
        for job in self.graph:
            self.found[job.key] = self.do(job)

    def do(self, job: Job) -> Any:
        self.desk.turn_to(job.key, job.where, {need: self.found[need].tensors for need in job.needs})
        return kind_named(job.kind).run(job.content, self.desk)

    def of(self, **labels: Any) -> tuple[Job, Any, dict[str, torch.Tensor]]:
        (job,) = [j for j in self.graph if j.kind == "pictures" and labels.items() <= dict(j.labels).items()]
        found = self.found[job.key]
        tensors, record = load_tensors(self.desk.tensors.get(found.tensors["pictures"]), kind="pictures")
        assert record["key"] == job.key
        return job, found, tensors

    def halves(self, job: Job) -> tuple[sr.Split, sr.Split, sr.Samples, sr.Samples]:
        self.desk.turn_to(job.key, job.where, {need: self.found[need].tensors for need in job.needs})
        fit, test = self.desk.samples(job.content["fit"]), self.desk.samples(job.content["test"])
        sender, receiver = (
            self.desk.half(job.content[r], job.content[f"{r}_cut"], fit) for r in ("sender", "receiver")
        )
        return sender, receiver, fit, test.first(job.content["images"])


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(tmp_path_factory.mktemp("pictures"))


def is_error(told: Any, stitched: torch.Tensor, shown: torch.Tensor, samples: sr.Samples) -> bool:
    """Whether this is the mean squared error of these images, in units of the whole range from black to white."""
    apart = (stitched.double() - shown.double()) * samples.std
    found = over_seeds([float(one.square().mean()) for one in apart])
    return bool(
        [told["value"], *told["interval"], told["n"]] == pytest.approx([found.value, found.low, found.high, found.n])
    )


def test_two_autoencoders(bench: Bench) -> None:
    job, found, tensors = bench.of(**AUTO, matching="direct")
    rows = ["input", "sender itself", "receiver itself", "stitched"]
    assert (found.record["rows"], found.record["n"], found.record["shows"]) == (rows, 8, "answer")
    assert {(row.dtype, tuple(row.shape)) for row in tensors.values()} == {(torch.uint8, (8, 3, 28, 28))}
    assert set(tensors) == set(rows)
    sender, receiver, fit, test = bench.halves(job)
    match = sr.match(sender, receiver, fit, matching=sr.Direct())
    shown = test.batch(slice(None))
    assert isinstance(shown, torch.Tensor)
    with torch.no_grad():
        answers = {"sender itself": sender.answer(shown), "receiver itself": receiver.answer(shown)}
        answers["stitched"] = match(shown)
    # Bytes there and back are the same bytes.
    assert torch.equal(tensors["input"], test.inputs)
    for name, values in answers.items():
        assert torch.equal(tensors[name], as_bytes(values, test)), name
    assert is_error(found.record["error"], answers["stitched"], shown, test)
    assert found.record["status"] == match.status
    assert found.record["figures"]["residual_held_out"] == pytest.approx(match.figures["residual_held_out"])


def test_a_direct_match_makes_images_that_are_like_the_inputs(bench: Bench) -> None:
    """Five epochs are enough for that, and an image for another input is farther off."""
    _, found, tensors = bench.of(**AUTO, matching="direct")
    stitched, shown = (tensors[name].double() / 255 for name in ("stitched", "input"))
    others = float((stitched - shown.roll(1, 0)).square().mean())
    assert found.record["error"]["value"] < 0.7 * others


def test_a_matching_that_regresses(bench: Bench) -> None:
    _, found, tensors = bench.of(**AUTO, matching="slow")
    assert list(tensors["stitched"].shape) == [8, 3, 28, 28]
    assert found.record["error"]["n"] == 8


@pytest.mark.parametrize("matching", ["direct", "quick"])
def test_what_arrives_at_a_first_layer(bench: Bench, matching: str) -> None:
    job, found, tensors = bench.of(**NET, matching=matching)
    assert (found.record["rows"], found.record["n"]) == (["input", "stitched"], 5)
    assert found.record["shows"] == "arrival"
    sender, receiver, fit, test = bench.halves(job)
    way: Any = sr.Direct() if matching == "direct" else sr.Task(sr.Training(epochs=1), init="direct")
    match = sr.match(sender, receiver, fit, matching=way, seed=2)
    shown = test.batch(slice(None))
    assert isinstance(shown, torch.Tensor)
    with torch.no_grad():
        arrives = match.layer(match.sender.head(shown))
    assert torch.equal(tensors["stitched"], as_bytes(arrives, test))
    assert torch.equal(tensors["input"], test.inputs)
    assert is_error(found.record["error"], arrives, shown, test)


def test_the_error_is_that_of_what_was_not_clipped(bench: Bench) -> None:
    """Before an image is rounded to bytes and clipped: what lies beyond black and white counts."""
    _, found, tensors = bench.of(**NET, matching="direct")
    shown = (tensors["stitched"].double() - tensors["input"].double()) / 255
    assert found.record["error"]["value"] >= float(shown.square().mean()) - 1e-4
    low, high = found.record["error"]["interval"]
    assert low < found.record["error"]["value"] < high


def test_one_image_has_no_interval(bench: Bench) -> None:
    job, *_ = bench.of(**NET, matching="direct")
    found = bench.do(Job("pictures", {**job.content, "images": 1}, {}, job.needs, job.where))
    assert (found.record["n"], found.record["error"]["n"]) == (1, 1)
    assert found.record["error"]["interval"] == [None, None]
    (row,) = kind_named("pictures").rows(found.record)
    assert (row["low"], row["high"]) == (None, None)


def test_an_autoencoder_and_a_classifier(bench: Bench) -> None:
    """The autoencoder answers with images, the classifier does not; an image arrives at it all the same."""
    one, *_ = bench.of(**AUTO, matching="direct")
    other, *_ = bench.of(**NET, matching="direct")
    front = {name: one.content[name] for name in ("sender", "sender_cut")}
    mixed = Job(
        "pictures",
        {**other.content, **front, "sender_cut": "encoder.pool1"},
        {},
        (*one.needs, *other.needs),
        other.where,
    )
    found = bench.do(mixed)
    assert found.record["rows"] == ["input", "sender itself", "stitched"]


def test_rows_of_the_table(bench: Bench) -> None:
    _, found, _ = bench.of(**AUTO, matching="direct")
    error = found.record["error"]
    assert list(kind_named("pictures").rows(found.record)) == [
        {
            "figure": "reconstruction_error",
            "value": error["value"],
            "low": error["interval"][0],
            "high": error["interval"][1],
            "n": 8,
            "status": found.record["status"],
        }
    ]
    assert list(kind_named("pictures").rows({**found.record, "error": None})) == []


def test_the_same_again_is_the_same_file(bench: Bench) -> None:
    job, found, _ = bench.of(**NET, matching="quick")
    bench.desk._models.clear()
    bench.desk._halves.clear()
    bench.desk._data.clear()
    again = bench.do(job)
    assert (again.tensors, again.record) == (found.tensors, found.record)


# ---- what cannot be shown


@pytest.mark.parametrize(
    ("answer", "arrives", "matching", "message"),
    [
        ((10,), (8, 7, 7), "direct", "but it answers with 10, and at 'c' arrives 8x7x7"),
        ((64, 7, 7), (128,), "direct", "but it answers with 64x7x7, and at 'c' arrives 128"),
        ((1, 28, 28), (3, 28, 28), "task", "'task' is for receivers that answer with scores of classes"),
    ],
)
def test_nothing_to_look_at(answer: Any, arrives: Any, matching: str, message: str) -> None:
    with pytest.raises(ExperimentError, match=message):
        showing(answer, arrives, "c", matching=matching)


def test_a_job_that_was_not_planned_is_refused_too(bench: Bench) -> None:
    job, *_ = bench.of(**NET, matching="direct")
    wrong = {**job.content, "receiver_cut": "layer1"}
    with pytest.raises(
        ExperimentError, match="Expected \\[\\[pictures\\]\\] to have a receiver that answers with images"
    ):
        bench.do(Job("pictures", wrong, {}, job.needs, job.where))


def test_data_that_are_no_images() -> None:
    with pytest.raises(ExperimentError, match="images of 1 or 3 channels, but sound has inputs of 16000"):
        require_images((16000,), "sound")


def test_an_image_of_another_size_has_no_error() -> None:
    """A map of three channels somewhere within can be looked at, but not be compared."""
    net = torch.nn.Sequential(torch.nn.Conv2d(1, 3, 3, stride=2), torch.nn.Flatten(), torch.nn.Linear(27, 2))
    half = sr.split(net, "0", torch.zeros(2, 1, 8, 8))
    pixels = torch.randn(20, 1, 8, 8, generator=torch.Generator().manual_seed(0))
    samples = sr.Samples("grey", pixels, torch.arange(20) % 2, torch.arange(20), classes=2)
    found = _rows(sr.match(half, half, samples, matching=sr.Direct()), samples, "arrival")
    assert [tuple(row.shape) for row in found.values()] == [(20, 1, 8, 8), (20, 3, 3, 3)]
    assert _error(found, samples) is None


# ---- as a study


def test_in_a_store(tmp_path: Path, rows: Callable[[Path], list[tuple[Any, ...]]]) -> None:
    (tmp_path / "study.toml").write_text(STUDY)
    experiment = Experiment.read(tmp_path / "study.toml")
    experiment = experiment.model_copy(update={"pictures": experiment.pictures[1:]})
    for place, workers in (("one", 1), ("other", 2)):
        done = run(experiment, tmp_path / place, engine=Local(workers))
        assert done.did == 4
        assert not done.failed
    assert rows(tmp_path / "one") == rows(tmp_path / "other")
    with Store(tmp_path / "one") as store:
        _, told = table(store)
    errors = [row for row in told if row["figure"] == "reconstruction_error"]
    assert [(row["kind"], row["matching"], row["receiver_cut"]) for row in errors] == [
        ("pictures", "direct", "before:conv1"),
        ("pictures", "quick", "before:conv1"),
    ]
