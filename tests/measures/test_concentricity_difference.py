"""Concentricity difference against SciPy's cosine distance, row by row."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.spatial.distance
import torch
from pairs import noise
from torch import Tensor

from seamripper.errors import MeasureError
from seamripper.measures.concentricity_difference import ConcentricityDifference
from seamripper.measures.pair import Pair


def concentricity(rows: Tensor) -> float:
    x = rows.numpy()
    return float(np.mean([1 - scipy.spatial.distance.cosine(row, x.mean(0)) for row in x if row.any()]))


@pytest.mark.parametrize("width", [4, 30])
def test_it_is_the_mean_cosine_with_the_mean(width: int) -> None:
    x, y = noise(12, width, 0) + 1, noise(12, 5, 1) + 0.2
    pair = Pair.of(x, y)
    figures = concentricity(x), concentricity(y)
    assert ConcentricityDifference().sides(pair) == pytest.approx(figures, abs=1e-12)
    assert ConcentricityDifference().value(pair) == pytest.approx(abs(figures[0] - figures[1]), abs=1e-12)


@pytest.mark.parametrize("width", [4, 30])
def test_rows_of_zeros_are_left_out(width: int) -> None:
    x, y = noise(12, width, 0) + 1, noise(12, 5, 1) + 1
    x[4] = 0.0
    expected = abs(concentricity(x) - concentricity(y))
    assert ConcentricityDifference().value(Pair.of(x, y)) == pytest.approx(expected, abs=1e-10)


def test_one_long_row_can_make_it_negative() -> None:
    x = torch.tensor([[100.0], [-1.0], [-1.0], [-1.0]])
    assert ConcentricityDifference().sides(Pair.of(x, x.abs())) == (-0.5, 1.0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("width", [3, 30])
def test_centred_rows_are_refused(dtype: torch.dtype, width: int) -> None:
    x = noise(20, width, 0).to(dtype)
    with pytest.raises(MeasureError, match=r"mean of the receiver's rows is zero.*not centred"):
        ConcentricityDifference().value(Pair.of(x + 1, x - x.mean(0)))
    with pytest.raises(MeasureError, match="mean of the sender's rows is zero"):
        ConcentricityDifference().value(Pair.of(0 * x, x + 1))
