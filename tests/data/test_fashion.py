"""Fashion-MNIST as it is."""

from __future__ import annotations

import pytest
import torch

from seamripper.data import load_data


@pytest.mark.network
def test_it_is_fashion_mnist() -> None:
    train, test = load_data("fashion"), load_data("fashion", "test")
    assert torch.bincount(train.labels).tolist() == [6000] * 10
    assert torch.bincount(test.labels).tolist() == [1000] * 10
    assert train.labels[:5].tolist() == [9, 0, 0, 3, 0]
    assert test.labels[:5].tolist() == [9, 2, 1, 1, 6]
    assert isinstance(train.inputs, torch.Tensor)
    pixels = train.inputs[:, 0].float() / 255
    assert float(pixels.mean()) == pytest.approx(train.mean, abs=5e-5)
    assert float(pixels.std()) == pytest.approx(train.std, abs=5e-5)
    assert train.source == "Fashion-MNIST, held to its sha256"


@pytest.mark.network
def test_its_pieces_are_coloured_like_digits() -> None:
    plain, laid = load_data("fashion", "test"), load_data("fashion/correlated", "test")
    assert isinstance(plain.inputs, torch.Tensor)
    assert isinstance(laid.inputs, torch.Tensor)
    assert bool((laid.inputs[plain.inputs > 0] == 255).all())
    assert torch.equal(plain.labels, laid.labels)
    assert laid.name == "fashion/correlated"
