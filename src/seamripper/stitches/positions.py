"""Positions: how maps, tokens and vectors become rows and each other, and whether two cuts share them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import interpolate, pad

from seamripper._words import shape_text
from seamripper.activations.sampling import to_rows as to_rows
from seamripper.cut.place import Cut, Layout

_WORDS: dict[Layout, str] = {"nchw": "a map", "ntd": "tokens", "nd": "a vector"}

_BY_LAYOUT: dict[tuple[Layout, Layout], str] = {
    ("nchw", "nchw"): "resize",
    ("nchw", "ntd"): "map_to_tokens",
    ("nchw", "nd"): "pool_linear",
    ("ntd", "nchw"): "tokens_to_map",
    ("ntd", "ntd"): "resample_tokens",
    ("ntd", "nd"): "pool_linear",
    ("nd", "nchw"): "expand_linear",
    ("nd", "ntd"): "expand_linear",
    ("nd", "nd"): "affine",
}


def to_tokens(x: Tensor) -> Tensor:
    """A map (n, c, h, w) as tokens (n, h·w, c), row by row."""
    return x.flatten(2).mT


def to_map(tokens: Tensor, grid: tuple[int, int]) -> Tensor:
    """Tokens (n, h·w, d) laid on their grid, row by row: (n, d, h, w)."""
    return tokens.mT.reshape(tokens.shape[0], tokens.shape[2], *grid)


def resize_map(x: Tensor, grid: tuple[int, int]) -> Tensor:
    """A map (n, c, h, w) on another grid, bilinear, corners not aligned, without antialiasing (Balogh 2025).

    >>> import torch
    >>> resize_map(torch.tensor([[[[0.0, 4.0]]]]), (1, 4))
    tensor([[[[0., 1., 3., 4.]]]])
    """
    if x.shape[2:] == grid:
        return x
    return interpolate(x, size=grid, mode="bilinear", align_corners=False)


def usual(source: Cut, target: Cut) -> str:
    """The name of the plain stitch for two such cuts, for the end of a message.

    >>> usual(Cut("a", (8, 4, 4), "nchw"), Cut("b", (17, 6), "ntd"))
    'map_to_tokens'
    """
    return "affine" if _same(source, target) else _BY_LAYOUT[source.layout, target.layout]


def wrong_layouts(source: Cut, target: Cut, *, takes: Sequence[Layout], gives: Sequence[Layout]) -> str | None:
    """Why a stitch from the layouts `takes` to the layouts `gives` cannot join the cuts; None if it can."""
    if source.layout in takes and target.layout in gives:
        return None
    able = " or ".join(_WORDS[layout] for layout in takes), " or ".join(_WORDS[layout] for layout in gives)
    return (
        f"expected {able[0]} to be joined to {able[1]} but got {_WORDS[source.layout]} to be joined to "
        f"{_WORDS[target.layout]}; use {usual(source, target)!r}"
    )


def other_positions(source: Cut, target: Cut) -> str | None:
    """Why a stitch that works position by position cannot join the cuts; None if it can."""
    if source.layout != target.layout:
        return (
            f"expected the same layout on both sides but got {_WORDS[source.layout]} and "
            f"{_WORDS[target.layout]}; use {usual(source, target)!r}"
        )
    if not _same(source, target):
        what = "grid" if source.layout == "nchw" else "number of tokens"
        return (
            f"expected the same {what} on both sides but got {shape_text(_positions(source))} and "
            f"{shape_text(_positions(target))}; use {usual(source, target)!r}"
        )
    return None


def not_square(cut: Cut, whose: str) -> str | None:
    """Why the tokens of `cut` cannot be laid on a square; None if they can, or if it has no tokens."""
    if cut.prefix <= 1:
        return None
    return (
        f"expected the {whose}'s tokens to be a square, with at most one token (CLS) before it, but got "
        f"{cut.shape[0]} of them; choose a cut whose tokens are"
    )


def _positions(cut: Cut) -> tuple[int, ...]:
    if cut.layout == "nchw":
        return cut.grid
    return cut.shape[:1] if cut.layout == "ntd" else ()


def _same(source: Cut, target: Cut) -> bool:
    return source.layout == target.layout and _positions(source) == _positions(target)


Made = Literal["learn", "pool", "drop"]
Policy = Literal["learn", "pool", "drop", "keep"]


def with_prefix(tokens: Tensor, how: Made) -> Tensor:
    """Tokens (n, t, p) with the row that becomes the receiver's CLS token put before them.

    `learn`: all rows get one more column, 1 at the CLS token and 0 elsewhere, so that the map's last column
    is a free vector. `pool`: the mean of the tokens. `drop`: zeros, which a map turns into its bias.

    >>> with_prefix(torch.tensor([[[1.0], [3.0]]]), "learn")
    tensor([[[0., 1.], [1., 0.], [3., 0.]]])
    >>> with_prefix(torch.tensor([[[1.0], [3.0]]]), "pool")
    tensor([[[2.], [1.], [3.]]])
    >>> with_prefix(torch.tensor([[[1.0], [3.0]]]), "drop")
    tensor([[[0.], [1.], [3.]]])
    """
    if how == "learn":
        rows = pad(tokens, (0, 1, 1, 0))
        # Filled and not assigned: the number would be copied to the device.
        rows[:, 0, -1].fill_(1)
        return rows
    if how == "pool":
        return torch.cat([tokens.mean(1, keepdim=True), tokens], 1)
    return pad(tokens, (0, 0, 1, 0))
