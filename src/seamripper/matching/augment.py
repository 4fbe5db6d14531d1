"""Augmentation of images during task matching: flip, and crop after padding."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F


def flip_crop(images: Tensor, *, padding: int = 4, generator: torch.Generator) -> Tensor:
    """Each image flipped left to right with probability 1/2, padded with zeros and cropped at a random place.

    As Balogh & Jelasity 2025 train on CIFAR-10.

    >>> images = torch.arange(9.0).reshape(1, 1, 3, 3)
    >>> flip_crop(images, padding=0, generator=torch.Generator().manual_seed(0))[0, 0, 0]
    tensor([2., 1., 0.])
    """
    n, c, h, w = images.shape
    flips = torch.rand(n, generator=generator) < 0.5
    images = torch.where(flips[:, None, None, None], images.flip(3), images)
    padded = F.pad(images, [padding] * 4)
    corner = torch.randint(0, 2 * padding + 1, (n, 2), generator=generator)
    rows = corner[:, :1] + torch.arange(h)
    columns = corner[:, 1:] + torch.arange(w)
    return padded[
        torch.arange(n)[:, None, None, None],
        torch.arange(c)[None, :, None, None],
        rows[:, None, :, None],
        columns[:, None, None, :],
    ]
