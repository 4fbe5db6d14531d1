"""Numerical rank, against the singular values of numpy's covariance, and planted spectra."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from pairs import assert_same_by_moments, by_moments, related, unrelated
from torch import Tensor

from seamripper.errors import MeasureError
from seamripper.measures import measures, score
from seamripper.measures.numerical_rank import NumericalRank, numerical_rank
from seamripper.measures.pair import Pair, Side


def spectrum(n: int, values: list[float], *, seed: int = 0) -> Tensor:
    """Rows whose covariance has exactly these singular values, in a random rotation."""
    g, p = torch.Generator().manual_seed(seed), len(values)
    rows = torch.randn(n, p, generator=g, dtype=torch.float64)
    u = torch.linalg.svd(rows - rows.mean(0), full_matrices=False)[0]
    turn = torch.linalg.qr(torch.randn(p, p, generator=g, dtype=torch.float64))[0]
    return u * (n - 1) ** 0.5 * torch.tensor(values, dtype=torch.float64).sqrt() @ turn + 3


def test_counts_what_is_above_the_threshold() -> None:
    x = spectrum(100, [5.0, 1.0, 0.0051, 0.0049, 1e-6, 0.0])
    assert numerical_rank(Side.of(x)) == 3
    assert numerical_rank(Side.of(x), threshold=0.1) == 2
    assert numerical_rank(Side.of(x), threshold=1e-9) == 5


@pytest.mark.parametrize("threshold", [1e-3, 0.05, 0.5])
def test_is_the_rank_of_the_covariance(threshold: float) -> None:
    x, y = related(60, 8, 12)
    for rows in (x, y):
        values = np.linalg.svd(np.cov(rows.numpy().T), compute_uv=False)
        assert numerical_rank(Side.of(rows), threshold=threshold) == (values > threshold * values.max()).sum()


def test_is_the_difference_of_the_ranks() -> None:
    pair = Pair.of(spectrum(50, [1.0, 1.0, 1e-5]), spectrum(50, [3.0, 2.0, 1.0, 0.5, 0.0], seed=1))
    assert NumericalRank().sides(pair) == (2.0, 4.0)
    assert NumericalRank().value(pair) == 2.0
    assert score(NumericalRank(), pair).as_record()["sides"] == [2.0, 4.0]


def test_wide_rows_are_turned_first() -> None:
    signal, _ = unrelated(40, 3, 1)
    wide = signal @ unrelated(3, 20000, 1, seed=1)[0]
    assert numerical_rank(Side.of(wide)) == 3


def test_a_rank_that_the_samples_limit_is_refused() -> None:
    with pytest.raises(MeasureError, match="found 9 directions of the sender, and 10 centred samples have no more"):
        NumericalRank().value(Pair.of(*unrelated(10, 30, 30)))
    with pytest.raises(MeasureError, match="directions of the receiver"):
        NumericalRank().value(Pair.of(*unrelated(10, 3, 30)))
    assert numerical_rank(Side.of(unrelated(10, 30, 1)[0])) == 9


def test_constant_rows_have_none() -> None:
    assert numerical_rank(Side.of(torch.full((9, 3), 0.1))) == 0
    with pytest.raises(MeasureError, match="the receiver's activations are constant"):
        NumericalRank().value(Pair.of(torch.randn(9, 3), torch.full((9, 3), 0.1)))


def test_from_moments() -> None:
    x, y = spectrum(60, [1.0, 0.5, 1e-5]), spectrum(60, [3.0, 2.0, 1.0, 0.5, 0.0], seed=1)
    assert_same_by_moments(NumericalRank(), x, y)
    assert NumericalRank().sides(by_moments(x, y)) == (2.0, 4.0)


def test_options() -> None:
    assert measures.make("numerical_rank?threshold=0.01") == NumericalRank(threshold=0.01)
    for threshold in (0.0, 1.0, float("nan")):
        with pytest.raises(MeasureError, match=r"Expected threshold of .*(to lie between 0 and 1|a finite number)"):
            NumericalRank(threshold=threshold)
