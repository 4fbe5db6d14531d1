"""What measures of units and of subspaces share: assignments, and singular vectors by the shorter way."""

from __future__ import annotations

import pytest
import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from seamripper.measures import Pair, measures
from seamripper.measures.alignment import best_assignment
from seamripper.measures.pair import singular_vectors


def noise(*shape: int, seed: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize("near", [0.0, 0.01, 10.0])
def test_an_assignment_that_starts_from_another_is_the_best_one_all_the_same(near: float) -> None:
    scores, hints = noise(30, 30, seed=0), dict[str, Tensor]()
    best_assignment(scores, hints, "own")
    assert set(hints) == {"own"}
    other = 0.8 * scores + near * noise(30, 30, seed=1)
    rows, columns = linear_sum_assignment(other.numpy(), maximize=True)
    expected = other.numpy()[rows, columns].sum()
    assert float(best_assignment(other, hints, "own").sum()) == pytest.approx(expected, rel=1e-13)


def test_potentials_bound_the_costs_and_meet_them_on_the_assignment() -> None:
    scores, hints = noise(25, 25, seed=3), dict[str, Tensor]()
    total = best_assignment(scores, hints, "own").sum()
    u, v = hints["own"] * scores.norm()
    assert float((u[:, None] + v + scores).max()) <= 1e-12
    assert float(u.sum() + v.sum()) == pytest.approx(-float(total), rel=1e-12)


@pytest.mark.parametrize("shape", [(20, 30), (30, 20)])
def test_without_a_square_there_is_no_hint(shape: tuple[int, int]) -> None:
    hints: dict[str, Tensor] = {}
    assert len(best_assignment(noise(*shape, seed=0), hints, "own")) == 20
    assert not hints


def test_folds_start_from_their_pair() -> None:
    x, y = noise(60, 8, seed=0), noise(60, 8, seed=1)
    for name in ("hard_correlation_match", "permutation_procrustes"):
        pair, measure = Pair.of(x, y), measures.make(name)
        measure.value(pair)
        assert pair.without(0).hints is pair.hints
        assert name in pair.hints
        alone = Pair.of(x, y).without(0)
        assert measure.value(pair.without(0)) == pytest.approx(measure.value(alone), rel=1e-13)


@pytest.mark.parametrize("shape", [(9, 9), (12, 7), (7, 12)])
def test_singular_vectors_are_those_of_the_decomposition(shape: tuple[int, int]) -> None:
    matrix = noise(*shape, seed=2) / 10
    u, values, v = singular_vectors(matrix)
    torch.testing.assert_close(values, torch.linalg.svdvals(matrix), rtol=1e-13, atol=1e-15)
    torch.testing.assert_close((u * values) @ v.T, matrix, rtol=0, atol=1e-15)
    for basis in (u, v):
        torch.testing.assert_close(basis.T @ basis, torch.eye(min(shape), dtype=torch.float64), rtol=0, atol=1e-12)


def test_a_singular_value_of_zero_is_zero() -> None:
    matrix = noise(8, 3, seed=4) @ noise(3, 6, seed=5)
    _, values, _ = singular_vectors(matrix)
    assert float(values[3:].max()) < 1e-14 * float(values[0])
