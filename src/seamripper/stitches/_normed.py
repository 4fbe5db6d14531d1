"""The layer with batch normalisation on both sides."""

from __future__ import annotations

from torch import Tensor, nn

from seamripper.cut.place import Layout
from seamripper.errors import StitchError
from seamripper.stitches.base import Layer, WithPadding
from seamripper.stitches.positions import to_rows

_PADDING: dict[Layout, WithPadding] = {"nchw": "refused", "ntd": "masked", "nd": "each"}


class NormedLayer(Layer):
    """BN – `middle` – BN, with statistics over samples and positions, a channel at a time.

    In train mode the statistics are the batch's, in eval mode the running ones: train it in train mode,
    score it in eval. Tokens that do not count enter no statistics; in train mode they come out as zeros.
    """

    def __init__(self, middle: nn.Module, *, layout: Layout, inputs: int, outputs: int) -> None:
        super().__init__()
        norm = nn.BatchNorm2d if layout == "nchw" else nn.BatchNorm1d
        self.layout: Layout = layout
        self.with_padding = _PADDING[layout]
        self.inputs = inputs
        self.before = norm(inputs)
        self.middle = middle
        self.after = norm(outputs)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Normalise, map, normalise."""
        # In eval mode no row depends on another, so padding may stay where it is.
        mask = mask if self.training else None
        rows = x[mask] if mask is not None else to_rows(x, "ntd") if self.layout == "ntd" else x
        if self.training and rows.numel() // self.inputs < 2:
            raise StitchError(
                "Expected two rows (samples × positions) or more in a batch, as batch normalisation in train "
                f"mode divides by their variance, but got {rows.numel() // self.inputs}; "
                "take larger batches, leave out the last small one, or call .eval()."
            )
        out: Tensor = self.after(self.middle(self.before(rows)))
        if mask is not None:
            return out.new_zeros(*x.shape[:2], out.shape[1]).masked_scatter(mask[:, :, None], out)
        return out.reshape(*x.shape[:2], out.shape[1]) if self.layout == "ntd" else out
