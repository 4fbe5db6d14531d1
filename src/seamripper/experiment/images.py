"""Images for people: the numbers that a network takes or gives, back in bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

    from seamripper.data import Samples


def is_image(shape: Sequence[int]) -> bool:
    """Whether something of this shape can be looked at: one channel or three, then a map.

    >>> is_image((3, 28, 28)), is_image((64, 7, 7)), is_image((10,))
    (True, False, False)
    """
    return len(shape) == 3 and shape[0] in (1, 3)


def lightness(values: Tensor, samples: Samples) -> Tensor:
    """Numbers as these samples have them, in float64 with black as 0 and white as 1: x · std + mean, not clipped."""
    import torch

    mean, std = (torch.tensor(value, dtype=torch.float64) for value in (samples.mean, samples.std))
    if mean.dim() or std.dim():
        mean, std = mean.reshape(-1, 1, 1), std.reshape(-1, 1, 1)
    return values.double() * std + mean


def as_bytes(values: Tensor, samples: Samples) -> Tensor:
    """Numbers as these samples have them, in bytes, those beyond black and white clipped; bytes stay as they are.

    >>> import torch
    >>> from seamripper.data import Samples
    >>> one = Samples("one", torch.zeros(1, 1, 1, 1), torch.tensor([0]), torch.tensor([0]), 1, mean=0.5, std=0.5)
    >>> as_bytes(torch.tensor([-3.0, -1.0, 0.0, 1.0, 3.0]), one)
    tensor([  0,   0, 128, 255, 255], dtype=torch.uint8)
    """
    import torch

    if values.dtype == torch.uint8:
        return values
    return (lightness(values, samples) * 255).round().clamp(0, 255).to(torch.uint8)


def resize_to(images: Tensor, shape: Sequence[int]) -> Tensor:
    """Images (n, c, h, w) with the channels and the size of `shape`: grey where channels differ, bilinear in size.

    >>> import torch
    >>> resize_to(torch.tensor([0.0, 3.0, 6.0]).reshape(1, 3, 1, 1), (1, 2, 2)).flatten()
    tensor([3., 3., 3., 3.])
    """
    from torch.nn import functional as F

    if images.shape[1] != shape[0]:
        images = images.mean(1, keepdim=True).expand(-1, shape[0], -1, -1)
    if tuple(images.shape[2:]) == tuple(shape[1:]):
        return images
    return F.interpolate(images, tuple(shape[1:]), mode="bilinear", align_corners=False)
