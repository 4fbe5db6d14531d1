"""Moments: what one pass accumulates is what the rows themselves give, whatever the sizes of the maps."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from seamripper.comparing.forms import Batch, RowForm, forms
from seamripper.comparing.moments import CutMoments, buffer_size
from seamripper.cut.place import Cut
from seamripper.errors import MeasureError
from seamripper.measures.pair import Pair
from seamripper.stitches.grids import adjoint, at, resize, resized_and_back, shares, weights


def maps(width: int, high: int, wide: int) -> Cut:
    return Cut(f"{width}x{high}x{wide}", (width, high, wide), "nchw")


def tokens(count: int, width: int) -> Cut:
    return Cut(f"{count}t{width}", (count, width), "ntd")


def vector(width: int) -> Cut:
    return Cut(f"v{width}", (width,), "nd")


SENDERS = [maps(3, 8, 8), maps(150, 4, 4), maps(5, 2, 3), maps(4, 1, 1), vector(6), tokens(17, 7), tokens(3, 5)]
RECEIVERS = [maps(2, 8, 8), maps(6, 4, 4), maps(140, 5, 3), vector(3), tokens(16, 4), maps(3, 2, 8)]


def activations(cuts: list[Cut], n: int, *, seed: int, offset: float) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [offset + torch.randn(n, *cut.shape, generator=generator) for cut in cuts]


def outright(values: Tensor, form: RowForm, grid: tuple[int, int]) -> Tensor:
    """Rows of a map resized by torch itself, in float64."""
    big = F.interpolate(form.maps(values).double(), size=grid, mode="bilinear", align_corners=False)
    return big.permute(0, 2, 3, 1).reshape(-1, form.width)


def accumulated(
    x: list[Tensor],
    y: list[Tensor],
    batches: range,
    *,
    batch: int = 4,
    folds: int = 3,
    products: torch.dtype = torch.float64,
) -> CutMoments:
    sums = CutMoments(*forms(SENDERS, RECEIVERS, "positions"), folds=folds, products=products)
    for k in batches:
        part = slice(batch * k, batch * (k + 1))
        sent = [form.maps(v[part]) for form, v in zip(sums.senders, x, strict=True)]
        received = [form.maps(v[part]) for form, v in zip(sums.receivers, y, strict=True)]
        sums.add(Batch(sent, received, torch.arange(len(x[0]))[part], fold=k % folds))
    return sums


@pytest.fixture(scope="module")
def data() -> tuple[list[Tensor], list[Tensor]]:
    return activations(SENDERS, 24, seed=0, offset=1.0), activations(RECEIVERS, 24, seed=1, offset=-2.0)


def close(got: Tensor, expected: Tensor, tolerance: float) -> None:
    assert float((got - expected).abs().max()) <= tolerance * float(expected.abs().max())


def same_pair(got: Pair, expected: Pair, tolerance: float) -> None:
    assert got.n == expected.n
    for side in ("x", "y"):
        a, b = getattr(got, side), getattr(expected, side)
        close(a.mean, b.mean, tolerance)
        close(a.s, b.s, tolerance)
    close(got.sxy, expected.sxy, tolerance)


@pytest.mark.parametrize(("i", "j"), list(itertools.product(range(len(SENDERS)), range(len(RECEIVERS)))))
def test_moments_through_the_adjoint_are_those_of_maps_resized_outright(
    data: tuple[list[Tensor], list[Tensor]], i: int, j: int
) -> None:
    x, y = data
    sums = accumulated(x, y, range(6))
    grid = sums.receivers[j].grid
    rows = [outright(x[i], sums.senders[i], grid), outright(y[j], sums.receivers[j], grid)]
    fold_of = (torch.arange(24) // 4 % 3).repeat_interleave(grid[0] * grid[1])
    got, expected = sums.pair(i, j), Pair.of(rows[0], rows[1], fold_of=fold_of)
    same_pair(got, expected, 1e-10)
    for k in range(3):
        same_pair(got.without(k), expected.without(k), 1e-10)
        same_pair(got.fold(k), expected.fold(k), 1e-10)


def test_two_halves_merged_are_one_pass(data: tuple[list[Tensor], list[Tensor]]) -> None:
    x, y = data
    whole, first, second = (accumulated(x, y, part) for part in (range(6), range(2), range(2, 6)))
    first.merge(second)
    assert first.counts == whole.counts
    for i, j in itertools.product(range(len(SENDERS)), range(len(RECEIVERS))):
        same_pair(first.pair(i, j), whole.pair(i, j), 1e-12)


def test_only_the_same_rule_merges(data: tuple[list[Tensor], list[Tensor]]) -> None:
    x, y = data
    one, other = accumulated(x, y, range(2)), accumulated(x, y, range(2), folds=2)
    with pytest.raises(MeasureError, match="same cuts, the same rule and the same number of folds"):
        one.merge(other)


def test_a_fold_without_samples_is_left_out(data: tuple[list[Tensor], list[Tensor]]) -> None:
    pair = accumulated(*data, range(2)).pair(0, 0)
    assert (pair.folds, pair.n) == (2, 8 * 64)


@pytest.mark.parametrize(("i", "j"), [(0, 1), (1, 0), (1, 1), (2, 2), (5, 4)])
def test_products_in_float32_are_those_in_float64_to_their_rounding(
    data: tuple[list[Tensor], list[Tensor]], i: int, j: int
) -> None:
    fast, exact = (accumulated(*data, range(6), products=p).pair(i, j) for p in (torch.float32, torch.float64))
    same_pair(fast, exact, 1e-6)
    assert not torch.equal(fast.sxy, exact.sxy)
    assert fast.x.noise > exact.x.noise


def test_a_large_mean_takes_no_digits_from_the_spread() -> None:
    """A mean a thousand times the spread."""
    cuts = [maps(3, 4, 4)]
    (values,) = activations(cuts, 64, seed=2, offset=1000.0)
    both = forms(cuts, cuts, "positions")
    sums = CutMoments(*both, folds=2)
    for k in range(8):
        part = values[8 * k : 8 * k + 8]
        sums.add(Batch([part], [part], torch.arange(8), fold=k % 2))
    rows = outright(values, both[0][0], (4, 4))
    close(sums.pair(0, 0).x.s, Pair.of(rows, rows).x.s, 1e-9)


def test_memory_is_that_of_the_sums_and_does_not_grow(data: tuple[list[Tensor], list[Tensor]]) -> None:
    x, y = data
    assert accumulated(x, y, range(1)).bytes == accumulated(x, y, range(6)).bytes


# ---- resizing


def test_few_rows_wait_for_more_whatever_the_batch() -> None:
    """An average is one row per sample: to add up a product of 16 rows costs more than to make it."""
    (vectors,), (maps_,) = (forms([cut], [cut], "positions")[0] for cut in (vector(64), maps(64, 56, 56)))
    assert buffer_size([vectors], [vectors], batch=16, at_once=8) == 2 * 64 * 512
    assert buffer_size([vectors], [vectors], batch=1024, at_once=8) == 2 * 64 * 1024
    assert buffer_size([maps_], [maps_], batch=16, at_once=1) == 2 * 64 * 2 * 56 * 56


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the peak of resident memory is read from /proc")
def test_wide_sums_are_added_to_and_turned_without_a_second_copy() -> None:
    def peak() -> int:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM"))

    form = RowForm(vector(4096), 4096, (1, 1), "vector")
    sums = CutMoments((form,), (form,), folds=2, products=torch.float32)
    values = torch.randn(8, 4096, 1, 1, generator=torch.Generator().manual_seed(0))
    batches = [Batch([values], [values], torch.arange(8), fold) for fold in (0, 1)]
    for batch in batches:
        sums.add(batch)
    sums.rotate_folds(0)
    cross = next(sums._sums())
    before = cross[0].clone()
    Path("/proc/self/clear_refs").write_text("5")
    resting = peak()
    sums.add(batches[0])
    sums.rotate_folds(1)
    # A whole product with its float64 form took 1.5 times the sum of a fold, and turning two folds took twice that sum.
    assert peak() - resting < 1.2 * cross[0].nbytes
    assert torch.allclose(cross[1], 2 * before, rtol=1e-5, atol=1e-4)
    assert torch.equal(cross[0], before)


@pytest.mark.parametrize(("small", "large"), [((4, 4), (8, 8)), ((2, 3), (7, 5)), ((1, 1), (3, 4)), ((5, 3), (5, 3))])
def test_the_adjoint_is_the_adjoint(small: tuple[int, int], large: tuple[int, int]) -> None:
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(3, 2, *small, generator=generator, dtype=torch.float64)
    y = torch.randn(3, 2, *large, generator=generator, dtype=torch.float64)
    expected = F.interpolate(x, size=large, mode="bilinear", align_corners=False)
    big, other = resize(x, large, (3, 3))
    torch.testing.assert_close(big, expected, rtol=0, atol=1e-12)
    torch.testing.assert_close(other, F.interpolate(x, size=(3, 3), mode="bilinear", align_corners=False))
    torch.testing.assert_close((x * adjoint(y, small)[0]).sum(), (big * y).sum())
    torch.testing.assert_close((x * resized_and_back(x, large)[0]).sum(), (big**2).sum())
    torch.testing.assert_close((x * shares(small, large)).sum((2, 3)), big.sum((2, 3)))


@pytest.mark.parametrize(("grid", "target"), [((4, 4), (8, 8)), ((8, 8), (4, 4)), ((2, 3), (7, 5)), ((3, 3), (3, 3))])
def test_single_positions_of_a_resized_map(grid: tuple[int, int], target: tuple[int, int]) -> None:
    values = torch.randn(6, 3, *grid, generator=torch.Generator().manual_seed(1))
    places = torch.tensor([0, 1, 5, target[0] * target[1] - 1, 3, 2])
    big = F.interpolate(values.double(), size=target, mode="bilinear", align_corners=False).flatten(2)
    torch.testing.assert_close(at(values, target, places).double(), big[torch.arange(6), :, places])


def test_weights_are_torchs() -> None:
    line = torch.randn(1, 1, 7, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    for size in (1, 3, 7, 20):
        expected = F.interpolate(line, size=size, mode="linear", align_corners=False)[0, 0]
        torch.testing.assert_close(weights(7, size) @ line[0, 0], expected)


# ---- forms


def test_by_positions_tokens_lose_their_cls_unless_all_have_as_many() -> None:
    (cls,), (grid,) = forms([tokens(17, 4)], [maps(3, 8, 8)], "positions")
    assert (cls.grid, grid.grid) == ((4, 4), (8, 8))
    values = torch.arange(17.0)[None, :, None].expand(1, 17, 4)
    assert cls.maps(values)[0, 0].flatten().tolist() == list(range(1, 17))
    (alike,), _ = forms([tokens(17, 4)], [tokens(17, 9)], "positions")
    assert alike.grid == (17, 1)
    assert alike.maps(values)[0, 0].flatten().tolist() == list(range(17))


def test_pool_and_flatten() -> None:
    for cut in (maps(2, 3, 4), tokens(6, 5), vector(4)):
        values = torch.randn(3, *cut.shape)
        (pooled,), (flat,) = forms([cut], [cut], "pool")[0], forms([cut], [cut], "flatten")[0]
        mean = values.flatten(2).mean(2) if cut.layout == "nchw" else values.mean(1) if cut.layout == "ntd" else values
        torch.testing.assert_close(pooled.maps(values)[:, :, 0, 0], mean)
        assert torch.equal(flat.maps(values)[:, :, 0, 0], values.flatten(1))
        assert (pooled.width, flat.width) == (cut.width, values[0].numel())


def test_tokens_of_a_text_have_no_grid() -> None:
    with pytest.raises(MeasureError, match=r"do not form a square grid.*Use the sampling 'pool'"):
        forms([tokens(24, 4)], [maps(3, 8, 8)], "positions")
