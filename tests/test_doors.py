"""Words in the place of choices, as the command line takes them; and values that print in one line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import seamripper as sr
from seamripper.audits.audit import MATCHING, matching_of
from seamripper.comparing import PreparedPass, Request, Rule
from seamripper.controls import Case
from seamripper.cut.many import heads
from seamripper.experiment import Local, Ray
from seamripper.experiment.engines import engines
from seamripper.matching import Direct, Regression, Task
from seamripper.measures import measures
from seamripper.stitches import Stitch, stitches


def samples(n: int, first: int = 0) -> sr.Samples:
    g = torch.Generator().manual_seed(first)
    ids = torch.arange(first, first + n)
    return sr.Samples("toy", torch.randn(n, 8, generator=g), ids % 3, ids, classes=3)


@pytest.fixture(scope="module")
def net() -> nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(8, 6), nn.ReLU(), nn.Linear(6, 3)).eval()


@pytest.fixture(scope="module")
def half(net: nn.Module) -> sr.Split:
    return sr.split(net, "1", torch.zeros(2, 8))


@pytest.fixture(scope="module")
def audited(half: sr.Split) -> sr.Audited:
    fit, test = samples(60), samples(40, 1000)
    return sr.audit(half, half, fit, test, matching="direct", seeds=(0,), controls="self,shuffled", audits="rank")


# ---- words


@pytest.mark.parametrize(
    ("word", "same"),
    [
        ("direct", Direct()),
        ("direct?ridge=0.1", Direct(ridge=0.1)),
        ("task?epochs=1&schedule=cosine", Task(sr.Training(epochs=1, schedule="cosine"))),
        ("regression?epochs=1&init=direct", Regression(sr.Training(epochs=1), init="direct")),
    ],
)
def test_a_matching_by_its_word_is_the_matching(half: sr.Split, word: str, same: Any) -> None:
    found, expected = (sr.match(half, half, samples(40), matching=way) for way in (word, same))
    assert found.matching == expected.matching == same
    assert all(torch.equal(a, b) for a, b in zip(found.layer.parameters(), expected.layer.parameters(), strict=True))
    assert Case(half, half, samples(9), samples(9, 20), matching=word).matching == same


def test_to_an_audit_the_words_of_the_command_line_mean_the_same() -> None:
    assert matching_of("task") == MATCHING
    assert matching_of("regression") == Regression(MATCHING.training)
    assert matching_of("task?lr=0.5") == Task(sr.Training(lr=0.5, batch=64, epochs=4), init="direct")
    assert matching_of("direct?ridge=2") == Direct(ridge=2)


def test_a_stitch_by_its_word_has_its_options(half: sr.Split) -> None:
    found = sr.match(half, half, samples(40), stitch="low_rank?rank=2", matching="direct")
    assert found.stitch == stitches.make("low_rank", rank=2)
    assert isinstance(found.stitch, Stitch)


def test_audits_controls_and_interventions_by_one_word(audited: sr.Audited, half: sr.Split) -> None:
    assert list(audited.verdicts) == ["rank"]
    assert [control["name"] for control in audited.record["controls"]] == ["self", "shuffled"]
    assert audited.record["matching"]["name"] == "direct"
    found = sr.audit(
        *(half, half, samples(60), samples(40, 1000)),
        interventions="none",
        matching=Direct(),
        seeds=(0,),
        controls=["self"],
        audits="rank",
    )
    assert found.record["interventions"] == []


def test_a_rule_by_its_word(net: nn.Module) -> None:
    fit = samples(60)
    for word, rule in (("pool", Rule("pool", batch=6)), ("pool?folds=3&interval=false", None)):
        made = PreparedPass.of(Request(net, net, fit, rule=word)).plan.rule
        assert made == (rule or Rule("pool", batch=10, folds=3, interval=False))
    assert PreparedPass.of(Request(net, net, fit)).plan.rule == Rule(batch=6)


def test_measures_and_cuts_by_one_word(net: nn.Module) -> None:
    found = sr.compare(net, net, samples(60), measures="linear_cka,opd", sender_cuts="0", receiver_cuts=["0", "1"])
    assert list(found.matrices) == ["linear_cka", "opd"]
    assert (found.senders, found.receivers) == (("0",), ("0", "1"))
    one = sr.compare(net, net, samples(60), measures=measures.make("opd"), sender_cuts="0", receiver_cuts="0")
    assert one["opd"].values[0][0] == pytest.approx(found["opd"].values[0][0], abs=1e-6)


def test_a_model_by_its_word() -> None:
    pictures = sr.load_data("digits/digit", "test", n=24)
    by_word = sr.split("zoo:lenet", "pool1")
    assert by_word.fingerprint == sr.split(sr.load("zoo:lenet"), "pool1").fingerprint
    assert [cut.name for cut in sr.cuts("zoo:lenet")] == [cut.name for cut in sr.cuts(sr.load("zoo:lenet"))]
    found = sr.compare("zoo:lenet", sr.load("zoo:lenet"), pictures, sender_cuts="pool1", receiver_cuts="pool1")
    assert found["linear_cka"].values[0][0] == pytest.approx(1)


def test_a_cut_that_was_listed_can_be_cut_at(net: nn.Module) -> None:
    for cut in sr.cuts(net, torch.zeros(1, 8)):
        assert sr.split(net, cut, torch.zeros(1, 8)).cut == cut


def test_a_match_is_read_back_with_a_model_by_its_word(tmp_path: Path) -> None:
    pictures = sr.load_data("digits/digit", "test", n=24)
    lenet = sr.load("zoo:lenet").module
    half = sr.split(lenet, "pool1", pictures.batch(slice(0, 2)))
    sr.match(half, half, pictures, matching="direct").save(tmp_path / "match.safetensors")
    again = sr.Match.load(tmp_path / "match.safetensors", sender="zoo:lenet?seed=3", receiver=sr.load("zoo:lenet"))
    assert again.sender.fingerprint == half.fingerprint


def test_a_training_and_an_engine_by_their_words() -> None:
    few = sr.load_data("digits/digit", "test", n=24)
    trained = sr.train("zoo:lenet", few, training="balogh?epochs=1&lr=0.01")
    assert trained.record["recipe"] == sr.Training(lr=0.01, batch=64, epochs=1).as_record()
    assert engines.make("local?workers=1").workers == 1
    assert isinstance(engines.make("local"), Local)
    cluster = engines.make("ray?address=head:6379", workers=3)
    assert isinstance(cluster, Ray)
    assert (cluster.address, cluster.workers) == ("head:6379", 3)


def test_a_measure_and_a_study_by_their_words(tmp_path: Path) -> None:
    rows = torch.randn(30, 4, generator=torch.Generator().manual_seed(0))
    pair = sr.Pair.of(rows, rows[:, :2])
    assert sr.score("svcca?dims=2", pair) == sr.score(measures.make("svcca?dims=2"), pair)
    study = tmp_path / "study.toml"
    (tmp_path / "mine.py").write_text("def f(k):\n    return {'k': k}\n")
    study.write_text('[[call]]\nfunction = "mine.py:f"\ngrid = { k = [1, 2] }\n')
    assert len(sr.plan(study).needed) == len(sr.plan(str(study)).needed) == 2
    done = sr.run(study, tmp_path / "store", engine="local")
    assert done.did == 2
    assert sr.plan(study, tmp_path / "store").needed == {}
    with sr.Store(tmp_path / "store") as store:
        assert repr(store) == f"Store({str(tmp_path / 'store')!r})"
    run = sr.Run.open(tmp_path / "store")
    assert short(run)
    assert short(sr.plan(study, tmp_path / "store"))


# ---- reprs


def short(value: object) -> bool:
    """One line, of a length that fits a screen, without a tensor or a tree of modules in it."""
    text = repr(value)
    return len(text) < 400 and "\n" not in text and "tensor(" not in text and "Linear(" not in text


LONG = "folder/" * 60 + "net.safetensors\nand more"
"""A name that a user may have."""


@pytest.mark.parametrize(
    "make",
    [
        lambda half, audited: sr.match(half, half, samples(40), matching="direct"),
        lambda half, audited: half,
        lambda half, audited: half.cut,
        lambda half, audited: sr.Model(half.model.module, LONG, input=(8,), classes=3),
        lambda half, audited: sr.split(sr.Model(half.model.module, LONG), "1", torch.zeros(2, 8)),
        lambda half, audited: sr.match(
            *[sr.split(sr.Model(half.model.module, LONG), "1", torch.zeros(2, 8))] * 2, samples(40), matching="direct"
        ),
        lambda half, audited: sr.compare(*[sr.Model(half.model.module, LONG)] * 2, samples(60)),
        lambda half, audited: samples(40),
        lambda half, audited: sr.Samples(LONG, torch.zeros(2, 3, 28, 28), torch.zeros(2).long(), torch.arange(2), 3),
        lambda half, audited: sr.collect(half, samples(40)),
        lambda half, audited: heads(half.model, None, torch.zeros(2, 8)),
        lambda half, audited: audited,
        lambda half, audited: audited.judgement,
        lambda half, audited: audited.verdicts["rank"],
        lambda half, audited: audited.outcomes[0],
        lambda half, audited: audited.outcomes[0].result,
        lambda half, audited: Case(half, half, samples(9), samples(9, 20)),
        lambda half, audited: sr.compare(half.model, half.model, samples(60)),
        lambda half, audited: sr.compare(half.model, half.model, samples(60))["linear_cka"],
        lambda half, audited: sr.compare(half.model, half.model, samples(60)).score("linear_cka", "0", "1"),
        lambda half, audited: sr.Pair.of(torch.zeros(40, 30), torch.ones(40, 20)),
        lambda half, audited: Task(),
        lambda half, audited: sr.Experiment(name="one"),
    ],
)
def test_it_prints_in_one_line(half: sr.Split, audited: sr.Audited, make: Callable[..., object]) -> None:
    assert short(make(half, audited)), repr(make(half, audited))


def test_a_repr_says_what_it_is(half: sr.Split, audited: sr.Audited) -> None:
    found = sr.match(half, half, samples(40), matching="direct")
    assert repr(found) == "Match(Sequential at 1 → Sequential at 1, affine by direct, n = 32: 'ok')"
    assert repr(half) == "Split('Sequential' at '1 (6, nd)', by fx)"
    assert repr(samples(40)) == "Samples('toy', n = 40, 8, classes = 3)"
    assert repr(sr.collect(half, samples(40))) == "Activations(at '1 (6, nd)', n = 40, kept in memory)"
    assert repr(audited).startswith("Audited(Sequential at 1 → Sequential at 1: ")
    assert repr(sr.compare(half.model, half.model, samples(60))) == (
        "Comparison(Sequential × Sequential: 1 matrices of 2 × 2 cuts, n = 60)"
    )
