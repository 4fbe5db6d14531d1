"""The layers that most stitches build: one linear map at every position or patch, and one between batch norms."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn.functional import conv2d, linear, unfold

from seamripper._words import shape_text
from seamripper.cut.place import Cut, Layout
from seamripper.errors import StitchError
from seamripper.stitches.base import Layer, LinearLayer, WithPadding
from seamripper.stitches.positions import to_rows

_Size = tuple[int, int]


class PositionwiseLayer(LinearLayer):
    """The same linear map at every position of a prepared input: x → W · prepare(x) + b.

    `prepare` is a function without parameters that brings the sender's activations to the receiver's
    positions, in the receiver's `layout`; it is all that most stitches differ in. With `with_padding="masked"` it takes
    the mask of the sender's tokens as well. `inputs` is the width that it gives, if not the sender's. With `expand`,
    one row of the output is all of a sample of the receiver's.
    """

    def __init__(
        self,
        prepare: Callable[..., Tensor],
        source: Cut,
        target: Cut,
        *,
        inputs: int | None = None,
        bias: bool = True,
        expand: bool = False,
        with_padding: WithPadding = "refused",
    ) -> None:
        super().__init__()
        self.prepare = prepare
        self.layout = "nd" if expand else target.layout
        self.shape = target.shape if expand else None
        self.intercept = bias
        self.pointwise = prepare is as_is and not expand
        self.with_padding = "each" if self.pointwise else with_padding
        outputs = math.prod(target.shape) if expand else target.width
        self.linear = nn.Linear(inputs or source.width, outputs, bias=bias)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Prepare, then map."""
        out = apply_map(self._prepare(x, mask), self.linear.weight, self.linear.bias, layout=self.layout)
        return out.reshape(-1, *self.shape) if self.shape else out

    def rows(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """The prepared input, one row per position."""
        return to_rows(self._prepare(x, mask), self.layout)

    def _prepare(self, x: Tensor, mask: Tensor | None) -> Tensor:
        return self.prepare(x) if mask is None else self.prepare(x, mask)

    def install(self, weight: Tensor, bias: Tensor) -> None:
        """Take this map."""
        install_map(self.linear, weight, bias)

    def map(self) -> tuple[Tensor, Tensor]:
        """The map that is installed."""
        return map_of(self.linear)


def as_is(x: Tensor) -> Tensor:
    """The input itself: the preparation of a stitch that needs none."""
    return x


def apply_map(x: Tensor, weight: Tensor, bias: Tensor | None, *, layout: Layout) -> Tensor:
    """The map `weight` (q, p), `bias` (q) on the channels of a map, or on the width of tokens and vectors.

    >>> apply_map(torch.ones(1, 2, 1, 1), torch.tensor([[1.0, 2.0]]), torch.tensor([0.5]), layout="nchw")
    tensor([[[[3.5000]]]])
    """
    if layout == "nchw" and x.shape[2:] == (1, 1):
        # A convolution of single pixels rearranges the weights at every call: four times the cost of the product.
        return linear(x.flatten(1), weight, bias)[:, :, None, None]
    if layout == "nchw":
        return conv2d(x, weight[:, :, None, None], bias)
    return linear(x, weight, bias)


def require_map(weight: Tensor, bias: Tensor, *, shape: tuple[int, int]) -> None:
    """Refuse a map of another shape than (q, p) = `shape`, or one that is not finite."""
    if tuple(weight.shape) != shape or tuple(bias.shape) != shape[:1]:
        raise StitchError(
            f"Expected a weight of {shape_text(shape)} (outputs × inputs) and a bias of {shape[0]}, but got "
            f"{shape_text(weight.shape)} and {shape_text(bias.shape)}; "
            "fit them on this layer's rows and targets."
        )
    if not bool(weight.isfinite().all() and bias.isfinite().all()):
        raise StitchError(
            "Expected a finite map to install, but got NaN or Inf; "
            "look for them in the activations that it was fitted on."
        )


@torch.no_grad()
def install_map(module: nn.Linear | nn.Conv2d, weight: Tensor, bias: Tensor) -> None:
    """Install the map `weight` (q, p), `bias` (q) in `module`; a convolution's p are its patches."""
    require_map(weight, bias, shape=(module.weight.shape[0], module.weight[0].numel()))
    if module.bias is None and bool(bias.any()):
        # To drop the bias in silence would leave a map that no one has fitted.
        raise StitchError(
            "Expected a bias of zeros, as this stitch was made with bias=False, but got another; "
            "fit without an intercept, or make the stitch with bias=True."
        )
    module.weight.copy_(weight.reshape(module.weight.shape))
    if module.bias is not None:
        module.bias.copy_(bias)


def map_of(module: nn.Linear | nn.Conv2d) -> tuple[Tensor, Tensor]:
    """A copy of the map in `module`: `weight` (q, p) and `bias` (q)."""
    weight = module.weight.detach().flatten(1).clone()
    bias = weight.new_zeros(weight.shape[0]) if module.bias is None else module.bias.detach().clone()
    return weight, bias


class PatchLayer(LinearLayer):
    """A convolution as a linear map on patches: a row is a patch, channel by channel, row by row."""

    layout = "nchw"

    def __init__(self, source: Cut, target: Cut, *, kernel: _Size, stride: _Size, padding: _Size = (0, 0)) -> None:
        super().__init__()
        self.kernel, self.stride, self.padding = kernel, stride, padding
        self.pointwise = kernel == stride == (1, 1)
        self.conv = nn.Conv2d(source.width, target.width, kernel, stride=stride, padding=padding)

    def forward(self, x: Tensor) -> Tensor:
        """The convolution."""
        out: Tensor = self.conv(x)
        return out

    def rows(self, x: Tensor) -> Tensor:
        """The patch under every position of the output: (n·h·w, c·k·k)."""
        patches = unfold(x, self.kernel, padding=self.padding, stride=self.stride)
        return to_rows(patches.mT, "ntd")

    def install(self, weight: Tensor, bias: Tensor) -> None:
        """Take this map: `weight` (q, c·k·k)."""
        install_map(self.conv, weight, bias)

    def map(self) -> tuple[Tensor, Tensor]:
        """The map that is installed."""
        return map_of(self.conv)


_PADDING: dict[Layout, WithPadding] = {"nchw": "refused", "ntd": "masked", "nd": "each"}


class NormedLayer(Layer):
    """BN – `middle` – BN, with statistics of each channel over samples and positions.

    In train mode the statistics are the batch's, in eval mode the running ones: train it in train mode,
    score it in eval. Tokens that do not count enter no statistics; in train mode they come out as zeros.
    """

    def __init__(self, middle: nn.Module, source: Cut, target: Cut) -> None:
        super().__init__()
        norm = nn.BatchNorm2d if source.layout == "nchw" else nn.BatchNorm1d
        self.layout = source.layout
        self.with_padding = _PADDING[source.layout]
        self.inputs = source.width
        self.before = norm(source.width)
        self.middle = middle
        self.after = norm(target.width)

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
