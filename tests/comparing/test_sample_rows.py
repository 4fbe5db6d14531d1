"""Singles: one row a sample, the same wherever the sample is met, kept up to a number, and summed over minibatches."""

from __future__ import annotations

import pytest
import torch
from test_moments import activations, maps
from torch import Tensor
from torch.nn import functional as F

from seamripper.comparing.forms import Batch, forms
from seamripper.comparing.order import draw_positions, order_of
from seamripper.comparing.sample_rows import SampleRows
from seamripper.errors import MeasureError
from seamripper.measures import Pair, measures

SENDERS, RECEIVERS = [maps(3, 8, 8), maps(5, 4, 4)], [maps(4, 4, 4), maps(2, 8, 8), maps(6, 1, 1)]
IDS = torch.randperm(60, generator=torch.Generator().manual_seed(5)) * 7


def added(batches: range, *, keep: int = 45, batch: int = 10, n: int = 60) -> SampleRows:
    singles = SampleRows(*forms(SENDERS, RECEIVERS, "positions"), keep=keep, folds=3, batch=batch)
    x, y = activations(SENDERS, n, seed=0, offset=0.5), activations(RECEIVERS, n, seed=1, offset=0.0)
    for k in batches:
        part = slice(batch * k, batch * (k + 1))
        singles.add(Batch([v[part] for v in x], [v[part] for v in y], IDS[part], fold=k % 3))
    return singles


def rows(cut: int, receiver: int, n: int) -> tuple[Tensor, Tensor]:
    """The single rows of the first `n` samples, by resizing outright."""
    x, y = activations(SENDERS, 60, seed=0, offset=0.5)[cut], activations(RECEIVERS, 60, seed=1, offset=0.0)[receiver]
    grid = RECEIVERS[receiver].grid
    places = draw_positions(IDS, grid, seed=0)
    big = F.interpolate(x.double(), size=grid, mode="bilinear", align_corners=False).flatten(2)
    at = torch.arange(60)
    return big[at, :, places][:n], y.double().flatten(2)[at, :, places][:n]


@pytest.mark.parametrize(("i", "j"), [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)])
def test_a_row_is_the_map_at_one_place_of_the_receivers_grid(i: int, j: int) -> None:
    pair, (x, y) = added(range(6)).pair(i, j), rows(i, j, 60)
    first = order_of(IDS, seed=0)[:45]
    torch.testing.assert_close(pair.x.matrix, x[first])
    torch.testing.assert_close(pair.y.matrix, y[first])
    assert (pair.n, pair.folds) == (45, 3)


@pytest.mark.parametrize("keep", [1, 7, 45, 60, 100])
def test_the_same_rows_are_kept_in_whichever_order_they_come(keep: int) -> None:
    numbers = list(range(6))
    kept = [added(order, keep=keep).pair(0, 1).x.matrix for order in (numbers, numbers[::-1], [3, 0, 5, 1, 4, 2])]
    assert len(kept[0]) == min(keep, 60)
    assert torch.equal(kept[0], kept[1])
    assert torch.equal(kept[0], kept[2])


def test_places_are_the_samples_own_and_spread_over_the_grid() -> None:
    places = draw_positions(torch.arange(16_000), (4, 4), seed=0)
    counts = torch.bincount(places, minlength=16)
    # Uniform: 1000 ± 5 standard deviations of 31.
    assert 845 < int(counts.min()) <= int(counts.max()) < 1155
    assert torch.equal(places[100:200], draw_positions(torch.arange(100, 200), (4, 4), seed=0))
    assert not torch.equal(places, draw_positions(torch.arange(16_000), (4, 4), seed=1))


@pytest.mark.parametrize("batch", [10, 7])
def test_minibatch_sums_are_those_of_the_rows(batch: int) -> None:
    """With batches of 7 the last holds 4 samples; both sums are over all samples, kept or not."""
    singles = added(range(-(-60 // batch)), keep=0, batch=batch)
    cka = measures.make(f"minibatch_cka?batch={batch}")
    for i, j in ((0, 0), (1, 1), (0, 2)):
        pair = singles.minibatch_pair(i, j)
        assert pair.n == 60
        assert cka.value(pair) == pytest.approx(cka.value(Pair.of(*rows(i, j, 60))), abs=1e-9)


def test_a_last_batch_too_small_for_the_sums_is_left_out() -> None:
    assert added(range(7), keep=0, batch=9).minibatch_pair(0, 0).n == 60
    short = added(range(6), keep=0, batch=11)
    assert short.minibatch_pair(0, 0).n == 60
    tiny = added(range(4), keep=0, batch=19)
    assert tiny.minibatch_pair(0, 0).n == 57


def test_two_halves_merged_are_one_pass() -> None:
    whole, first, second = added(range(6)), added(range(3)), added(range(3, 6))
    first.merge(second)
    for i, j in ((0, 0), (1, 1)):
        assert torch.equal(first.pair(i, j).x.matrix, whole.pair(i, j).x.matrix)
        assert torch.equal(first.pair(i, j).y.matrix, whole.pair(i, j).y.matrix)
        assert first.minibatch_pair(i, j).n == whole.minibatch_pair(i, j).n
    torch.testing.assert_close(first.hsic, whole.hsic, rtol=1e-12, atol=0)


def test_only_the_same_rule_merges() -> None:
    with pytest.raises(MeasureError, match="the same rule"):
        added(range(2)).merge(added(range(2), keep=3))


def test_rows_that_were_not_kept_are_not_there() -> None:
    with pytest.raises(MeasureError, match="none were kept"):
        added(range(2), keep=0).pair(0, 0)
