"""Labels that are drawn anew, and images that are labelled by how they were turned."""

from __future__ import annotations

import pytest
import torch

from seamripper.data import Samples, load_data
from seamripper.data.relabel import rotate, with_label_noise
from seamripper.errors import DataError


def pixels(samples: Samples) -> torch.Tensor:
    assert isinstance(samples.inputs, torch.Tensor)
    return samples.inputs


# ---- label noise


@pytest.mark.parametrize("share", [0.1, 0.5, 1.0])
def test_about_this_share_of_the_labels_is_drawn_anew(share: float) -> None:
    n = 20_000
    zeros = Samples("toy", torch.zeros(n, 1), torch.zeros(n).long(), torch.arange(n), classes=10)
    labels = with_label_noise(zeros, share, seed=0).labels
    assert (labels != 0).float().mean().item() == pytest.approx(0.9 * share, abs=0.01)
    counts = torch.bincount(labels, minlength=10)[1:] / n
    assert counts.max() - counts.min() < 0.01, "every class is as likely"


def test_train_labels_are_noisy_and_test_labels_stay_right() -> None:
    noisy, right = load_data("digits?label_noise=0.5"), load_data("digits")
    assert 0.35 < (noisy.labels != right.labels).float().mean() < 0.55
    assert torch.equal(pixels(noisy), pixels(right))
    assert noisy.name == "digits/greyscale?label_noise=0.5"
    assert noisy.fingerprint != right.fingerprint
    test = load_data("digits?label_noise=0.5", "test")
    assert test.fingerprint == load_data("digits", "test").fingerprint


def test_a_sample_has_the_same_label_however_many_are_drawn() -> None:
    every, few = load_data("digits?label_noise=1"), load_data("digits?label_noise=1", n=50)
    by_id = dict(zip(every.ids.tolist(), every.labels.tolist(), strict=True))
    assert [by_id[i] for i in few.ids.tolist()] == few.labels.tolist()


def test_another_seed_draws_other_labels_of_the_same_samples() -> None:
    first, second = (load_data("digits?label_noise=1", seed=seed).labels for seed in (0, 1))
    assert 0.8 < (first != second).float().mean() < 0.97


@pytest.mark.parametrize("share", [-0.1, 1.01])
def test_a_share_is_between_0_and_1(share: float) -> None:
    with pytest.raises(DataError, match="label_noise of the data set 'digits' to be a share from 0 to 1, but got"):
        load_data("digits", label_noise=share)


# ---- turns


def test_an_image_turned_back_is_the_image() -> None:
    turned, plain = load_data("digits/digit?rotate=true", "test"), load_data("digits/digit", "test")
    assert turned.classes == 4
    assert torch.equal(turned.ids, plain.ids)
    for image, turn, own in zip(pixels(turned), turned.labels.tolist(), pixels(plain), strict=True):
        assert torch.equal(torch.rot90(image, -turn, (1, 2)), own)
    assert torch.bincount(turned.labels).min() > len(turned) / 6, "all four turns are there"


def test_the_turn_of_an_image_does_not_tell_its_class() -> None:
    turned, plain = load_data("digits?rotate=true"), load_data("digits")
    for kind in range(10):
        shares = torch.bincount(turned.labels[plain.labels == kind], minlength=4) / (plain.labels == kind).sum()
        assert shares.max() < 0.4


@pytest.mark.parametrize("shape", [(3, 8, 9), (16,)])
def test_only_square_images_can_be_turned(shape: tuple[int, ...]) -> None:
    wide = Samples("toy", torch.zeros(4, *shape), torch.zeros(4).long(), torch.arange(4), classes=2)
    with pytest.raises(DataError, match=r"Expected toy to be square images.*Leave out rotate"):
        rotate(wide, seed=0)
