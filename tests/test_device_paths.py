"""Any device: answers at every token, networks that change places, and whole leagues, papers and demos."""

from __future__ import annotations

import contextlib
import copy
import importlib.util
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from example_paper import PAPER as EXAMPLE
from torch import Tensor, nn

import seamripper as sr
from in_process import InProcess
from seamripper import _devices
from seamripper.benchmark import BenchSet, bench
from seamripper.cli import cli, demo_cast
from seamripper.data import Samples
from seamripper.matching import matchings
from seamripper.papers import reproduce
from seamripper.swapping import JoinedNetwork, swap
from seamripper.swapping.page import save
from test_devices import KINDS, pretend

WORDS, TAGS, NONE = 11, 4, -100


@pytest.fixture(params=KINDS)
def device(request: pytest.FixtureRequest) -> Iterator[torch.device]:
    with pretend(request.param) as place:
        yield place


@pytest.fixture
def cuda() -> Iterator[torch.device]:
    with pretend("cuda") as place:
        yield place


# ---- answers at every token


class Reader(nn.Module):
    """Answers at every token, by it and by the mean of those before it: a language model, or a tagger."""

    def __init__(self, seed: int, answers: int, *, width: int = 12) -> None:
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.embed, self.mix = nn.Embedding(WORDS, width), nn.Linear(width, width)
            self.block = nn.Sequential(nn.Linear(width, width), nn.Tanh())
            self.head = nn.Linear(width, answers)
        with torch.no_grad():
            # It is sure of some of its answers, as the audit `mixing` asks.
            self.head.weight *= 12
        self.eval()

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        x = self.embed(input_ids) * attention_mask[..., None]
        before = x.cumsum(1) / torch.arange(1, x.shape[1] + 1, device=x.device)[:, None]
        out: Tensor = self.head(self.block(x + self.mix(before)))
        return out


def texts(n: int, *, first: int = 0) -> Samples:
    """Texts in which each token follows from the one before; every second is shorter. None has a label."""
    ids = torch.randint(1, WORDS, (n, 9), generator=torch.Generator().manual_seed(first))
    for place in range(2, 9, 2):
        ids[:, place] = 1 + (3 * ids[:, place - 1]) % (WORDS - 1)
    mask = torch.ones_like(ids)
    mask[::2, 6:] = 0
    return Samples("rules", {"input_ids": ids * mask, "attention_mask": mask}, ids=torch.arange(first, first + n))


def prompted(n: int, *, first: int = 0) -> Samples:
    """The same with labels that repeat the tokens behind the third."""
    samples = texts(n, first=first)
    assert isinstance(samples.inputs, dict)
    labels = samples.inputs["input_ids"].where(samples.inputs["attention_mask"] == 1, NONE)
    labels[:, :3] = NONE
    return Samples("chat", samples.inputs, labels, samples.ids)


def tagged(n: int, *, first: int = 0) -> Samples:
    """The same with a label for most of their tokens."""
    samples = texts(n, first=first)
    assert isinstance(samples.inputs, dict)
    tags = samples.inputs["input_ids"] % TAGS
    tags[torch.rand(tags.shape, generator=torch.Generator().manual_seed(first)) < 0.25] = NONE
    return Samples("tagged", samples.inputs, tags, samples.ids, classes=TAGS)


READERS: dict[str, tuple[Callable[..., Samples], int]] = {
    "language model": (texts, WORDS),
    "prompted language model": (prompted, WORDS),
    "tagger": (tagged, TAGS),
}


def readers(answers: int, place: torch.device | None) -> list[sr.Split]:
    """Two of them, cut at the same place, on a device."""
    nets = [Reader(seed, answers) for seed in (0, 1)]
    models = [sr.Model(net if place is None else net.to(place), f"net-{seed}") for seed, net in enumerate(nets)]
    return [sr.split(model, "before:block", texts(2).batch(slice(None))) for model in models]


@pytest.mark.parametrize("matching", ["direct", "task?epochs=2&batch=32", "downstream?epochs=2&batch=32"])
@pytest.mark.parametrize("reader", READERS)
def test_answers_at_every_token(reader: str, matching: str, device: torch.device) -> None:
    make, answers = READERS[reader]
    results = []
    for place in (None, device):
        match = sr.match(*readers(answers, place), make(60), matching=matchings.make(matching))
        results.append((match, sr.evaluate(match, make(40, first=900), batch=16)))
    (plain, expected), (there, got) = results
    assert {p.device for p in there.layer.parameters()} == {device}
    assert got.tokens == expected.tokens
    for name in ("top1", "receiver_here", "agreement", "kl", "cross_entropy", "perplexity", "receiver_perplexity"):
        ours, theirs = (getattr(result, name) for result in (got, expected))
        assert ours.value == pytest.approx(theirs.value, rel=5e-3), name
        assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), rel=5e-3, abs=1e-3), name
    for name, weight in there.layer.state_dict().items():
        torch.testing.assert_close(
            _devices.to_memory(weight), plain.layer.state_dict()[name], rtol=1e-3, atol=1e-4, msg=name
        )


def test_comparing_what_answers_at_every_token(cuda: torch.device) -> None:
    """The functional measure scores a stitch by its answers, at the tokens that are asked for."""
    cuts = {"sender_cuts": ["embed", "block"], "receiver_cuts": ["before:block"]}
    matrices = []
    for place in (None, cuda):
        models = [half.model for half in readers(WORDS, place)]
        compared = sr.compare(*models, texts(60), measures=["linear_cka", "mutual_knn", "direct_functional"], **cuts)
        matrices.append({name: matrix.values for name, matrix in compared.matrices.items()})
    plain, there = matrices
    assert there.keys() == plain.keys()
    for name, values in plain.items():
        for ours, theirs in zip(there[name], values, strict=True):
            assert list(ours) == pytest.approx(list(theirs), abs=2e-3), name


@pytest.mark.parametrize("reader", READERS)
def test_audits_of_what_answers_at_every_token(reader: str, cuda: torch.device) -> None:
    make, answers = READERS[reader]
    audited = []
    for place in (None, cuda):
        sender, receiver = readers(answers, place)
        asked = {
            "matching": "direct",
            "seeds": (0,),
            "audits": ["conflict", "mixing"],
            "interventions": ["word_shuffle"],
        }
        audited.append(sr.audit(sender, receiver, make(80), make(80, first=900), mixtures=["span", "words"], **asked))
    plain, there = audited
    assert there.skipped == plain.skipped
    assert there.verdicts.keys() == plain.verdicts.keys() == {"conflict", *(["mixing"] if make is texts else [])}
    for name, verdict in plain.verdicts.items():
        assert there.verdicts[name].answer == verdict.answer
        assert there.verdicts[name].observed.value == pytest.approx(verdict.observed.value, abs=0.02)
        assert there.verdicts[name].effect.value == pytest.approx(verdict.effect.value, abs=0.02)


def test_an_audit_that_was_stopped_goes_on(cuda: torch.device, tmp_path: Path) -> None:
    """Its stitches are in main memory in files, and come back to the device."""
    records, files = [], []
    for _ in range(2):
        asked = {"matching": "direct", "seeds": (0,), "audits": ["margin"], "controls": ["self"]}
        audited = sr.audit(*readers(TAGS, cuda), tagged(60), tagged(40, first=900), keep=tmp_path, **asked)
        records.append({name: verdict.as_record() for name, verdict in audited.verdicts.items()})
        files.append({path.name: path.stat().st_mtime_ns for path in tmp_path.glob("*.safetensors")})
    assert records[0] == records[1]
    assert files[0] == files[1], "a stitch was found again"
    assert len(files[0]) == 2


# ---- networks that change places


class Classifier(nn.Module):
    """Reads texts with padding, and answers once: the mean of what it makes of the tokens that count, and a head."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.embed, self.layer, self.head = nn.Embedding(WORDS, 8), nn.Linear(8, 8), nn.Linear(8, 3)

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        states = torch.tanh(self.layer(self.embed(input_ids)))
        counts = attention_mask[:, :, None].to(states.dtype)
        out: Tensor = self.head((states * counts).sum(1) / counts.sum(1))
        return out


@pytest.mark.slow
def test_swap(cuda: torch.device, tmp_path: Path) -> None:
    """The verdict, its audit and the curve; the stitch pools tokens, so it is told which of them are padding."""
    old, new = Classifier(0), Classifier(1)
    fit, test = texts(120), texts(80, first=900)
    with torch.no_grad():
        fit, test = (replace(s, labels=old(**s.inputs).argmax(1), classes=3) for s in (fit, test))
    verdicts = []
    for place in (None, cuda):
        nets = [net if place is None else copy.deepcopy(net).to(place) for net in (old, new)]
        verdicts.append(swap(*nets, fit, test, old_cuts="before:head", new_cuts="layer"))
    plain, there = verdicts
    assert (there.answer, there.chosen.pair, there.chosen.way) == (plain.answer, plain.chosen.pair, plain.chosen.way)
    assert there.match.stitch.name == "pool_linear"
    assert there.loss.penalty.value == pytest.approx(plain.loss.penalty.value, abs=1 / 80)
    assert [point.n for point in there.curve.points] == [point.n for point in plain.curve.points]
    assert there.no_audit == plain.no_audit == ""
    assert there.audit.conclusion == plain.audit.conclusion
    assert there.costs["joined"].flops == plain.costs["joined"].flops
    inputs = test.batch(slice(0, 9))
    moved = _devices.move(inputs, cuda)
    torch.testing.assert_close(
        _devices.to_memory(there.network(**moved)), plain.network(**inputs), rtol=1e-3, atol=1e-4
    )
    at_home = copy.deepcopy(there.network).to("cpu")
    torch.testing.assert_close(at_home(**inputs), plain.network(**inputs), rtol=1e-3, atol=1e-4)
    # The files are for any machine, and the network that is read back is where the given models are.
    _, exports = save(there, tmp_path)
    forms = {"safetensors", "torch.export", *(["ONNX"] if importlib.util.find_spec("onnxruntime") else [])}
    assert {export.form for export in exports if export.file} == forms
    again = JoinedNetwork.load(
        tmp_path / "joined.safetensors", old=there.match.receiver.model, new=Classifier(1).to(cuda)
    )
    torch.testing.assert_close(_devices.to_memory(again(**moved)), plain.network(**inputs), rtol=1e-3, atol=1e-4)


# ---- leagues, papers and the demo


@pytest.mark.slow
def test_bench(tmp_path: Path) -> None:
    """Networks are trained, compared, stitched and shown a conflict set; the league is that of main memory."""
    network = {"train": "zoo:lenet?channels=3", "n": 60, "training": "?epochs=1&batch=32"}
    tiny = BenchSet(
        name="tiny",
        data={"name": "digits/correlated", "n": 60, "n_test": 40},
        conflict={"name": "digits/digit", "n": 60, "n_test": 40},
        models={
            "digit": {**network, "data": "digits/digit", "seeds": (0, 1)},
            "colour": {**network, "data": "digits/colour"},
        },
        information={"digit": "digit", "colour": "colour"},
        receivers=("digit",),
        cuts=("relu1", "relu3"),
    )
    asked = {"measures": "linear_cka,mutual_knn,direct_functional", "tests": "identification,shortcut"}
    plain = bench(tiny, **asked, store=tmp_path / "memory", engine=InProcess())
    with pretend("cuda"):
        there = bench(tiny, **asked, store=tmp_path / "device", engine=InProcess(), device="cuda")
    assert there.trouble == plain.trouble == ()
    ours, theirs = (
        {
            (rating.test, rating.statistic, rating.family, rating.measure): rating.estimate.value
            for rating in league.ratings
        }
        for league in (there, plain)
    )
    assert len(theirs) > 15
    assert ours == pytest.approx(theirs, abs=0.01)


@pytest.mark.slow
def test_reproduce(tmp_path: Path) -> None:
    """Trainings, stitches and noise of a paper: its claims end as in main memory, by the same numbers."""
    small = {"seeds": (0,), "training": "?epochs=1&batch=128", "fit": 60, "per_class": 5}
    small["stitch"] = "task?lr=0.01&epochs=1&batch=32"
    sizes = {name: replace(size, quick=small.get(name, size.quick)) for name, size in EXAMPLE.sizes.items()}
    paper = replace(EXAMPLE, sizes=sizes)
    made = []
    for folder, place in (("memory", contextlib.nullcontext()), ("device", pretend("cuda"))):
        with place as device:
            asked = {"store": tmp_path / folder, "engine": InProcess(), "device": device and "cuda"}
            made.append(reproduce(paper, paper.items, **asked))
    plain, there = made
    assert [report.trouble for report in (*plain.reports, *there.reports)] == [""] * 8
    for ours, theirs in zip(there.reports, plain.reports, strict=True):
        assert [claim.status for claim in ours.claims] == [claim.status for claim in theirs.claims]
        values = [
            {(row["part"], row["cell"], row["figure"]): row["value"] for row in report.rows() if row["part"] != "time"}
            for report in (ours, theirs)
        ]
        assert values[0] == pytest.approx(values[1], abs=0.02)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::seamripper.data.FallbackWarning")
def test_demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """With one sender, a smaller network, and few of scikit-learn's digits: what it says is what it says elsewhere."""
    monkeypatch.setattr(demo_cast, "NETWORK", "zoo:R_1111?width=0.125")
    monkeypatch.setattr(demo_cast, "TRAINED", demo_cast.TRAINED[3:4])
    monkeypatch.setattr(demo_cast, "COUNTERPARTS", ())
    monkeypatch.setattr("seamripper.cli.demo_command.TEST", 50)
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    said = []
    for folder, words, place in (
        ("memory", [], contextlib.nullcontext()),
        ("device", ["--device", "cuda"], pretend("cuda")),
    ):
        with place:
            cli.main(["demo", "--n", "100", "--out", str(tmp_path / folder), "--json", *words], standalone_mode=False)
        said.append(json.loads(capsys.readouterr().out)["results"])
    (plain,), (there,) = said
    for audit in ("conflict", "interventions"):
        assert there[audit]["conclusion"] == plain[audit]["conclusion"]
    for figure in ("accuracy", "agreement"):
        assert there[figure]["value"] == pytest.approx(plain[figure]["value"], abs=0.03)
