"""Debiased CKA, against the U-statistic written out over quadruples of samples, and against U-centred Gram matrices."""

from __future__ import annotations

import itertools

import pytest
import torch
from pairs import by_moments, related, ucentred_hsic, unrelated
from torch import Tensor

from seamripper.errors import MeasureError
from seamripper.measures.debiased_cka import DebiasedCKA
from seamripper.measures.linear_cka import LinearCKA
from seamripper.measures.pair import Pair


def quadruples(x: Tensor, y: Tensor) -> float:
    """The mean of k_ij l_ij + k_ij l_qr − 2 k_ij l_iq over all i, j, q, r that differ (Song et al. 2012)."""
    k, l = (x @ x.T).tolist(), (y @ y.T).tolist()  # noqa: E741
    terms = [
        k[i][j] * l[i][j] + k[i][j] * l[q][r] - 2 * k[i][j] * l[i][q]
        for i, j, q, r in itertools.permutations(range(len(x)), 4)
    ]
    return sum(terms) / len(terms)


def by_grams(x: Tensor, y: Tensor) -> float:
    return ucentred_hsic(x, y) / (ucentred_hsic(x, x) * ucentred_hsic(y, y)) ** 0.5


def test_is_the_u_statistic() -> None:
    x, y = related(7, 3, 2)
    wanted = quadruples(x, y) / (quadruples(x, x) * quadruples(y, y)) ** 0.5
    assert DebiasedCKA().value(Pair.of(x, y)) == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize(("n", "p", "q"), [(40, 5, 3), (30, 1, 8), (12, 40, 60), (4, 3, 3)])
def test_is_the_inner_product_of_u_centred_grams(n: int, p: int, q: int) -> None:
    x, y = related(n, p, q, seed=n)
    assert DebiasedCKA().value(Pair.of(x, y)) == pytest.approx(by_grams(x, y), rel=1e-9)


def test_unrelated_rows_come_out_about_zero() -> None:
    values = [DebiasedCKA().value(Pair.of(*unrelated(20, 50, 50, seed=seed))) for seed in range(100)]
    biased = LinearCKA().value(Pair.of(*unrelated(20, 50, 50)))
    assert biased > 0.6
    assert abs(sum(values) / len(values)) < 0.02
    assert min(values) < -0.02


def test_reaches_minus_one() -> None:
    """x brings the samples of two pairs together, and y sets just these apart: U-centred, the Grams are opposite."""
    together = torch.zeros(4, 4, dtype=torch.float64)
    together[[0, 1, 2, 3], [1, 0, 3, 2]] = 1.0
    x, y = (torch.linalg.cholesky(3 * torch.eye(4, dtype=torch.float64) + sign * together) for sign in (1, -1))
    assert DebiasedCKA().value(Pair.of(x, y)) == pytest.approx(-1.0, abs=1e-9)


def test_stays_within_its_range() -> None:
    values = [DebiasedCKA().value(Pair.of(*unrelated(5, 2, 2, seed=seed))) for seed in range(200)]
    assert -1 - 1e-9 <= min(values) < -0.4
    assert 0.9 < max(values) <= 1 + 1e-9


def test_samples_equally_far_apart_are_refused() -> None:
    x, eye = unrelated(8, 3, 3)[0], torch.eye(8)
    with pytest.raises(MeasureError, match="the receiver's unbiased HSIC with itself to be above zero, but got 0"):
        DebiasedCKA().value(Pair.of(x, eye))
    with pytest.raises(MeasureError, match="the sender's unbiased HSIC"):
        DebiasedCKA().value(Pair.of(eye, x))


def test_needs_rows() -> None:
    with pytest.raises(MeasureError, match="needs the rows themselves"):
        DebiasedCKA().value(by_moments(*related(30, 3, 3)))


def test_needs_four_samples() -> None:
    with pytest.raises(MeasureError, match="at least 4 samples, but got 3"):
        DebiasedCKA().value(Pair.of(*related(3, 2, 2)))
