"""Pictures: rows of images of autoencoders that are stitched together, and of what arrives at a first layer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import seamripper as sr
from in_process import InProcess
from seamripper._files import load_tensors
from seamripper.data.paired import Paired
from seamripper.errors import ExperimentError
from seamripper.estimate import Estimate, over_seeds, proportion
from seamripper.experiment import Experiment, Local, Store, parts, run, table
from seamripper.experiment.identity import Identities
from seamripper.experiment.images import FIGURES, as_bytes, nearest, resize_to
from seamripper.experiment.job import Graph, Job
from seamripper.experiment.parts.pictures import (
    image_error,
    image_rows,
    require_classes_of,
    require_images,
    require_judged,
    require_mapping,
    what_shows,
)
from seamripper.experiment.plan import expand
from seamripper.experiment.worker import Worker
from seamripper.matching import ClassMapping, Direct, Task
from seamripper.models import predict

pytestmark = pytest.mark.slow

STUDY = """
[data]
name = "digits/digit"
n = 200
n_test = 40

[models.auto]
train = "zoo:autoencoder?channels=3"
data = "digits/greyscale"
n = 400
training = "?lr=0.002&batch=16&epochs=5"
seeds = [0, 1]

[models.net]
train = "zoo:R_1111?width=0.125"
data = "digits/digit"
n = 200
training = "?epochs=1"
seeds = [0, 1]

[matchings]
quick = "task?init=direct&epochs=1"
slow = "regression?init=direct&epochs=1"

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

APART = """
[data]
name = "digits/colour-only"
n = 240
n_test = 100

[models.theirs]
train = "zoo:autoencoder?channels=3"
data = "digits/colour-only"
n = 240
training = "?lr=0.002&batch=16&epochs=2"

[models.own]
train = "zoo:autoencoder?channels=3"
data = "digits/greyscale"
n = 400
training = "?lr=0.002&batch=16&epochs=4"

[models.judge]
train = "zoo:lenet?channels=3"
data = "digits/greyscale"
training = "?lr=0.05&epochs=6"
seeds = [3, 0, 1]

[matchings]
classes = "class_mapping?label_map=1,2,3,4,5,6,7,8,9,0&optimiser=adam&lr=0.01&weight_decay=0.0&epochs=10&batch=32"
embeddings = "embedding_mapping?lr=5e-6&epochs=20&batch=64"

[[pictures]]
senders = ["theirs"]
receivers = ["own"]
cuts = ["encoder"]
receiver_data = {name = "digits/greyscale", n = 300, n_test = 90}
matchings = ["classes", "embeddings"]
judge = "judge"
n = 6
"""
"""Patches of one colour into grey digits: nothing that a sample of one set shows is in one of the other."""
PAIRED = (1, 2, 3, 4, 5, 6, 7, 8, 9, 0)

DETAIL = ("detail", "detail_input")


class Bench:
    """Carries out the jobs of the study in this process."""

    def __init__(self, folder: Path, study: str = STUDY) -> None:
        (folder / "study.toml").write_text(study)
        experiment = Experiment.read(folder / "study.toml")
        self.graph: Graph = expand(experiment, Identities({}, folder=str(folder)))
        self.worker = Worker(folder)
        self.found: dict[str, Any] = {}
        for job in self.graph:
            self.found[job.key] = self.do(job)

    def do(self, job: Job) -> Any:
        self.worker.key, self.worker.where, self.worker.inputs = (
            job.key,
            job.where,
            {need: self.found[need].tensors for need in job.needs},
        )
        return parts[job.kind].run(job.content, self.worker)

    def of(self, **labels: Any) -> tuple[Job, Any, dict[str, torch.Tensor]]:
        (job,) = [j for j in self.graph if j.kind == "pictures" and labels.items() <= dict(j.labels).items()]
        found = self.found[job.key]
        tensors, record = load_tensors(self.worker.tensors.get(found.tensors["pictures"]), kind="pictures")
        assert record["key"] == job.key
        return job, found, tensors

    def halves(self, job: Job) -> tuple[sr.Split, sr.Split, sr.Samples, sr.Samples]:
        self.worker.key, self.worker.where, self.worker.inputs = (
            job.key,
            job.where,
            {need: self.found[need].tensors for need in job.needs},
        )
        fit, test = self.worker.samples(job.content["fit"]), self.worker.samples(job.content["test"])
        sender, receiver = (
            self.worker.half(job.content[r], job.content[f"{r}_cut"], fit) for r in ("sender", "receiver")
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
    match = sr.match(sender, receiver, fit, matching=Direct())
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
    way: Any = Direct() if matching == "direct" else Task(sr.Training(epochs=1), init="direct")
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
    assert found.record["error"]["interval"] is None
    rows = list(parts["pictures"].rows(found.record))
    assert [row["figure"] for row in rows] == ["reconstruction_error", *DETAIL]
    assert {(row["low"], row["high"]) for row in rows} == {(None, None)}


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
    first, *rest = parts["pictures"].rows(found.record)
    assert first == {
        "figure": "reconstruction_error",
        "value": error["value"],
        "low": error["interval"][0],
        "high": error["interval"][1],
        "n": 8,
        "unit": "images",
        "status": found.record["status"],
    }
    assert [row["figure"] for row in rest] == [*DETAIL]
    before = {name: value for name, value in found.record.items() if name != "detail"}
    assert list(parts["pictures"].rows({**before, "error": None})) == []


def test_detail_is_how_much_neighbouring_pixels_differ(bench: Bench) -> None:
    """Of a layer with few positions, each copied into a square of pixels, an image has less than what was shown."""
    _, found, tensors = bench.of(**NET, matching="direct")
    details = {name: estimate["value"] for name, estimate in found.record["detail"].items()}
    assert 0 < details["stitched"] < details["input"]
    shown = tensors["input"].double()
    steps = [(shown[:, :, 1:] - shown[:, :, :-1]).square(), (shown[..., 1:] - shown[..., :-1]).square()]
    variance = shown.flatten(2).var(2, correction=0).mean(1)
    by_hand = sum(step.flatten(1).mean(1) for step in steps) / (4 * variance)
    assert details["input"] == pytest.approx(float(by_hand.mean()), rel=1e-3)


def test_the_same_again_is_the_same_file(bench: Bench) -> None:
    job, found, _ = bench.of(**NET, matching="quick")
    bench.worker._models.clear()
    bench.worker._halves.clear()
    bench.worker._data.clear()
    again = bench.do(job)
    assert (again.tensors, again.record) == (found.tensors, found.record)


# ---- two data sets


@pytest.fixture(scope="module")
def apart(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(tmp_path_factory.mktemp("apart"), APART)


@pytest.fixture(scope="module")
def again(apart: Bench) -> tuple[sr.Match, sr.Samples, sr.Samples, sr.Samples]:
    """The class mapping by the library's own functions; the two test sets, and the receiver's train set."""
    theirs, own = (
        [sr.load_data(name, split, n=n) for split, n in (("train", train), ("test", test))]
        for name, train, test in (("digits/colour-only", 240, 100), ("digits/greyscale", 300, 90))
    )
    job, *_ = apart.of(matching="classes")
    apart.worker.key, apart.worker.where, apart.worker.inputs = (
        job.key,
        job.where,
        {need: apart.found[need].tensors for need in job.needs},
    )
    sender, receiver = (
        sr.split(apart.worker.model(job.content[role]), "encoder", part[0].batch(slice(0, 2)))
        for role, part in (("sender", theirs), ("receiver", own))
    )
    training = sr.Training(lr=0.01, weight_decay=0.0, epochs=10, batch=32)
    # As many of each: 240 of the receiver's 300.
    fit = Paired(theirs[0], own[0].draw(240, seed=0))
    return sr.match(sender, receiver, fit, matching=ClassMapping(training, PAIRED)), theirs[1], own[1], own[0]


def light(values: torch.Tensor, samples: sr.Samples) -> Any:
    """Black is 0 and white 1, a row an image."""
    return values.double().numpy().reshape(len(values), -1) * samples.std + samples.mean


def test_each_row_is_of_its_own_samples(apart: Bench, again: Any) -> None:
    match, theirs, own, _ = again
    _, found, tensors = apart.of(matching="classes")
    assert found.record["rows"] == ["input", "sender itself", "stitched", "receiver itself"]
    inputs, images = theirs.batch(slice(0, 6)), own.batch(slice(0, 6))
    with torch.no_grad():
        stitched = match(images, inputs)
        wanted = {
            "input": as_bytes(inputs, theirs),
            "sender itself": as_bytes(match.sender.answer(inputs), theirs),
            "stitched": as_bytes(stitched, own),
            "receiver itself": as_bytes(match.receiver.answer(images), own),
        }
    for name, row in wanted.items():
        assert torch.equal(tensors[name], row), name
    error = ((light(stitched, own) - light(inputs, theirs)) ** 2).mean(1)
    assert found.record["error"]["value"] == pytest.approx(error.mean())
    assert found.record["figures"] == pytest.approx(dict(match.figures))


def test_what_a_judge_says_by_hand(apart: Bench, again: Any) -> None:
    """Over all test samples, with distances one by one."""
    match, theirs, own, train = again
    job, found, _ = apart.of(matching="classes")
    judge = apart.worker.model(job.content["judge"]).module
    with torch.no_grad():
        made = match(own.batch(slice(0, 2)), theirs.batch(slice(None)))
    scores = predict(judge, sr.Samples("made", made, theirs.labels, theirs.ids, 10)).double().softmax(1)
    real = predict(judge, own).double().softmax(1)
    known = light(train.batch(slice(None)), own)

    def apart_from(rows: Any) -> Any:
        return [min(np.sqrt(((row - one) ** 2).sum()) for one in known) for row in rows]

    images, grey = light(made, own), light(own.batch(slice(None)), own)
    with torch.no_grad():
        rebuilt = light(match.receiver.answer(own.batch(slice(None))), own)
    wanted = {
        "judge_confidence": over_seeds(scores.amax(1).tolist()),
        "judge_confidence_own": over_seeds(real.amax(1).tolist()),
        "nearest": over_seeds(apart_from(images)),
        "nearest_own": over_seeds(apart_from(grey)),
        "nearest_input": over_seeds(apart_from(light(theirs.batch(slice(None)), theirs))),
        "contrast": over_seeds(images.std(1).tolist()),
        "contrast_own": over_seeds(grey.std(1).tolist()),
        "variety": Estimate(images.var(0).sum() / grey.var(0).sum(), n=100),
        "reconstructs": Estimate(1 - ((rebuilt - grey) ** 2).sum(1).mean() / grey.var(0).sum(), n=90),
    }
    hits = int((scores.argmax(1) == (theirs.labels + 1) % 10).sum())
    wanted["judged_as_paired"] = proportion(hits, 100)
    assert set(found.record["judged"]) == set(wanted)
    for name, estimate in wanted.items():
        told = found.record["judged"][name]
        numbers = [told["value"], *(told["interval"] or ()), told["n"]]
        ends = (estimate.low, estimate.high) if estimate.has_interval else ()
        assert numbers == pytest.approx([estimate.value, *ends, estimate.n], rel=1e-6), name
    assert {told["n"] for name, told in found.record["judged"].items() if name.endswith("own")} == {90}


def test_class_mapping_makes_images_of_the_paired_class(apart: Bench) -> None:
    """More often than by chance, a tenth, after a moment's training; nearer to digits than patches are, and blurred."""
    judged = apart.of(matching="classes")[1].record["judged"]
    assert judged["judged_as_paired"]["interval"][0] > 0.2
    assert judged["nearest"]["value"] < judged["nearest_input"]["value"] / 2
    assert judged["contrast"]["interval"][1] < judged["contrast_own"]["interval"][0]


def test_embedding_mapping_knows_of_no_classes(apart: Bench) -> None:
    _, found, tensors = apart.of(matching="embeddings")
    assert found.record["status"] == "ok"
    assert found.record["figures"]["loss_end"] < found.record["figures"]["loss_start"]
    judged = found.record["judged"]
    classes = apart.of(matching="classes")[1].record["judged"]
    assert judged["judged_as_paired"]["interval"][1] < classes["judged_as_paired"]["interval"][0]
    assert judged["nearest"]["value"] < judged["nearest_input"]["value"] / 2
    assert list(tensors["stitched"].shape) == [6, 3, 28, 28]


def test_rows_of_the_table_with_a_judge(apart: Bench) -> None:
    _, found, _ = apart.of(matching="classes")
    rows = list(parts["pictures"].rows(found.record))
    assert [row["figure"] for row in rows] == ["reconstruction_error", *DETAIL, *FIGURES]
    alone = [row["figure"] for row in rows if row["low"] is None]
    assert alone == ["variety", "reconstructs"], "ratios over all images have no interval"
    assert all(row["low"] <= row["value"] <= row["high"] for row in rows if row["low"] is not None)
    assert {row["status"] for row in rows} == {"ok"}


def test_the_judge_is_of_the_receivers_seed_and_no_other_is_trained(apart: Bench) -> None:
    trained = [(job.labels["model"], job.labels["seed"]) for job in apart.graph if job.kind == "train"]
    assert trained == [("theirs", 0), ("own", 0), ("judge", 0)]
    job, *_ = apart.of(matching="classes")
    assert job.needs[-1] == job.content["judge"]["trained"]


def test_a_judge_of_one_data_set(apart: Bench) -> None:
    """Both sides are shown the same: the inputs are real images themselves, and are not told of twice."""
    job, *_ = apart.of(matching="embeddings")
    content = {k: v for k, v in job.content.items() if not k.startswith("receiver_") or k == "receiver_cut"}
    own = {"fit": job.content["receiver_fit"], "test": job.content["receiver_test"]}
    same = Job("pictures", {**content, **own, "sender": content["receiver"]}, {}, job.needs, job.where)
    found = apart.do(same)
    assert found.record["rows"] == ["input", "sender itself", "receiver itself", "stitched"]
    assert list(found.record["judged"]) == [name for name in FIGURES if name != "nearest_input"]
    assert found.record["judged"]["nearest_own"] == apart.of(matching="classes")[1].record["judged"]["nearest_own"]


@pytest.fixture
def photographs(tmp_path: Path) -> Path:
    """A folder of images of 32x32 in two classes."""
    from PIL import Image

    pixels = np.random.RandomState(0).randint(0, 256, (24, 32, 32, 3), dtype=np.uint8)
    for k, image in enumerate(pixels):
        place = tmp_path / "photographs" / ("train" if k < 16 else "test") / f"kind {k % 2}"
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(place / f"{k}.png")
    return tmp_path


SIZES = """
[models.theirs]
load = "zoo:autoencoder?channels=3&size=32"

[models.own]
load = "zoo:autoencoder?channels=3"

[models.judge]
load = "zoo:lenet?channels=3"

[matchings]
quick = "embedding_mapping?epochs=1"
classes = "class_mapping?epochs=1"

[[pictures]]
senders = ["theirs"]
receivers = ["own"]
cuts = ["encoder"]
data = "folder:photographs?size=32"
receiver_data = "digits/greyscale"
matchings = ["quick", "classes"]
judge = "judge"
n = 3
"""


def test_images_of_another_shape(photographs: Path) -> None:
    """32x32 into 28x28, as CIFAR-10 into MNIST; by an engine, and in its table."""
    (photographs / "study.toml").write_text(SIZES)
    experiment = Experiment.read(photographs / "study.toml")
    done = run(experiment, photographs / "store", engine=Local(1))
    assert (done.did, done.failed) == (2, ())
    with Store(photographs / "store") as store:
        _, told = table(store)
    # The two are not of one shape, so there is no error between them.
    assert [row["figure"] for row in told if row["matching"] == "quick"] == [*DETAIL, *FIGURES]
    assert {(row["data"], row["receiver_data"], row["judge"]) for row in told} == {
        ("folder:photographs?size=32", "digits/greyscale", "judge")
    }
    by_name = {row["figure"]: row for row in told if row["matching"] == "classes"}
    assert (by_name["nearest"]["n"], by_name["nearest_input"]["n"], by_name["nearest_own"]["n"]) == (8, 8, 360)


def test_images_are_brought_to_a_shape() -> None:
    images = torch.rand(2, 3, 4, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    assert resize_to(images, (3, 4, 6)) is images
    grey = images.mean(1, keepdim=True)
    assert torch.equal(resize_to(images, (1, 4, 6)), grey)
    assert torch.equal(resize_to(grey, (3, 4, 6)), grey.expand(-1, 3, -1, -1))
    halved = resize_to(images, (3, 2, 3))
    torch.testing.assert_close(halved, images.unflatten(2, (2, 2)).unflatten(4, (3, 2)).mean((3, 5)))


def test_the_nearest_of_many() -> None:
    images, known = (torch.rand(n, 5, generator=torch.Generator().manual_seed(n)).double() for n in (7, 40))
    wanted = [min(float((image - one).norm()) for one in known) for image in images]
    assert nearest(images, known).tolist() == pytest.approx(wanted)
    assert float(nearest(known[:1], known)) == pytest.approx(0, abs=1e-6)


# ---- what cannot be shown


@pytest.mark.parametrize(
    ("answer", "arrives", "matching", "message"),
    [
        ((10,), (8, 7, 7), "direct", "but it answers with 10, and at 'c' arrives 8x7x7"),
        ((64, 7, 7), (128,), "direct", "but it answers with 64x7x7, and at 'c' arrives 128"),
        ((1, 28, 28), (3, 28, 28), "task", "'task' is for receivers that answer with scores of classes"),
        ((10,), (3, 28, 28), "class_mapping", "'class_mapping' is for receivers that answer with images, and this one"),
    ],
)
def test_nothing_to_look_at(answer: Any, arrives: Any, matching: str, message: str) -> None:
    with pytest.raises(ExperimentError, match=message):
        what_shows(answer, arrives, "c", matching=matching)


def test_samples_that_do_not_belong_together_are_for_mappings() -> None:
    require_mapping("class_mapping")
    require_mapping("embedding_mapping")
    with pytest.raises(
        ExperimentError, match="'direct' depends on what both networks make of the same samples, and with"
    ):
        require_mapping("direct")


@pytest.mark.parametrize("label_map", [None, (0, 2), (2, 2)])
def test_classes_that_can_be_paired(label_map: tuple[int, ...] | None) -> None:
    require_classes_of(label_map, sender=2, receiver=3)


@pytest.mark.parametrize(
    ("label_map", "said"), [(None, "their own numbers"), ((0, 1), r"\[0, 1\]"), ((0, 1, 2, 9), r"\[0, 1, 2, 9\]")]
)
def test_classes_that_cannot_be_paired(label_map: tuple[int, ...] | None, said: str) -> None:
    message = rf"each of the 4 classes of the sender's data with one of the 3 .*\(0 … 2\), but got .*{said}\."
    with pytest.raises(ExperimentError, match=message):
        require_classes_of(label_map, sender=4, receiver=3)


def test_a_judge_looks_at_images_that_it_knows() -> None:
    require_judged((3, 28, 28), [3, 28, 28])
    with pytest.raises(ExperimentError, match="to be 3x28x28, as the receiver's samples are, but they are 3x7x7"):
        require_judged((3, 7, 7), (3, 28, 28))


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
    rows = image_rows(sr.match(half, half, samples, matching=Direct()), samples, samples, "arrival", apart=False)
    assert [tuple(row.shape) for row in rows.values()] == [(20, 1, 8, 8), (20, 3, 3, 3)]
    assert image_error(rows, samples) is None


# ---- as a study


def test_in_a_store(tmp_path: Path, rows: Callable[[Path], list[tuple[Any, ...]]]) -> None:
    (tmp_path / "study.toml").write_text(STUDY)
    experiment = Experiment.read(tmp_path / "study.toml")
    experiment = experiment.model_copy(update={"pictures": experiment.pictures[1:]})
    for place, engine in (("one", InProcess()), ("other", Local(2))):
        done = run(experiment, tmp_path / place, engine=engine)
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
