"""Cut: a named place in a model where one tensor passes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

from seamripper._words import shape_text

Layout = Literal["nchw", "ntd", "nd"]
LAYOUTS: dict[int, Layout] = {2: "nd", 3: "ntd", 4: "nchw"}
"""The layout of a batch of activations, by the number of its axes."""


@dataclass(frozen=True)
class Cut:
    """A place that a single tensor passes: its name, the shape of one sample there, and the meaning of its axes.

    `layout` is `nchw` (channels, then a map), `ntd` (tokens, then their width) or `nd` (a vector). `before` and `after`
    count the model's parameters on either side; `aliases` are other names of the very same value.

    >>> cut = Cut("blocks.3", (197, 192), "ntd", before=10, after=20)
    >>> cut.width, cut.grid, cut.prefix
    (192, (14, 14), 1)
    """

    name: str
    shape: tuple[int, ...]
    layout: Layout
    before: int = 0
    after: int = 0
    aliases: tuple[str, ...] = ()

    @property
    def width(self) -> int:
        """Channels of a map, or the width of a token or vector."""
        return self.shape[0] if self.layout == "nchw" else self.shape[-1]

    @property
    def grid(self) -> tuple[int, int]:
        """Height and width of the map; for tokens, of the largest square that they can fill."""
        if self.layout == "nchw":
            return self.shape[1], self.shape[2]
        if self.layout == "ntd":
            side = math.isqrt(self.shape[0])
            return side, side
        return 1, 1

    @property
    def prefix(self) -> int:
        """How many tokens stand before the square of the others: 1 for a ViT with a CLS token, 0 without."""
        return self.shape[0] - math.prod(self.grid) if self.layout == "ntd" else 0

    def __str__(self) -> str:
        return f"{self.name} ({shape_text(self.shape)}, {self.layout})"

    def as_record(self) -> dict[str, Any]:
        """What a file says of this cut."""
        return {"name": self.name, "shape": list(self.shape), "layout": self.layout}
