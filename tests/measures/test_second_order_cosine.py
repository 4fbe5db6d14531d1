"""Second-order cosine, against the definition in loops, scipy, and planted pairs."""

from __future__ import annotations

import pytest
import torch
from pairs import noise
from scipy.spatial.distance import cdist, cosine
from torch import Tensor

from seamripper.errors import MeasureError
from seamripper.measures.pair import Pair
from seamripper.measures.second_order_cosine import SecondOrderCosine


def in_loops(x: Tensor, y: Tensor, k: int) -> float:
    n, total = len(x), 0.0
    a, b = (1 - cdist(z.numpy(), z.numpy(), "cosine") for z in (x, y))
    for i in range(n):
        others = [j for j in range(n) if j != i]
        around = sorted({*sorted(others, key=lambda j: -a[i, j])[:k], *sorted(others, key=lambda j: -b[i, j])[:k]})
        total += 1 - cosine(a[i, around], b[i, around])
    return total / n


@pytest.mark.parametrize(("p", "q"), [(5, 4), (50, 60)])
@pytest.mark.parametrize("k", [1, 5, 29])
def test_in_loops(k: int, p: int, q: int) -> None:
    x, y = noise(30, p, 0) + 0.3, noise(30, q, 1)
    y[:, :3] += x[:, :3]
    assert SecondOrderCosine(k=k).value(Pair.of(x, y)) == pytest.approx(in_loops(x, y, k), abs=1e-12)


def test_positive_rows_come_out_high_and_others_do_not() -> None:
    x, y = noise(100, 20, 0), noise(100, 20, 1)
    assert SecondOrderCosine().value(Pair.of(x, y)) < 0.2
    assert SecondOrderCosine().value(Pair.of(x.abs(), y.abs())) > 0.95


def test_opposite_similarities_are_negative() -> None:
    # Corners of a flat rectangle. In x a sample has cosine c with one neighbour, −c with another, −1 with the third;
    # in y the first two have changed places.
    x = torch.tensor([[1.0, 0.3], [1.0, -0.3], [-1.0, 0.3], [-1.0, -0.3]], dtype=torch.float64)
    y = x[[0, 2, 1, 3]]
    c = (1 - 0.3**2) / (1 + 0.3**2)
    assert SecondOrderCosine(k=1).value(Pair.of(x, y)) == pytest.approx(-1.0, abs=1e-14)
    assert SecondOrderCosine(k=3).value(Pair.of(x, y)) == pytest.approx((1 - 2 * c**2) / (1 + 2 * c**2), abs=1e-14)


def test_has_no_value_where_all_rows_are_at_right_angles() -> None:
    with pytest.raises(MeasureError, match=r"second_order_cosine\?k=2 .* the sender's row 0 is at right angles"):
        SecondOrderCosine(k=2).value(Pair.of(torch.eye(6), noise(6, 3, 0)))


def test_says_how_many_samples_are_needed() -> None:
    with pytest.raises(MeasureError, match="second_order_cosine needs at least 11 samples, but got 10"):
        SecondOrderCosine().value(Pair.of(noise(10, 3, 0), noise(10, 3, 1)))


def test_refuses_a_k_that_counts_nothing() -> None:
    with pytest.raises(MeasureError, match="Expected k of the measure 'second_order_cosine' to be a whole number"):
        SecondOrderCosine(k=0)
