"""Uniformity difference against double loops, in the form of Wang & Isola and in that of the survey."""

from __future__ import annotations

import math

import pytest
import torch
from pairs import noise
from torch import Tensor

from seamripper.errors import MeasureError
from seamripper.measures import distances
from seamripper.measures.pair import Pair
from seamripper.measures.uniformity_difference import UniformityDifference

FORMS = [(rows, pairs, t) for rows in ("unit", "raw") for pairs in ("distinct", "all") for t in (2.0, 0.5)]


def measure(rows: str = "unit", pairs: str = "distinct", t: float = 2.0) -> UniformityDifference:
    return UniformityDifference(rows=rows, pairs=pairs, t=t)  # type: ignore[arg-type]


def by_loop(x: Tensor, rows: str, pairs: str, t: float) -> float:
    points = [[v / math.hypot(*row) if rows == "unit" else v for v in row] for row in x.tolist()]
    n = len(points)
    terms = [
        math.exp(-t * math.dist(points[i], points[j]) ** 2)
        for i in range(n)
        for j in range(n)
        if pairs == "all" or i != j
    ]
    return math.log(math.fsum(terms) / len(terms))


@pytest.mark.parametrize(("rows", "pairs", "t"), FORMS)
@pytest.mark.parametrize(("n", "width"), [(15, 3), (6, 9)])
def test_it_is_the_log_of_a_mean_over_pairs(rows: str, pairs: str, t: float, n: int, width: int) -> None:
    x, y = noise(n, width, 0) + 0.5, 0.6 * noise(n, 4, 1)
    pair = Pair.of(x, y)
    figures = by_loop(x, rows, pairs, t), by_loop(y, rows, pairs, t)
    assert measure(rows, pairs, t).sides(pair) == pytest.approx(figures, abs=1e-10)
    assert measure(rows, pairs, t).value(pair) == pytest.approx(abs(figures[0] - figures[1]), abs=1e-10)


def test_blocks_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = Pair.of(noise(31, 3, 0) + 1, noise(31, 4, 1))
    for rows in ("unit", "raw"):
        whole = measure(rows).value(pair)
        with monkeypatch.context() as patched:
            patched.setattr(distances, "_CELLS", 70)
            assert len(list(distances.blocks(31))) == 16
            assert measure(rows).value(pair) == pytest.approx(whole, abs=1e-12)


@pytest.mark.parametrize("rows", ["unit", "raw"])
def test_what_it_does_not_see_depends_on_the_rows(rows: str) -> None:
    x, y = noise(20, 3, 0), noise(20, 3, 1)
    before = measure(rows).value(Pair.of(x, y))
    shifted, scaled = measure(rows).value(Pair.of(x + 2, y)), measure(rows).value(Pair.of(3 * x, y))
    assert (shifted == pytest.approx(before, abs=1e-9)) == (rows == "raw")
    assert (scaled == pytest.approx(before, abs=1e-9)) == (rows == "unit")
    claimed = measure(rows).claims.invariant_to
    assert ("translation" in claimed, "scaling" in claimed) == (rows == "raw", rows == "unit")


def test_terms_too_small_for_a_number() -> None:
    # All pairs 100 √2 apart: exp(−2 · 20000) is 0 in float64, its logarithm is not.
    x = 100 * torch.eye(6, dtype=torch.float64)
    pair = Pair.of(x, 2 * x)
    assert measure("raw").sides(pair) == pytest.approx((-40_000.0, -160_000.0), rel=1e-12)
    with pytest.raises(MeasureError, match=r"says nothing here: the sender's rows .* rows='unit' or pairs='distinct'"):
        measure("raw", "all").value(pair)


def test_rows_of_zeros_have_no_direction() -> None:
    x, y = noise(12, 3, 0), noise(12, 3, 1)
    zeroed = x.clone()
    zeroed[5] = 0.0
    without = torch.cat([x[:5], x[6:]])
    expected = abs(by_loop(without, "unit", "distinct", 2.0) - by_loop(y, "unit", "distinct", 2.0))
    assert measure().value(Pair.of(zeroed, y)) == pytest.approx(expected, abs=1e-12)
    with pytest.raises(MeasureError, match=r"two rows or more that are not zero, but 0 of the receiver's"):
        measure().value(Pair.of(x, 0 * y))


def test_points_in_one_place_are_0() -> None:
    x = torch.full((8, 3), 0.3)
    assert measure().value(Pair.of(x, 7 * x)) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [({"rows": "long"}, "'unit' or 'raw'"), ({"pairs": "some"}, "'distinct' or 'all'"), ({"t": 0.0}, "above 0")],
)
def test_unknown_options(options: dict[str, object], message: str) -> None:
    with pytest.raises(MeasureError, match=message):
        UniformityDifference(**options)  # type: ignore[arg-type]
