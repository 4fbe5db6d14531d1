"""kNN Jaccard, against sets of scikit-learn's neighbours and a value by hand."""

from __future__ import annotations

import pytest
import torch
from pairs import noise
from sklearn.neighbors import NearestNeighbors
from torch import Tensor

from seamripper.measures.knn_jaccard import KNNJaccard
from seamripper.measures.pair import Pair


def sets(x: Tensor, k: int, metric: str) -> list[set[int]]:
    found = NearestNeighbors(n_neighbors=k, metric=metric, algorithm="brute").fit(x.numpy()).kneighbors()[1]
    return [set(row.tolist()) for row in found]


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
@pytest.mark.parametrize(("k", "p"), [(1, 4), (10, 4), (10, 80)])
def test_by_sets(metric: str, k: int, p: int) -> None:
    x = noise(60, p, 0) + 0.5
    y = x[:, :4] + 0.7 * noise(60, 4, 1)
    shared = [len(a & b) / len(a | b) for a, b in zip(sets(x, k, metric), sets(y, k, metric), strict=True)]
    assert KNNJaccard(k=k, metric=metric).value(Pair.of(x, y)) == pytest.approx(sum(shared) / 60, abs=1e-14)


def test_disjoint_neighbourhoods_share_nothing() -> None:
    # In x the partner of i is i ± 1, in y it is i ± 3.
    x, y = torch.arange(6) // 2, torch.arange(6) % 3
    assert KNNJaccard(k=1, metric="euclidean").value(Pair.of(x[:, None].float(), y[:, None].float())) == 0.0


def test_by_default_ten_neighbours_by_cosine() -> None:
    x, y = noise(40, 5, 0), noise(40, 5, 0) + noise(40, 5, 1)
    assert KNNJaccard().value(Pair.of(x, y)) == KNNJaccard(k=10, metric="cosine").value(Pair.of(x, y))
    assert KNNJaccard().label == "knn_jaccard"
