"""PWCCA in Ding's form, against canonical variates that are made sample by sample."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from pairs import assert_same_by_moments, centred, related, unrelated
from torch import Tensor

from seamripper.errors import MeasureError
from seamripper.measures.pair import Pair
from seamripper.measures.pwcca_ding import DingPWCCA


def by_variates(x: Tensor, y: Tensor) -> float:
    """Bases by QR, their angles by SVD, and the weights added up one inner product at a time."""
    a, b = centred(x), centred(y)
    qa, qb = np.linalg.qr(a)[0], np.linalg.qr(b)[0]
    u, rho, _ = np.linalg.svd(qa.T @ qb, full_matrices=False)
    h = qa @ u
    alpha = [sum(abs(h[:, i] @ a[:, j]) for j in range(a.shape[1])) for i in range(len(rho))]
    return 1 - sum(w * r for w, r in zip(alpha, rho, strict=True)) / sum(alpha)


@pytest.mark.parametrize(("p", "q"), [(4, 4), (3, 7), (7, 3)])
def test_weighs_the_variates_of_the_sender(p: int, q: int) -> None:
    x, y = related(60, p, q)
    assert DingPWCCA().value(Pair.of(x, y)) == pytest.approx(by_variates(x, y), rel=1e-8)
    assert DingPWCCA().value(Pair.of(y, x)) == pytest.approx(by_variates(y, x), rel=1e-8)
    assert by_variates(x, y) != pytest.approx(by_variates(y, x), abs=1e-4)


def test_large_columns_weigh_more() -> None:
    """The first column is shared and the second is not: the larger the first, the nearer."""
    (shared, own), other = unrelated(500, 1, 1), unrelated(500, 1, 1, seed=1)[0]
    near, far = (
        DingPWCCA().value(Pair.of(torch.cat([scale * shared, own], 1), torch.cat([shared, other], 1)))
        for scale in (100.0, 0.01)
    )
    assert near < 0.02
    assert far > 0.85


def test_from_moments() -> None:
    assert_same_by_moments(DingPWCCA(), *related(90, 5, 4))
    assert_same_by_moments(DingPWCCA(), *related(90, 3, 6))


def test_too_few_samples_are_refused() -> None:
    with pytest.raises(MeasureError, match="needs more samples than columns"):
        DingPWCCA().value(Pair.of(*unrelated(10, 3, 10)))
    with pytest.raises(MeasureError, match="got 11 for widths"):
        DingPWCCA().value(Pair.of(*unrelated(11, 3, 10)))


# ---- directions without a counterpart


def with_remainder(x: Tensor, y: Tensor) -> float:
    """The canonical variates of x, then the left singular vectors of what they leave of it, each weighed by hand."""
    a, b = centred(x), centred(y)
    qa, qb = np.linalg.qr(a)[0], np.linalg.qr(b)[0]
    u, rho, _ = np.linalg.svd(qa.T @ qb, full_matrices=False)
    h = qa @ u
    rest = np.linalg.svd(a - h @ (h.T @ a), full_matrices=False)[0][:, : a.shape[1] - len(rho)]
    near, far = (np.abs(part.T @ a).sum(1) for part in (h, rest))
    return 1 - (near * rho).sum() / (near.sum() + far.sum())


@pytest.mark.parametrize(("p", "q"), [(4, 4), (3, 7), (7, 3)])
def test_the_remainder_counts_with_correlation_zero(p: int, q: int) -> None:
    x, y = related(60, p, q)
    ours = DingPWCCA(remainder=True).value(Pair.of(x, y))
    assert ours == pytest.approx(with_remainder(x, y), rel=1e-8)
    plain = DingPWCCA().value(Pair.of(x, y))
    assert (ours > plain) if p > q else (ours == pytest.approx(plain, rel=1e-12))


def test_only_with_the_remainder_is_a_low_rank_approximation_at_a_distance() -> None:
    x, _ = related(90, 6, 2)
    _, _, directions = torch.linalg.svd(x - x.mean(0), full_matrices=False)
    pairs = [Pair.of(x, x @ directions[:rank].T @ directions[:rank]) for rank in (6, 4, 2, 1)]
    assert [DingPWCCA().value(pair) for pair in pairs] == pytest.approx([0] * 4, abs=1e-9)
    values = [DingPWCCA(remainder=True).value(pair) for pair in pairs]
    assert values[0] == pytest.approx(0, abs=1e-9)
    assert values == sorted(values)
    assert values[-1] > 0.3
    # What is sent is the first: of an approximation nothing is left over.
    assert DingPWCCA(remainder=True).value(pairs[-1].swapped) == pytest.approx(0, abs=1e-9)


def test_the_remainder_from_moments() -> None:
    assert_same_by_moments(DingPWCCA(remainder=True), *related(90, 6, 3))
