"""Centring, against the matrix product and against sums over tuples of samples."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from torch import Tensor

from seamripper.errors import MeasureError
from seamripper.measures.hsic import centre, u_centre, unit_centred


def symmetric(n: int, seed: int) -> Tensor:
    x = torch.randn(n, n, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return x + x.T


def test_centred_is_h_m_h() -> None:
    m = symmetric(7, 0)
    h = np.eye(7) - 1 / 7
    np.testing.assert_allclose(centre(m).numpy(), h @ m.numpy() @ h, rtol=0, atol=1e-14)


def test_u_centred_gives_the_unbiased_hsic() -> None:
    # Song et al. 2012: the mean over distinct i, j, q, r of K_ij (L_ij + L_qr − 2 L_iq).
    k, l = symmetric(6, 0), symmetric(6, 1)  # noqa: E741
    terms = [float(k[i, j] * (l[i, j] + l[q, r] - 2 * l[i, q])) for i, j, q, r in itertools.permutations(range(6), 4)]
    found = float((u_centre(k) * u_centre(l)).sum()) / (6 * 3)
    assert found == pytest.approx(sum(terms) / len(terms), rel=1e-12)
    assert bool((u_centre(k).sum(0).abs() < 1e-14).all())


@pytest.mark.parametrize("debiased", [True, False])
def test_aligned_has_norm_one(debiased: bool) -> None:
    assert float((unit_centred(symmetric(5, 0), "sender", debiased=debiased) ** 2).sum()) == pytest.approx(
        1.0, abs=1e-14
    )


def test_nothing_to_align_is_refused_by_name() -> None:
    equal = 0.1 * (1 - torch.eye(6, dtype=torch.float64))
    with pytest.raises(MeasureError, match="the receiver's rows are all equally far from one another"):
        unit_centred(equal, "receiver", debiased=True)
    # Biased, the diagonal alone is something to compare: H itself.
    assert float(unit_centred(equal, "receiver", debiased=False)[0, 0]) == pytest.approx(-(5 / 6) / 5**0.5)
