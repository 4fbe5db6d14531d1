"""Schedules, orders, optimisers and the loop, against values worked out by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from seamripper.errors import DivergedError, ModelError
from seamripper.matching import Training
from seamripper.matching.descent import falling, is_at_rest, orders, train_layer
from seamripper.matching.task import flip_crop


class Weight(nn.Module):
    """One number, to be moved."""

    def __init__(self, value: float = 1.0) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.tensor([value]))


def trained(
    layer: nn.Module, loss_of, n: int, training: Training, *, seed: int = 0, watch=lambda progress: None
) -> Tensor:
    return train_layer(layer, loss_of, n, training, seed=seed, task="test", watch=watch)


# ---- schedules ----


def test_constant() -> None:
    assert {Training(lr=0.3).rate(step, 10) for step in range(10)} == {0.3}


def test_steps_drop_at_the_given_shares_of_the_run() -> None:
    factors = [Training(lr=1, schedule="steps").rate(step, 9) for step in range(9)]
    assert factors == pytest.approx([1, 1, 1, 0.1, 0.1, 0.1, 0.01, 0.01, 0.01])
    once = [Training(lr=1, schedule="steps", drops=(0.5,)).rate(step, 4) for step in range(4)]
    assert once == pytest.approx([1, 1, 0.1, 0.1])


def test_cosine_after_a_linear_warm_up() -> None:
    """Ten steps, two of warm-up: 1/3, 2/3, then (1 + cos(π k/8)) / 2."""
    factors = [Training(lr=1, schedule="cosine", warmup=0.2).rate(step, 10) for step in range(10)]
    by_hand = [1 / 3, 2 / 3, *((1 + math.cos(math.pi * k / 8)) / 2 for k in range(8))]
    assert factors == pytest.approx(by_hand)
    assert factors[2] == 1.0
    assert [Training(lr=1, schedule="cosine").rate(step, 4) for step in (0, 2)] == pytest.approx([1.0, 0.5])
    assert [Training(lr=1, warmup=0.5).rate(step, 4) for step in range(4)] == pytest.approx([1 / 3, 2 / 3, 1, 1])


def test_a_stitch_that_stops_is_the_whole_training_at_that_time() -> None:
    """Two of four epochs, at the rates of all four."""
    whole = Training(optimiser="sgd", lr=1, momentum=0, weight_decay=0, epochs=4, batch=1, schedule="cosine")
    layers = [Weight(0.0), Weight(0.0)]
    steps = [len(trained(layer, lambda _, layer=layer: layer.w.sum(), 1, training))
             for layer, training in zip(layers, (whole, replace(whole, stop=2)), strict=True)]  # fmt: skip
    assert steps == [4, 2]
    assert -float(layers[1].w.detach()) == pytest.approx(whole.rate(0, 4) + whole.rate(1, 4))


def test_the_schedule_is_stepped_by_step_over_the_whole_run() -> None:
    """Plain SGD on the loss w: each step takes the learning rate off w, so the sum of rates can be read off it."""
    layer, at = Weight(0.0), []

    def loss_of(index: Tensor) -> Tensor:
        at.append(float(layer.w.detach()))
        return layer.w.sum()

    plain = Training("sgd", lr=1.0, momentum=0.0, weight_decay=0.0, epochs=3, batch=4, schedule="steps", drops=(0.5,))
    trained(layer, loss_of, 8, plain)
    assert at == pytest.approx([0, -1, -2, -3, -3.1, -3.2])
    assert float(layer.w.detach()) == pytest.approx(-3.3)


# ---- orders ----


def test_every_epoch_is_a_permutation_of_its_own() -> None:
    seen = [torch.cat(chunks) for _, chunks in orders(50, 8, epochs=4, seed=3)]
    for order in seen:
        assert torch.equal(order.sort().values, torch.arange(50))
    assert len({tuple(order.tolist()) for order in seen}) == 4
    again = [torch.cat(chunks) for _, chunks in orders(50, 8, epochs=4, seed=3)]
    assert all(torch.equal(a, b) for a, b in zip(seen, again, strict=True))
    other = next(orders(50, 8, epochs=1, seed=4))[1]
    assert not torch.equal(torch.cat(other), seen[0])


def test_no_batch_of_one() -> None:
    sizes = [len(chunk) for _, chunks in orders(9, 4, epochs=1, seed=0) for chunk in chunks]
    assert sizes == [4, 5]


# ---- the loop ----


def test_the_curve_has_every_step_and_watchers_are_told() -> None:
    layer, told = Weight(), []
    losses = trained(layer, lambda i: layer.w.square().sum(), 10, Training(epochs=3, batch=4), watch=told.append)
    assert len(losses) == 3 * 3 == told[-1].done == told[-1].total
    assert losses[0] == 1.0
    assert losses.diff().max() < 0
    assert told[-1].figures == {"loss": pytest.approx(float(losses[-1])), "epoch": 3.0}
    assert not layer.training


def test_adam_and_sgd_take_the_steps_of_their_papers() -> None:
    """The first step of Adam is lr · sign(g); SGD's with momentum 0.9 are lr · g, then lr · 1.9 g."""
    for optimiser, expected in (("adam", 1 - 0.01 - 0.01), ("sgd", 1 - 0.01 * 3 - 0.01 * 3 * 1.9)):
        layer = Weight()
        training = Training(optimiser, lr=0.01, weight_decay=0.0, epochs=2, batch=4)
        trained(layer, lambda i, w=layer.w: 3 * w.sum(), 4, training)
        assert float(layer.w.detach()) == pytest.approx(expected, abs=1e-5)


def test_l1_pulls_towards_zero() -> None:
    layer = Weight(1.0)
    training = Training("sgd", lr=0.1, momentum=0.0, weight_decay=0.0, epochs=5, batch=4, l1=0.5)
    losses = trained(layer, lambda i: 0 * layer.w.sum(), 4, training)
    assert float(layer.w.detach()) == pytest.approx(1 - 5 * 0.1 * 0.5)
    assert losses.tolist() == pytest.approx([0.5, 0.475, 0.45, 0.425, 0.4])


def test_nothing_to_train_is_no_steps() -> None:
    assert len(trained(nn.Identity(), lambda i: torch.zeros(()), 4, Training())) == 0
    assert len(trained(Weight(), lambda i: torch.zeros(()), 4, Training(epochs=0))) == 0


# ---- divergence ----


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_loss_that_is_not_finite_stops_with_step_and_rate(bad: float) -> None:
    layer, steps = Weight(), []

    def loss_of(index: Tensor) -> Tensor:
        steps.append(index)
        return layer.w.square().sum() * (bad if len(steps) == 5 else 1.0)

    training = Training(lr=0.5, epochs=2, batch=2, schedule="steps", drops=(0.25,))
    with pytest.raises(
        DivergedError, match=rf"became {bad} at step 5 of 8, with learning rate 0.05.* lr=0.005"
    ) as told:
        trained(layer, loss_of, 8, training)
    assert (told.value.step, told.value.lr) == (5, pytest.approx(0.05))


def test_weights_that_are_lost_in_the_last_step_are_told() -> None:
    """No further loss would show it."""
    layer = Weight()
    with pytest.raises(DivergedError, match="weights stopped being finite at step 1 of 1") as told:
        trained(layer, lambda i: layer.w.sum(), 4, Training("sgd", lr=1e39, epochs=1, batch=4))
    assert told.value.step == 1


# ---- options ----


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"optimiser": "sdg"}, "Expected optimiser of a training to be 'adam' or 'sgd', but got 'sdg'"),
        ({"lr": 0.0}, "Expected lr of a training to be a number above 0, but got 0"),
        ({"lr": float("nan")}, "Expected lr of a training to be a finite number, but got nan"),
        ({"lr": float("inf")}, "Expected lr of a training to be a finite number, but got inf"),
        ({"epochs": -1}, "a whole number of at least 0, but got -1"),
        ({"epochs": 2.5}, "a whole number of at least 0, but got 2.5"),
        ({"batch": 0}, "of at least 1, but got 0"),
        ({"l1": -1.0}, "a number of at least 0, but got -1"),
        ({"schedule": "cosinus"}, "schedule of a training to be 'constant', 'steps' or 'cosine', but got 'cosinus'"),
        ({"momentum": 1.0}, "momentum of a training to be a number of at least 0 and below 1, but got 1"),
        ({"warmup": 1.0}, "warmup of a training to be a number of at least 0 and below 1, but got 1"),
        ({"warmup": float("nan")}, "warmup of a training to be a finite number, but got nan"),
        ({"weight_decay": -1.0}, "a number of at least 0, but got -1"),
        ({"lr": "0.1"}, "lr of a training to be a number, but got '0.1'"),
        ({"drops": 0.5}, "drops of a training to be .*, but got 0.5"),
        ({"rest": 3}, "rest of a training to be a whole number of at least 4, or None, but got 3"),
        ({"rest": 8, "schedule": "cosine"}, "rest of a training to be left out with a schedule"),
        ({"drops": ("a",)}, "drops of a training to be .*, but got"),
    ],
)
def test_options_that_mean_nothing(options: dict[str, object], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        Training(**options)


# ---- augmentation ----


def test_flip_crop_gives_windows_of_the_padded_image_or_of_its_mirror() -> None:
    images = torch.arange(1.0, 13).reshape(1, 1, 3, 4).expand(200, -1, -1, -1)
    out = flip_crop(images, padding=1, generator=torch.Generator().manual_seed(0))
    assert out.shape == images.shape
    windows = set()
    for mirrored in (images[0, 0], images[0, 0].flip(1)):
        padded = torch.nn.functional.pad(mirrored, [1, 1, 1, 1])
        windows |= {tuple(padded[r : r + 3, c : c + 4].flatten().tolist()) for r in range(3) for c in range(3)}
    seen = {tuple(image.flatten().tolist()) for image in out}
    assert seen == windows  # all eighteen, and nothing else
    again = flip_crop(images, padding=1, generator=torch.Generator().manual_seed(0))
    assert torch.equal(again, out)


# ---- what still falls ----


def test_a_loss_that_still_falls_is_told_by_its_share() -> None:
    steady = [2.0 - 0.01 * step for step in range(100)]
    # The last fifth has mean 1.105, the fifth before 1.305.
    assert falling(steady) == pytest.approx(0.2 / 1.305)
    assert falling([1.0] * 100) == 0.0
    assert falling([1.0 + 0.01 * step for step in range(100)]) == 0.0, "what rises does not fall"


def test_a_fall_within_the_noise_is_none() -> None:
    noise = torch.randn(100, generator=torch.Generator().manual_seed(0)).tolist()
    drift = [3.0 - 0.0005 * step for step in range(100)]
    assert falling([a + 0.5 * b for a, b in zip(drift, noise, strict=True)]) == 0.0
    assert falling(drift) > 0.0


def test_too_few_steps_tell_nothing() -> None:
    assert all(math.isnan(falling(losses)) for losses in ([], [5.0, 1.0], [20.0 - k for k in range(19)]))
    assert falling([20.0 - k for k in range(20)]) > 0.5


# ---- training to rest ----


def test_training_ends_when_the_loss_has_come_to_rest_and_not_before() -> None:
    """A quadratic bowl at a learning rate at which the loss falls by 4 % a step, at any scale of the loss."""
    lengths = set()
    for scale in (1.0, 1e-3):
        training = Training("sgd", lr=0.01 / scale, momentum=0.0, weight_decay=0.0, epochs=1000, batch=8, rest=10)
        layer = Weight(3.0)
        losses = trained(layer, lambda index, w=layer.w, c=scale: c * (w**2).sum() + 7.0, 8, training)
        lengths.add(len(losses))
        assert is_at_rest(losses.double().tolist(), 10)
        assert not any(is_at_rest(losses[:n].double().tolist(), 10) for n in range(len(losses)))
        assert abs(float(layer.w.detach())) < 0.75
    assert len(lengths) == 1
    assert lengths.pop() < 200


def test_a_loss_that_goes_on_falling_is_trained_for_all_epochs() -> None:
    layer = Weight(0.0)
    training = Training("sgd", lr=1e-3, momentum=0.0, weight_decay=0.0, epochs=20, batch=4, rest=8)
    losses = trained(layer, lambda index: 5.0 - layer.w.sum(), 8, training)
    assert len(losses) == 40
    assert not is_at_rest(losses.tolist(), 8)


def test_what_never_came_down_is_at_rest() -> None:
    assert is_at_rest([1.0] * 12, 4)
    assert is_at_rest([1.0 + 0.1 * k for k in range(12)], 4)
    assert not is_at_rest([1.0] * 8, 4), "two horizons cannot tell a plateau from an end"
