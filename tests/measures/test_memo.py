"""What is kept of a side: made once, for as long as the side is there, and not without bound."""

from __future__ import annotations

import gc
import weakref

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from seamripper.measures import memo
from seamripper.measures.distance_correlation import DistanceCorrelation
from seamripper.measures.knn_jaccard import KNNJaccard
from seamripper.measures.memo import recall
from seamripper.measures.pair import Pair, Side
from seamripper.measures.rbf_cka import RBFCKA
from seamripper.measures.rsa import RSA


def side(seed: int) -> Side:
    return Side.of(torch.randn(20, 4, generator=torch.Generator().manual_seed(seed), dtype=torch.float64))


def test_distances_are_made_once_a_side(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    pdist = F.pdist

    def counted(rows: Tensor) -> Tensor:
        made.append(len(rows))
        return pdist(rows)

    monkeypatch.setattr(F, "pdist", counted)
    sides = [side(seed) for seed in range(3)]
    measures = [RSA(rdm="euclidean"), RSA(rdm="euclidean", compare="kendall"), DistanceCorrelation(), RBFCKA()]
    for x in sides:
        for y in sides:
            for measure in [*measures, KNNJaccard(metric="euclidean")]:
                measure.value(Pair(x, y))
    assert made == [20, 20, 20]


@pytest.mark.slow
def test_what_is_kept_goes_with_its_side() -> None:
    one = side(0)
    value = weakref.ref(recall(one, "a", lambda: torch.ones(3)))
    gc.collect()
    assert value() is not None
    del one
    gc.collect()
    assert value() is None


def test_sides_and_keys_are_kept_apart() -> None:
    one, other = side(0), side(0)
    found = [recall(s, key, lambda v=v: torch.tensor(v)) for v, (s, key) in enumerate([(one, 1), (one, 2), (other, 1)])]
    assert [int(v) for v in found] == [0, 1, 2]
    assert int(recall(one, 2, lambda: torch.tensor(9))) == 1


def test_beyond_the_bound_nothing_more_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    gc.collect()
    monkeypatch.setattr(memo, "_HELD", weakref.WeakKeyDictionary())
    monkeypatch.setattr(memo, "MOST", 100)
    one = side(0)
    for key, numbers in (("first", 20), ("too much", 10), ("fits", 5)):
        recall(one, key, lambda numbers=numbers: torch.zeros(numbers))
    again = {key: float(recall(one, key, lambda: torch.ones(1))[0]) for key in ("first", "too much", "fits")}
    assert again == {"first": 0.0, "too much": 1.0, "fits": 0.0}
