"""Downstream matching: the receiver's later layers come out as its own."""

from __future__ import annotations

import copy
import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

import seamripper as sr
from seamripper.cut import Split, split
from seamripper.cut.behind import Behind
from seamripper.errors import CutError, DataError, MatchError
from seamripper.matching import Direct, Downstream, Match, Task, Training, evaluate, match, match_many, matchings

QUICK = Training(epochs=3, batch=32, lr=0.01)
LONG = Training(epochs=400, batch=1000, lr=0.05, weight_decay=0.0, schedule="cosine")


def layers_of(net: nn.Sequential, x: Tensor, first: int, names: list[str]) -> list[Tensor]:
    """What the layers of these names make of activations that the layer `first` takes, one after the other."""
    values = {}
    for k in range(first, len(net)):
        x = net[k](x)
        values[str(k)] = x
    return [values[name] for name in names]


def plain_loss(found: Match, inputs: Tensor, names: list[str]) -> float:
    """The loss in float64, written out: the cut is `1`, so the layer behind it is the third."""
    sender, receiver = (copy.deepcopy(half.model.module).double() for half in (found.sender, found.receiver))
    x = inputs.double()
    sent, own = (net[1](net[0](x)) for net in (sender, receiver))
    stitched = copy.deepcopy(found.layer).double()(sent)
    made = [stitched, *layers_of(receiver, stitched, 2, names[1:])]
    native = [own, *layers_of(receiver, own, 2, names[1:])]
    errors = [(((a - b) ** 2).sum() / (b**2).sum()).item() for a, b in zip(made, native, strict=True)]
    return math.fsum(errors) / len(errors)


def test_the_loss_is_the_plain_one_in_float64(make, pair) -> None:
    fit, other = make.blobs(192), make.blobs(100, seed=5, first_id=5000)
    found = match(*pair, fit, matching=Downstream(QUICK), held_out=other)
    assert found.figures["layers"] == "1, 2, 3"
    for samples, where in ((fit, "in_sample"), (other, "held_out")):
        expected = plain_loss(found, samples.inputs, ["1", "2", "3"])
        assert found.figures[f"downstream_{where}"] == pytest.approx(expected, rel=1e-5)
        parts = [found.figures[f"downstream_{where}_at_{name}"] for name in ("1", "2", "3")]
        assert math.fsum(parts) / 3 == pytest.approx(expected, rel=1e-5)
    assert found.figures["loss_end"] == pytest.approx(found.figures["downstream_in_sample"], rel=1e-6)
    assert found.figures["loss_end"] < found.figures["loss_start"]
    assert len(found.curves["loss"]) == 18


def test_the_first_step_is_that_of_the_plain_gradient(make, pair) -> None:
    """One step of plain gradient descent on all samples, by hand."""
    fit = make.blobs(60)
    training = Training("sgd", lr=0.1, momentum=0.0, weight_decay=0.0, epochs=1, batch=60)
    start, found = (
        match(*pair, fit, matching=Downstream(t), held_out=make.blobs(20, first_id=900))
        for t in (Training(epochs=0), training)
    )
    layer = copy.deepcopy(start.layer).requires_grad_(True)
    receiver, own = pair[1].model.module, pair[1].head(fit.inputs)
    stitched = layer(pair[0].head(fit.inputs))
    names = ["2", "3"]
    made = [stitched, *layers_of(receiver, stitched, 2, names)]
    native = [own, *layers_of(receiver, own, 2, names)]
    loss = sum((a - b).square().sum() / b.square().sum() for a, b in zip(made, native, strict=True)) / 3
    loss.backward()
    for mine, theirs in zip(layer.parameters(), found.layer.parameters(), strict=True):
        torch.testing.assert_close(mine.detach() - 0.1 * mine.grad, theirs, rtol=1e-4, atol=1e-6)


@pytest.mark.slow
def test_recovers_a_planted_map(make) -> None:
    planted = make.planted("nchw")
    fit = make.samples(make.shapes["nchw"], 100, dtype=torch.float64)
    found = match(planted.sender, planted.receiver, fit, matching=Downstream(replace(LONG, epochs=1200, lr=0.1)))
    assert found.figures["layers"] == "2, 3, 4"
    torch.testing.assert_close(found.layer.map()[0], planted.weight, atol=5e-2, rtol=0)
    assert found.figures["downstream_held_out"] < 1e-4


def test_only_the_last_layer_finds_what_the_cut_need_not_have(make) -> None:
    """Half of the cut's channels are not read behind it: matched at the last layer they may be anything."""
    with make.seeded(0):
        sender = nn.Sequential(nn.Linear(8, 6), nn.Tanh(), nn.Linear(6, 3))
        receiver = nn.Sequential(nn.Linear(8, 6), nn.Tanh(), nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 3))
        with torch.no_grad():
            receiver[2].weight[:, 3:] = 0
            # What is read of the receiver is what the sender has, and the rest is not.
            receiver[0].weight[:3], receiver[0].bias[:3] = sender[0].weight[:3], sender[0].bias[:3]
    fit, other = make.blobs(200), make.blobs(100, seed=5, first_id=5000)
    halves = make.halves(sender, "1", fit), make.halves(receiver, "1", fit)
    found = match(*halves, fit, matching=Downstream(LONG, layers=("last",)), held_out=other)
    assert found.figures["layers"] == "3"
    assert found.figures["downstream_held_out"] < 1e-3
    x, y = (half.head(other.inputs) for half in halves)
    assert float((found.layer(x) - y).square().sum() / y.square().sum()) > 0.1


def test_names_of_layers_may_be_told(make, pair) -> None:
    fit = make.blobs(100)
    found = match(*pair, fit, matching="downstream?layers=3,2&epochs=1")
    assert found.figures["layers"] == "2, 3"
    assert matchings.make("downstream?layers=last&then=task").layers == ("last",)
    with pytest.raises(CutError, match=r"'0' comes before the cut '1'. Behind it are '2' and '3'"):
        match(*pair, fit, matching="downstream?layers=0")
    with pytest.raises(CutError, match="There is no layer '9' to cut"):
        match(*pair, fit, matching="downstream?layers=9")
    with pytest.raises(MatchError, match="but got none"):
        Downstream(layers=())
    with pytest.raises(MatchError, match="then of the matching 'downstream'"):
        Downstream(then="tsk")  # type: ignore[arg-type]


def test_no_labels_are_needed_until_the_task_comes(make, pair) -> None:
    fit = make.samples((8,), 60, classes=40)
    assert match(*pair, fit, matching=Downstream(Training(epochs=1))).status == "ok"
    with pytest.raises(DataError, match="the receiver has 3 classes"):
        match(*pair, fit, matching=Downstream(Training(epochs=1), then="task"))


def test_then_the_task_goes_on_from_there(make, pair) -> None:
    fit = make.blobs(240)
    aligned = match(*pair, fit, matching=Downstream(QUICK, layers=("last",)))
    found = match(*pair, fit, matching=Downstream(QUICK, layers=("last",), then="task"))
    assert found.figures["downstream_in_sample"] == aligned.figures["downstream_in_sample"]
    used = fit.take(torch.isin(fit.ids, aligned.fitted))
    expected = nn.functional.cross_entropy(aligned(used.inputs), used.labels)
    assert found.figures["task_loss_start"] == pytest.approx(float(expected), rel=1e-4)
    assert found.figures["task_loss_end"] < found.figures["task_loss_start"]
    assert set(found.curves) == {"loss", "task_loss"}
    assert make.weights(found) != make.weights(aligned)


def test_the_networks_stay_as_they_are_and_the_result_is_of_the_seed(make, pair) -> None:
    fit, before = make.blobs(100), [half.fingerprint for half in pair]
    found = [match(*pair, fit, matching=Downstream(QUICK), seed=seed) for seed in (0, 0, 1)]
    assert [half.fingerprint for half in pair] == before
    assert make.weights(found[0]) == make.weights(found[1]) != make.weights(found[2])
    hooks = [m._forward_hooks or m._forward_pre_hooks for half in pair for m in half.model.module.modules()]
    assert not any(hooks)


class Writes(nn.Module):
    """Counts its calls in a buffer, also in eval mode."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        if len(x) > 16:
            self.calls += 1
        return x * 1.0


def test_a_receiver_that_moves_is_refused(make) -> None:
    net = make.mlp(0)
    moving = nn.Sequential(net[0], net[1], net[2], Writes(), net[4])
    fit = make.blobs(100)
    with pytest.raises(sr.errors.FrozenError, match="calls"):
        match(make.halves(net, "1", fit), make.halves(moving, "1", fit), fit, matching=Downstream(QUICK))


# ---- the places behind a cut


@pytest.mark.parametrize("way", ["fx", "hooks"])
@pytest.mark.parametrize("cut", ["conv1", "layer1.0", "layer2", "layer4"])
def test_the_values_behind_a_cut_are_those_of_the_whole_model(make, way: str, cut: str) -> None:
    """In-place ReLUs, blocks in stages, and a flattening without a name."""
    model, images = make.resnet(0), make.images(6)
    inputs = images.batch(slice(0, 6))
    half = split(model, cut, inputs[:2], way=way)  # type: ignore[arg-type]
    for words in (["all"], ["last"]):
        behind = Behind(half, words)
        expected = sr.cut.many.heads(model, [c.name for c in behind.cuts], inputs[:2])(inputs)
        for value, wanted in zip(behind(half.head(inputs)), expected, strict=True):
            assert torch.equal(value, wanted)
    assert behind.cuts[0].layout == "nd"
    assert Behind(half, ["all"]).cuts[0].name == cut


def test_the_last_cut_of_all_is_matched_at_itself(make) -> None:
    fit = make.blobs(100)
    halves = [make.halves(make.trained(seed), "3", fit) for seed in (0, 1)]
    direct = match(*halves, fit, matching=Direct())
    found = match(*halves, fit, matching=Downstream(Training(epochs=0), init="direct", layers=("last",)))
    assert found.figures["layers"] == "3"
    assert found.figures["downstream_held_out"] == pytest.approx(direct.figures["residual_held_out"], rel=1e-5)


def test_a_module_that_is_called_again_behind_the_cut(make) -> None:
    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b, self.c, self.act = nn.Linear(8, 6), nn.Linear(6, 5), nn.Linear(5, 3), nn.ReLU(inplace=True)

        def forward(self, x: Tensor) -> Tensor:
            answer: Tensor = self.c(self.act(self.b(self.act(self.a(x)))))
            return answer

    with make.seeded(0):
        net = Twice()
    fit = make.blobs(64)
    for way in ("fx", "hooks"):
        half: Split = split(net, "act#1", fit.inputs[:2], way=way)  # type: ignore[arg-type]
        (value,) = Behind(half, ["act#2"])(half.head(fit.inputs))
        (before,) = Behind(half, ["b"])(half.head(fit.inputs))
        assert torch.equal(value, before.relu())
        assert bool((before < 0).any())


# ---- in other hands


def test_several_senders_and_the_answers_of_the_stitched_network(make, pair) -> None:
    fit, test = make.blobs(150), make.blobs(100, seed=7, first_id=7000)
    alone = match(*pair, fit, matching=Downstream(QUICK))
    (found,) = match_many([pair[0]], pair[1], fit, matching="downstream?epochs=3&batch=32&lr=0.01")
    assert isinstance(found, Match)
    assert make.weights(found) == make.weights(alone)
    assert evaluate(found, test).top1.value > 0.5
    assert Task().name != found.matching.name


def test_saved_and_read_back(make, pair, tmp_path) -> None:
    found = match(*pair, make.blobs(100), matching=Downstream(QUICK, layers=("2", "last")))
    found.save(tmp_path / "m.safetensors")
    nets = {"sender": pair[0].model, "receiver": pair[1].model}
    again = Match.load(tmp_path / "m.safetensors", **nets)
    assert again.matching == found.matching
    assert dict(again.figures) == dict(found.figures)
