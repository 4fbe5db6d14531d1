"""Rank similarity, against the formula in loops and values by hand."""

from __future__ import annotations

import pytest
import torch
from pairs import noise
from sklearn.neighbors import NearestNeighbors
from torch import Tensor

from seamripper.measures.pair import Pair
from seamripper.measures.rank_similarity import RankSimilarity


def lists(x: Tensor, k: int, metric: str) -> list[list[int]]:
    return NearestNeighbors(n_neighbors=k, metric=metric, algorithm="brute").fit(x.numpy()).kneighbors()[1].tolist()


def of_sample(a: list[int], b: list[int]) -> float:
    common = set(a) & set(b)
    if not common:
        return 0.0
    total = 0.0
    for j in common:
        r, s = a.index(j) + 1, b.index(j) + 1
        total += 2 / ((1 + abs(r - s)) * (r + s))
    return total / sum(1 / m for m in range(1, len(common) + 1))


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
@pytest.mark.parametrize("k", [1, 3, 15])
def test_in_loops(metric: str, k: int) -> None:
    x = noise(40, 5, 0) + 0.5
    y = x[:, :4] + noise(40, 4, 1)
    pairs = list(zip(lists(x, k, metric), lists(y, k, metric), strict=True))
    assert any(not set(a) & set(b) for a, b in pairs) == (k < 15)
    expected = sum(of_sample(a, b) for a, b in pairs) / 40
    assert RankSimilarity(k=k, metric=metric).value(Pair.of(x, y)) == pytest.approx(expected, abs=1e-14)


def test_the_same_neighbours_in_another_order() -> None:
    # Two far groups of three, so that each has the other two as neighbours; in y the nearer one is another.
    x = torch.tensor([0.0, 1.0, 3.0, 100.0, 101.0, 103.0])[:, None]
    y = torch.tensor([0.0, 3.0, 1.0, 100.0, 103.0, 101.0])[:, None]
    # Sample 0: 1, 2 against 2, 1: (2/(2·3) + 2/(2·3)) / (1 + 1/2) = 4/9; samples 1 and 2 change places: x has for
    # sample 1 the order 0, 2 and y the order 2, 0; sample 2 has 1, 0 and 0, 1. All give 4/9.
    assert RankSimilarity(k=2, metric="euclidean").value(Pair.of(x, y)) == pytest.approx(4 / 9)


def test_one_neighbour_in_common_may_count_as_much_as_all() -> None:
    # Pairs that stay together, while all else changes: the nearest is the same, the second never.
    x = torch.tensor([0.0, 0.1, 1.0, 1.1, 5.0, 5.1, 6.0, 6.1])[:, None]
    y = torch.tensor([0.0, 0.1, 5.0, 5.1, 1.0, 1.1, 6.0, 6.1])[:, None]
    assert RankSimilarity(k=3, metric="euclidean").value(Pair.of(x, y)) == pytest.approx(1.0)
