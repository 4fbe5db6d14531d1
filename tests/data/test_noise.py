"""Clustered noise has the centres, the spread and the sizes that were asked for."""

from __future__ import annotations

import pytest
import torch

from seamripper.data import Samples, clustered_noise
from seamripper.errors import DataError


def inputs(samples: Samples) -> torch.Tensor:
    assert isinstance(samples.inputs, torch.Tensor)
    return samples.inputs


def centres(samples: Samples) -> torch.Tensor:
    return torch.stack([inputs(samples)[samples.labels == k].mean(0) for k in range(samples.classes)])


def test_default_sizes_are_the_papers() -> None:
    train, test = clustered_noise((4,)), clustered_noise((4,), split="test")
    assert torch.bincount(train.labels).tolist() == [6000] * 10
    assert torch.bincount(test.labels).tolist() == [1000] * 10
    assert not set(train.ids.tolist()) & set(test.ids.tolist())


@pytest.mark.parametrize("shape", [(512,), (65, 192), (64, 7, 7)])
def test_any_cut_shape(shape: tuple[int, ...]) -> None:
    samples = clustered_noise(shape, per_class=2)
    assert samples.shape == shape
    assert inputs(samples).dtype == torch.float32
    assert samples.batch(slice(0, 3)).shape == (3, *shape)  # type: ignore[union-attr]
    assert float(inputs(samples).min()) >= 0
    assert float(inputs(samples).max()) <= 1


def test_no_radius_gives_the_centres_themselves_the_same_in_both_splits() -> None:
    train = clustered_noise((50,), radius=0, per_class=2)
    test = clustered_noise((50,), radius=0, per_class=3, split="test")
    assert torch.equal(inputs(train)[:10], inputs(train)[10:])
    assert torch.equal(inputs(train)[:10], inputs(test)[:10])
    assert abs(float(inputs(train)[:10].mean()) - 0.5) < 0.05
    assert not torch.equal(inputs(train), inputs(clustered_noise((50,), radius=0, per_class=2, seed=1)))


def test_samples_lie_about_their_centre_with_the_radius() -> None:
    true = inputs(clustered_noise((200,), radius=0, per_class=1))
    samples = clustered_noise((200,), radius=0.05, per_class=500)
    inside = (true > 0.25) & (true < 0.75)  # where five radii on either side are not clamped
    assert float((centres(samples) - true)[inside].abs().max()) < 0.015
    spread = torch.stack([inputs(samples)[samples.labels == k].std(0) for k in range(10)])[inside]
    assert abs(float(spread.mean()) - 0.05) < 0.001


def test_splits_are_drawn_apart() -> None:
    train = clustered_noise((500,), per_class=1)
    test = clustered_noise((500,), per_class=1, split="test")
    true = inputs(clustered_noise((500,), radius=0, per_class=1))
    rows = torch.stack([(inputs(s) - true).flatten() for s in (train, test)])
    assert abs(float(torch.corrcoef(rows)[0, 1])) < 0.05


def test_a_sample_is_the_same_however_many_are_asked_for() -> None:
    few, many = (
        clustered_noise((70_000,), classes=3, per_class=2),
        clustered_noise((70_000,), classes=3, per_class=5),
    )
    assert torch.equal(inputs(few), inputs(many)[:6])


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"classes": 0}, "classes to be a whole number of at least 1, but got 0"),
        ({"per_class": -1}, "per_class to be a whole number of at least 1, but got -1"),
        ({"radius": -0.1}, "radius to be 0 or more, but got -0.1"),
        ({"radius": float("nan")}, "radius to be 0 or more, but got nan"),
        ({"split": "valid"}, "split to be 'train' or 'test', but got 'valid'"),
        ({"seed": -1}, "seed to be a whole number from 0"),
        ({"per_class": 10**9}, "would take 80.0 GB of memory, and the limit is 4.0 GB"),
    ],
)
def test_what_makes_no_sense_is_refused(options: dict[str, object], complaint: str) -> None:
    with pytest.raises(DataError, match=complaint):
        clustered_noise((2,), **options)  # type: ignore[arg-type]


def test_an_empty_axis_is_refused() -> None:
    with pytest.raises(DataError, match=r"shape\[1\] to be a whole number of at least 1, but got 0"):
        clustered_noise((2, 0))
