"""Class mapping: images of a class for samples of the class that it is paired with."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import nn

from seamripper.cut import Split, split
from seamripper.data import Samples
from seamripper.data.paired import Paired
from seamripper.errors import DataError, DivergedError, MatchError
from seamripper.matching import ClassMapping, Training, match
from seamripper.matching.class_mapping import draw_by_class

LONG = Training(optimiser="sgd", lr=0.3, weight_decay=0.0, epochs=150, batch=64, schedule="cosine")
QUICK = Training(optimiser="sgd", lr=0.1, epochs=3, batch=16)
N = 90


def autoencoder(width: int, *, seed: int, scale: float = 1.0) -> nn.Sequential:
    """width → 5 → width, linear and in float64; `scale` is that of its answers."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        net = nn.Sequential(nn.Linear(width, 5), nn.Linear(5, width)).double()
    with torch.no_grad():
        net[1].weight.mul_(scale)
    return net


def half(net: nn.Module, width: int) -> Split:
    return split(net, "0", torch.zeros(2, width, dtype=torch.float64))


def kinds(width: int, means: list[float], *, spread: float, seed: int, name: str = "kinds") -> Samples:
    """Samples in as many classes as there are means, normal about the mean in every place."""
    labels = torch.randint(len(means), (N,), generator=torch.Generator().manual_seed(seed))
    labels[: len(means)] = torch.arange(len(means))
    noise = torch.randn(N, width, generator=torch.Generator().manual_seed(seed + 1), dtype=torch.float64)
    inputs = torch.tensor(means, dtype=torch.float64)[labels, None] + spread * noise
    return Samples(name, inputs, labels, torch.arange(N), classes=len(means))


# ---- what is found


@pytest.mark.parametrize("label_map", [None, (2, 0, 1)])
def test_finds_the_mean_image_of_the_paired_class(make, label_map: tuple[int, ...] | None) -> None:
    """A sender that shows the class, and an affine stitch: the best answer for class c is the mean of those paired."""
    theirs = kinds(3, [0.0, 1.0, 2.0], spread=0.0, seed=0, name="classes")
    theirs = replace(theirs, inputs=torch.eye(3, dtype=torch.float64)[theirs.labels])
    own = kinds(4, [-1.0, 0.5, 3.0], spread=0.4, seed=7)
    fit = Paired(theirs, own)
    found = match(make.nothing(3), make.nothing(4), fit, matching=ClassMapping(LONG, label_map))
    answers = found(own.inputs[:3], torch.eye(3, dtype=torch.float64))
    means = torch.stack([own.inputs[own.labels == kind].mean(0) for kind in (label_map or (0, 1, 2))])
    torch.testing.assert_close(answers, means, atol=0.05, rtol=0)
    assert found.status == "ok"
    # What is left is what the mean leaves: the spread within the classes.
    assert found.figures["loss_end"] == pytest.approx(0.16, rel=0.25)
    assert found.figures["loss_start"] > 5 * found.figures["loss_end"]


def test_the_loss_is_that_of_float64_by_hand() -> None:
    """With one image a class there is no draw: the loss is a plain mean."""
    theirs, own = (
        kinds(6, [0.0, 1.0, 2.0], spread=1.0, seed=3, name="theirs"),
        kinds(4, [-1.0, 0.5, 3.0], spread=0.0, seed=5),
    )
    front, back = autoencoder(6, seed=0), autoencoder(4, seed=1)
    fit = Paired(theirs, own)
    way = ClassMapping(replace(QUICK, epochs=0), (1, 2, 0))
    found = match(half(front, 6), half(back, 4), fit, matching=way, seed=4)
    images = torch.tensor([0.5, 3.0, -1.0], dtype=torch.float64)[theirs.labels, None].expand(-1, 4)
    weight, bias = found.layer.map()
    with torch.no_grad():
        wanted = back[1](front[0](theirs.inputs) @ weight.mT + bias)
        loss = ((wanted - images) ** 2).sum() / images.numel()
    assert found.figures["loss_start"] == pytest.approx(float(loss), rel=1e-12)
    assert found.figures["loss_end"] == found.figures["loss_start"]
    assert len(found.curves["loss"]) == 0
    assert found.status == "ok"


def test_samples_that_show_nothing_else_are_both_sets(make) -> None:
    own = kinds(6, [0.0, 2.0], spread=0.3, seed=1)
    net = half(autoencoder(6, seed=2), 6)
    found, same = (match(net, net, fit, matching=ClassMapping(QUICK)) for fit in (own, Paired(own, own)))
    assert found.figures == same.figures
    assert make.weights(found) == make.weights(same)
    assert torch.equal(found.fitted, own.ids)


def test_rows_need_not_belong_together(make) -> None:
    """The sender's samples in another order find the same mean images."""
    own = kinds(4, [-1.0, 0.5, 3.0], spread=0.4, seed=7)
    theirs = replace(own, inputs=torch.eye(3, dtype=torch.float64)[own.labels])
    turned = theirs.take(torch.arange(N).flip(0))
    answers = [
        match(make.nothing(3), make.nothing(4), Paired(one, own), matching=ClassMapping(LONG))(
            own.inputs[:3], torch.eye(3, dtype=torch.float64)
        )
        for one in (theirs, turned)
    ]
    torch.testing.assert_close(*answers, atol=0.1, rtol=0)


# ---- seeds, progress, records


def test_same_seed_same_stitch(make) -> None:
    own = kinds(6, [0.0, 2.0], spread=0.3, seed=1)
    net = half(autoencoder(6, seed=2), 6)
    one, again, other = (match(net, net, own, matching=ClassMapping(QUICK), seed=seed) for seed in (0, 0, 1))
    assert make.weights(one) == make.weights(again) != make.weights(other)
    assert torch.equal(one.curves["loss"], again.curves["loss"])
    assert len(one.curves["loss"]) == 3 * 6


def test_partners_are_drawn_anew_in_every_epoch(make) -> None:
    """With a stitch that does not move only the draw makes one epoch differ from the next."""
    own = kinds(4, [0.0, 0.0], spread=1.0, seed=1)
    whole = replace(QUICK, epochs=3, lr=1e-12, batch=N)
    losses = match(make.nothing(4), make.nothing(4), own, matching=ClassMapping(whole)).curves["loss"]
    assert len(set(losses.tolist())) == 3


def test_it_tells_how_far_it_is() -> None:
    own, seen = kinds(6, [0.0, 2.0], spread=0.3, seed=1), []
    net = half(autoencoder(6, seed=2), 6)
    match(net, net, own, matching=ClassMapping(QUICK), watch=seen.append)
    steps = [one for one in seen if one.task == "class mapping"]
    assert [one.done for one in steps] == list(range(1, 19))
    assert {one.total for one in steps} == {18}


def test_the_defaults_are_the_papers() -> None:
    training = ClassMapping().training
    assert (training.optimiser, training.lr, training.momentum) == ("sgd", 0.01, 0.9)
    assert (training.weight_decay, training.epochs, training.batch) == (0.01, 20, 128)


# ---- what cannot be


def test_a_loss_that_grows_without_end() -> None:
    own = kinds(6, [0.0, 2.0], spread=0.3, seed=1)
    net = half(autoencoder(6, seed=2, scale=100.0), 6)
    wild = Training(optimiser="sgd", lr=100.0, epochs=200, batch=16)
    with pytest.raises(DivergedError, match=r"The loss .* at step \d+ of 1200, with learning rate 100. Try a smaller"):
        match(net, net, own, matching=ClassMapping(wild))


def test_a_class_without_a_partner() -> None:
    own = kinds(4, [0.0, 1.0], spread=0.1, seed=1, name="own")
    theirs = kinds(4, [0.0, 1.0, 2.0], spread=0.1, seed=2, name="theirs")
    net = half(autoencoder(4, seed=2), 4)
    with pytest.raises(
        DataError, match="Class 2 of theirs is paired with class 2 of own, and there is no sample of that class"
    ):
        match(net, net, Paired(theirs, own), matching=ClassMapping(QUICK))
    with pytest.raises(DataError, match="Class 1 of theirs is paired with class 9 of own"):
        match(net, net, Paired(theirs, own), matching=ClassMapping(QUICK, (0, 9, 1)))
    with pytest.raises(DataError, match="label_map to have an entry for each of the 3 classes of theirs, but it has 2"):
        match(net, net, Paired(theirs, own), matching=ClassMapping(QUICK, (0, 1)))


def test_a_receiver_that_answers_with_classes(make, pair) -> None:
    with pytest.raises(
        MatchError, match=r"'class_mapping' is for receivers that answer with images .* answers with 3\. "
    ):
        match(*pair, make.blobs(40), matching=ClassMapping(QUICK))


def test_frozen_statistics_only() -> None:
    own = kinds(6, [0.0, 2.0], spread=0.3, seed=1)
    net = half(autoencoder(6, seed=2), 6)
    with pytest.raises(
        MatchError, match="freeze='weights' works only with the matching 'task', not with 'class_mapping'"
    ):
        match(net, net, own, matching=ClassMapping(QUICK), freeze="weights")


# ---- drawing


def test_draws_are_of_the_class_and_even() -> None:
    labels = torch.tensor([3, 0, 3, 1, 3, 0])
    draw, generator = draw_by_class(labels), torch.Generator().manual_seed(0)
    classes = torch.tensor([0, 1, 3]).repeat(3000)
    drawn = draw(classes, generator)
    assert torch.equal(labels[drawn], classes)
    shares = drawn.bincount(minlength=6) / 3000
    torch.testing.assert_close(shares, torch.tensor([1 / 3, 1 / 2, 1 / 3, 1.0, 1 / 3, 1 / 2]), atol=0.04, rtol=0)
