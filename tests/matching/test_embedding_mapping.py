"""Embedding mapping: the cheapest pairing of stitched and native activations, found and learnt from."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
import torch

from seamripper.data import Samples
from seamripper.data.paired import Paired
from seamripper.errors import DivergedError
from seamripper.matching import EmbeddingMapping, Training, evaluate, match
from seamripper.matching.embedding_mapping import assigned_distance

QUICK = Training(optimiser="sgd", lr=1e-3, epochs=3, batch=16)
N = 60


def points(inputs: torch.Tensor, name: str = "points") -> Samples:
    return Samples(name, inputs, torch.arange(len(inputs)) % 2, torch.arange(len(inputs)), classes=2)


def normal(*shape: int, seed: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


# ---- the loss


@pytest.mark.parametrize("squared", [True, False])
def test_the_loss_is_the_least_over_all_pairings(squared: bool) -> None:
    sent, own = normal(6, 3, seed=0), normal(6, 3, seed=1)
    power = 2 if squared else 1
    every = [
        sum(float((sent[i] - own[j]).norm()) ** power for i, j in enumerate(order))
        for order in itertools.permutations(range(6))
    ]
    assert float(assigned_distance(sent, own, squared=squared)) == pytest.approx(min(every), rel=1e-12)
    # In float32 too, to its precision.
    short = assigned_distance(sent.float(), own.float(), squared=squared)
    assert (short.dtype, float(short)) == (torch.float32, pytest.approx(min(every), rel=1e-5))


def test_squared_or_not_may_pair_otherwise() -> None:
    sent, own = torch.tensor([[0.0], [1.0]]), torch.tensor([[1.0], [3.0]])
    # By squares 0 → 1 and 1 → 3 (1 + 4); by distances that is 3, and so is 0 → 3 with 1 → 1.
    assert float(assigned_distance(sent, own)) == 5
    assert float(assigned_distance(sent, own, squared=False)) == 3


@pytest.mark.parametrize("squared", [True, False])
def test_the_gradient_is_that_of_the_distances_alone(squared: bool) -> None:
    sent, own = normal(5, 3, seed=0).requires_grad_(), normal(5, 3, seed=1)
    assigned_distance(sent, own, squared=squared).backward()
    cost = torch.cdist(sent.detach(), own) ** (2 if squared else 1)
    best = min(itertools.permutations(range(5)), key=lambda order: sum(float(cost[i, j]) for i, j in enumerate(order)))
    apart = sent.detach() - own[list(best)]
    wanted = 2 * apart if squared else apart / apart.norm(dim=1, keepdim=True)
    torch.testing.assert_close(sent.grad, wanted)


def test_where_they_meet_the_gradient_is_nought() -> None:
    sent = torch.eye(3).requires_grad_()
    assigned_distance(sent, torch.eye(3).flip(0), squared=False).backward()
    assert torch.equal(sent.grad, torch.zeros(3, 3))


def test_maps_are_vectors() -> None:
    sent, own = normal(4, 2, 3, 3, seed=0), normal(4, 2, 3, 3, seed=1)
    assert assigned_distance(sent, own) == assigned_distance(sent.flatten(1), own.flatten(1))


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_without_a_number_the_loss_tells(bad: float) -> None:
    assert not bool(assigned_distance(torch.tensor([[bad], [1.0]]), torch.ones(2, 1)).isfinite())


# ---- what is found

STEADY = Training(optimiser="sgd", lr=2e-3, weight_decay=0.0, epochs=400, batch=N, schedule="cosine")


def test_finds_a_planted_map_and_who_belongs_to_whom(make) -> None:
    """On a line the cheapest pairing is by rank: a rising map and an unknown order are both found, exactly."""
    inputs = normal(N, 1, seed=0).exp()
    order = torch.randperm(N, generator=torch.Generator().manual_seed(5))
    own = 3 * inputs[order] - 2
    fit = Paired(points(inputs, "theirs"), points(own, "own"))
    rising = next(
        found
        for seed in range(20)
        if (found := match(make.nothing(1), make.nothing(1), fit, matching=EmbeddingMapping(STEADY), seed=seed)).status
        == "ok"
        and float(found.layer.map()[0]) > 0
    )
    weight, bias = rising.layer.map()
    assert (float(weight), float(bias)) == pytest.approx((3, -2), abs=1e-4)
    assert rising.figures["loss_end"] < 1e-6 < 1 < rising.figures["loss_start"]
    sent = rising.layer(rising.sender.head(inputs))
    assert torch.equal(torch.cdist(sent, own).argmin(1), order.argsort())


@pytest.mark.slow
def test_clusters_are_taken_onto_those_of_their_size(make) -> None:
    """Clouds of 10, 20 and 30 on both sides: by their sizes alone it is known which belongs to which."""
    labels = torch.arange(3).repeat_interleave(torch.tensor([10, 20, 30]))
    centres = torch.tensor([[4.0, 0.0], [-4.0, 1.0], [0.0, -5.0]], dtype=torch.float64)
    theirs = torch.eye(3, dtype=torch.float64)[labels] + 0.02 * normal(N, 3, seed=1)
    own = centres[labels] + 0.02 * normal(N, 2, seed=2)
    fit = Paired(points(theirs, "theirs"), points(own.flip(0), "own"))
    way = EmbeddingMapping(STEADY)
    found = [match(make.nothing(3), make.nothing(2), fit, matching=way, seed=seed) for seed in range(6)]
    best, *others = sorted(found, key=lambda one: one.figures["loss_end"])
    stitched = best.layer(theirs)
    assert torch.equal(torch.cdist(stitched, centres).argmin(1), labels)
    assert best.figures["loss_end"] < 2
    # The loss has other valleys, in which clouds are mixed, and a start may lie in one.
    assert min(one.figures["loss_end"] for one in others) > 100


def test_figures_are_of_the_loss_by_hand(make) -> None:
    theirs, own = normal(N, 4, seed=1), normal(N, 3, seed=2)
    fit = Paired(points(theirs), points(own))
    found = match(make.nothing(4), make.nothing(3), fit, matching=EmbeddingMapping(replace(QUICK, epochs=0, batch=N)))
    weight, bias = found.layer.map()
    wanted = assigned_distance(theirs @ weight.mT + bias, own)
    assert found.figures["loss_start"] == pytest.approx(float(wanted), rel=1e-12)
    assert found.figures["loss_end"] == found.figures["loss_start"]


def test_both_options_train(make) -> None:
    fit = Paired(points(normal(N, 4, seed=1)), points(normal(N, 3, seed=2)))
    for squared in (True, False):
        found = match(make.nothing(4), make.nothing(3), fit, matching=EmbeddingMapping(QUICK, squared=squared))
        assert found.figures["loss_end"] < found.figures["loss_start"]
        assert found.status == "ok"


def test_maps_of_one_shape(make) -> None:
    fit = Paired(points(normal(N, 2, 4, 4, seed=1)), points(normal(N, 3, 4, 4, seed=2)))
    found = match(make.nothing(2, 4, 4), make.nothing(3, 4, 4), fit, matching=EmbeddingMapping(QUICK))
    assert found.figures["loss_end"] < found.figures["loss_start"]


def test_receivers_of_classes_are_stitched_too(make, pair) -> None:
    """No answer of the receiver is needed; where it answers with classes the stitched network can be scored."""
    training = Training(optimiser="sgd", lr=1e-4, epochs=5, batch=60)
    found = match(*pair, make.blobs(300), matching=EmbeddingMapping(training))
    assert evaluate(found, make.blobs(90, seed=3, first_id=5000)).n == 90


# ---- seeds, progress, records


def test_same_seed_same_stitch(make) -> None:
    fit = Paired(points(normal(N, 4, seed=1)), points(normal(N, 3, seed=2)))
    one, again, other = (
        match(make.nothing(4), make.nothing(3), fit, matching=EmbeddingMapping(QUICK), seed=seed) for seed in (0, 0, 1)
    )
    assert make.weights(one) == make.weights(again) != make.weights(other)
    assert torch.equal(one.curves["loss"], again.curves["loss"])
    assert torch.equal(one.fitted, fit.ids)


def test_batches_of_the_two_sides_are_shuffled_apart(make) -> None:
    """With an identity for a stitch and the same samples on both sides, one batch for both would have no loss."""
    fit = points(normal(N, 3, seed=2))
    still = replace(QUICK, lr=1e-12, epochs=2)
    found = match(make.nothing(3), make.nothing(3), fit, stitch="affine", matching=EmbeddingMapping(still))
    by_hand = found.layer(fit.inputs)
    assert all(float(loss) > float(assigned_distance(by_hand, by_hand)) for loss in found.curves["loss"])
    # The batches of the second epoch are others than those of the first.
    assert len(set(found.curves["loss"].tolist())) == len(found.curves["loss"])


def test_it_tells_how_far_it_is(make) -> None:
    fit, seen = points(normal(N, 3, seed=2)), []
    match(make.nothing(3), make.nothing(3), fit, matching=EmbeddingMapping(QUICK), watch=seen.append)
    steps = [one for one in seen if one.task == "embedding mapping"]
    assert [one.done for one in steps] == list(range(1, 13))
    assert {one.total for one in steps} == {12}


def test_the_defaults_are_the_papers() -> None:
    way = EmbeddingMapping()
    assert (way.training.optimiser, way.training.lr, way.training.momentum) == ("sgd", 1e-5, 0.9)
    assert (way.training.weight_decay, way.training.epochs, way.training.batch) == (0.01, 25, 128)
    assert way.squared


def test_a_loss_that_grows_without_end(make) -> None:
    fit = points(normal(N, 3, seed=2))
    wild = Training(optimiser="sgd", lr=10.0, epochs=500, batch=16)
    with pytest.raises(DivergedError, match=r"The loss .* with learning rate 10. Try a smaller one"):
        match(make.nothing(3), make.nothing(3), fit, matching=EmbeddingMapping(wild))


def test_a_loss_that_rises_is_told(make) -> None:
    fit = points(normal(N, 3, seed=2))
    rising = Training(optimiser="sgd", lr=0.05, epochs=1, batch=20)
    found = match(make.nothing(3), make.nothing(3), fit, matching=EmbeddingMapping(rising))
    assert found.status.startswith("the loss did not come down (")
    assert found.figures["loss_end"] >= found.figures["loss_start"]
