"""The intervention `patch_shuffle`: shapes are broken up, textures and colours stay."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from seamripper.audits.interventions.base import Intervention
from seamripper.audits.interventions.draws import permutations
from seamripper.audits.interventions.inputs import images
from seamripper.data.samples import Inputs, Samples
from seamripper.errors import InapplicableError


@dataclass(frozen=True)
class PatchShuffle(Intervention):
    """An image is divided into `grid` × `grid` patches, which change places, differently in each image.

    Where the grid does not divide the size, the rest at the right and at the bottom stays in place.

    >>> pixels = torch.arange(16.0).view(1, 1, 4, 4)
    >>> image = Samples("image", pixels, torch.tensor([0]), torch.tensor([0]), classes=1)
    >>> PatchShuffle(grid=2).change(image, seed=0)[0, 0]
    tensor([[ 8.,  9.,  0.,  1.],
            [12., 13.,  4.,  5.],
            [10., 11.,  2.,  3.],
            [14., 15.,  6.,  7.]])
    """

    name = "patch_shuffle"
    about = "patches of the image change places"
    kind = "image"
    least = {"grid": 2}

    grid: int = 4

    def change(self, samples: Samples, *, seed: int) -> Inputs:
        """The images with their patches in another order."""
        pixels = images(samples, self.name)
        if min(pixels.shape[-2:]) < self.grid:
            raise InapplicableError(
                f"{self.name} with grid {self.grid} is for images of at least {self.grid} pixels a side, "
                f"but those of {samples.name} have {pixels.shape[-2]} × {pixels.shape[-1]}. Choose a smaller grid."
            )
        order = permutations(samples.ids, self.grid**2, seed=seed)
        height, width = (size // self.grid * self.grid for size in pixels.shape[-2:])
        pixels[..., :height, :width] = move_patches(pixels[..., :height, :width], order, grid=self.grid)
        return pixels


def move_patches(pixels: Tensor, order: Tensor, *, grid: int) -> Tensor:
    """Images (n, c, h, w) whose patch k, counted along the rows, was the patch order[:, k]."""
    n, channels, height, width = pixels.shape
    down, across = height // grid, width // grid
    cells = pixels.reshape(n, channels, grid, down, grid, across).permute(0, 2, 4, 1, 3, 5)
    # All patches of all images in one row: the index then has one entry per patch, not one per pixel.
    places = order + grid * grid * torch.arange(n)[:, None]
    moved = cells.reshape(n * grid * grid, -1).index_select(0, places.flatten()).view(cells.shape)
    return moved.permute(0, 3, 1, 4, 2, 5).reshape(n, channels, height, width)
