"""Neighbours, against scikit-learn, and the rule for those that are as near as each other."""

from __future__ import annotations

import pytest
import torch
from pairs import noise, rotation
from sklearn.neighbors import NearestNeighbors

from seamripper.errors import MeasureError
from seamripper.measures.knn_jaccard import KNNJaccard
from seamripper.measures.mutual_knn import MutualKNN
from seamripper.measures.neighbours import OfNeighbours, neighbours, ranks
from seamripper.measures.pair import Pair, Side
from seamripper.measures.rank_similarity import RankSimilarity

MEASURES = [cls(k=3, metric=m) for cls in (KNNJaccard, MutualKNN, RankSimilarity) for m in ("cosine", "euclidean")]


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
@pytest.mark.parametrize("k", [1, 10, 49])
def test_as_scikit_learn_has_them(metric: str, k: int) -> None:
    x = noise(50, 4, 0) + 0.5
    expected = NearestNeighbors(n_neighbors=k, metric=metric, algorithm="brute").fit(x.numpy()).kneighbors()[1]
    assert neighbours(Side.of(x), k, metric, "sender").tolist() == expected.tolist()


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_ties_go_to_the_first_in_order(metric: str) -> None:
    places = noise(3, 4, 0)
    x = places[torch.arange(12) % 3]
    turned = x @ rotation(4, 1)
    expected = [[j for j in range(12) if j != i and j % 3 == i % 3] for i in range(12)]
    for z in (x, turned, 0.1 * x):
        assert neighbours(Side.of(z), 3, metric, "sender").tolist() == expected


def test_ranks() -> None:
    x = noise(9, 3, 0)
    found = ranks(Side.of(x), 4, "euclidean", "sender")
    order = neighbours(Side.of(x), 4, "euclidean", "sender").tolist()
    expected = [[order[i].index(j) + 1 if j in order[i] else 0 for j in range(9)] for i in range(9)]
    assert found.tolist() == expected


@pytest.mark.parametrize("measure", MEASURES, ids=lambda m: m.label)
def test_what_the_metric_does_not_see(measure: OfNeighbours) -> None:
    x, y = noise(40, 5, 0), noise(40, 5, 0) + noise(40, 5, 1)
    value = measure.value(Pair.of(x, y))
    changed = {
        "translation": x + torch.tensor([1.0, -2.0, 0.5, 0.0, 3.0]),
        "scaling": 2.5 * x,
        "orthogonal": x @ rotation(5, 9),
        "permutation": x[:, [3, 1, 4, 0, 2]],
        "invertible": x @ noise(5, 5, 7),
    }
    kept = {name for name, z in changed.items() if abs(measure.value(Pair.of(z, y)) - value) < 1e-12}
    assert kept == measure.claims.invariant_to
    assert measure.value(Pair.of(y, x)) == pytest.approx(value, abs=1e-14)


@pytest.mark.parametrize("measure", MEASURES, ids=lambda m: m.label)
def test_repeated_samples_are_no_obstacle(measure: OfNeighbours) -> None:
    x, y = noise(8, 3, 0).repeat(3, 1), noise(24, 3, 1)
    assert measure.value(Pair.of(x, x)) == pytest.approx(1.0, abs=1e-14)
    assert measure.value(Pair.of(x, y)) == pytest.approx(measure.value(Pair.of(y, x)), abs=1e-14)
    assert measure.value(Pair.of(x, y)) < 0.9


@pytest.mark.parametrize("measure", MEASURES, ids=lambda m: m.label)
def test_says_how_many_samples_are_needed(measure: OfNeighbours) -> None:
    # Of four samples, three neighbours are all there are.
    with pytest.raises(MeasureError, match=r"k=3.* needs at least 5 samples, but got 4"):
        measure.value(Pair.of(noise(4, 2, 0), noise(4, 2, 1)))
    assert measure.value(Pair.of(noise(5, 2, 0), noise(5, 2, 1))) < 1


@pytest.mark.parametrize("k", [0, -1, 2.0, True])
def test_refuses_a_k_that_counts_nothing(k: object) -> None:
    with pytest.raises(
        MeasureError, match=r"Expected k of the measure 'mutual_knn' to be a whole number of at least 1"
    ):
        MutualKNN(k=k)  # type: ignore[arg-type]


def test_refuses_a_metric_that_it_does_not_know() -> None:
    with pytest.raises(MeasureError, match=r"Expected metric of .* 'cosine' or 'euclidean', but got 'correlation'"):
        KNNJaccard(metric="correlation")  # type: ignore[arg-type]


def test_names_the_side_that_has_no_direction() -> None:
    x = noise(20, 3, 0)
    x[4] = 0.0
    with pytest.raises(MeasureError, match=r"the receiver has 1 of them, first row 4"):
        MutualKNN().value(Pair.of(noise(20, 3, 1), x))
    assert MutualKNN(metric="euclidean").value(Pair.of(noise(20, 3, 1), x)) > 0
