"""Mean CCA, against SciPy's angles between subspaces."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.linalg
import torch
from pairs import assert_same_by_moments, centred, related, unrelated

from seamripper.errors import MeasureError
from seamripper.measures.cca_mean import MeanCCA
from seamripper.measures.pair import Pair


@pytest.mark.parametrize(("p", "q"), [(4, 4), (3, 7), (7, 3), (1, 1)])
def test_is_the_mean_cosine_of_the_angles(p: int, q: int) -> None:
    x, y = related(60, p, q)
    cosines = np.cos(scipy.linalg.subspace_angles(centred(x), centred(y)))
    assert len(cosines) == min(p, q)
    assert MeanCCA().value(Pair.of(x, y)) == pytest.approx(cosines.mean(), rel=1e-9)


def test_finds_a_planted_correlation() -> None:
    """One of two columns is shared, mixed with noise of its own size: ρ = (1/√2, 0)."""
    g = torch.Generator().manual_seed(0)
    a, b, c, d = torch.randn(4, 40000, generator=g, dtype=torch.float64)
    value = MeanCCA().value(Pair.of(torch.stack([a, b], 1), torch.stack([a + c, d], 1)))
    assert value == pytest.approx((math.sqrt(0.5) + 0) / 2, abs=0.01)


def test_duplicated_and_dead_columns_change_nothing() -> None:
    x, y = related(60, 4, 3)
    more = torch.cat([x, x[:, :2], torch.ones(60, 1, dtype=x.dtype)], 1)
    assert MeanCCA().value(Pair.of(more, y)) == pytest.approx(MeanCCA().value(Pair.of(x, y)), rel=1e-9)
    assert MeanCCA().value(Pair.of(more, x)) == pytest.approx(1.0, abs=1e-9)


def test_from_moments() -> None:
    assert_same_by_moments(MeanCCA(), *related(90, 5, 4))


def test_too_few_samples_are_refused() -> None:
    with pytest.raises(MeasureError, match="needs more samples than columns"):
        MeanCCA().value(Pair.of(*unrelated(10, 10, 3)))
    # One more than columns is not enough: centred samples have a direction less.
    with pytest.raises(MeasureError, match=r"got 11 for widths.*at least 12"):
        MeanCCA().value(Pair.of(*unrelated(11, 10, 3)))
    assert MeanCCA().value(Pair.of(*unrelated(12, 10, 1))) < 1
