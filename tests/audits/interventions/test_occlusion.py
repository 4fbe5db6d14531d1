"""Occlusion."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from seamripper.audits.interventions.occlusion import Occlusion


@pytest.mark.parametrize(
    ("share", "height", "width", "rows", "columns"),
    [
        (0.25, 28, 28, 14, 14),
        (0.25, 12, 20, 6, 10),
        (0.04, 10, 10, 2, 2),
        (0.81, 10, 10, 9, 9),
        (0.001, 8, 8, 1, 1),
        (0.999, 8, 8, 8, 8),
    ],
)
def test_a_rectangle_of_that_share_is_mid_grey_and_the_rest_as_it_was(
    share: float, height: int, width: int, rows: int, columns: int, make: Any
) -> None:
    samples = make.bytes(height=height, width=width)
    old, new = samples.batch(slice(None)), Occlusion(share).change(samples, seed=0)
    # No byte is exactly mid-grey, so what is covered can be seen.
    covered = (new == 0).all(1)
    assert torch.equal(covered.flatten(1).sum(1), torch.full((6,), rows * columns))
    assert torch.equal(covered.any(2).sum(1), torch.full((6,), rows))
    assert torch.equal(covered.any(1).sum(1), torch.full((6,), columns))
    seen = ~covered[:, None].expand_as(old)
    assert torch.equal(new[seen], old[seen])


def test_every_place_is_as_likely(make: Any) -> None:
    white = make.of(torch.full((4000, 1, 4, 6), 255, dtype=torch.uint8))
    covered = Occlusion().change(white, seed=0)[:, 0] == 0.5
    tops, lefts = covered.any(2).long().argmax(1), covered.any(1).long().argmax(1)
    for starts, n in ((tops, 3), (lefts, 4)):
        shares = torch.bincount(starts, minlength=n) / 4000
        assert len(shares) == n
        # Five standard errors.
        assert (shares - 1 / n).abs().max() < 5 * (1 / n * (1 - 1 / n) / 4000) ** 0.5


def test_the_grey_is_the_middle_of_the_range(make: Any) -> None:
    white = torch.full((1, 3, 8, 8), 255, dtype=torch.uint8)
    assert float(Occlusion().change(make.of(white, mean=0.5, std=0.25), seed=0).min()) == 0.0
    floats = torch.full((1, 1, 8, 8), 3.0)
    floats[0, 0, 0, 0] = 1.0
    covered = Occlusion(share=0.9).change(make.of(floats), seed=0)
    assert 2.0 in covered.unique().tolist()
