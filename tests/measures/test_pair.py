"""Side and Pair: moments, rows and folds of two representations."""

from __future__ import annotations

import math

import pytest
import torch
from pairs import by_moments, related, rotation

from seamripper.errors import MeasureError
from seamripper.measures import Pair, Side
from seamripper.measures.distances import Metric, chords


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e5])
def test_turned_rows_keep_every_distance_and_inner_product(offset: float) -> None:
    rows = offset + torch.randn(30, 200, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    turned = Side.of(rows).compact
    assert turned.width == 30
    torch.testing.assert_close(turned.matrix @ turned.matrix.T, rows @ rows.T, rtol=1e-12, atol=0)
    exact = {"compute_mode": "donot_use_mm_for_euclid_dist"}
    expected = torch.cdist(rows, rows, **exact)
    torch.testing.assert_close(torch.cdist(turned.matrix, turned.matrix, **exact), expected, rtol=1e-8, atol=1e-8)


def test_few_columns_are_not_turned() -> None:
    side = Side.of(torch.randn(9, 4))
    assert side.compact is side


def test_a_side_is_the_same_by_rows_and_by_moments() -> None:
    x, y = related(60, 5, 4)
    rows, moments = Pair.of(x, y), by_moments(x, y)
    for a, b in ((rows, moments), (rows.without(2), moments.without(2)), (rows.fold(3), moments.fold(3))):
        assert (a.n, a.folds) == (b.n, b.folds)
        for p, q in ((a.x, b.x), (a.y, b.y)):
            torch.testing.assert_close(p.s, q.s)
            torch.testing.assert_close(p.mean, q.mean)
            assert p.rank == q.rank
            assert p.total == pytest.approx(q.total)
        torch.testing.assert_close(a.sxy, b.sxy)
        assert a.nuclear == pytest.approx(b.nuclear)
        torch.testing.assert_close(a.swapped.sxy, b.sxy.T)
        torch.testing.assert_close(a.canonical[1], b.canonical[1])


@pytest.mark.parametrize(("p", "q"), [(24, 24), (40, 12), (12, 40)])
@pytest.mark.parametrize("smallest", [1.0, 1e-3, 1e-7])
def test_singular_values_by_moments_are_those_of_an_svd(p: int, q: int, smallest: float) -> None:
    # Of columns that shrink to `smallest`, rotated, the cross-products shrink to its square; one column is dead.
    x, y = related(400, p, q)
    scales = torch.logspace(0, math.log10(smallest), max(p, q), dtype=torch.float64)
    x, y = x * scales[:p] @ rotation(p, 1), y * scales[:q] @ rotation(q, 2)
    x[:, 3], y[:, 5] = 0.0, 0.0
    for pair in (by_moments(x, y), by_moments(x, y).without(2)):
        nuclear = float(torch.linalg.svdvals(pair.sxy).sum())
        assert pair.nuclear == pytest.approx(nuclear, rel=1e-9)
        gap = math.sqrt(pair.x.total * pair.y.total)
        assert gap - pair.nuclear == pytest.approx(gap - nuclear, rel=1e-9)
        for k, m in ((pair.x.rank, pair.y.rank), (7, 5)):
            expected = torch.linalg.svdvals(pair.whitened[:k, :m])
            assert float(pair.correlations_within(k, m).sum()) == pytest.approx(float(expected.sum()), rel=1e-9)
    alike = by_moments(x, x)
    assert alike.nuclear == pytest.approx(alike.x.total, rel=1e-14)


def test_whitened_directions_have_the_canonical_correlations() -> None:
    x, y = related(80, 6, 3)
    pair = Pair.of(x, y)
    u, rho, v = pair.canonical
    left = pair.x.centred @ pair.x.whitener @ u
    right = pair.y.centred @ pair.y.whitener @ v
    torch.testing.assert_close(left.T @ left, torch.eye(3, dtype=torch.float64))
    torch.testing.assert_close(left.T @ right, torch.diag(rho))


def test_rank_counts_what_is_more_than_rounding() -> None:
    x = torch.randn(50, 4, generator=torch.Generator().manual_seed(0))
    dead = torch.cat([x, x[:, :1] + x[:, 1:2], torch.zeros(50, 1)], 1)
    assert Side.of(dead).rank == 4
    assert Side.of(dead.double()).rank in (4, 5)  # In float64 the float32 rounding of a sum is a direction of its own.


def test_what_is_computed_once_is_shared() -> None:
    pair = Pair.of(*related(40, 3, 3))
    assert pair.without(1) is pair.without(1)
    assert pair.x.without(1) is pair.x.without(1)
    assert pair.without(1).x is pair.x.without(1)


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "correlation"])
def test_distances_of_some_rows_are_taken_from_those_of_all(metric: Metric) -> None:
    side = Side.of(torch.randn(30, 6, generator=torch.Generator().manual_seed(3)))
    for part in (side.without(1), side.fold(2), side.without(0).without(2)):
        alone = Side(part.grain, rows=part.matrix)
        torch.testing.assert_close(chords(part, metric, "sender"), chords(alone, metric, "sender"))


def test_bad_rows() -> None:
    with pytest.raises(MeasureError, match="as many rows of x as of y, but got 4 and 5"):
        Pair.of(torch.zeros(4, 2), torch.zeros(5, 2))
    with pytest.raises(MeasureError, match=r"Expected y to be rows of numbers \(n, columns\), but got \(4,\)"):
        Pair.of(torch.zeros(4, 2), torch.zeros(4))
    bad = torch.zeros(4, 2)
    bad[2, 1] = float("inf")
    with pytest.raises(MeasureError, match="x holds NaN or Inf, first in row 2"):
        Pair.of(bad, torch.zeros(4, 2))
    with pytest.raises(MeasureError, match="only their moments were kept"):
        by_moments(*related(20, 2, 2)).x.matrix  # noqa: B018
