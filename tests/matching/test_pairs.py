"""A sender that is shown something else than the receiver.

The reference is a world without pairs: each sample is both inputs side by side, the sender looks at one half and the
receiver at the other. Everything found must be the same, bit for bit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
import torch
from torch import Tensor, nn

from seamripper.activations import collect
from seamripper.comparing import compare
from seamripper.cut import Split, split
from seamripper.data import Samples
from seamripper.data.paired import Paired
from seamripper.errors import DataError
from seamripper.matching import Direct, EmbeddingMapping, Matching, Regression, Task, Training, evaluate, match

TRAINING = Training(epochs=3, batch=32, lr=0.01)
WIDTH = 8


class Look(nn.Module):
    """One half of an input that is two side by side."""

    def __init__(self, start: int) -> None:
        super().__init__()
        self.start = start

    def forward(self, x: Tensor) -> Tensor:
        return x[:, self.start : self.start + WIDTH].contiguous()


@dataclass(frozen=True, eq=False)
class World:
    """The same two networks and samples twice: shown, and side by side."""

    shown: tuple[Split, Split, Samples, Samples]
    beside: tuple[Split, Split, Samples, Samples]


def network(make, seed: int) -> list[nn.Module]:
    with make.seeded(seed):
        layers = [nn.Linear(WIDTH, 12), nn.BatchNorm1d(12), nn.ReLU(), nn.Linear(12, 12), nn.BatchNorm1d(12)]
        net = nn.Sequential(*layers, nn.ReLU(), nn.Linear(12, 3))
        for _ in range(3):
            net(make.blobs(60, seed=seed).inputs)
    return list(net.eval())


@pytest.fixture(scope="module")
def world(make) -> World:
    nets = [network(make, seed) for seed in (0, 1)]
    plain = [make.halves(nn.Sequential(*net), "2", make.blobs(2)) for net in nets]
    # The sender looks at the second half, where what is shown stands.
    wide = torch.zeros(2, 2 * WIDTH).normal_(generator=torch.Generator().manual_seed(0))
    halved = [split(nn.Sequential(Look(start), *net), "3", wide) for start, net in zip((WIDTH, 0), nets, strict=True)]
    shown, beside = [], []
    for seed, first_id in ((0, 0), (3, 5000)):
        inputs = make.blobs(120, seed=seed, first_id=first_id)
        # Of the same class, and another sample.
        other = make.blobs(120, seed=seed + 50, first_id=10**6)
        shown.append(Paired(other, inputs))
        beside.append(replace(inputs, inputs=torch.cat([inputs.inputs, other.inputs], 1)))
    return World((*plain, *shown), (*halved, *beside))


WAYS = {
    "direct": (Direct(), "all"),
    "direct, ridge": (Direct(ridge=0.1), "all"),
    "regression": (Regression(TRAINING), "all"),
    "embeddings": (EmbeddingMapping(TRAINING), "all"),
    "task": (Task(TRAINING), "all"),
    "task from direct": (Task(TRAINING, init="direct"), "all"),
    "task, plain tail": (Task(TRAINING, optimise=False), "all"),
    "task, statistics adapt": (Task(TRAINING), "weights"),
}


@pytest.mark.parametrize("way", WAYS)
def test_every_matching_finds_the_same_as_side_by_side(make, world: World, way: str) -> None:
    matching, freeze = WAYS[way]
    found, wanted = (
        match(sender, receiver, fit, matching=matching, freeze=freeze, seed=2)
        for sender, receiver, fit, _ in (world.shown, world.beside)
    )
    assert make.weights(found) == make.weights(wanted)
    assert found.figures == wanted.figures
    assert found.status == wanted.status
    assert torch.equal(found.fitted, wanted.fitted)
    test, whole = world.shown[3], world.beside[3]
    assert evaluate(found, test) == evaluate(wanted, whole)
    assert torch.equal(found(test.receiver.inputs, test.sender.inputs), wanted(whole.inputs))


@pytest.mark.parametrize(
    "matching", [Direct(), Regression(TRAINING), Task(TRAINING), EmbeddingMapping(TRAINING)], ids=lambda m: m.name
)
def test_what_is_shown_makes_a_difference(make, world: World, matching: Matching) -> None:
    sender, receiver, fit, test = world.shown
    found, plain = (match(sender, receiver, samples, matching=matching) for samples in (fit, fit.receiver))
    assert make.weights(found) != make.weights(plain)
    assert not torch.equal(found(test.receiver.inputs, test.sender.inputs), found(test.receiver.inputs))


def test_direct_matching_by_hand(world: World) -> None:
    """Least squares from what the sender makes of what it is shown to what the receiver makes of its own."""
    sender, receiver, fit, _ = world.shown
    found = match(sender, receiver, fit, matching=Direct())
    used = torch.isin(fit.ids, found.fitted)
    x, y = sender.head(fit.sender.inputs)[used].double(), receiver.head(fit.receiver.inputs)[used].double()
    solved = torch.linalg.lstsq(torch.cat([x, torch.ones(len(x), 1)], 1), y, driver="gelsd").solution
    weight, bias = found.layer.map()
    torch.testing.assert_close(x @ weight.mT.double() + bias, torch.cat([x, torch.ones(len(x), 1)], 1) @ solved)


def test_activations_are_of_what_a_sender_is_shown(world: World) -> None:
    sender, receiver, fit, _ = world.shown
    sent = collect(sender, fit, beside=receiver)
    assert torch.equal(sent.values, sender.head(fit.sender.inputs))
    assert torch.equal(sent.ids, fit.ids)
    own = collect(receiver, fit)
    assert torch.equal(own.values, receiver.head(fit.receiver.inputs))


class Masked(nn.Module):
    """Tokens averaged over those that a mask leaves; the mask is needed after the cut."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(20, 6)
        self.answer = nn.Linear(6, 3)

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        kept = attention_mask.unsqueeze(2).to(self.answer.weight.dtype)
        return self.answer((self.embed(input_ids) * kept).sum(1) / kept.sum(1))


def test_what_passes_beside_the_cut_is_the_receivers(make) -> None:
    generator = torch.Generator().manual_seed(0)

    def sentences(first_id: int, seen: int) -> Samples:
        ids = torch.randint(20, (40, 5), generator=generator)
        mask = torch.ones_like(ids)
        mask[:, seen:] = 0
        tokens = {"input_ids": ids, "attention_mask": mask}
        return Samples("text", tokens, torch.arange(40) % 3, torch.arange(first_id, first_id + 40), 3)

    with make.seeded(0):
        nets = [Masked(), Masked()]
    fit = Paired(sentences(10**6, 2), sentences(0, 4))
    sender, receiver = (make.halves(net, "embed", fit) for net in nets)
    assert receiver.context == ("attention_mask",)
    sent = collect(sender, fit, beside=receiver)
    # The fifth place is padding for both: it is cut off. The third and fourth are so for the sender alone.
    assert torch.equal(sent.values, nets[0].embed(fit.sender.inputs["input_ids"][:, :4]))
    assert torch.equal(sent.mask, fit.sender.inputs["attention_mask"][:, :4] > 0)
    assert torch.equal(sent.context["attention_mask"], fit.receiver.inputs["attention_mask"][:, :4])
    found = match(sender, receiver, fit, stitch="identity", matching=Task(TRAINING))
    mask = fit.receiver.inputs["attention_mask"].unsqueeze(2)
    mean = (nets[0].embed(fit.sender.inputs["input_ids"]) * mask).sum(1) / mask.sum(1)
    torch.testing.assert_close(found(fit.receiver.inputs, fit.sender.inputs), nets[1].answer(mean))


def test_augmentation_is_of_what_the_sender_is_shown(make) -> None:
    fit = Paired(make.images(24, seed=9, first_id=10**6), make.images(24))
    half = make.halves(make.resnet(0), "layer2", fit)
    task = Task(Training(epochs=1, batch=12), augment="flip_crop")
    found, plain = (match(half, half, samples, matching=task) for samples in (fit, fit.receiver))
    swapped = match(half, half, fit.sender, matching=task)
    # Images have no context, so the receiver's own never enter: only what is shown, and the labels, which are the same.
    assert make.weights(found) == make.weights(swapped) != make.weights(plain)


def test_a_record_tells_what_was_shown(world: World) -> None:
    sender, receiver, fit, _ = world.shown
    found = match(sender, receiver, fit, matching=Task(Training(epochs=0)))
    assert found.made_from["fit"]["fingerprint"] == fit.fingerprint != fit.receiver.fingerprint


def test_what_is_shown_must_be_what_the_sender_takes(make, world: World) -> None:
    sender, receiver, fit, test = world.shown
    odd = Paired(make.samples((9,), 120, name="noise"), fit.receiver)
    with pytest.raises(DataError, match=r"The sender .* was cut for inputs input 8 \(float32\), but noise has input 9"):
        match(sender, receiver, odd)
    found = match(sender, receiver, fit, matching=Direct())
    with pytest.raises(DataError, match=r"The sender .*but noise has input 9"):
        evaluate(found, Paired(odd.sender, test.receiver))


def test_a_sender_of_another_kind_of_input(make, world: World) -> None:
    """Noise at the cut beside images: what each is shown is checked against what it was cut for."""
    _, receiver, fit, _ = world.shown
    maps = make.images(120)
    sender = make.halves(make.resnet(0), "avgpool", maps)
    found = match(sender, receiver, Paired(maps, fit.receiver), matching=Direct())
    assert found.sender.cut.shape == (64, 1, 1)


def test_scored_samples_are_told_by_the_receivers_ids(world: World) -> None:
    sender, receiver, fit, _ = world.shown
    found = match(sender, receiver, fit, matching=Task(Training(epochs=0)))
    with pytest.raises(
        DataError, match="120 of the 120 samples of blobs are among those that the stitch was fitted on"
    ):
        evaluate(found, fit.receiver)


def test_compare_shows_both_the_same(world: World) -> None:
    sender, receiver, fit, _ = world.shown
    with pytest.raises(DataError, match="Here both networks are shown the same: give one side"):
        compare(sender.model, receiver.model, fit)
