"""Effective rank, against the singular values of the rows and SciPy's entropy, and closed forms."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
import torch
from pairs import assert_same_by_moments, centred, related, unrelated

from seamripper.errors import MeasureError
from seamripper.measures.effective_rank import EffectiveRank, effective_rank
from seamripper.measures.pair import Pair, Side


@pytest.mark.parametrize(("n", "p"), [(60, 8), (60, 1), (10, 300)])
def test_is_the_entropy_of_the_singular_values_of_the_rows(n: int, p: int) -> None:
    x, _ = related(n, p, 1)
    sigma = np.linalg.svd(centred(x), compute_uv=False)
    assert effective_rank(Side.of(x)) == pytest.approx(np.exp(scipy.stats.entropy(sigma)), rel=1e-9)


def test_equal_singular_values_count_in_full() -> None:
    u = torch.linalg.qr(torch.cat([torch.ones(50, 1), torch.randn(50, 6)], 1).double())[0][:, 1:]
    assert effective_rank(Side.of(u)) == pytest.approx(6.0, rel=1e-9)
    # σ = (3, 1): p = (3/4, 1/4), so 4 / 3^(3/4).
    assert effective_rank(Side.of(u[:, :2] * torch.tensor([3.0, 1.0]))) == pytest.approx(4 / 3**0.75, rel=1e-9)


def test_dependent_columns_add_nothing_by_rounding() -> None:
    x, _ = related(60, 4, 1)
    turn, _ = torch.linalg.qr(unrelated(20, 20, 1)[0])
    wide = torch.cat([x, torch.zeros(60, 16, dtype=x.dtype)], 1) @ turn
    assert effective_rank(Side.of(wide)) == pytest.approx(effective_rank(Side.of(x)), rel=1e-9)


def test_is_the_difference_of_the_two() -> None:
    x, y = related(60, 4, 7)
    pair = Pair.of(x, y)
    a, b = effective_rank(Side.of(x)), effective_rank(Side.of(y))
    assert EffectiveRank().sides(pair) == (a, b)
    assert EffectiveRank().value(pair) == pytest.approx(abs(a - b), rel=1e-12)
    assert a < 4
    assert b < 7


def test_fewer_samples_than_columns_show_fewer_directions() -> None:
    x, _ = unrelated(2000, 40, 1)
    assert effective_rank(Side.of(x[:10])) < 9 < 35 < effective_rank(Side.of(x))


def test_constant_rows_are_refused() -> None:
    with pytest.raises(MeasureError, match="effective rank of constant rows"):
        effective_rank(Side.of(torch.full((9, 3), 0.1)))
    with pytest.raises(MeasureError, match="the sender's activations are constant"):
        EffectiveRank().value(Pair.of(torch.full((9, 3), 0.1), torch.randn(9, 3)))


def test_from_moments() -> None:
    x, y = related(90, 5, 4)
    assert_same_by_moments(EffectiveRank(), x, y)
    assert_same_by_moments(EffectiveRank(), torch.cat([x, x], 1), y)
