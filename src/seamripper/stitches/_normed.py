"""The layer with batch normalisation on both sides."""

from __future__ import annotations

from torch import Tensor, nn

from seamripper.cut.place import Layout
from seamripper.errors import StitchError
from seamripper.stitches.base import Layer
from seamripper.stitches.positions import to_rows


class NormedLayer(Layer):
    """BN – `middle` – BN, with statistics over samples and positions, a channel at a time.

    In train mode the statistics are the batch's, in eval mode the running ones: train it in train mode,
    score it in eval.
    """

    def __init__(self, middle: nn.Module, *, layout: Layout, inputs: int, outputs: int) -> None:
        super().__init__()
        norm = nn.BatchNorm2d if layout == "nchw" else nn.BatchNorm1d
        self.layout: Layout = layout
        self.inputs = inputs
        self.before = norm(inputs)
        self.middle = middle
        self.after = norm(outputs)

    def forward(self, x: Tensor) -> Tensor:
        """Normalise, map, normalise."""
        if self.training and x.numel() // self.inputs < 2:
            raise StitchError(
                "Expected two rows (samples × positions) or more in a batch, as batch normalisation in train "
                f"mode divides by their variance, but got {x.numel() // self.inputs}; "
                "take larger batches, leave out the last small one, or call .eval()."
            )
        rows = to_rows(x, "ntd") if self.layout == "ntd" else x
        out: Tensor = self.after(self.middle(self.before(rows)))
        return out.reshape(*x.shape[:2], out.shape[1]) if self.layout == "ntd" else out
