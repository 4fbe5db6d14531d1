"""PWCCA in Google's form, against the same steps on rows: symmetric roots, a QR of all samples, and loops."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import torch
from pairs import assert_same_by_moments, centred, related, unrelated
from torch import Tensor

from seamripper.errors import MeasureError
from seamripper.measures.pair import Pair
from seamripper.measures.pwcca_ding import DingPWCCA
from seamripper.measures.pwcca_google import GooglePWCCA


def by_rows(x: Tensor, y: Tensor) -> float:
    """x no wider than y."""
    a, b = centred(x), centred(y)
    root_a, root_b = (np.linalg.inv(scipy.linalg.sqrtm(r.T @ r).real) for r in (a, b))
    u, rho, _ = np.linalg.svd(root_a @ a.T @ b @ root_b)
    p = np.linalg.qr(a @ u)[0]
    alpha = [sum(abs(p[:, i] @ a[:, j]) for j in range(a.shape[1])) for i in range(len(rho))]
    return sum(w * r for w, r in zip(alpha, rho, strict=True)) / sum(alpha)


@pytest.mark.parametrize(("p", "q"), [(4, 4), (3, 7)])
def test_weighs_directions_of_the_narrower_side(p: int, q: int) -> None:
    x, y = related(60, p, q)
    assert GooglePWCCA().value(Pair.of(x, y)) == pytest.approx(by_rows(x, y), rel=1e-8)
    swapped = by_rows(y, x) if p == q else by_rows(x, y)
    assert GooglePWCCA().value(Pair.of(y, x)) == pytest.approx(swapped, rel=1e-8)


def test_of_two_sides_of_one_width_the_sender_weighs() -> None:
    x, y = related(60, 5, 5)
    assert GooglePWCCA().value(Pair.of(x, y)) != pytest.approx(GooglePWCCA().value(Pair.of(y, x)), abs=1e-4)


def test_the_rank_decides_and_not_the_columns() -> None:
    x, y = related(60, 3, 4)
    padded = torch.cat([x, torch.zeros(60, 3, dtype=x.dtype)], 1)
    assert GooglePWCCA().value(Pair.of(padded, y)) == pytest.approx(GooglePWCCA().value(Pair.of(x, y)), rel=1e-9)


def test_is_not_the_form_of_ding() -> None:
    pair = Pair.of(*related(60, 5, 6))
    assert abs(GooglePWCCA().value(pair) - (1 - DingPWCCA().value(pair))) > 1e-3


def test_from_moments() -> None:
    assert_same_by_moments(GooglePWCCA(), *related(90, 5, 4))
    assert_same_by_moments(GooglePWCCA(), *related(90, 3, 6))


def test_too_few_samples_are_refused() -> None:
    with pytest.raises(MeasureError, match="needs more samples than columns"):
        GooglePWCCA().value(Pair.of(*unrelated(10, 3, 10)))
    with pytest.raises(MeasureError, match="got 11 for widths"):
        GooglePWCCA().value(Pair.of(*unrelated(11, 3, 10)))
