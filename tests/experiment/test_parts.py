"""Kinds of jobs: each finds what the library's own function finds, and says it in rows."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

import seamripper as sr
from seamripper._files import plain
from seamripper.controls import Case, controls
from seamripper.errors import DamagedError, ExperimentError
from seamripper.experiment import Experiment, parts
from seamripper.experiment.identity import Identities
from seamripper.experiment.job import Graph, Job
from seamripper.experiment.parts.base import loss_rows, unpack_hits
from seamripper.experiment.plan import expand
from seamripper.experiment.worker import Recent, Worker, bytes_of_matches
from seamripper.matching import Direct, Downstream, Task

pytestmark = pytest.mark.slow

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
seeds = [0, 1]

[matchings]
fast = "task?init=direct&epochs=1&lr=0.01"
plain = "task?epochs=1"

[[stitch]]
senders = ["digit/1"]
receivers = ["digit/0"]
cuts = ["layer1"]
pairing = "all"
matchings = ["direct", "fast"]
controls = ["random_sender", "self", "shuffled"]

[[stitch]]
senders = ["digit/1"]
receivers = ["digit/0"]
cuts = ["layer1"]
pairing = "all"
matchings = ["fast"]
freeze = ["weights"]

[[noise]]
receivers = ["digit/0"]
cuts = ["layer3"]
matchings = ["plain"]
per_class = 10
per_class_test = 5

[[compare]]
senders = ["digit/1"]
receivers = ["digit/0"]
pairing = "all"
cuts = ["layer1", "layer2"]
measures = ["linear_cka", "opd", "minibatch_cka", "mutual_knn", "direct_functional"]
parts = 3

[[functional]]
senders = ["digit/1"]
receivers = ["digit/0"]
pairing = "all"
cuts = ["layer1", "layer2"]
receiver_cuts = ["layer2"]
matchings = ["direct", "fast"]
ood = ["distribution"]

[[audit]]
senders = ["digit/1"]
receivers = ["digit/0"]
cuts = ["layer2"]
pairing = "all"
conflict = "digits/digit"
matching = "fast"
controls = ["self", "random_sender"]
audits = ["margin", "conflict"]
seeds = [0]

[[probe]]
models = ["digit/0"]
cuts = ["layer2"]
ranks = [2]
measures = ["linear_cka"]

[[pictures]]
senders = ["digit/1"]
receivers = ["digit/0"]
cuts = ["layer1 -> before:conv1"]
pairing = "all"
n = 4
"""


class Bench:
    """Carries out the jobs of a study one after the other in this process, as a worker does."""

    def __init__(self, folder: Path, study: str = STUDY) -> None:
        (folder / "study.toml").write_text(study)
        self.experiment = Experiment.read(folder / "study.toml")
        self.graph: Graph = expand(self.experiment, Identities({}, folder=str(folder)))
        self.worker = Worker(folder)
        self.found: dict[str, Any] = {}
        for job in self.graph:
            self.found[job.key] = self.do(job)

    def do(self, job: Job) -> Any:
        inputs = {need: self.found[need].tensors for need in job.needs}
        self.worker.key, self.worker.where, self.worker.inputs = job.key, job.where, inputs
        return parts[job.kind].run(job.content, self.worker)

    def of(self, kind: str, **labels: Any) -> tuple[Job, Any]:
        (job,) = [j for j in self.graph if j.kind == kind and labels.items() <= dict(j.labels).items()]
        return job, self.found[job.key]


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(tmp_path_factory.mktemp("bench"))


def halves(bench: Bench, cut: str) -> tuple[sr.Split, sr.Split, sr.Samples, sr.Samples]:
    fit = sr.load_data("digits/correlated", "train", n=120)
    test = sr.load_data("digits/correlated", "test", n=80)
    models = [bench.worker.tensors.path(bench.of("train", seed=seed)[1].tensors["model"]) for seed in (1, 0)]
    sender, receiver = (sr.split(sr.load(str(path)), cut, fit.batch(slice(0, 2))) for path in models)
    return sender, receiver, fit, test


def test_every_kind_of_job_is_tried_here(bench: Bench) -> None:
    assert {job.kind for job in bench.graph} == parts.keys() - {"call"}
    assert {name for name, kind in parts.items() if kind.helps} == {"activations", "pass"}


def test_costs_are_positive_and_grow_with_the_work(bench: Bench) -> None:
    for job in bench.graph:
        kind = parts[job.kind]
        assert kind.cost(job.content) > 0
        samples = "per_class" if job.kind == "noise" else "n"
        assert kind.cost({**job.content, samples: 10 * job.content[samples]}) > kind.cost(job.content)


def test_a_training_is_that_of_train(bench: Bench) -> None:
    _, found = bench.of("train", seed=1)
    alone = sr.train(
        "R_1111?width=0.125", sr.load_data("digits/digit", "train", n=300), training="smith?epochs=1", seed=1
    )
    assert found.record["weights"] == alone.fingerprint
    loaded = sr.load(str(bench.worker.tensors.path(found.tensors["model"])))
    assert loaded.fingerprint == alone.fingerprint
    assert "seconds" not in loaded.record
    rows = {row["figure"]: row for row in parts["train"].rows(found.record)}
    assert rows["accuracy"]["n"] == 360
    assert 0 <= rows["accuracy"]["low"] <= rows["accuracy"]["value"] <= rows["accuracy"]["high"] <= 1
    assert rows["loss"]["value"] == alone.record["losses"][-1]


@pytest.mark.parametrize("matching", ["direct", "fast"])
def test_a_stitch_is_that_of_match(bench: Bench, matching: str) -> None:
    sender, receiver, fit, test = halves(bench, "layer1")
    way: Any = Direct() if matching == "direct" else Task(sr.Training(epochs=1, lr=0.01), init="direct")
    alone = sr.evaluate(
        sr.match(sender, receiver, fit, matching=way), test, own=sr.load_data("digits/digit", "test", n=80)
    )
    _, found = bench.of("stitch", matching=matching, freeze="all")
    theirs, ours = alone.as_record(), found.record["result"]
    assert ours.keys() == theirs.keys()
    for name in ("top1", "agreement", "receiver_here", "receiver_own"):
        # The head runs in other batches, and so rounds otherwise: an answer in a hundred may turn.
        assert ours[name]["value"] == pytest.approx(theirs[name]["value"], abs=0.0126), name
    assert ours["receiver_here"] == theirs["receiver_here"]
    rows = {row["figure"]: row for row in parts["stitch"].rows(found.record)}
    assert rows["top1"]["value"] == ours["top1"]["value"]
    assert rows["top1"]["status"] == found.record["status"]
    tensors = bench.worker.tensors.get(found.tensors["stitch"])
    from seamripper._files import load_tensors

    kept, record = load_tensors(tensors, kind="stitch")
    assert record["stitch"]["name"] == "affine"
    assert any(name.startswith("stitch.") for name in kept)
    assert ("curve.loss" in kept) == (matching == "fast")


def test_a_stitch_says_how_its_loss_ended_and_by_what_it_still_fell() -> None:
    figures = {"loss_end": 0.25, "falling": 0.125, "tail": "plain"}
    rows = list(loss_rows({"figures": figures}))
    assert [(row["figure"], row["value"]) for row in rows] == [("loss_end", 0.25), ("falling", 0.125)]
    loss, fell = loss_rows({"figures": {"loss_end": 0.25, "falling": None}})
    assert (loss["value"], fell["value"], fell["status"]) == (0.25, None, "too few steps to tell")
    assert list(loss_rows({"figures": {"residual": 0.1}})) == list(loss_rows({})) == []


def test_statistics_that_adapt_run_the_head(bench: Bench) -> None:
    job, found = bench.of("stitch", freeze="weights")
    assert "activations" not in {bench.graph.jobs[need].kind for need in job.needs}
    assert found.record["figures"]["activations"] == "computed at each step (BN statistics adapt)"


def test_the_receiver_before_its_statistics_adapted_is_told(bench: Bench) -> None:
    """What a result calls the receiver is the one that has adapted, which is another network."""
    _, frozen = bench.of("stitch", matching="fast", freeze="all")
    _, found = bench.of("stitch", freeze="weights")
    assert "unadapted" not in frozen.record
    assert found.record["unadapted"]["here"] == frozen.record["result"]["receiver_here"]
    assert found.record["unadapted"]["own"] == frozen.record["result"]["receiver_own"]
    rows = {row["figure"]: row["value"] for row in parts["stitch"].rows(found.record)}
    assert rows["receiver_unadapted"] == found.record["unadapted"]["here"]["value"]
    assert rows["own_unadapted"] == found.record["unadapted"]["own"]["value"]
    n = found.record["result"]["n"]
    shares = {role: unpack_hits(text, n).mean() for role, text in found.record["hits"].items() if role != "test"}
    assert shares == {
        "stitched": rows["top1"], "receiver": rows["receiver_here"], "unadapted": rows["receiver_unadapted"]
    }  # fmt: skip
    assert found.record["hits"]["unadapted"] == frozen.record["hits"]["receiver"], "the same network, the same samples"


def test_a_control_is_that_of_the_case(bench: Bench) -> None:
    sender, receiver, fit, test = halves(bench, "layer1")
    case = Case(sender, receiver, fit, test, Direct(), seeds=(0,))
    for name in ("random_sender", "shuffled"):
        (alone,) = controls.make(name).outcomes(case)
        _, found = bench.of("control", control=name, matching="direct")
        (ours,) = found.record["outcomes"]
        assert ours["result"] == plain(alone.result.as_record())
        assert ours["label"] == alone.label
        rows = list(parts["control"].rows(found.record))
        assert {row["counterpart"] for row in rows} == {alone.label}


def test_a_control_that_cannot_be_had_is_no_failure(bench: Bench) -> None:
    job, _ = bench.of("control", control="shuffled", matching="direct")
    found = bench.do(Job("control", {**job.content, "control": "shifted_labels?k=10"}, {}, job.needs, job.where))
    assert found.record["outcomes"] == []
    assert "a shift by 10 changes nothing" in found.record["skipped"]


def test_a_comparison_in_parts_is_that_of_one_pass(bench: Bench) -> None:
    job, found = bench.of("compare")
    assert sorted(bench.graph.jobs[need].kind for need in job.needs) == ["pass", "pass", "pass", "train", "train"]
    models = [bench.worker.model(job.content[role]) for role in ("sender", "receiver")]
    samples = sr.load_data("digits/correlated", "test", n=80)
    cuts = ["layer1", "layer2"]
    alone = sr.compare(*models, samples, measures=job.content["measures"], sender_cuts=cuts, receiver_cuts=cuts)
    for name in job.content["measures"]:
        for a, b in zip(found.record["matrices"][name]["scores"], alone[name].scores, strict=True):
            for ours, theirs in zip(a, b, strict=True):
                assert theirs is not None
                assert ours["value"] == pytest.approx(theirs.value, abs=1e-5), name
                assert ours["n"] == theirs.n
    assert "seconds" not in found.record["record"]
    rows = list(parts["compare"].rows(found.record))
    assert len(rows) == 2 * 2 * 5
    assert {(row["sender_cut"], row["receiver_cut"]) for row in rows} == {(a, b) for a in cuts for b in cuts}


def test_a_comparison_with_a_null_has_rows_and_captions_for_it(bench: Bench) -> None:
    job, _ = bench.of("compare")
    content = {**job.content, "parts": 1, "null": 19, "measures": ["linear_cka", "effective_rank"]}
    again = replace(job, content=content, where={**job.where, "passes": []})
    found = bench.do(again)
    rows = [row for row in parts["compare"].rows(found.record) if row["figure"] != "score"]
    matrix = found.record["matrices"]["linear_cka"]
    assert [row["figure"] for row in rows] == ["p", "threshold", "calibrated"] * 5
    assert {row["measure"] for row in rows} == {"linear_cka"}
    assert [rows[k]["value"] for k in (0, 2)] == [matrix["scores"][0][0]["null"][name] for name in ("p", "calibrated")]
    assert rows[-3]["sender_cut"] == "best"
    assert rows[-3]["value"] == matrix["null"]["p"]
    assert parts["compare"].cost(content) > parts["compare"].cost({**content, "null": 0})


DOWNSTREAM = (
    STUDY[: STUDY.index("[matchings]")]
    + """
[matchings]
aligned = "downstream?epochs=1&lr=0.01"

[[stitch]]
senders = ["digit/1"]
receivers = ["digit/0"]
cuts = ["layer2"]
pairing = "all"
matchings = ["aligned", "downstream?layers=layer3,last&then=task&epochs=1"]

[[functional]]
senders = ["digit/1"]
receivers = ["digit/0"]
pairing = "all"
cuts = ["layer2", "layer4"]
receiver_cuts = ["layer2"]
matchings = ["aligned"]

[[audit]]
senders = ["digit/1"]
receivers = ["digit/0"]
cuts = ["layer2"]
pairing = "all"
conflict = "digits/digit"
matching = "aligned"
controls = ["self", "random_sender"]
audits = ["margin", "conflict"]
seeds = [0]
"""
)


def test_downstream_matching_in_every_part_that_stitches(tmp_path: Path) -> None:
    bench = Bench(tmp_path, DOWNSTREAM)
    sender, receiver, fit, test = halves(bench, "layer2")
    alone = sr.match(sender, receiver, fit, matching=Downstream(sr.Training(epochs=1, lr=0.01)))
    _, stitch = bench.of("stitch", matching="aligned")
    assert stitch.record["figures"]["layers"] == "layer2, layer3, layer4, before:fc"
    assert stitch.record["figures"]["downstream_held_out"] == alone.figures["downstream_held_out"]
    assert stitch.record["result"]["top1"]["value"] == sr.evaluate(alone, test).top1.value
    _, then = bench.of("stitch", matching="downstream?layers=layer3,last&then=task&epochs=1")
    assert then.record["figures"]["layers"] == "layer3, before:fc"
    assert then.record["figures"]["task_loss_end"] > 0
    _, functional = bench.of("functional")
    rows = [row for row in parts["functional"].rows(functional.record) if row["figure"] == "top1"]
    assert [row["sender_cut"] for row in rows] == ["layer2", "layer4"]
    assert all(0 <= row["value"] <= 1 for row in rows)
    _, audited = bench.of("audit")
    assert audited.record["record"]["matching"]["name"] == "downstream"


def test_an_audit_is_that_of_audit(bench: Bench) -> None:
    sender, receiver, fit, test = halves(bench, "layer2")
    alone = sr.audit(
        sender,
        receiver,
        fit,
        test,
        conflict=sr.load_data("digits/digit", "test", n=80),
        matching=Task(sr.Training(epochs=1, lr=0.01), init="direct"),
        seeds=(0,),
        controls=["self", "random_sender"],
        audits=["margin", "conflict"],
    )
    _, found = bench.of("audit")
    theirs = plain(alone.as_record())
    assert found.record["judgement"] == theirs["judgement"]
    assert found.record["verdicts"] == theirs["verdicts"]
    rows = list(parts["audit"].rows(found.record))
    assert rows[-1]["status"] == alone.conclusion
    assert {row["audit"] for row in rows} == {"margin", "conflict", "rule"}


def test_audits_of_one_receiver_share_its_counterparts(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the receiver does into itself is found once. The record is that of an empty worker."""
    import seamripper.controls.base as controls

    job, _ = bench.of("audit")
    other = replace(job, content={**job.content, "sender": job.content["receiver"], "controls": ["self"]})
    senders: list[str] = []
    match = controls.match

    def counted(sender: Any, *args: Any, **options: Any) -> Any:
        senders.append(sender.fingerprint)
        return match(sender, *args, **options)

    monkeypatch.setattr(controls, "match", counted)
    bench.do(job)
    assert senders == [], "all of it was done by this worker before"
    shared = bench.do(other).record
    assert senders == [], "the receiver as its own sender is the control 'self'"
    bench.worker.matched.clear()
    alone = bench.do(other).record
    assert len(senders) == 1, "once for both"
    assert shared == alone


def test_what_audits_have_matched_goes_when_it_holds_too_much(bench: Bench) -> None:
    job, _ = bench.of("audit")
    bench.do(job)
    value = next(iter(bench.worker.matched.values()))
    copies = [(value[0], copy.deepcopy(value[1])) for _ in range(3)]
    match = copies[0][1]
    modules = (match.layer, match.sender.model.module, match.receiver.model.module)
    size = sum(tensor.nbytes for module in modules for tensor in module.state_dict().values())
    few = Recent(2 * size, bytes_of_matches)
    few["a"], few["b"] = copies[:2]
    assert few["a"] is copies[0]
    few["c"] = copies[2]
    assert list(few) == ["a", "c"], "what was asked for last stays"
    few["d"] = (value[0], copies[2][1])
    assert list(few) == ["a", "c", "d"], "networks that two matches share count once"
    none = Recent(0, bytes_of_matches)
    none["a"] = value
    assert list(none) == ["a"], "the last one stays, whatever it takes"


def test_nothing_in_a_record_names_a_place(bench: Bench, tmp_path_factory: pytest.TempPathFactory) -> None:
    root = str(tmp_path_factory.getbasetemp())
    for key, found in bench.found.items():
        assert root not in repr(found.record), bench.graph.jobs[key]


def test_a_job_does_not_begin_on_a_damaged_tensor(bench: Bench) -> None:
    job, _ = bench.of("stitch", matching="direct", freeze="all")
    name = bench.found[job.content["sender"]["trained"]].tensors["model"]
    path = bench.worker.tensors.path(name)
    whole = path.read_bytes()
    bench.worker._models.clear()
    bench.worker._halves.clear()
    path.write_bytes(whole[:-8] + b"\0" * 8)
    try:
        with pytest.raises(DamagedError, match="is not as it was written") as caught:
            bench.do(job)
        assert caught.value.name == name
    finally:
        path.write_bytes(whole)


def test_samples_that_have_changed_since_the_plan_are_refused(bench: Bench) -> None:
    job, _ = bench.of("stitch", matching="direct", freeze="all")
    fit = job.content["fit"]
    where = {**job.where, f"data:{fit}": {**job.where[f"data:{fit}"], "n": 119}}
    bench.worker._data.clear()
    with pytest.raises(ExperimentError, match=r"digits/correlated \(train\) are not those that the experiment was"):
        bench.do(Job("stitch", job.content, {}, job.needs, where))


# ---- functions of one's own


def call(folder: Path, code: str, **args: Any) -> Any:
    import hashlib

    path = folder / "mine.py"
    path.write_text(code)
    worker = Worker(folder)
    worker.key, worker.where, worker.inputs = "k", {"file": str(path)}, {}
    sha = hashlib.sha256(path.read_bytes()).hexdigest()
    return parts["call"].run({"file": sha, "function": "f", "args": args}, worker)


def test_a_function_s_figures_become_rows(tmp_path: Path) -> None:
    code = "def f(x):\n    est = {'value': 0.5, 'interval': [0.4, 0.6], 'n': 9}\n"
    found = call(tmp_path, code + "    return {'a': x, 'b': 'word', 'c': est, 'd': float('nan'), 'e': [1, 2]}\n", x=2)
    nan = {"value": None, "interval": None, "n": None, "status": "nan"}
    assert found.record == {
        "figures": {"a": 2, "b": "word", "c": {"value": 0.5, "interval": [0.4, 0.6], "n": 9}, "d": nan, "e": [1, 2]}
    }
    rows = list(parts["call"].rows(found.record))
    assert rows[0] == {"figure": "a", "value": 2.0}
    assert rows[1] == {"figure": "b", "status": "word"}
    assert rows[2] == {"figure": "c", "value": 0.5, "low": 0.4, "high": 0.6, "n": 9}
    assert rows[3] == {"figure": "d", "value": None, "low": None, "high": None, "n": None, "status": "nan"}
    assert len(rows) == 4


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("def g():\n    pass\n", "has no function 'f'"),
        ("def f():\n    return 3\n", "to return a dict of figures by name, but got 3"),
        ("def f():\n    return {1: 2}\n", r"to return a dict of figures by name, but got \{1: 2\}"),
        ("def f():\n    return {'a': object()}\n", "to return numbers, words and tables of them"),
        ("def f():\n    return 1 / 0\n", "f of mine.py failed at line 2: ZeroDivisionError"),
        ("def f(x):\n    return {}\n", "missing 1 required positional argument: 'x'"),
        ("def f(:\n", "could not be run at line 1: SyntaxError"),
    ],
)
def test_a_function_that_does_not_do_as_it_should(tmp_path: Path, code: str, message: str) -> None:
    with pytest.raises(ExperimentError, match=message):
        call(tmp_path, code)


def test_a_file_that_has_changed_since_the_plan_is_not_run(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text("def f():\n    raise SystemExit('it was run')\n")
    worker = Worker(tmp_path)
    worker.key, worker.where, worker.inputs = "k", {"file": str(path)}, {}
    with pytest.raises(ExperimentError, match="was changed since the experiment was planned"):
        parts["call"].run({"file": "0" * 64, "function": "f", "args": {}}, worker)


def test_a_worker_keeps_what_it_has_loaded(bench: Bench) -> None:
    job, _ = bench.of("stitch", matching="direct", freeze="all")
    bench.do(job)
    first = bench.worker.model(job.content["receiver"])
    assert bench.worker.model(job.content["receiver"]) is first
    assert bench.worker.samples(job.content["fit"]) is bench.worker.samples(job.content["fit"])
    half = bench.worker.half(job.content["receiver"], "layer1", bench.worker.samples(job.content["fit"]))
    test = bench.worker.samples(job.content["test"])
    answers = bench.worker.answers(job.content["receiver"], half, test)
    assert bench.worker.answers(job.content["receiver"], half, test) is answers
    assert torch.equal(answers, torch.cat([half.answer(inputs) for inputs, _ in test.batches(512)]))
    assert torch.is_grad_enabled()
