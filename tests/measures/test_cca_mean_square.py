"""Mean squared CCA, against projectors and SciPy's angles between subspaces."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
from pairs import assert_same_by_moments, centred, related, unrelated

from seamripper.errors import MeasureError
from seamripper.measures.cca_mean_square import MeanSquareCCA
from seamripper.measures.pair import Pair


@pytest.mark.parametrize(("p", "q"), [(4, 4), (3, 7), (7, 3)])
def test_is_the_mean_squared_cosine_of_the_angles(p: int, q: int) -> None:
    x, y = related(60, p, q)
    cosines = np.cos(scipy.linalg.subspace_angles(centred(x), centred(y)))
    assert MeanSquareCCA().value(Pair.of(x, y)) == pytest.approx((cosines**2).mean(), rel=1e-9)


def test_is_the_trace_of_two_projectors() -> None:
    x, y = related(50, 3, 6)
    a, b = centred(x), centred(y)
    trace = np.trace(a @ np.linalg.pinv(a) @ b @ np.linalg.pinv(b))
    assert MeanSquareCCA().value(Pair.of(x, y)) == pytest.approx(trace / 3, rel=1e-9)


def test_unrelated_subspaces_agree_by_chance_only() -> None:
    """Of p directions at random among n − 1, q/(n − 1) of each lies in the other q."""
    values = [MeanSquareCCA().value(Pair.of(*unrelated(101, 10, 20, seed=seed))) for seed in range(20)]
    assert sum(values) / 20 == pytest.approx(20 / 100, rel=0.1)


def test_from_moments() -> None:
    assert_same_by_moments(MeanSquareCCA(), *related(90, 5, 4))


def test_too_few_samples_are_refused() -> None:
    with pytest.raises(MeasureError, match="needs more samples than columns"):
        MeanSquareCCA().value(Pair.of(*unrelated(10, 3, 10)))
    with pytest.raises(MeasureError, match="got 11 for widths"):
        MeanSquareCCA().value(Pair.of(*unrelated(11, 3, 10)))
