"""Pairing: stored activations of the same samples, by one sampling, a sample's rows in one fold."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from seamripper.activations import Activations, Sampling
from seamripper.comparing import pair_activations, pairing
from seamripper.cut import Cut
from seamripper.cut.place import Layout
from seamripper.errors import MeasureError
from seamripper.measures import Pair, measures

LAYOUTS: dict[int, Layout] = {2: "nd", 3: "ntd", 4: "nchw"}


def stored(*shape: int, seed: int = 0, ids: Tensor | None = None) -> Activations:
    values = torch.randn(*shape, generator=torch.Generator().manual_seed(seed))
    known = torch.arange(100, 100 + shape[0]) if ids is None else ids
    return Activations(Cut("a", shape[1:], LAYOUTS[len(shape)]), values, torch.zeros(shape[0]), known)


def test_vectors_are_rows_by_any_sampling() -> None:
    x, y = stored(20, 3), stored(20, 4, seed=1)
    for sampling in (None, "positions", "flatten", "pool"):
        both = pair_activations(x, y, sampling=sampling)  # type: ignore[arg-type]
        assert both.sampling == "rows"
        assert both.every is both.single
        assert torch.equal(both.every.x.matrix, x.values.double())
        assert torch.equal(both.every.y.matrix, y.values.double())
        assert both.every.x.grain == torch.finfo(torch.float32).eps


@pytest.mark.parametrize("sampling", ["flatten", "pool"])
def test_a_row_a_sample(sampling: Sampling) -> None:
    x, y = stored(20, 3, 4, 4), stored(20, 7, 5, seed=1)
    both = pair_activations(x, y, sampling=sampling)
    assert both.every is both.single
    assert both.sampling == sampling
    widths = {"flatten": (48, 35), "pool": (3, 5)}[sampling]
    assert (both.every.n, both.every.x.width, both.every.y.width) == (20, *widths)


def test_positions_of_a_sample_share_a_fold() -> None:
    x, y = stored(12, 3, 2, 5), stored(12, 4, 2, 5, seed=1)
    both = pair_activations(x, y, sampling="positions")
    assert (both.every.n, both.every.folds) == (120, 5)
    assert both.every.x.fold_of is not None
    assert both.every.x.fold_of.reshape(12, 10).tolist() == [[k % 5] * 10 for k in range(12)]
    # Left out with its sample, every position of it.
    left = both.every.without(0).y.matrix
    assert torch.equal(left[:10], y.values[1].permute(1, 2, 0).reshape(10, 4).double())


@pytest.mark.parametrize("shapes", [((30, 3, 2, 5), (30, 4, 2, 5)), ((30, 6, 3), (30, 6, 4))])
def test_rows_for_what_needs_rows_are_one_a_sample_at_the_same_place(shapes: tuple[tuple[int, ...], ...]) -> None:
    x, y = stored(*shapes[0]), stored(*shapes[1], seed=1)
    both = pair_activations(x, y, sampling="positions")
    assert both.pair(measures.make("linear_cka")) is both.every
    for name in ("debiased_cka", "minibatch_cka", "mutual_knn"):
        assert both.pair(measures.make(name)) is both.single
    assert both.single.n == 30
    places = both.every.n // 30
    found = set()
    for k in range(30):
        a = both.every.x.matrix[k * places : (k + 1) * places]
        b = both.every.y.matrix[k * places : (k + 1) * places]
        (where,) = [p for p in range(places) if torch.equal(a[p], both.single.x.matrix[k])]
        assert torch.equal(b[where], both.single.y.matrix[k])
        found.add(where)
    assert len(found) > places / 2


def test_the_place_goes_with_the_id_and_not_with_the_order() -> None:
    ids = torch.arange(500, 530)
    x = stored(30, 3, 4, 4, ids=ids)
    order = torch.randperm(30, generator=torch.Generator().manual_seed(3))
    turned = Activations(x.cut, x.values[order], x.labels, ids[order])
    one, other = (pair_activations(side, side, sampling="positions").single.x.matrix for side in (x, turned))
    assert torch.equal(one[order], other)


def test_where_ids_are_not_known_only_the_number_counts() -> None:
    unknown = torch.full((20,), -1)
    x, y = stored(20, 3, ids=unknown), stored(20, 4)
    assert isinstance(pair_activations(x, y).every, Pair)
    assert isinstance(
        pair_activations(stored(20, 3, 2, ids=unknown), stored(20, 3, 2), sampling="positions").every, Pair
    )


def test_other_samples_are_refused() -> None:
    x = stored(20, 3)
    with pytest.raises(MeasureError, match=r"Expected a and b to hold the same samples, but they have 20 and 19\."):
        pair_activations(x, stored(19, 3), names=("a", "b"))
    swapped = x.ids.clone()
    swapped[[4, 9]] = swapped[[9, 4]]
    with pytest.raises(MeasureError, match=r"same samples in another order, first in sample 4, .* id 104 in a and 109"):
        pair_activations(x, stored(20, 3, ids=swapped), names=("a", "b"))
    other = x.ids.clone()
    other[7] = 3
    with pytest.raises(MeasureError, match=r"b hold different samples, first in sample 7, .* id 107 in a and 3 in b"):
        pair_activations(x, stored(20, 3, ids=other), names=("a", "b"))


def test_what_is_not_rows_needs_a_sampling() -> None:
    maps, tokens, rows = stored(20, 3, 4, 4), stored(20, 7, 5), stored(20, 3)
    with pytest.raises(MeasureError, match=r"a holds maps of 3x4x4: say how .* 'positions', 'flatten' or 'pool'\."):
        pair_activations(maps, rows, names=("a", "b"))
    with pytest.raises(MeasureError, match=r"b holds tokens of 7x5: say how"):
        pair_activations(rows, tokens, names=("a", "b"))
    with pytest.raises(MeasureError, match=r"a holds tokens of 7x5: say how"):
        pair_activations(tokens, maps, sampling="mean", names=("a", "b"))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("a", "b", "says"),
    [
        ((20, 3, 4, 4), (20, 3, 2, 2), "a grid of 4x4 and a grid of 2x2"),
        ((20, 3, 4, 4), (20, 3, 2, 8), "a grid of 4x4 and a grid of 2x8"),
        ((20, 3, 4, 4), (20, 16, 3), "a grid of 4x4 and 16 tokens"),
        ((20, 5, 3), (20, 4, 3), "5 tokens and 4 tokens"),
        ((20, 5), (20, 4, 3), "none and 4 tokens"),
    ],
)
def test_other_positions_are_refused(a: tuple[int, ...], b: tuple[int, ...], says: str) -> None:
    with pytest.raises(MeasureError, match=rf"same positions, .* but they have {says}\. Use the sampling 'pool'\."):
        pair_activations(stored(*a), stored(*b), sampling="positions")


def test_what_there_is_no_room_for_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    both = pair_activations(stored(200, 5), stored(200, 5))
    wide = pair_activations(stored(20, 5, 30), stored(20, 5, 30), sampling="flatten")
    monkeypatch.setattr(pairing, "available", lambda: 16 * 100**2)
    assert both.pair(measures.make("linear_cka")).n == 200
    with pytest.raises(MeasureError, match=r"rsa would take .* GB for 200 rows of 5 and 5 columns, but there is room"):
        both.pair(measures.make("rsa"))
    # Turned into the span of its 20 rows, it fits; columns that must stay what they are do not.
    assert wide.pair(measures.make("linear_cka")).x.width == 150
    with pytest.raises(MeasureError, match=r"hard_correlation_match would take .* 150 columns"):
        wide.pair(measures.make("hard_correlation_match"))
    monkeypatch.setattr(pairing, "available", lambda: None)
    assert both.pair(measures.make("rsa")).n == 200
