"""The layer of a k×k convolution, whose rows are patches."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn.functional import unfold

from seamripper.stitches._linear import held, put
from seamripper.stitches.base import LinearLayer
from seamripper.stitches.positions import to_rows


class PatchLayer(LinearLayer):
    """A convolution as a linear map on patches: a row is a patch, channel by channel, row by row."""

    def __init__(
        self,
        inputs: int,
        outputs: int,
        *,
        kernel: tuple[int, int],
        stride: tuple[int, int],
        padding: tuple[int, int] = (0, 0),
    ) -> None:
        super().__init__()
        self.kernel, self.stride, self.padding = kernel, stride, padding
        self.pointwise = kernel == stride == (1, 1)
        self.conv = nn.Conv2d(inputs, outputs, kernel, stride=stride, padding=padding)

    def forward(self, x: Tensor) -> Tensor:
        """The convolution."""
        out: Tensor = self.conv(x)
        return out

    def rows(self, x: Tensor) -> Tensor:
        """The patch under every position of the output: (n·h·w, c·k·k)."""
        patches = unfold(x, self.kernel, padding=self.padding, stride=self.stride)
        return to_rows(patches.mT, "ntd")

    def targets(self, y: Tensor) -> Tensor:
        """The receiver's activations, a row a position."""
        return to_rows(y, "nchw")

    def install(self, weight: Tensor, bias: Tensor) -> None:
        """Take this map: `weight` (q, c·k·k)."""
        put(self.conv, weight, bias)

    def map(self) -> tuple[Tensor, Tensor]:
        """The map that is installed."""
        return held(self.conv)
