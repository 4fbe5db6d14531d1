"""Resizing: images of bytes at another size, and still bytes."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor
from torch.nn import functional as F

from seamripper.data.base import check_size
from seamripper.data.samples import Samples

_AT_ONCE = 1_024  # images that are floats at a time
_LIMIT = 4 * 10**9


def resize(pixels: Tensor, side: int) -> Tensor:
    """Images (n, c, h, w) of bytes → (n, c, side, side): bilinear, corners not aligned, rounded to bytes again.

    Pixel i of a new row is read at (i + 1/2) · w / side − 1/2 of the old one.

    >>> resize(torch.tensor([[[[0, 100]]]], dtype=torch.uint8), 3).tolist()
    [[[[0, 50, 100], [0, 50, 100], [0, 50, 100]]]]
    """
    if pixels.shape[2:] == (side, side):
        return pixels
    resized = torch.empty(*pixels.shape[:2], side, side, dtype=torch.uint8)
    for start in range(0, len(pixels), _AT_ONCE):
        rows = pixels[start : start + _AT_ONCE].float()
        larger = F.interpolate(rows, (side, side), mode="bilinear", align_corners=False, antialias=False)
        resized[start : start + _AT_ONCE] = larger.round_()
    return resized


def resized(samples: Samples, side: int | None) -> Samples:
    """The same samples with images of side × side; as they are if `side` is None."""
    if side is None:
        return samples
    assert isinstance(samples.inputs, Tensor)
    size = len(samples) * samples.shape[0] * side**2
    check_size(size, limit=_LIMIT, name=samples.name, advice="Draw fewer (n), or take a smaller size.")
    return replace(samples, inputs=resize(samples.inputs, side))
