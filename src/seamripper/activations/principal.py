"""Principal directions of activations, and the low-rank approximations that they give (Ding et al. 2021)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from seamripper._doors import require, require_whole
from seamripper.activations.activations import Activations
from seamripper.activations.sampling import rows_of
from seamripper.cut.place import Cut
from seamripper.errors import DataError

_AT_ONCE = 1 << 24
"""Numbers that are float64 at a time: 128 MB."""


@dataclass(frozen=True, eq=False)
class PrincipalDirections:
    """The mean of n rows of activations, and the directions in which they vary, the largest variation first.

    Every position of a map, or every token, is one row. `basis` (width, width) has a direction in each column, and
    `spread` is Σ ((x − mean) · direction)² along each. What is fitted on training samples approximates any samples: it
    is not fitted again on those.
    """

    cut: Cut
    n: int
    mean: Tensor
    basis: Tensor
    spread: Tensor

    def __repr__(self) -> str:
        return f"PrincipalDirections(at {self.cut}, n = {self.n} rows)"

    @property
    def width(self) -> int:
        """How many directions there are."""
        return len(self.mean)

    def leading(self, rank: int) -> Tensor:
        """The first `rank` directions, as columns (width, rank)."""
        require_whole(rank, "rank", least=1, most=self.width, error=DataError)
        return self.basis[:, :rank]

    def approximate_rows(self, rows: Tensor, rank: int) -> Tensor:
        """Rows (n, width) without their components outside the leading directions, about the mean; as float64."""
        leading = self.leading(rank)
        return (rows.double() - self.mean) @ leading @ leading.T + self.mean

    def approximate(self, activations: Activations, rank: int) -> Activations:
        """The activations of lowest error whose rows vary in `rank` directions only: x ↦ mean + P (x − mean).

        At full rank they are the activations themselves, up to rounding.
        """
        values = activations.values
        _require_width(activations, self.width)
        approximation = torch.empty_like(values)
        for part in _parts(activations):
            moved = _width_last(values[part], activations.cut)
            rows = self.approximate_rows(moved.flatten(0, -2), rank).reshape(moved.shape)
            approximation[part] = _width_second(rows, activations.cut).to(values.dtype)
        return replace(activations, values=approximation, kept="memory")


def principal_directions(activations: Activations) -> PrincipalDirections:
    """The principal directions of activations, from the float64 moments of their rows; padding makes no row.

    >>> cut = Cut("plane", (2,), "nd")
    >>> rows = torch.tensor([[0.0, 1.0], [4.0, 1.0], [2.0, 3.0], [2.0, -1.0], [6.0, 1.0], [-2.0, 1.0]])
    >>> plane = principal_directions(Activations(cut, rows, torch.zeros(6), torch.arange(6)))
    >>> plane.mean.tolist(), plane.spread.tolist(), plane.basis.abs().tolist()
    ([2.0, 1.0], [40.0, 8.0], [[1.0, 0.0], [0.0, 1.0]])
    >>> plane.approximate(Activations(cut, rows[2:4], torch.zeros(2), torch.arange(2)), 1).values.tolist()
    [[2.0, 1.0], [2.0, 1.0]]
    """
    require(activations, Activations, "activations", error=DataError, advice="`collect` makes them.")
    n = sum(len(rows) for rows in _rows(activations))
    if n < 2:
        raise DataError(f"Expected 2 rows of activations or more to find directions in, but got {n}.")
    mean = torch.stack([rows.sum(0) for rows in _rows(activations)]).sum(0) / n
    moments = torch.zeros(len(mean), len(mean), dtype=torch.float64)
    for rows in _rows(activations):
        # About the mean: sums about zero lose the small differences of large numbers.
        centred = rows - mean
        moments.addmm_(centred.T, centred)
    spread, basis = torch.linalg.eigh(moments)
    return PrincipalDirections(activations.cut, n, mean, basis.flip(1).contiguous(), spread.flip(0).clamp(min=0))


def _rows(activations: Activations) -> Iterator[Tensor]:
    """The rows in float64, some samples at a time."""
    mask = activations.counting_tokens()
    for part in _parts(activations):
        counted = None if mask is None else mask[part]
        yield rows_of(activations.values[part], activations.cut.layout, "positions", counted).double()


def _parts(activations: Activations) -> Iterator[slice]:
    step = max(1, _AT_ONCE // max(1, activations.values[0].numel()))
    yield from (slice(start, start + step) for start in range(0, len(activations), step))


def _width_last(values: Tensor, cut: Cut) -> Tensor:
    return values.movedim(1, -1) if cut.layout == "nchw" else values


def _width_second(values: Tensor, cut: Cut) -> Tensor:
    return values.movedim(-1, 1) if cut.layout == "nchw" else values


def _require_width(activations: Activations, width: int) -> None:
    if activations.cut.width != width:
        raise DataError(
            f"Expected activations of width {width}, as the directions were found in, but those at {activations.cut} "
            f"have {activations.cut.width}. Find directions at that cut."
        )
