"""Bilinear resizing of maps as a linear map, its adjoint, and single positions of a resized map.

Resizing is Ry · X · Rxᵀ on every channel, with R the weights that `torch.nn.functional.interpolate` uses (bilinear,
`align_corners=False`, as in Balogh & Jelasity 2025). So a product with a map that was resized *up* is a product with
the small map itself, with the adjoint on the other side: ⟨R X, Y⟩ = ⟨X, Rᵀ Y⟩.
"""

from __future__ import annotations

import functools

import torch
from torch import Tensor
from torch.nn import functional as F

Grid = tuple[int, int]

_SMALL = 64
"""Positions of a map that counts as small."""


@functools.lru_cache(maxsize=256)
def weights(inputs: int, outputs: int) -> Tensor:
    """The weights of linear interpolation from `inputs` to `outputs` positions, (outputs, inputs).

    >>> weights(2, 3)
    tensor([[1.0000, 0.0000],
            [0.5000, 0.5000],
            [0.0000, 1.0000]], dtype=torch.float64)
    """
    unit = torch.eye(inputs, dtype=torch.float64)[None]
    return F.interpolate(unit, size=outputs, mode="linear", align_corners=False)[0].T.contiguous()


def resized(maps: Tensor, *grids: Grid) -> list[Tensor]:
    """Maps (…, h, w) resized to each of the grids."""
    high, wide = maps.shape[-2:]
    return _all(maps, [(weights(high, g[0]), weights(wide, g[1])) for g in grids])


def adjoint(maps: Tensor, *grids: Grid) -> list[Tensor]:
    """Rᵀ of maps (…, h, w) for each of the grids, where R resizes from it to theirs."""
    high, wide = maps.shape[-2:]
    return _all(maps, [(weights(g[0], high).T, weights(g[1], wide).T) for g in grids])


def resized_and_back(maps: Tensor, *grids: Grid) -> list[Tensor]:
    """Rᵀ R of maps (…, h, w) for each of the grids, where R resizes them to it: ⟨R X, R X⟩ = ⟨X, Rᵀ R X⟩."""
    high, wide = maps.shape[-2:]
    both = [(weights(high, g[0]), weights(wide, g[1])) for g in grids]
    sides = [(y.T @ y, x.T @ x) for y, x in both]
    if high * wide > _SMALL:
        return _all(maps, sides)
    # Of a small map all positions at once: one plain product, where thousands of tiny ones would take longer.
    flat = maps.flatten(-2)
    return [(flat @ torch.kron(y, x).T.to(maps.dtype)).view_as(maps) for y, x in sides]


def _all(maps: Tensor, sides: list[tuple[Tensor, Tensor]]) -> list[Tensor]:
    """Y · X · Wᵀ on every map X, for each (Y, W)."""
    if not sides:
        return []
    # Along the contiguous axis first, for all at once: one plain product of all rows of all maps.
    rows = maps @ torch.cat([wide for _, wide in sides]).T.to(maps.dtype)
    parts = torch.split(rows, [len(wide) for _, wide in sides], dim=-1)
    return [high.to(maps.dtype) @ part for (high, _), part in zip(sides, parts, strict=True)]


def shares(inputs: Grid, grid: Grid) -> Tensor:
    """How much each position of a map counts in the sum over the map resized to `grid`, (h, w): Rᵀ 1."""
    return torch.outer(weights(inputs[0], grid[0]).sum(0), weights(inputs[1], grid[1]).sum(0))


def at(maps: Tensor, grid: Grid, places: Tensor) -> Tensor:
    """One position of each map (n, c, h, w) resized to `grid`: (n, c), in float64 where it had to be resized.

    `places` numbers the positions of `grid` row by row, one for each sample.
    """
    n, y, x = torch.arange(len(maps)), places // grid[1], places % grid[1]
    if maps.shape[-2:] == grid:
        return maps[n, :, y, x]
    high, wide = weights(maps.shape[-2], grid[0])[y], weights(maps.shape[-1], grid[1])[x]
    total = maps.new_zeros(maps.shape[:2], dtype=torch.float64)
    for rows, a in _taps(high):
        for columns, b in _taps(wide):
            total += maps[n, :, rows, columns].double() * (a * b)[:, None]
    return total


def _taps(weight: Tensor) -> list[tuple[Tensor, Tensor]]:
    """The two positions that each row of interpolation weights mixes (one, if no row mixes any), with their weights."""
    values, index = weight.topk(min(2, weight.shape[1]), dim=1)
    taps = [(index[:, k], values[:, k]) for k in range(index.shape[1])]
    return [tap for tap in taps if bool(tap[1].any())]
