"""SVCCA, against an SVD of the rows followed by SciPy's angles."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import torch
from pairs import assert_same_by_moments, centred, related, unrelated
from torch import Tensor

from seamripper.errors import MeasureError
from seamripper.measures import measures
from seamripper.measures.cca_mean import MeanCCA
from seamripper.measures.pair import Pair
from seamripper.measures.svcca import SVCCA


def leading(x: Tensor, *, keep: float | None = None, dims: int | None = None) -> np.ndarray:
    """The scores on the leading principal directions, found one more at a time until they hold enough."""
    u, s, _ = np.linalg.svd(centred(x), full_matrices=False)
    k = dims or 1
    while keep is not None and (s[:k] ** 2).sum() < keep * (s**2).sum():
        k += 1
    return u[:, :k] * s[:k]


def decaying(n: int, p: int, *, seed: int) -> tuple[Tensor, Tensor]:
    x, y = related(n, p, p, seed=seed)
    scale = 0.7 ** torch.arange(p, dtype=x.dtype)
    return x * scale, y * scale


@pytest.mark.parametrize("keep", [0.6, 0.9, 0.99, 1.0])
def test_keeps_the_leading_share_of_the_variance(keep: float) -> None:
    x, y = decaying(200, 12, seed=1)
    a, b = leading(x, keep=min(keep, 1 - 1e-12)), leading(y, keep=min(keep, 1 - 1e-12))
    assert a.shape[1] > 1
    wanted = np.cos(scipy.linalg.subspace_angles(a, b)).mean()
    assert SVCCA(keep=keep).value(Pair.of(x, y)) == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize("dims", [1, 5, 12])
def test_keeps_as_many_as_it_is_told_to(dims: int) -> None:
    x, y = decaying(200, 12, seed=2)
    wanted = np.cos(scipy.linalg.subspace_angles(leading(x, dims=dims), leading(y, dims=dims))).mean()
    assert SVCCA(dims=dims, keep=0.5).value(Pair.of(x, y)) == pytest.approx(wanted, rel=1e-9)


def test_keeping_everything_is_mean_cca() -> None:
    pair = Pair.of(*related(80, 5, 7))
    assert SVCCA(keep=1.0).value(pair) == pytest.approx(MeanCCA().value(pair), rel=1e-9)


def test_a_share_that_is_met_exactly_needs_no_further_direction() -> None:
    x = torch.tensor([[3.0, 1.0], [3.0, -1.0], [-3.0, 1.0], [-3.0, -1.0], [0.0, 0.0]])
    y = x[:, 1:]
    assert SVCCA(keep=0.9).value(Pair.of(x, y)) == pytest.approx(0.0, abs=1e-9)
    assert SVCCA(keep=0.91).value(Pair.of(x, y)) == pytest.approx(1.0, abs=1e-9)


def test_more_columns_than_samples_if_few_directions_matter() -> None:
    """Three signals behind 300 columns and a little noise, seen in 60 samples through two different maps."""
    signal, _ = unrelated(60, 3, 3, seed=3)
    (a, b), (e, f) = unrelated(3, 300, 300, seed=4), unrelated(60, 300, 300, seed=5)
    pair = Pair.of(signal @ a + 0.01 * e, signal @ b + 0.01 * f)
    assert SVCCA().value(pair) > 0.999
    other, _ = unrelated(60, 3, 3, seed=6)
    assert SVCCA().value(Pair.of(signal @ a, other @ b)) < 0.6


def test_directions_that_fill_the_samples_are_refused() -> None:
    with pytest.raises(MeasureError, match=r"9 directions of the sender and 9 of the receiver.*dims=4 or less"):
        SVCCA(keep=1.0).value(Pair.of(*unrelated(10, 30, 30)))
    x, y = unrelated(11, 30, 30)
    assert SVCCA(dims=5).value(Pair.of(x, y)) < 0.95
    with pytest.raises(MeasureError, match="at least 11 samples"):
        SVCCA(dims=5).value(Pair.of(x[:10], y[:10]))
    with pytest.raises(MeasureError, match=r"svcca\?dims=5 keeps 5 directions, but the receiver's .* vary in 3 only"):
        SVCCA(dims=5).value(Pair.of(*related(40, 6, 3)))


def test_from_moments() -> None:
    assert_same_by_moments(SVCCA(), *decaying(150, 10, seed=3))
    assert_same_by_moments(SVCCA(dims=3), *decaying(150, 10, seed=3))


def test_options() -> None:
    assert measures.make("svcca?dims=20") == SVCCA(dims=20)
    assert SVCCA(dims=20).label == "svcca?dims=20"
    assert SVCCA(keep=0.9).label == "svcca?keep=0.9"
    for keep in (0.0, 1.5, float("nan")):
        with pytest.raises(MeasureError, match=r"Expected keep of .*svcca.* to be (a share|a finite number)"):
            SVCCA(keep=keep)
    with pytest.raises(MeasureError, match="Expected dims of svcca to be at least 1, but got 0"):
        SVCCA(dims=0)
