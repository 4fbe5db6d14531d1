"""Methods cards: what they say, and that the number comes out again from the card alone."""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import seamripper as sr
from card_files import NETS, again, digits
from seamripper._frames import Tabular
from seamripper.cards import Card, Methods, WithMethods, method_record
from seamripper.comparing import Rule, diff
from seamripper.errors import DataError, ExperimentError, FileError, MatchError, MeasureError, ModelError, StoreError
from seamripper.experiment import table
from seamripper.experiment.methods import job_methods
from seamripper.mapping import encode, map_embeddings
from seamripper.matching.evaluate import functional
from seamripper.remaking import _MAKERS, remake
from seamripper.swapping import swap


@pytest.fixture(scope="module")
def comparison() -> sr.Comparison:
    nets = map(sr.load, NETS)
    choices = {"rule": Rule(batch=8, seed=5), "sender_cuts": ["conv1", "conv2"], "receiver_cuts": ["pool2", "fc1"]}
    return sr.compare(*nets, digits(), measures="linear_cka,mutual_knn,direct_functional", null=19, **choices)


# ---- the number comes out again


@pytest.mark.parametrize("measure", ["linear_cka", "mutual_knn", "direct_functional"])
def test_a_score_with_its_null_comes_out_again(comparison: sr.Comparison, measure: str, tmp_path: Path) -> None:
    sender, receiver = comparison.senders[1], comparison.receivers[0]
    remade = again(comparison.card(measure, sender, receiver), tmp_path)
    score = comparison.score(measure, sender, receiver)
    assert remade.same, remade
    assert remade.row["value"] == pytest.approx(score.value, rel=1e-5)
    assert (remade.row.get("p"), remade.row["n"]) == (score.null and score.null.p, score.n)
    assert str(remade).endswith("the number of the card.")


@pytest.mark.parametrize("matching", ["direct?ridge=0.1", "task?epochs=1&init=direct"])
def test_the_accuracy_of_a_stitch_comes_out_again(matching: str, tmp_path: Path) -> None:
    nets = [sr.load(source) for source in NETS]
    fit = digits("train", 60)
    halves = [sr.split(net, "conv2", net.example()) for net in nets]
    result = sr.evaluate(sr.match(*halves, fit, matching=matching, seed=7), digits())
    remade = again(result.card("top1"), tmp_path)
    assert remade.row["value"] == result.top1.value
    assert remade.same
    # Another seed of the network is another number, and is refused before anyone compares it.
    with pytest.raises(FileError, match="The sender has the fingerprint"):
        again(result.card("kl"), tmp_path, sender=sr.load("zoo:lenet?channels=3&seed=2"))


def test_the_recall_of_a_map_comes_out_again(tmp_path: Path) -> None:
    g = torch.Generator().manual_seed(0)
    old = torch.randn(300, 6, generator=g)
    new = old @ torch.randn(6, 5, generator=g) + 0.3 * torch.randn(300, 5, generator=g)
    for name, rows in (("old", old), ("new", new)):
        np.save(tmp_path / f"{name}.npy", rows.numpy())
    verdict = map_embeddings(tmp_path / "old.npy", tmp_path / "new.npy", queries=40, metric="euclidean", seed=2)
    for labels in (("map", "own", "Recall@10"), ("map", "again", "MRR"), ("map", "", "R²")):
        remade = again(verdict.card(*labels), tmp_path)
        assert remade.same, remade
    np.save(tmp_path / "new.npy", new.numpy() + 1e-3)
    with pytest.raises(FileError, match="The new has the fingerprint"):
        again(verdict.card("map", "own", "Recall@10"), tmp_path)


def test_a_difference_comes_out_again(tmp_path: Path) -> None:
    base = sr.load(NETS[0])
    changed = sr.load(NETS[0]).module
    with torch.no_grad():
        changed.get_submodule("conv2").weight.add_(0.01)  # type: ignore[operator]
    result = diff(base, changed, digits(n=40), cuts="conv2", null=19)
    for labels in (("conv2", "relative error"), ("conv2", "linear_cka"), ("answers", "kl")):
        remade = again(result.card(*labels), tmp_path, changed=changed)
        assert remade.same, remade
    with pytest.raises(ModelError, match=r"pass the model, remake\(card, changed=model\)"):
        again(result.card("conv2", "relative error"), tmp_path)


def test_the_figures_of_a_match_come_out_again(tmp_path: Path) -> None:
    halves = [sr.split(net, "conv2", net.example()) for net in map(sr.load, NETS)]
    stitched = sr.match(*halves, digits("train", 60), matching="direct?ridge=0.1", seed=7)
    for figure in ("residual_held_out", "form"):
        assert again(stitched.card(figure), tmp_path).same
    assert "found by the matching 'direct'" in str(stitched.card("rank"))
    result = sr.evaluate(stitched, digits(), own=digits("test", 40))
    remade = again(result.card("receiver_own"), tmp_path)
    assert (remade.same, remade.row["n"]) == (True, 40)


def test_the_figures_of_an_audit_come_out_again(tmp_path: Path) -> None:
    halves = [sr.split(net, "conv2", net.example()) for net in map(sr.load, NETS)]
    choices = {"matching": "direct", "audits": "conflict?n=30,rank", "interventions": "greyscale"}
    more = {"controls": "self,random_sender", "seeds": (0, 1)}
    audited = sr.audit(*halves, digits("train", 60), digits(n=60), others=[halves[0]], **choices, **more)
    assert set(audited.verdicts) == {"conflict", "rank"}
    for labels in (("conflict", "self 2"), ("rank", "effect")):
        remade = again(audited.card(*labels), tmp_path)
        assert remade.same, remade
    assert "The audit 'conflict' asks: " in str(audited.card("conflict", "effect"))
    with pytest.raises(FileError, match="The other_0 has the fingerprint"):
        again(audited.card("conflict", "observed"), tmp_path, other_0=sr.load("zoo:lenet?channels=3&seed=2"))


def test_the_figures_of_a_swap_come_out_again(tmp_path: Path) -> None:
    cuts = {"old_cuts": "fc2", "new_cuts": "fc2"}
    verdict = swap(*NETS, digits("train", 80), digits(n=60), audit=False, seed=2, **cuts)
    for labels in (("test", "penalty"), ("learning curve", "32")):
        remade = again(verdict.card(*labels), tmp_path)
        assert remade.same, remade
    text = str(verdict.card("test", "penalty"))
    assert "64 were to fit stitches on and 16 to choose between them, dealt by seed 2" in text
    frame = verdict.to_pandas()
    assert frame.loc[(frame["part"] == "test") & (frame["figure"] == "penalty"), "p"].item() == verdict.loss.p_worse
    assert float(verdict.to_xarray()["value"].sel(part="test", figure="old")) == verdict.loss.old.value


def test_the_map_between_two_encoders_comes_out_again(tmp_path: Path) -> None:
    samples = digits(n=120)
    halves = [sr.split(net, "fc1", net.example()) for net in map(sr.load, NETS)]
    verdict = map_embeddings(*(encode(half, samples) for half in halves), queries=20)
    remade = again(verdict.card("map", "own", "Recall@10"), tmp_path)
    assert remade.same, remade
    assert verdict.record["old"]["name"] == f"{NETS[0]}@fc1"


STUDY = f"""
name = "study"
[data]
name = "digits/digit"
n = 60
n_test = 50
[models.a]
load = "{NETS[0]}"
[models.b]
train = "lenet?channels=3"
data = "digits/digit"
n = 60
training = "?epochs=1"
[[stitch]]
senders = ["a"]
receivers = ["b"]
cuts = ["conv2"]
matchings = ["direct"]
[[call]]
function = "mine.py:f"
"""


@pytest.mark.slow
def test_a_row_of_a_study_comes_out_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "study.toml").write_text(STUDY)
    (tmp_path / "mine.py").write_text("def f():\n    return {'one': 1.0}\n")
    sr.run("study.toml", "store", engine="local?workers=1")
    with sr.Store("store") as store:
        rows = [row for row in table(store)[1] if row["figure"] == "agreement" or row["kind"] == "train"]
        cards = [job_methods(store, row["key"]).card(row["figure"]) for row in rows]
        with pytest.raises(StoreError, match="has no job 'abc'"):
            job_methods(store, "abc")
    assert {card.method["job"]["kind"] for card in cards} == {"stitch", "train"}
    assert "the study 'study'" in str(cards[0])
    with pytest.raises(FileError, match=r"mine.py:f \(study\), code of a file"):
        again(cards[0], tmp_path)
    remade = again(next(c for c in cards if c.method["job"]["kind"] == "stitch"), tmp_path, trust=True)
    assert remade.same, remade
    (tmp_path / "study.toml").write_text(STUDY.replace("n_test = 50", "n_test = 40"))
    with pytest.raises(ExperimentError, match="The study has no job"):
        again(next(c for c in cards if c.method["job"]["kind"] == "stitch"), tmp_path, study="study.toml")


def test_a_number_that_comes_out_otherwise_is_called_so(comparison: sr.Comparison, tmp_path: Path) -> None:
    card = comparison.card("linear_cka", comparison.senders[0], comparison.receivers[0])
    other = dataclasses.replace(card, row={**card.row, "value": card.row["value"] + 0.001})
    remade = again(other, tmp_path)
    assert not remade.same
    assert "not the number of the card" in str(remade)


# ---- what a card says


def test_every_kind_of_result_has_cards_of_one_form() -> None:
    """Whatever has rows has cards, and one place makes each kind again."""
    kinds = {cls.kind for cls in WithMethods.__subclasses__()}
    assert set(Tabular.__subclasses__()) == {WithMethods}
    assert kinds | {"job"} == set(_MAKERS)
    asked = {"cut", "sampling", "pooling", "mask", "n", "estimator", "null", "versions"}
    assert asked <= set(inspect.signature(method_record).parameters)


def test_a_card_has_all_that_a_reader_asks_for(comparison: sr.Comparison) -> None:
    sender, receiver = comparison.senders[0], comparison.receivers[1]
    card = comparison.card("linear_cka", sender, receiver)
    method = card.as_record()["method"]
    expected = {"sender", "receiver", "data", "n", "sampling", "pooling", "mask", "estimator", "null", "versions"}
    assert expected <= set(method)
    assert method["data"]["recipe"] == {"data": "digits/digit", "split": "test", "n": 80, "seed": 3}
    assert method["data"]["fingerprint"] == digits().fingerprint
    assert method["sender"]["source"] == NETS[0]
    assert method["sender"]["fingerprint"] == sr.load(NETS[0]).fingerprint
    assert sender in [cut["name"] for cut in method["sender"]["cuts"]]
    assert method["null"]["permutations"] == 19
    assert set(method["versions"]) == {"seamripper", "torch"}
    text = str(card)
    assert text.startswith(f"linear_cka, {sender}, {receiver}: {card.row['value']:.6g} [")
    for words in ("similarity between 0 and 1 (", NETS[0], "80 samples of digits/digit", "sampling 'positions'"):
        assert words in text
    for words in ("No sample has padding.", "19 permutations", "5 folds", torch.__version__):
        assert words in text
    assert re.search(r"[.] [.]|  |None", text) is None


def test_all_cards_of_a_result_are_in_one_file(comparison: sr.Comparison, tmp_path: Path) -> None:
    path = comparison.methods().save(tmp_path / "methods.json")
    labels = ("mutual_knn", comparison.senders[0], comparison.receivers[0])
    # JSON has lists for tuples.
    known = json.loads(json.dumps(comparison.card(*labels).as_record()))
    assert Methods.load(path).card(*labels).as_record() == known
    loaded = sr.Comparison.load(comparison.save(tmp_path).parent)
    assert json.loads(json.dumps(loaded.card(*labels).as_record())) == known


def test_samples_forget_how_they_were_loaded_when_they_are_no_longer_those() -> None:
    samples = digits()
    assert samples.recipe is not None
    assert samples.take(slice(0, 3)).recipe is None
    assert samples.draw(5).recipe is None
    assert samples.with_inputs(samples.batch(slice(None)), name="other").recipe is None
    assert sr.load_data(**samples.recipe).fingerprint == samples.fingerprint


def test_wrong_labels_and_files(comparison: sr.Comparison, tmp_path: Path) -> None:
    with pytest.raises(MeasureError, match="Say which 'measure' the card is for: 'linear_cka'"):
        comparison.card()
    with pytest.raises(MeasureError, match="no measure 'linear_kca' here: did you mean 'linear_cka'"):
        comparison.card("linear_kca")
    with pytest.raises(MeasureError, match="'more' as well"):
        comparison.card("linear_cka", comparison.senders[0], comparison.receivers[0], "more")
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(FileError, match="holds no methods card"):
        Card.load(tmp_path / "other.json")
    with pytest.raises(FileError, match="Could not read"):
        Card.load(tmp_path / "nothing.json")
    with pytest.raises(FileError, match=r"Expected .* to hold a 'card', but it holds 'methods'"):
        Card.load(comparison.methods().save(tmp_path / "methods.json"))


def test_what_a_card_cannot_load_must_be_given(comparison: sr.Comparison, tmp_path: Path) -> None:
    card = comparison.card("linear_cka", comparison.senders[0], comparison.receivers[0])

    def changed(**parts: Any) -> Card:
        return dataclasses.replace(card, method={**card.method, **parts})

    # A file that a card names is not run.
    (tmp_path / "mine.py").write_text("raise SystemExit('this must not run')")
    source = {**card.method["sender"], "source": f"{tmp_path}/mine.py:make"}
    recipe = {**card.method["data"]["recipe"], "data": f"{tmp_path}/mine.py:Data"}
    for role, parts in (("sender", source), ("data", {**card.method["data"], "recipe": recipe})):
        with pytest.raises(FileError, match=rf"\({role}\), code of a file, which is not run because a card names it"):
            again(changed(**{role: parts}), tmp_path)
    with pytest.raises(FileError, match=r"mine\.py:Mine"):
        again(dataclasses.replace(card, labels={**card.labels, "measure": f"{tmp_path}/mine.py:Mine"}), tmp_path)
    with pytest.raises(DataError, match=r"pass them, remake\(card, data=samples\)"):
        again(changed(data={**card.method["data"], "recipe": None}), tmp_path)
    assert again(changed(data={**card.method["data"], "recipe": None}), tmp_path, data=digits()).same
    with pytest.raises(FileError, match="The data has the fingerprint"):
        again(card, tmp_path, data=digits(n=70))
    with pytest.raises(FileError, match="no way to make a 'poem' again"):
        remake(dataclasses.replace(card, kind="poem"))
    with pytest.raises(FileError, match="The card is damaged"):
        remake(dataclasses.replace(card, method={}))
    says = torch.eye(2)[[0, 1]]
    two = sr.Samples("two", torch.zeros(2, 1), torch.tensor([0, 1]), torch.arange(2), classes=2)
    with pytest.raises(MatchError, match="not made by `evaluate`"):
        functional(says, says, two).card("top1")


def test_a_bare_module_must_be_given() -> None:
    """A bare module has no source that a word loads: its card says so when it is made again."""
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3)).eval()
    rows = torch.randn(40, 4, generator=torch.Generator().manual_seed(0))
    toy = sr.Samples("toy", rows, torch.arange(40) % 3, torch.arange(40), classes=3)
    card = sr.compare(net, net, toy).card("linear_cka", "1", "1")
    with pytest.raises(ModelError, match="remake"):
        remake(card, data=toy)
    assert remake(card, data=toy, sender=net, receiver=net).same
