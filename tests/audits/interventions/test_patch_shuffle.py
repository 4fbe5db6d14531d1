"""Patch shuffle."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from seamripper.audits.interventions.draws import permutations
from seamripper.audits.interventions.patch_shuffle import PatchShuffle
from seamripper.errors import InapplicableError


@pytest.mark.parametrize(("grid", "height", "width"), [(2, 12, 12), (4, 12, 12), (3, 14, 10), (5, 5, 23)])
def test_patches_go_where_the_draw_says_and_the_rest_stays(grid: int, height: int, width: int, make: Any) -> None:
    samples = make.bytes(height=height, width=width)
    old, new = samples.batch(slice(None)), PatchShuffle(grid).change(samples, seed=2)
    down, across = height // grid, width // grid
    expected = old.clone()
    for row, order in enumerate(permutations(samples.ids, grid * grid, seed=2).tolist()):
        for place, source in enumerate(order):
            (y, x), (v, u) = divmod(place, grid), divmod(source, grid)
            for i in range(down):
                for j in range(across):
                    expected[row, :, y * down + i, x * across + j] = old[row, :, v * down + i, u * across + j]
    assert torch.equal(new, expected)


def test_the_pixels_are_the_same_ones_in_other_places(make: Any) -> None:
    samples = make.bytes(height=13, width=15)
    old, new = samples.batch(slice(None)), PatchShuffle().change(samples, seed=0)
    # Colours, not channels: a pixel moves as a whole.
    for before, after in zip(old.flatten(2), new.flatten(2), strict=True):
        assert sorted(map(tuple, before.T.tolist())) == sorted(map(tuple, after.T.tolist()))
    assert not torch.equal(old, new)


def test_each_image_in_another_way(make: Any) -> None:
    pixels = torch.arange(64.0).view(1, 1, 8, 8).expand(30, -1, -1, -1)
    changed = PatchShuffle().change(make.of(pixels), seed=0)
    assert len({tuple(image.flatten().tolist()) for image in changed}) == 30


def test_a_grid_finer_than_the_image_is_refused(make: Any) -> None:
    with pytest.raises(
        InapplicableError, match=r"at least 13 pixels a side, but .* have 12 × 12\. Choose a smaller grid"
    ):
        PatchShuffle(grid=13).apply(make.bytes())
