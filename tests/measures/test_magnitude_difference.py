"""Magnitude difference against a loop."""

from __future__ import annotations

import math

import pytest
import torch
from pairs import assert_same_by_moments, related

from seamripper.measures.magnitude_difference import MagnitudeDifference
from seamripper.measures.pair import Pair


def magnitude(rows: list[list[float]]) -> float:
    return math.hypot(*(math.fsum(column) / len(rows) for column in zip(*rows, strict=True)))


@pytest.mark.parametrize("width", [4, 30])
def test_it_is_the_length_of_the_mean(width: int) -> None:
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(12, width, dtype=torch.float64, generator=generator) + 1
    y = 3 * torch.randn(12, 5, dtype=torch.float64, generator=generator)
    pair = Pair.of(x, y)
    figures = magnitude(x.tolist()), magnitude(y.tolist())
    assert MagnitudeDifference().sides(pair) == pytest.approx(figures, abs=1e-12)
    assert MagnitudeDifference().value(pair) == pytest.approx(abs(figures[0] - figures[1]), abs=1e-12)


def test_it_is_not_the_mean_of_the_lengths() -> None:
    x = torch.tensor([[1.0], [-1.0], [1.0], [-1.0]])
    assert MagnitudeDifference().value(Pair.of(x, x**2)) == 1.0


def test_constant_rows_have_a_magnitude() -> None:
    x = torch.ones(5, 4)
    assert MagnitudeDifference().sides(Pair.of(x, 0 * x)) == (2.0, 0.0)


def test_moments_give_the_same() -> None:
    assert_same_by_moments(MagnitudeDifference(), *related(60, 5, 7))
