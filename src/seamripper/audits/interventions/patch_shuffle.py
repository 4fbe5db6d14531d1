"""The intervention `patch_shuffle`: shapes are broken up, textures and colours stay."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from seamripper._options import require_options
from seamripper.audits.interventions._tools import permutations
from seamripper.audits.interventions.base import Intervention, Kind, images
from seamripper.data.samples import Inputs, Samples
from seamripper.errors import AuditError, InapplicableError


@dataclass(frozen=True)
class PatchShuffle(Intervention):
    """An image is laid out in `grid` × `grid` patches, and these change places, in each image in another way.

    What is left at the right and at the bottom, where the grid does not divide the size, stays in place.

    >>> pixels = torch.arange(16.0).view(1, 1, 4, 4)
    >>> image = Samples("image", pixels, torch.tensor([0]), torch.tensor([0]), classes=1)
    >>> PatchShuffle(grid=2).change(image, seed=0)[0, 0]
    tensor([[ 8.,  9.,  0.,  1.],
            [12., 13.,  4.,  5.],
            [10., 11.,  2.,  3.],
            [14., 15.,  6.,  7.]])
    """

    name: ClassVar[str] = "patch_shuffle"
    about: ClassVar[str] = "patches of the image change places"
    kind: ClassVar[Kind] = "image"

    grid: int = 4

    def __post_init__(self) -> None:
        require_options(self, f"the intervention {self.name!r}", error=AuditError, grid=2)

    def change(self, samples: Samples, *, seed: int) -> Inputs:
        """The images with their patches in another order."""
        pixels = images(samples, self.name)
        if min(pixels.shape[-2:]) < self.grid:
            raise InapplicableError(
                f"{self.name} with grid {self.grid} is for images of at least {self.grid} pixels a side, "
                f"but those of {samples.name} have {pixels.shape[-2]} × {pixels.shape[-1]}. Take a smaller grid."
            )
        order = permutations(samples.ids, self.grid**2, seed=seed)
        height, width = (size // self.grid * self.grid for size in pixels.shape[-2:])
        pixels[..., :height, :width] = shuffled(pixels[..., :height, :width], order, grid=self.grid)
        return pixels


def shuffled(pixels: Tensor, order: Tensor, *, grid: int) -> Tensor:
    """Images (n, c, h, w) whose patch k, counted along the rows, is the patch order[:, k] of before."""
    n, channels, height, width = pixels.shape
    down, across = height // grid, width // grid
    cells = pixels.reshape(n, channels, grid, down, grid, across).permute(0, 2, 4, 1, 3, 5)
    # All patches of all images in one row: their places are an index a patch, and not one a pixel.
    places = order + grid * grid * torch.arange(n)[:, None]
    moved = cells.reshape(n * grid * grid, -1).index_select(0, places.flatten()).view(cells.shape)
    return moved.permute(0, 3, 1, 4, 2, 5).reshape(n, channels, height, width)
