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

from seamripper._devices import in_float64, move

Grid = tuple[int, int]

_NARROW = 8
"""Columns of a map that counts as narrow."""


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


def resize(maps: Tensor, *grids: Grid) -> list[Tensor]:
    """Maps (…, h, w) resized to each of the grids: R."""
    return _all("R", maps, grids)


def adjoint(maps: Tensor, *grids: Grid) -> list[Tensor]:
    """Rᵀ of maps (…, h, w) for each of the grids, where R resizes from it to theirs."""
    return _all("Rᵀ", maps, grids)


def resized_and_back(maps: Tensor, *grids: Grid) -> list[Tensor]:
    """Rᵀ R of maps (…, h, w) for each of the grids, where R resizes them to it: ⟨R X, R X⟩ = ⟨X, Rᵀ R X⟩."""
    return _all("RᵀR", maps, grids)


def _all(what: str, maps: Tensor, grids: tuple[Grid, ...]) -> list[Tensor]:
    """Y · X · Wᵀ on every map X (…, h, w), for the Y and W of each grid."""
    if not grids:
        return []
    across, downs = _factors(what, (maps.shape[-2], maps.shape[-1]), grids, maps.dtype, maps.device)
    # Along the contiguous axis first, for all at once: one plain product of all rows of all maps.
    rows = maps.contiguous() @ across
    parts = torch.split(rows, [wide for _, wide, _ in downs], dim=-1)
    results = []
    for (down, wide, high), part in zip(downs, parts, strict=True):
        # Of narrow maps the whole at once: one plain product, where thousands of tiny ones would take longer.
        result = part.flatten(-2) @ down if wide <= _NARROW else down @ part
        results.append(result.reshape(*maps.shape[:-2], high, wide))
    return results


@functools.lru_cache(maxsize=64)
def _factors(
    what: str, home: Grid, grids: tuple[Grid, ...], dtype: torch.dtype, device: torch.device
) -> tuple[Tensor, list[tuple[Tensor, int, int]]]:
    """Wᵀ of all grids side by side; and for each its Y (if narrow, Yᵀ ⊗ 1 for the whole map), width and height."""
    sides = [(_line(what, home[0], grid[0]), _line(what, home[1], grid[1])) for grid in grids]
    downs = []
    for high, wide in sides:
        narrow = len(wide) <= _NARROW
        down = torch.kron(high.T.contiguous(), torch.eye(len(wide), dtype=high.dtype)) if narrow else high
        downs.append((move(down.to(dtype).contiguous(), device), len(wide), len(high)))
    return move(torch.cat([wide for _, wide in sides]).T.to(dtype).contiguous(), device), downs


def _line(what: str, home: int, other: int) -> Tensor:
    """R, Rᵀ or RᵀR along one axis, between `home` positions here and `other` ones there."""
    if what == "Rᵀ":
        return weights(other, home).T
    there = weights(home, other)
    return there if what == "R" else there.T @ there


def shares(inputs: Grid, grid: Grid) -> Tensor:
    """How much each position of a map counts in the sum over the map resized to `grid`, (h, w): Rᵀ 1."""
    return torch.outer(weights(inputs[0], grid[0]).sum(0), weights(inputs[1], grid[1]).sum(0))


def at(maps: Tensor, grid: Grid, places: Tensor) -> Tensor:
    """One position of each map (n, c, h, w) resized to `grid`: (n, c), in float64 where it had to be resized.

    `places` numbers the positions of `grid` row by row, one for each sample.
    """
    n, y, x = torch.arange(len(maps), device=maps.device), places // grid[1], places % grid[1]
    if maps.shape[-2:] == grid:
        return maps[n, :, move(y, maps.device), move(x, maps.device)]
    (rows, a), (columns, b) = _taps(maps.shape[-2], grid[0]), _taps(maps.shape[-1], grid[1])
    # The four neighbours (two by two) of every place, in one look-up.
    at_y, at_x = rows[y][:, :, None].expand(-1, 2, 2), columns[x][:, None].expand(-1, 2, 2)
    shares = (a[y][:, :, None] * b[x][:, None]).flatten(1)
    corners = in_float64(maps[n[:, None], :, move(at_y.flatten(1), maps.device), move(at_x.flatten(1), maps.device)])
    return torch.einsum("ntc,nt->nc", corners, move(shares, corners.device))


@functools.lru_cache(maxsize=256)
def _taps(inputs: int, outputs: int) -> tuple[Tensor, Tensor]:
    """The two positions that each interpolated one is a mixture of, and their weights: (outputs, 2) each."""
    values, index = weights(inputs, outputs).topk(min(2, inputs), dim=1)
    if inputs == 1:
        return index.expand(-1, 2), torch.cat([values, torch.zeros_like(values)], 1)
    return index, values
