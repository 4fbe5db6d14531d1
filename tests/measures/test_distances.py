"""Distances between rows, against exact arithmetic, scipy, and what must be tied."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import torch
from pairs import noise
from scipy.spatial.distance import pdist, squareform

from seamripper.errors import MeasureError
from seamripper.measures.distances import Metric, chords, cosines, distances, grades, square
from seamripper.measures.pair import Side


def test_nearly_equal_rows_far_from_zero_keep_their_digits() -> None:
    # |x|² − 2 x·y + |y|² has no digit left here: 1e12 against 1e-6.
    x = 1e6 + 1e-3 * noise(12, 9, 0)
    exact = [
        float(sum((Fraction(a) - Fraction(b)) ** 2 for a, b in zip(x[i].tolist(), x[j].tolist(), strict=True))) ** 0.5
        for i in range(12)
        for j in range(i + 1, 12)
    ]
    torch.testing.assert_close(
        chords(Side.of(x), "euclidean", "sender"), torch.tensor(exact, dtype=torch.float64), rtol=1e-13, atol=0
    )


def test_nearly_parallel_rows_keep_their_digits() -> None:
    # 1 − cos is 5e-17 here, and 1 minus a float cosine is 0 or 1.1e-16.
    angles = torch.tensor([0.0, 1e-8, 0.5], dtype=torch.float64)
    x = torch.stack([angles.cos(), angles.sin()], 1)
    found = distances(Side.of(x), "cosine", "sender")
    assert found[0].item() == pytest.approx(5e-17, rel=1e-6)
    assert found[1].item() == pytest.approx(1 - np.cos(0.5), rel=1e-12)


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "correlation"])
@pytest.mark.parametrize(("n", "p"), [(20, 5), (9, 40)])
def test_as_scipy_has_them(metric: Metric, n: int, p: int) -> None:
    x = noise(n, p, 0) + 0.3
    found = distances(Side.of(x), metric, "sender").numpy()
    np.testing.assert_allclose(found, pdist(x.numpy(), metric), rtol=0, atol=1e-13)
    np.testing.assert_array_equal(square(torch.from_numpy(found), n).numpy(), squareform(found))


def test_cosines() -> None:
    x = noise(7, 3, 0)
    expected = [[np.dot(a, b) / np.linalg.norm(a) / np.linalg.norm(b) for b in x.numpy()] for a in x.numpy()]
    np.testing.assert_allclose(cosines(Side.of(x), "sender").numpy(), expected, rtol=0, atol=1e-14)


def test_the_same_rows_are_at_no_distance_and_as_far_from_others() -> None:
    x = noise(6, 30, 0) * 10
    x[4] = x[1]
    for metric in ("euclidean", "cosine", "correlation"):
        found = square(chords(Side.of(torch.cat([x] * 6)), metric, "sender"), 36)
        assert found[1, 4] == 0
        assert bool((found[1] == found[4]).all())


def test_grades_tie_what_rounding_parts() -> None:
    values = torch.tensor([0.3, 0.1 + 0.2, 0.3 * (1 + 1e-9), 1.0], dtype=torch.float64)
    assert values[0] != values[1]
    whole = grades(values)
    assert whole[0] == whole[1] < whole[2] < whole[3] == 2**40


def test_rows_without_a_direction_are_refused_by_name() -> None:
    x = noise(8, 3, 0)
    x[[2, 5]] = 0.0
    with pytest.raises(MeasureError, match=r"cosine distance .* rows that are zero: the receiver has 2 .* first row 2"):
        distances(Side.of(x), "cosine", "receiver")
    x[[2, 5]] = 0.1
    with pytest.raises(MeasureError, match=r"rows that are constant: the sender has 2 .* first row 2.*Euclidean"):
        distances(Side.of(x), "correlation", "sender")
    assert distances(Side.of(x), "cosine", "sender").isfinite().all()


def test_what_rounding_leaves_of_constant_rows_is_no_direction() -> None:
    x = noise(8, 1, 0).expand(8, 7)
    assert bool((x - x.mean(1, keepdim=True)).any())
    with pytest.raises(MeasureError, match="rows that are constant: the sender has 8 of them"):
        distances(Side.of(x), "correlation", "sender")


def test_a_zero_row_is_still_found_when_the_rows_were_turned() -> None:
    x = noise(8, 30, 0)
    x[3] = 0.0
    with pytest.raises(MeasureError, match="the sender has 1 of them, first row 3"):
        distances(Side.of(x).compact, "cosine", "sender")


def test_rows_of_one_direction_are_refused_by_name() -> None:
    x = torch.arange(1.0, 9.0)[:, None] * torch.tensor([0.1, 0.7])
    with pytest.raises(MeasureError, match="the sender's rows all point the same way"):
        distances(Side.of(x), "cosine", "sender")
