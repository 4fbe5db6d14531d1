"""Sampling: how activations become rows."""

from __future__ import annotations

from typing import Literal

from torch import Tensor

from seamripper.cut.place import Layout

Sampling = Literal["positions", "flatten", "pool"]
"""How activations become rows: a row a position of the map (or a token), the whole map, or its average."""


def rows_of(values: Tensor, layout: Layout, sampling: Sampling) -> Tensor:
    """Activations (n, …) as rows: (n·positions, width), or (n, width·positions), or (n, width).

    Vectors are rows already, by any sampling.

    >>> import torch
    >>> maps = torch.arange(8.0).reshape(1, 2, 2, 2)
    >>> rows_of(maps, "nchw", "flatten")
    tensor([[0., 1., 2., 3., 4., 5., 6., 7.]])
    >>> rows_of(maps, "nchw", "pool")
    tensor([[1.5000, 5.5000]])
    """
    if layout == "nd":
        return values
    if sampling == "positions":
        return to_rows(values, layout)
    return values.flatten(1) if sampling == "flatten" else values.mean((2, 3) if layout == "nchw" else 1)


def to_rows(x: Tensor, layout: Layout) -> Tensor:
    """Activations as rows, one a position: a sample's positions stand together, a map's row by row.

    (n, c, h, w) → (n·h·w, c); (n, t, d) → (n·t, d); (n, d) as it is.

    >>> import torch
    >>> to_rows(torch.arange(8.0).reshape(1, 2, 2, 2), "nchw")
    tensor([[0., 4.], [1., 5.], [2., 6.], [3., 7.]])
    """
    if layout == "nchw":
        return x.permute(0, 2, 3, 1).flatten(0, 2)
    return x.flatten(0, 1) if layout == "ntd" else x
