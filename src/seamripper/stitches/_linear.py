"""One linear map: applying, installing and reading it, and the layer that most stitches build."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn.functional import conv2d, linear

from seamripper._words import shown_shape
from seamripper.cut.place import Layout
from seamripper.errors import StitchError
from seamripper.stitches.base import LinearLayer, WithPadding
from seamripper.stitches.positions import to_rows


class PositionwiseLayer(LinearLayer):
    """The same linear map at every position of a prepared input: x → W · prepare(x) + b.

    `prepare` is a function without parameters that brings the sender's activations to the receiver's
    positions, in the receiver's `layout`; it is all that most stitches differ in. With `with_padding="masked"` it takes
    the mask of the sender's tokens as well.
    """

    def __init__(
        self,
        prepare: Callable[..., Tensor],
        *,
        layout: Layout,
        inputs: int,
        outputs: int,
        bias: bool = True,
        with_padding: WithPadding = "refused",
    ) -> None:
        super().__init__()
        self.prepare = prepare
        self.layout: Layout = layout
        self.intercept = bias
        self.pointwise = prepare is as_is
        self.with_padding = "each" if self.pointwise else with_padding
        self.linear = nn.Linear(inputs, outputs, bias=bias)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Prepare, then map."""
        return applied(self._prepared(x, mask), self.linear.weight, self.linear.bias, layout=self.layout)

    def rows(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """The prepared input, a row a position."""
        return to_rows(self._prepared(x, mask), self.layout)

    def _prepared(self, x: Tensor, mask: Tensor | None) -> Tensor:
        return self.prepare(x) if mask is None else self.prepare(x, mask)

    def targets(self, y: Tensor) -> Tensor:
        """The receiver's activations, a row a position."""
        return to_rows(y, self.layout)

    def install(self, weight: Tensor, bias: Tensor) -> None:
        """Take this map."""
        put(self.linear, weight, bias)

    def map(self) -> tuple[Tensor, Tensor]:
        """The map that is installed."""
        return held(self.linear)


def as_is(x: Tensor) -> Tensor:
    """The input itself: the preparation of a stitch that needs none."""
    return x


def applied(x: Tensor, weight: Tensor, bias: Tensor | None, *, layout: Layout) -> Tensor:
    """The map `weight` (q, p), `bias` (q) on the channels of a map, or on the width of tokens and vectors.

    >>> applied(torch.ones(1, 2, 1, 1), torch.tensor([[1.0, 2.0]]), torch.tensor([0.5]), layout="nchw")
    tensor([[[[3.5000]]]])
    """
    if layout == "nchw" and x.shape[2:] == (1, 1):
        # A convolution of single pixels rearranges the weights at every call: four times the cost of the product.
        return linear(x.flatten(1), weight, bias)[:, :, None, None]
    if layout == "nchw":
        return conv2d(x, weight[:, :, None, None], bias)
    return linear(x, weight, bias)


def checked(weight: Tensor, bias: Tensor, *, shape: tuple[int, int]) -> None:
    """Refuse a map of another shape than (q, p) = `shape`, or one that is not finite."""
    if tuple(weight.shape) != shape or tuple(bias.shape) != shape[:1]:
        raise StitchError(
            f"Expected a weight of {shown_shape(shape)} (outputs × inputs) and a bias of {shape[0]}, but got "
            f"{shown_shape(weight.shape)} and {shown_shape(bias.shape)}; "
            "fit them on this layer's rows and targets."
        )
    if not bool(weight.isfinite().all() and bias.isfinite().all()):
        raise StitchError(
            "Expected a finite map to install, but got NaN or Inf; "
            "look for them in the activations that it was fitted on."
        )


@torch.no_grad()
def put(module: nn.Linear | nn.Conv2d, weight: Tensor, bias: Tensor) -> None:
    """Install the map `weight` (q, p), `bias` (q) in `module`; a convolution's p are its patches."""
    checked(weight, bias, shape=(module.weight.shape[0], module.weight[0].numel()))
    if module.bias is None and bool(bias.any()):
        # To drop the bias in silence would leave a map that no one has fitted.
        raise StitchError(
            "Expected a bias of zeros, as this stitch was made with bias=False, but got another; "
            "fit without an intercept, or make the stitch with bias=True."
        )
    module.weight.copy_(weight.reshape(module.weight.shape))
    if module.bias is not None:
        module.bias.copy_(bias)


def held(module: nn.Linear | nn.Conv2d) -> tuple[Tensor, Tensor]:
    """A copy of the map in `module`: `weight` (q, p) and `bias` (q)."""
    weight = module.weight.detach().flatten(1).clone()
    bias = weight.new_zeros(weight.shape[0]) if module.bias is None else module.bias.detach().clone()
    return weight, bias
