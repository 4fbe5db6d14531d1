"""Sampling: how activations become rows."""

from __future__ import annotations

from typing import Literal

from torch import Tensor

from seamripper._devices import wide
from seamripper._words import shape_text
from seamripper.cut.place import Layout
from seamripper.errors import DataError

Sampling = Literal["positions", "flatten", "pool"]
"""How activations become rows: each position of a map (or each token) is one row, or the whole map, or its average."""


def rows_of(values: Tensor, layout: Layout, sampling: Sampling, mask: Tensor | None = None) -> Tensor:
    """Activations (n, …) as rows: (n·positions, width), or (n, width·positions), or (n, width).

    Vectors are rows already, by any sampling. Of tokens those count that the mask (n, tokens) leaves: the others make
    no row and enter no average, and they have no place in a flattened row, so that is refused.

    >>> import torch
    >>> maps = torch.arange(8.0).reshape(1, 2, 2, 2)
    >>> rows_of(maps, "nchw", "flatten")
    tensor([[0., 1., 2., 3., 4., 5., 6., 7.]])
    >>> rows_of(maps, "nchw", "pool")
    tensor([[1.5000, 5.5000]])
    >>> rows_of(torch.tensor([[[2.0], [4.0], [9.0]]]), "ntd", "pool", torch.tensor([[True, True, False]]))
    tensor([[3.]])
    """
    if layout == "nd":
        return values
    mask = counting(values, layout, mask)
    if sampling == "positions":
        rows = to_rows(values, layout)
        return rows if mask is None else rows[mask.flatten()]
    if sampling == "flatten":
        if mask is not None:
            raise DataError(FLATTENED)
        return values.flatten(1)
    return values.mean((2, 3)) if layout == "nchw" else mean_token(values, mask)


FLATTENED = (
    "Some tokens are padding, which has no place in a flattened row: texts of different lengths would have different "
    "columns. Use the sampling 'positions' or 'pool', which leave padding out."
)
"""Why padded tokens are not flattened."""


def counting(values: Tensor, layout: Layout, mask: Tensor | None, where: str | None = None) -> Tensor | None:
    """The mask (n, tokens) of the samples as one of these activations' positions; None if all of them count.

    Positions that are not the tokens of the mask are refused, as it cannot tell which of them are padding.
    """
    if mask is None or layout == "nd":
        return None
    if layout != "ntd" or values.shape[1] != mask.shape[1]:
        have = f"{values.shape[1]} tokens" if layout == "ntd" else f"a map of {shape_text(values.shape[2:])}"
        raise DataError(
            f"Some of the {mask.shape[1]} tokens of the samples are padding, and {where or 'this cut'} has {have}, so "
            "it is not known which of its positions count. Choose a cut with one position for each token, or one "
            "behind the pooling, or give samples without padding."
        )
    return mask


def mean_token(tokens: Tensor, mask: Tensor | None = None) -> Tensor:
    """The mean (n, d) of tokens (n, t, d), over those that the mask (n, t) leaves."""
    if mask is None:
        return tokens.mean(1)
    weights = mask[:, :, None]
    # Sums of half precision overflow where their mean does not.
    total = (tokens * weights).sum(1, dtype=wide(tokens.dtype))
    return (total / weights.sum(1).clamp(min=1)).to(tokens.dtype)


def to_rows(x: Tensor, layout: Layout) -> Tensor:
    """Activations as rows, one per position: a sample's positions stand together, those of a map line by line.

    (n, c, h, w) → (n·h·w, c); (n, t, d) → (n·t, d). By the layout "nd" a whole sample is one row: (n, …) → (n, d).

    >>> import torch
    >>> to_rows(torch.arange(8.0).reshape(1, 2, 2, 2), "nchw")
    tensor([[0., 4.], [1., 5.], [2., 6.], [3., 7.]])
    """
    if layout == "nchw":
        return x.permute(0, 2, 3, 1).flatten(0, 2)
    return x.flatten(0, 1) if layout == "ntd" else x.flatten(1)
