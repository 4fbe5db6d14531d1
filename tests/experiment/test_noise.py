"""Noise in the place of a sender, controls without stitches, and ranks: what the library finds for the same words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import nn

import seamripper as sr
from in_process import InProcess
from seamripper.data import clustered_noise
from seamripper.data.paired import Paired
from seamripper.errors import CutError, DataError, ExperimentError
from seamripper.estimate import over_seeds, proportion
from seamripper.experiment import (
    ControlPart,
    Data,
    Experiment,
    Network,
    NoisePart,
    StitchPart,
    Store,
    parts,
    run,
    table,
)
from seamripper.experiment.identity import Identities
from seamripper.experiment.job import Graph, Job
from seamripper.experiment.parts.base import rank_rows
from seamripper.experiment.parts.noise import over_clusters
from seamripper.experiment.plan import expand
from seamripper.experiment.reading import Reading
from seamripper.experiment.worker import Worker
from seamripper.matching import Direct, Task
from seamripper.report.appendix import all_figures

pytestmark = pytest.mark.slow

STUDY = """
[data]
name = "digits/digit"
n = 200
n_test = 150

[models.digit]
train = "zoo:R_1111?width=0.125"
data = "digits/digit"
n = 600
training = "?epochs=3"
seeds = [0, 1]

[matchings]
fast = "task?epochs=8&lr=0.01&batch=64"
turned = "task?label_map=3,2,1,0&epochs=8&lr=0.01&batch=64"

[[noise]]
receivers = ["digit/0"]
cuts = ["layer3"]
radius = [0.1, 0.6, 3.0]
classes = [4, 10]
per_class = 40
per_class_test = 30
matchings = ["fast"]
rank = true

[[noise]]
receivers = ["digit/0"]
cuts = ["layer3"]
per_class = 40
per_class_test = 30
classes = [4]
matchings = ["turned", "fast"]
seeds = [5]
freeze = ["weights"]

[[stitch]]
senders = ["digit/1"]
receivers = ["digit/0"]
pairing = "all"
cuts = ["layer2"]
matchings = ["direct"]
rank = true

[[control]]
senders = ["digit/1"]
receivers = ["digit/0"]
pairing = "all"
cuts = ["layer2"]
matchings = ["direct"]
controls = ["random_sender", "shuffled"]
"""
CLASSES = (4, 10)
RADII = (0.1, 0.6, 3.0)


class Study:
    """The study above, done by an engine; a result is found by its kind and labels."""

    def __init__(self, folder: Path) -> None:
        (folder / "study.toml").write_text(STUDY)
        self.done = run(Experiment.read(folder / "study.toml"), folder / "store", engine=InProcess())
        self.folder = folder / "store"
        with Store(self.folder) as store:
            self.columns, self.rows = table(store)
            self.goals = [(labels, store.result(key)) for key, labels in store.goals("study")]

    def of(self, kind: str, **labels: Any) -> Any:
        (found,) = [entry for said, entry in self.goals if entry.kind == kind and labels.items() <= said.items()]
        return found

    def figures(self, **labels: Any) -> dict[str, dict[str, Any]]:
        return {row["figure"]: row for row in self.rows if labels.items() <= row.items()}

    def tensors(self, name: str) -> Path:
        with Store(self.folder) as store:
            return store.tensors.get(name)

    def network(self, seed: int) -> sr.Model:
        return sr.load(str(self.tensors(self.of("train", seed=seed).tensors["model"])))


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """As a worker computes: sums that are added up in another order differ in the last digits."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Study:
    return Study(tmp_path_factory.mktemp("noise"))


class Copy(nn.Module):
    """Activations that are the inputs."""

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return inputs.clone()


def from_noise(receiver: sr.Split, *, radius: float, classes: int, **more: Any) -> tuple[sr.Match, sr.Samples]:
    """The match by a direct call, and the test samples; images that the receiver is never shown stand beside."""
    parts = []
    for split, each in (("train", 40), ("test", 30)):
        seed = more.get("seed", 0)
        noise = clustered_noise(
            receiver.cut.shape, classes=classes, radius=radius, per_class=each, split=split, seed=seed
        )
        images = sr.load_data("digits/digit", "train", n=len(noise))
        parts.append(Paired(noise, replace(images, labels=noise.labels, ids=noise.ids, classes=classes)))
    fit, test = parts
    sender = sr.split(nn.Sequential(Copy(), nn.Flatten()), "0", fit.sender.batch(slice(0, 2)))
    given: dict[str, Any] = {"matching": Task(sr.Training(epochs=8, lr=0.01, batch=64)), **more}
    return sr.match(sender, receiver, fit, **given), test


def answers(match: sr.Match, test: sr.Samples) -> torch.Tensor:
    with torch.no_grad():
        return match(test.receiver.batch(slice(None)), test.sender.batch(slice(None)))


def ranks(outputs: torch.Tensor) -> tuple[int, float]:
    """Numerical rank of the covariance above 1e-3 of its largest singular value, and effective rank, in plain numpy."""
    x = outputs.flatten(1).double().numpy()
    x = x - x.mean(0)
    values = np.linalg.svd(x.T @ x / (len(x) - 1), compute_uv=False)
    sigma = np.linalg.svd(x, compute_uv=False)
    p = sigma[sigma > 1e-6 * sigma[0]] / sigma.sum()
    return int((values > 1e-3 * values[0]).sum()), float(np.exp(-(p * np.log(p)).sum()))


# ---- noise


def test_the_engine_does_all_of_it(done: Study) -> None:
    assert not done.done.failed
    kinds = [entry.kind for _, entry in done.goals]
    assert {kind: kinds.count(kind) for kind in kinds} == {"train": 2, "stitch": 1, "control": 2, "noise": 8}
    assert {"radius", "classes", "receiver_cut"} <= set(done.columns)


def test_tight_clusters_stitch_at_a_deep_cut_and_wide_ones_do_not(done: Study) -> None:
    for classes in CLASSES:
        found = [done.figures(kind="noise", radius=r, classes=classes, freeze="all")["top1"] for r in RADII]
        assert [(row["n"], row["unit"]) for row in found] == [(classes, "clusters")] * 3
        tight, _, wide = (row["value"] for row in found)
        assert tight > 0.95
        assert wide < 0.6
        assert all(row["low"] <= row["value"] <= row["high"] for row in found)
        assert {row["status"] for row in found} == {"ok"}


@pytest.mark.parametrize("classes", CLASSES)
@pytest.mark.parametrize("radius", RADII)
def test_noise_is_what_a_match_from_noise_finds(done: Study, radius: float, classes: int) -> None:
    receiver = sr.split(done.network(0), "layer3", torch.zeros(2, 3, 28, 28))
    match, test = from_noise(receiver, radius=radius, classes=classes)
    best = answers(match, test).topk(5).indices == test.labels[:, None]
    found = done.figures(kind="noise", radius=radius, classes=classes, freeze="all")
    assert set(found) == {"top1", "top5", "rank", "effective_rank", "falling", "loss_end"}
    # To the last: images stand beside the one and zeros beside the other, and neither are looked at.
    for name, right in (("top1", best[:, 0]), ("top5", best.any(1))):
        assert found[name]["value"] == proportion(int(right.sum()), 30 * classes).value
    with torch.no_grad():
        outputs = receiver.model.module.get_submodule("layer4.0.conv1")(match.layer(test.sender.batch(slice(None))))
    rank, effective = ranks(outputs)
    assert (found["rank"]["value"], found["rank"]["n"]) == (rank, 30 * classes)
    assert found["effective_rank"]["value"] == pytest.approx(effective, rel=1e-3)
    record = done.of("noise", radius=radius, classes=classes, freeze="all").record
    assert record["rank"]["layer"] == "layer4.0.conv1"


def test_what_a_label_map_asks_for_counts_as_right(done: Study) -> None:
    plain, turned = (done.figures(kind="noise", matching=word, freeze="weights") for word in ("fast", "turned"))
    assert plain["top1"]["value"] > 0.9
    assert turned["top1"]["value"] > 0.9
    assert set(turned) == {"top1", "top5", "falling", "loss_end"}


def test_statistics_of_the_receiver_adapt_where_they_may(done: Study) -> None:
    network = done.network(0)
    receiver = sr.split(network, "layer3", torch.zeros(2, 3, 28, 28))
    match, test = from_noise(receiver, radius=0.1, classes=4, seed=5, freeze="weights")
    found = done.of("noise", matching="fast", freeze="weights")
    assert found.record["figures"]["activations"] == "computed at each step (BN statistics adapt)"
    right = answers(match, test).argmax(1) == test.labels
    assert found.record["top1"] == over_clusters(right, test.labels).as_record()


def test_the_clusters_are_the_units_of_the_interval() -> None:
    """Of ten clusters, one that is always missed: as many samples as one likes tell no more of the next cluster."""
    few, many = (
        over_clusters(torch.arange(10).repeat_interleave(n) > 0, torch.arange(10).repeat_interleave(n))
        for n in (5, 500)
    )
    assert few.value == many.value == 0.9
    assert (few.low, few.high) == pytest.approx((many.low, many.high))
    shares = over_seeds([0.0] + [1.0] * 9)
    assert few.low == pytest.approx(shares.low)
    assert (few.n, few.unit) == (10, "clusters")
    alone = over_clusters(torch.arange(1000) > 99, torch.arange(1000))
    assert alone == proportion(900, 1000), "one sample of each"


def test_the_report_tells_noise_of_one_radius_from_that_of_another(done: Study) -> None:
    section = all_figures(Reading.open(done.folder))
    assert section is not None
    sheet: Any = section.figures[0]
    told = [row[1:3] for row in sheet.rows if row[0] == "noise" and row[4] == "top1"]
    assert len(set(told)) == len(told) == 8
    assert ("clustered noise → digit/0, radius 0.6, classes 4, fast, all, seed 0", "layer3") in told


def test_noise_costs_by_samples_and_epochs(tmp_path: Path) -> None:
    graph = graph_of(noise=(noising(classes=(5,), per_class=20, per_class_test=10),))
    (job,) = of_kind(graph, "noise")
    cost = parts["noise"].cost
    # Task matching has ten epochs.
    assert cost(job.content) == 5 * (20 * 11 + 10)
    assert cost({**job.content, "classes": 10}) == 2 * cost(job.content)


def test_no_top5_among_five_classes_and_ranks_of_nothing_are_null(tmp_path: Path) -> None:
    """A receiver whose first layer behind the cut is dead puts out constants, which have no effective rank."""
    (tmp_path / "mine.py").write_text(
        "from torch import nn\n\n\ndef dead():\n"
        "    net = nn.Sequential(nn.Flatten(), nn.Linear(12, 6), nn.Linear(6, 6), nn.Linear(6, 5))\n"
        "    net[2].weight.data.zero_()\n    return net\n"
    )
    models = {"dead": Network(load="mine.py:dead?input=3x2x2")}
    asked = noising(receivers=("dead",), cuts=("1",), rank=True)
    graph = expand(
        Experiment(name="dead", models=models, noise=(asked,), folder=str(tmp_path)),
        Identities({}, folder=str(tmp_path)),
    )
    (job,) = graph
    # No gradient reaches a stitch through a layer that is dead, so it is left as it is.
    job.content["matching"]["training"]["epochs"] = 0
    worker = Worker(tmp_path)
    worker.key, worker.where, worker.inputs = job.key, job.where, {}
    record = parts["noise"].run(job.content, worker).record
    assert record["top5"] is None
    assert (record["rank"]["rank"], record["rank"]["effective"]) == (0, None)
    rows = {row["figure"]: row["value"] for row in parts["noise"].rows(record)}
    ended = {name: record["figures"][name] for name in ("loss_end", "falling") if name in rows}
    assert rows == {"top1": record["top1"]["value"], "rank": 0.0, "effective_rank": None} | ended


# ---- ranks beside a stitch


def test_ranks_beside_a_stitch_are_those_of_the_first_layers_outputs(done: Study) -> None:
    test = sr.load_data("digits/digit", "test", n=150)
    sender, receiver = (sr.split(done.network(seed), "layer2", test.batch(slice(0, 2))) for seed in (1, 0))
    entry = done.of("stitch")
    kept = load_file(done.tensors(entry.tensors["stitch"]))
    layer = receiver.model.module.get_submodule("layer3.0.conv1")
    # The stitch by hand: one linear map over channels, the same at each position.
    weight, bias = kept["stitch.linear.weight"], kept["stitch.linear.bias"]
    with torch.no_grad():
        images = test.batch(slice(None))
        sent = torch.einsum("oc,nchw->nohw", weight, sender.head(images)) + bias[:, None, None]
        stitched, native = ranks(layer(sent)), ranks(layer(receiver.head(images)))
    found = done.figures(kind="stitch")
    assert (found["rank"]["value"], found["rank_native"]["value"]) == (stitched[0], native[0])
    assert found["effective_rank"]["value"] == pytest.approx(stitched[1], rel=1e-3)
    assert found["effective_rank_native"]["value"] == pytest.approx(native[1], rel=1e-3)
    assert {found[name]["n"] for name in ("rank", "rank_native", "effective_rank")} == {150}
    assert entry.record["rank"]["layer"] == entry.record["rank_native"]["layer"] == "layer3.0.conv1"
    # And what it always had.
    assert {"top1", "penalty", "agreement", "receiver_own"} <= set(found)


def test_a_record_without_ranks_has_no_rows_of_them() -> None:
    assert list(rank_rows({"result": {}})) == []
    assert [row["figure"] for row in rank_rows({"rank_native": {"rank": 3, "effective": None, "n": 9}})] == [
        "rank_native",
        "effective_rank_native",
    ]


# ---- which jobs there are

R = "zoo:R_1111?width=0.125"
NETWORK: dict[str, Any] = {"train": R, "data": "digits/digit", "n": 64, "training": "?epochs=1", "seeds": (0, 1)}
MODELS = {
    "a": Network(**NETWORK),
    "theirs": Network(load=R),
    "lenet": Network(load="zoo:lenet?channels=1&classes=7"),
    "auto": Network(load="zoo:autoencoder?channels=1"),
}
WAYS = {"near": "task?init=direct", "same": "task?init=identity"}
OTHERS: dict[str, Any] = {"senders": ("a",), "receivers": ("a",), "pairing": "others", "cuts": ("layer1",)}
MEMO: dict[str, Any] = {}


def noising(**given: Any) -> NoisePart:
    return NoisePart(**{"receivers": ("a/0",), "cuts": ("layer3",), "per_class": 4, "per_class_test": 2, **given})


def graph_of(**given: Any) -> Graph:
    data = Data(name="digits/digit", n=64, n_test=64)
    whole: dict[str, Any] = {"name": "study", "data": data, "models": MODELS, "matchings": WAYS, **given}
    return expand(Experiment(**whole), Identities(MEMO))


def of_kind(graph: Graph, kind: str) -> list[Job]:
    return [job for job in graph if job.kind == kind]


def keys(graph: Graph, kind: str) -> list[str]:
    return [job.key for job in of_kind(graph, kind)]


def test_noise_for_every_point_of_the_grid_and_no_data_are_needed() -> None:
    asked = noising(
        receivers=("a",),
        cuts=("layer2", "layer3"),
        radius=(0.0, 1.0),
        classes=(2, 10),
        seeds=(0, 3),
        freeze=("all", "weights"),
        matchings=("task", "same"),
    )
    graph = graph_of(noise=(asked,), data=None)
    jobs = of_kind(graph, "noise")
    assert len(jobs) == 2 * 2 * 2 * 2 * 2 * 2 * 2
    assert len({str(sorted(job.labels.items(), key=str)) for job in jobs}) == len(jobs)
    trained = {job.labels["seed"]: job.key for job in of_kind(graph, "train")}
    for job in jobs:
        assert job.needs == (trained[job.labels["receiver_seed"]],)
        assert job.content["receiver"] == {"trained": job.needs[0]}
        assert job.content["input"] == [3, 28, 28]
    assert len({str(job) for job in jobs}) == len(jobs) // 4, "all but the receiver's seed and what is frozen"


def test_a_content_of_noise_has_all_that_decides() -> None:
    (job,) = of_kind(graph_of(noise=(noising(),)), "noise")
    assert set(job.content) == {
        *("receiver", "receiver_cut", "input", "radius", "classes", "per_class", "per_class_test", "rank"),
        *("matching", "stitch", "freeze", "seed", "threads"),
    }
    assert (job.content["radius"], job.content["classes"], job.content["rank"]) == (0.1, 10, False)
    assert job.labels == {
        "sender": "clustered noise",
        "receiver": "a",
        "receiver_seed": 0,
        "receiver_cut": "layer3",
        "radius": 0.1,
        "classes": 10,
        "matching": "task",
        "stitch": "auto",
        "freeze": "all",
        "seed": 0,
    }


@pytest.mark.parametrize(
    "change",
    [
        {"receivers": ("a/1",)},
        {"cuts": ("layer2",)},
        {"radius": (0.2,)},
        {"classes": (9,)},
        {"per_class": 5},
        {"per_class_test": 3},
        {"input": (3, 32, 32)},
        {"rank": True},
        {"matchings": ("same",)},
        {"stitches": ("affine",)},
        {"freeze": ("weights",)},
        {"seeds": (1,)},
    ],
    ids=str,
)
def test_every_part_of_noise_decides(change: dict[str, Any]) -> None:
    (one,), (other,) = (keys(graph_of(noise=(noising(**c),)), "noise") for c in ({}, change))
    assert one != other
    assert keys(graph_of(noise=(noising(**change),), threads=2), "noise") != [other]


def test_defaults_of_noise_written_out_decide_nothing() -> None:
    whole = noising(radius=(0.1,), classes=(10,), input=(3, 28, 28), rank=False, seeds=(0,))
    twice = noising(receivers=("a/0", "a/0"), classes=(10, 10))
    one = keys(graph_of(noise=(noising(),)), "noise")
    assert one == keys(graph_of(noise=(whole,)), "noise") == keys(graph_of(noise=(twice, noising())), "noise")


def test_a_loaded_receiver_says_its_shape_and_classes_or_is_told_them() -> None:
    (lenet,) = of_kind(graph_of(noise=(noising(receivers=("lenet",), cuts=("conv2",)),)), "noise")
    assert (lenet.content["input"], lenet.content["classes"], lenet.needs) == ([1, 28, 28], 7, ())
    assert lenet.where[f"model:{lenet.content['receiver']['loaded']}"]["load"] == "zoo:lenet?channels=1&classes=7"
    (any_shape,) = of_kind(graph_of(noise=(noising(receivers=("theirs",), input=(3, 40, 24)),)), "noise")
    assert any_shape.content["input"] == [3, 40, 24]


def test_noise_is_refused_where_it_cannot_be() -> None:
    cases: list[tuple[dict[str, Any], type[Exception], str]] = [
        (
            {"classes": (4, 11)},
            ExperimentError,
            "Expected `classes` of a [[noise]] to be at most 10, as many as 'a' can name, but got 11.",
        ),
        (
            {"receivers": ("theirs",)},
            ExperimentError,
            "Expected a [[noise]] to have `input`, as 'theirs' takes inputs of any shape.",
        ),
        (
            {"receivers": ("theirs",), "input": (1, 28, 28)},
            ExperimentError,
            f"{R} does not run on inputs of shape 1x28x28: Given groups=1, weight of size [8, 3, 7, 7], expected "
            "input[2, 1, 28, 28] to have 3 channels, but got 1 channels instead.",
        ),
        (
            {"receivers": ("auto",), "cuts": ("encoder",)},
            ExperimentError,
            "zoo:autoencoder?channels=1 answers with shape [1, 28, 28], and not with classes.",
        ),
        ({"receivers": ("b",)}, ExperimentError, "There is no model 'b': "),
        ({"cuts": ("layr3",)}, CutError, "did you mean 'layer3'"),
        ({"matchings": ("tsk",)}, ExperimentError, "There is no matching 'tsk': did you mean 'task'?"),
        ({"stitches": ("afine",)}, ExperimentError, "There is no stitch 'afine': did you mean 'affine'"),
    ]
    for asked, error, message in cases:
        with pytest.raises(error) as e:
            graph_of(noise=(noising(**asked),))
        assert message in str(e.value)


@pytest.mark.parametrize("word", ["direct", "regression", "class_mapping", "embedding_mapping", "near"])
@pytest.mark.parametrize("freeze", ["all", "weights"])
def test_noise_is_not_matched_to_activations_of_images(word: str, freeze: str) -> None:
    with pytest.raises(ExperimentError) as e:
        graph_of(noise=(noising(matchings=("task", word), freeze=(freeze,)),))
    assert str(e.value) == (
        f"The matching {word!r} depends on what the receiver makes of images, and a [[noise]] has none: take "
        "'task', with init = 'random' or 'identity'."
    )


def test_a_label_map_that_names_classes_that_there_are_not_is_told(tmp_path: Path) -> None:
    (job,) = of_kind(graph_of(noise=(noising(receivers=("lenet",), cuts=("conv2",)),)), "noise")
    worker = Worker(tmp_path)
    worker.key, worker.where, worker.inputs = job.key, job.where, {}
    with pytest.raises(DataError, match="go from 0 to 7, but the receiver has 7 classes"):
        parts["noise"].run({**job.content, "matching": {"name": "task", "label_map": [0, 1, 2, 3, 4, 5, 7]}}, worker)


# ---- controls without stitches


def controlling(**given: Any) -> ControlPart:
    return ControlPart(**{**OTHERS, "controls": ("self", "shuffled"), **given})


def stitching(**given: Any) -> StitchPart:
    return StitchPart(**{**OTHERS, **given})


def test_controls_alone_are_those_of_a_stitch_without_the_stitch() -> None:
    ways: dict[str, Any] = {"matchings": ("task", "direct"), "seeds": (0, 1), "cuts": ("layer1", "layer1 -> layer2")}
    alone = graph_of(control=(controlling(**ways),))
    beside = graph_of(stitch=(stitching(controls=("self", "shuffled"), **ways),))
    assert not of_kind(alone, "stitch")
    assert not of_kind(alone, "activations")
    assert keys(alone, "control") == keys(beside, "control")
    told = [[labels for key, labels in g.goals if g.jobs[key].kind == "control"] for g in (alone, beside)]
    assert told[0] == told[1]
    assert keys(alone, "train") == keys(beside, "train")
    both = graph_of(control=(controlling(**ways),), stitch=(stitching(controls=("self", "shuffled"), **ways),))
    assert set(both.jobs) == set(beside.jobs)


def test_controls_that_ran_alone_are_what_a_case_gives(done: Study) -> None:
    from seamripper._files import plain
    from seamripper.controls import Case, controls

    fit, test = (sr.load_data("digits/digit", split, n=n) for split, n in (("train", 200), ("test", 150)))
    sender, receiver = (sr.split(done.network(seed), "layer2", fit.batch(slice(0, 2))) for seed in (1, 0))
    case = Case(sender, receiver, fit, test, Direct(), seeds=(0,))
    for name in ("random_sender", "shuffled"):
        (alone,) = controls.make(name).outcomes(case)
        (ours,) = done.of("control", control=name).record["outcomes"]
        assert ours["result"] == plain(alone.result.as_record())


@pytest.mark.parametrize(
    ("asked", "what"), [({"stitch": (stitching,)}, "[[stitch]]"), ({"control": (controlling,)}, "[[control]]")]
)
def test_statistics_that_adapt_are_told_in_the_words_of_the_table(asked: dict[str, Any], what: str) -> None:
    parts = {name: (make(matchings=("direct",), freeze=("weights",)),) for name, (make,) in asked.items()}
    with pytest.raises(ExperimentError) as e:
        graph_of(**parts)
    assert str(e.value).endswith(f"'direct' is 'direct': put it into a {what} of its own.")


def test_controls_without_data_or_with_none_that_there_is() -> None:
    with pytest.raises(ExperimentError, match=r"Expected a \[\[control\]\] or the experiment to have `data`"):
        graph_of(control=(controlling(),), data=None)
    with pytest.raises(ExperimentError, match=r"add a \[\[stitch\]\] with pairing = 'others'"):
        graph_of(control=(controlling(controls=("other_seed",)),))


# ---- ranks decide a key only where they are asked for


def test_ranks_make_another_job_of_a_stitch_and_of_nothing_else() -> None:
    asked: dict[str, Any] = {"controls": ("shuffled",), "seeds": (0, 1)}
    plain, ranked = (graph_of(stitch=(stitching(rank=rank, **asked),)) for rank in (False, True))
    for one, other in zip(of_kind(plain, "stitch"), of_kind(ranked, "stitch"), strict=True):
        assert "rank" not in one.content
        assert other.content == {**one.content, "rank": True}
        assert one.labels == other.labels
        assert one.key != other.key
    for kind in ("train", "activations", "control"):
        assert keys(plain, kind) == keys(ranked, kind)


def test_a_stitch_without_ranks_has_the_key_that_it_had_before_there_were_any() -> None:
    for asked in (stitching(), stitching(rank=False)):
        jobs = of_kind(graph_of(stitch=(asked,)), "stitch")
        train = {job.labels["seed"]: job.key for job in of_kind(graph_of(stitch=(asked,)), "train")}
        for job in jobs:
            content = {
                "sender": {"trained": train[job.labels["sender_seed"]]},
                "sender_cut": "layer1",
                "receiver": {"trained": train[job.labels["receiver_seed"]]},
                "receiver_cut": "layer1",
                "fit": sr.load_data("digits/digit", "train", n=64).fingerprint,
                "test": sr.load_data("digits/digit", "test", n=64).fingerprint,
                "n": 64,
                "n_test": 64,
                "matching": job.content["matching"],
                "stitch": "auto",
                "freeze": "all",
                "seed": 0,
                "threads": 1,
                "own": sr.load_data("digits/digit", "test", n=64).fingerprint,
            }
            assert job.key == Job("stitch", content).key
