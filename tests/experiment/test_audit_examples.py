"""Examples of conflict that an audit keeps: images of the set that decided, and what both networks say to them."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import seamripper as sr
from in_process import InProcess
from seamripper._files import load_tensors
from seamripper.audits.interventions import interventions
from seamripper.audits.mixtures import mixtures
from seamripper.experiment import Experiment, Store, parts, run
from seamripper.experiment.identity import Identities
from seamripper.experiment.images import as_bytes
from seamripper.experiment.job import Graph, Job
from seamripper.experiment.parts.audit import audit_output
from seamripper.experiment.plan import expand
from seamripper.experiment.result import Result
from seamripper.experiment.worker import Worker
from seamripper.matching import Direct

STUDY = """
[data]
name = "digits/correlated"
n = 120
n_test = 80

[models.digit]
train = "zoo:R_1111?width=0.125"
data = "digits/digit"
n = 300
training = "?epochs=1"

[models.colour]
train = "zoo:R_1111?width=0.125"
data = "digits/colour"
n = 300
training = "?epochs=1"

[[audit]]
senders = ["colour"]
receivers = ["digit"]
cuts = ["layer2"]
matching = "direct"
controls = ["self", "random_sender"]
seeds = [0]
"""
SET = 'conflict = "digits/digit"\naudits = ["conflict?n=60&seed=3"]\n'
CHANGED = 'interventions = ["greyscale", "hue_rotation?degrees=90"]\naudits = ["conflict?n=50&seed=5", "margin"]\n'
MIXED = """
audits = ["mixing?n=300&seed=2"]
mixtures = ["rectangle?size=large", "mean"]
data = { name = "digits/correlated", n = 120, n_test = 300 }
"""
WITHOUT = 'audits = ["margin"]\n'


class Bench:
    """The same two networks for every audit; they are trained once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.worker = Worker(folder)
        self.found: dict[str, Any] = {}
        self.memo: dict[str, Any] = {}

    def audit(self, more: str) -> tuple[Job, Any]:
        """The audit that the study asks for with these words, and what it finds."""
        (self.folder / "study.toml").write_text(STUDY + more)
        experiment = Experiment.read(self.folder / "study.toml")
        graph: Graph = expand(experiment, Identities(self.memo, folder=str(self.folder)))
        for job in graph:
            if job.key not in self.found:
                self.found[job.key] = self.do(job)
        (audit,) = [job for job in graph if job.kind == "audit"]
        return audit, self.found[audit.key]

    def do(self, job: Job) -> Any:
        self.worker.key, self.worker.where, self.worker.inputs = (
            job.key,
            job.where,
            {need: self.found[need].tensors for need in job.needs},
        )
        return parts[job.kind].run(job.content, self.worker)

    def kept(self, found: Any) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
        return load_tensors(self.worker.tensors.get(found.tensors["examples"]), kind="examples")

    def answers(self, job: Job, shown: sr.Samples) -> tuple[torch.Tensor, torch.Tensor]:
        """What receiver and stitched network say, with a stitch that is found here."""
        self.worker.key, self.worker.where, self.worker.inputs = (
            job.key,
            job.where,
            {need: self.found[need].tensors for need in job.needs},
        )
        fit = self.worker.samples(job.content["fit"])
        sender, receiver = (self.worker.half(job.content[role], "layer2", fit) for role in ("sender", "receiver"))
        match = sr.match(sender, receiver, fit, matching=Direct(), seed=0)
        with torch.no_grad():
            inputs = shown.batch(slice(None))
            return receiver.answer(inputs).argmax(1), match(inputs).argmax(1)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(tmp_path_factory.mktemp("examples"))


def same_answers(bench: Bench, job: Job, found: Any, shown: sr.Samples) -> None:
    """The examples are those of the set, in its order, those first where the two disagree."""
    theirs, ours = bench.answers(job, shown)
    apart, told = (theirs != ours).numpy(), found.record["examples"]
    first = np.flatnonzero(apart)[:8]
    index = torch.from_numpy(np.concatenate([first, np.flatnonzero(~apart)[: 12 - len(first)]]))
    tensors, _ = bench.kept(found)
    assert torch.equal(tensors["labels"], shown.labels[index])
    assert torch.equal(tensors["receiver"], theirs[index])
    assert torch.equal(tensors["stitched"], ours[index])
    assert torch.equal(tensors["images"], as_bytes(shown.batch(index), shown))
    assert told["n"] == len(index)
    assert told["disagree"] == pytest.approx(apart.mean())
    verdict = found.record["verdicts"]["conflict"]
    assert 1 - told["disagree"] == pytest.approx(verdict["observed"]["value"])


@pytest.mark.slow
def test_of_the_conflict_set(bench: Bench) -> None:
    job, found = bench.audit(SET)
    tensors, about = bench.kept(found)
    told = found.record["examples"]
    assert (told["set"], about) == ("conflict set", {"key": job.key, **told})
    assert {name: (value.dtype, tuple(value.shape)) for name, value in tensors.items()} == {
        "images": (torch.uint8, (told["n"], 3, 28, 28)),
        "labels": (torch.int64, (told["n"],)),
        "receiver": (torch.int64, (told["n"],)),
        "stitched": (torch.int64, (told["n"],)),
    }
    conflict = sr.load_data("digits/digit", "test", n=80).draw(60, seed=3)
    same_answers(bench, job, found, conflict)
    # Bytes are shown as they are.
    assert isinstance(conflict.inputs, torch.Tensor)
    pixels = {image.numpy().tobytes() for image in conflict.inputs}
    assert all(image.numpy().tobytes() in pixels for image in tensors["images"])


def test_of_the_intervention_that_decided(bench: Bench) -> None:
    job, found = bench.audit(CHANGED)
    name = found.record["verdicts"]["conflict"]["figures"]["decided_by"]
    assert found.record["examples"]["set"] == name
    assert name in ("greyscale", "hue_rotation?degrees=90")
    test = sr.load_data("digits/correlated", "test", n=80).draw(50, seed=5)
    same_answers(bench, job, found, interventions.make(name).apply(test, seed=5))


def test_those_first_on_which_they_disagree(bench: Bench) -> None:
    tensors, _ = bench.kept(bench.audit(SET)[1])
    apart = (tensors["receiver"] != tensors["stitched"]).tolist()
    assert 0 < sum(apart) <= 8
    assert apart == sorted(apart, reverse=True)
    assert len(apart) <= 12


def test_without_a_verdict_on_conflicts_there_are_none(bench: Bench) -> None:
    _, found = bench.audit(WITHOUT)
    assert found.record["examples"] is None
    assert found.tensors == {}


def test_inputs_that_are_no_images_have_none() -> None:
    net = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
    half = sr.split(net, "1", torch.zeros(2, 8))
    rows = torch.randn(64, 8, generator=torch.Generator().manual_seed(0))
    numbers = sr.Samples("numbers", rows, torch.arange(64) % 2, torch.arange(64), classes=2)
    audited = sr.audit(
        half, half, numbers.take(slice(0, 32)), numbers.take(slice(32, 64)), seeds=(0,), audits=["margin"]
    )
    assert audit_output(audited, half, ("conflict set", numbers), "", str).record["examples"] is None
    named = dataclasses.replace(numbers, inputs={"input_ids": torch.zeros(64, 8, dtype=torch.long)})
    assert audit_output(audited, half, ("conflict set", named), "", str).record["examples"] is None
    maps = dataclasses.replace(numbers, inputs=torch.zeros(64, 8, 4, 4))
    assert audit_output(audited, half, ("conflict set", maps), "", str).record["examples"] is None


def test_floats_are_brought_back_to_bytes() -> None:
    grey = sr.load_data("digits/digit", "test", n=20)
    assert isinstance(grey.inputs, torch.Tensor)
    floats = grey.batch(slice(None))
    assert isinstance(floats, torch.Tensor)
    assert torch.equal(as_bytes(floats, grey), grey.inputs)
    beyond = as_bytes(torch.tensor([-100.0, 100.0]), grey)
    assert beyond.tolist() == [0, 255]
    assert as_bytes(grey.inputs, grey) is grey.inputs


def test_rows_are_as_without_them(bench: Bench) -> None:
    _, found = bench.audit(SET)
    rows = list(parts["audit"].rows(found.record))
    bare = {name: value for name, value in found.record.items() if name != "examples"}
    assert rows == list(parts["audit"].rows(bare))
    assert {row["figure"] for row in rows} == {"observed", "effect", "recovered"}


def test_the_same_again_is_the_same_file(bench: Bench) -> None:
    job, found = bench.audit(CHANGED)
    bench.worker._models.clear()
    bench.worker._halves.clear()
    bench.worker._data.clear()
    again = bench.do(job)
    assert again.tensors == found.tensors
    assert again.record == found.record


@pytest.mark.slow
def test_they_are_in_the_store(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(STUDY + SET)
    assert not run(Experiment.read(tmp_path / "study.toml"), tmp_path / "store", engine=InProcess()).failed
    with Store(tmp_path / "store") as store:
        (entry,) = [entry for entry in store.results() if entry.kind == "audit"]
        tensors, _ = load_tensors(store.tensors.get(entry.tensors["examples"]), kind="examples")
    assert len(tensors["images"]) == entry.record["examples"]["n"]


def test_of_the_mixtures_that_told_most(bench: Bench) -> None:
    """The pairs are test samples, the mixture is made of them, and both networks say of it what the verdict says."""
    job, found = bench.audit(MIXED)
    tensors, about = load_tensors(bench.worker.tensors.get(found.tensors["mixtures"]), kind="mixtures")
    assert about == {"key": job.key}
    figures = found.record["verdicts"]["mixing"]["figures"]
    pairs = figures["pairs"]
    assert set(figures["looks"]) == {"rectangle?size=large", "mean"}
    assert found.record["record"]["mixtures"] == ["rectangle?size=large", "mean"]
    assert 0 < len(pairs) == len(tensors["m"]) <= 12
    test = sr.load_data("digits/correlated", "test", n=300)
    rows = {number: row for row, number in enumerate(test.ids.tolist())}
    a, b = (test.take(torch.tensor([rows[pair[side]] for pair in pairs])) for side in "ab")
    assert torch.equal(tensors["a"], a.inputs)
    assert torch.equal(tensors["b"], b.inputs)
    mixed = mixtures.make(pairs[0]["mixture"]).apply(a, b, strength=pairs[0]["strength"], seed=2)
    assert torch.equal(tensors["m"], as_bytes(mixed.batch(slice(None)), mixed))
    theirs, ours = bench.answers(job, mixed)
    assert theirs.tolist() == [pair["receiver"] for pair in pairs]
    assert ours.tolist() == [pair["stitched"] for pair in pairs]
    assert bench.answers(job, a)[0].tolist() == [pair["answers"][0] for pair in pairs]
    assert found.record["examples"] is None


def test_the_section_shows_the_looks_the_pairs_and_where_each_listens(bench: Bench) -> None:
    job, found = bench.audit(MIXED)
    result = Result(job.key, "audit", "done", json.loads(json.dumps(found.record)), found.tensors, job.labels)

    class Results:
        models = ("colour", "digit")

        def of(self, kind: str) -> list[Result]:
            return [result] if kind == "audit" else []

        def tensor(self, result: Result, role: str, kind: str) -> dict[str, Any] | None:
            name = result.tensors.get(role)
            return None if name is None else load_tensors(bench.worker.tensors.get(name), kind=kind)[0]

    section = next(s for s in parts["audit"].sections(Results()) if s.name == "mixing")
    looks, images, receiver, stitched = section.figures
    assert [row[0] for row in looks.rows] == ["a large rectangle", "the mean of each channel"]
    assert looks.caption == found.record["verdicts"]["mixing"]["sentence"]
    assert [name for name, _ in images.rows] == ["an input", "another", "their mixture"]
    pairs = found.record["verdicts"]["mixing"]["figures"]["pairs"]
    assert all(len(pictures) == len(pairs) for _, pictures in images.rows)
    test = sr.load_data("digits/correlated", "test", n=300)
    true = dict(zip(test.ids.tolist(), test.labels.tolist(), strict=True))
    wanted = [f"true {true[pair['a']]}, named {pair['answers'][0]}" for pair in pairs]
    assert [picture.caption for picture in images.rows[0][1]] == wanted
    assert (receiver.direction, stitched.direction) == ("share", "share"), "they show who is followed, and no likeness"
    apart = [pair["receiver"] != pair["stitched"] for pair in pairs]
    assert [picture.apart for picture in images.rows[2][1]] == apart
    assert receiver.title.startswith("Where the receiver listens")
    assert stitched.title.startswith("Where the stitched network listens")
    assert len(receiver.cells) == len(stitched.cells) == 7
