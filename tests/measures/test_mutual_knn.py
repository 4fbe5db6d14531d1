"""Mutual kNN, against inner products and masks as its authors compute it, and its value by chance."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from pairs import noise
from torch import Tensor

from seamripper.measures.mutual_knn import MutualKNN
from seamripper.measures.pair import Pair


def nearest(x: Tensor, k: int) -> list[set[int]]:
    """The k largest inner products of each row, brought to unit length, with the others."""
    unit = x.numpy() / np.linalg.norm(x.numpy(), axis=1, keepdims=True)
    order = np.argsort(-(unit @ unit.T), axis=1).tolist()
    return [set([j for j in row if j != i][:k]) for i, row in enumerate(order)]


@pytest.mark.parametrize("k", [1, 5, 20])
def test_by_inner_products(k: int) -> None:
    x = noise(40, 6, 0) + 0.5
    y = x[:, :4] + noise(40, 4, 1)
    a, b = nearest(x, k), nearest(y, k)
    expected = sum(len(u & v) for u, v in zip(a, b, strict=True)) / (40 * k)
    assert MutualKNN(k=k).value(Pair.of(x, y)) == pytest.approx(expected, abs=1e-14)


def test_by_chance_it_is_k_of_the_others() -> None:
    values = [MutualKNN(k=10).value(Pair.of(noise(101, 8, s), noise(101, 8, 50 + s))) for s in range(10)]
    assert sum(values) / 10 == pytest.approx(10 / 100, abs=0.01)


def test_half_of_the_neighbours_kept() -> None:
    # Four corners of two samples each; y has the corners' pairs, but sets the corners themselves elsewhere.
    x = torch.tensor([0.0, 0.1, 1.0, 1.1, 5.0, 5.1, 6.0, 6.1])[:, None]
    y = torch.tensor([0.0, 0.1, 5.0, 5.1, 1.0, 1.1, 6.0, 6.1])[:, None]
    assert MutualKNN(k=1, metric="euclidean").value(Pair.of(x, y)) == 1.0
    # The other two of three neighbours come from the near corner, and it is another one.
    assert MutualKNN(k=3, metric="euclidean").value(Pair.of(x, y)) == pytest.approx(1 / 3)
