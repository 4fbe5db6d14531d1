"""The learning rate of a stitch, chosen on samples that are held out of those to fit on."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch.nn import functional as F

from seamripper.errors import DivergedError, MatchError
from seamripper.matching import Match, Task, Training, match, match_many, matchings

TRAINING = Training(epochs=8, batch=64, lr=0.5)


def same_layer(a: Match, b: Match) -> bool:
    pairs = zip(a.layer.state_dict().values(), b.layer.state_dict().values(), strict=True)
    return all(torch.equal(x, y) for x, y in pairs)


@pytest.mark.parametrize("freeze", ["all", "weights"])
def test_the_rate_with_the_least_held_out_loss_trains_the_stitch_from_where_it_started(
    make: Any, pair: Any, freeze: Any
) -> None:
    """Too small a rate learns nothing and a huge one diverges; trials leave no trace in what the chosen one gives."""
    data = make.blobs(300)
    chosen = match(*pair, data, matching=Task(TRAINING, rates=(1e-7, 0.02, 1e37)), freeze=freeze)
    losses = chosen.figures["lr_losses"]
    assert chosen.figures["lr"] == 0.02
    assert losses["0.02"] < losses["1e-07"] < losses["1e+37"] == math.inf
    plain = match(*pair, data, matching=Task(replace(TRAINING, lr=0.02)), freeze=freeze)
    assert same_layer(chosen, plain)
    assert torch.equal(chosen.curves["loss"], plain.curves["loss"])
    assert "lr" not in plain.figures


def test_the_order_of_rates_does_not_matter(make: Any, pair: Any) -> None:
    data, rates = make.blobs(200), (0.3, 1e-4, 0.01)
    first, second = (match(*pair, data, matching=Task(TRAINING, rates=some)) for some in (rates, rates[::-1]))
    assert first.figures["lr"] == second.figures["lr"]
    assert same_layer(first, second)


def test_a_held_out_loss_is_that_of_a_stitch_which_was_not_shown_these_samples(make: Any, pair: Any) -> None:
    """Made again by hand: a quarter of the epochs on four fifths of the samples, the loss on the other fifth."""
    data = make.blobs(200)
    chosen = match(*pair, data, matching=Task(TRAINING, rates=(0.02, 0.3)))
    order = torch.randperm(200, generator=torch.Generator().manual_seed(0))
    held_out, rows = data.take(order[:40]), data.take(order[40:])
    for rate, loss in chosen.figures["lr_losses"].items():
        trial = match(*pair, rows, matching=Task(replace(TRAINING, lr=float(rate), epochs=2)))
        with torch.no_grad():
            assert loss == pytest.approx(float(F.cross_entropy(trial(held_out.inputs), held_out.labels)), rel=1e-5)


def test_of_many_stitches_each_has_the_rate_that_it_has_alone(make: Any) -> None:
    data, matching = make.blobs(200), Task(TRAINING, rates=(1e-5, 0.01, 0.3))
    senders = [make.halves(make.mlp(0), cut, data) for cut in ("0", "1", "3")]
    tail = make.halves(make.mlp(1), "3", data)
    for outcome, half in zip(match_many(senders, tail, data, matching=matching), senders, strict=True):
        assert isinstance(outcome, Match)
        alone = match(half, tail, data, matching=matching)
        assert outcome.figures["lr"] == alone.figures["lr"]
        assert outcome.figures["lr_losses"] == pytest.approx(alone.figures["lr_losses"], rel=1e-3)


def test_if_every_rate_diverges_the_training_says_so(make: Any, pair: Any) -> None:
    with pytest.raises(DivergedError, match="learning rate 1e"):
        match(*pair, make.blobs(200), matching=Task(TRAINING, rates=(1e37, 1e36)))


def test_wrong_rates_are_refused(make: Any, pair: Any) -> None:
    with pytest.raises(MatchError, match="Expected rates of task to be learning rates above 0"):
        Task(rates=(0.1, 0.0))
    with pytest.raises(MatchError, match="5 samples or more to choose a learning rate by"):
        match(*pair, make.blobs(4), matching=Task(TRAINING, rates=(0.1, 0.2)))


def test_rates_are_said_in_a_word() -> None:
    assert matchings.make("task?rates=0.01,0.1&epochs=2") == Task(Training(epochs=2), rates=(0.01, 0.1))
