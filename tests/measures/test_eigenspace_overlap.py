"""Eigenspace overlap, against the left singular vectors of the rows."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from pairs import assert_same_by_moments, centred, related, unrelated

from seamripper.errors import MeasureError
from seamripper.measures.eigenspace_overlap import EigenspaceOverlap
from seamripper.measures.pair import Pair


@pytest.mark.parametrize(("p", "q"), [(4, 4), (3, 7), (7, 3)])
def test_is_the_overlap_of_left_singular_vectors(p: int, q: int) -> None:
    x, y = related(60, p, q)
    u, v = (np.linalg.svd(centred(rows), full_matrices=False)[0] for rows in (x, y))
    wanted = np.linalg.norm(u.T @ v) ** 2 / max(p, q)
    assert EigenspaceOverlap().value(Pair.of(x, y)) == pytest.approx(wanted, rel=1e-9)


def test_a_part_of_the_whole_scores_its_share() -> None:
    x, _ = related(60, 8, 1)
    assert EigenspaceOverlap().value(Pair.of(x, x[:, :2])) == pytest.approx(2 / 8, rel=1e-9)


def test_a_rank_counts_and_not_the_columns() -> None:
    x, y = related(60, 4, 3)
    doubled = torch.cat([x, x @ torch.ones(4, 5, dtype=x.dtype)], 1)
    assert EigenspaceOverlap().value(Pair.of(doubled, y)) == pytest.approx(
        EigenspaceOverlap().value(Pair.of(x, y)), rel=1e-9
    )


def test_a_mean_in_common_does_not_count() -> None:
    x, y = unrelated(2000, 2, 2)
    assert EigenspaceOverlap().value(Pair.of(x + 100, y + 100)) < 0.01


def test_from_moments() -> None:
    assert_same_by_moments(EigenspaceOverlap(), *related(90, 5, 4))


def test_too_few_samples_are_refused() -> None:
    with pytest.raises(MeasureError, match="needs more samples than columns"):
        EigenspaceOverlap().value(Pair.of(*unrelated(10, 3, 10)))
    with pytest.raises(MeasureError, match="got 11 for widths"):
        EigenspaceOverlap().value(Pair.of(*unrelated(11, 3, 10)))
