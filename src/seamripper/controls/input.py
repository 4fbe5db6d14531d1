"""The control `input`: the input itself, resized, in place of the sender's activations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import interpolate

from seamripper._words import shape_text
from seamripper.controls.base import Case, Control, Counterpart
from seamripper.controls.stand_in import AsTheyAre, stand_in
from seamripper.cut.place import Layout
from seamripper.cut.split import Split
from seamripper.data.samples import Samples
from seamripper.errors import InapplicableError
from seamripper.stitches.positions import to_tokens

_SIDE = 8
"""An image that becomes a vector is first resized to at most this many pixels per side."""


class Resized(nn.Module):
    """Images on another grid, bilinear with antialiasing: as a map, as tokens row by row, or as a vector.

    Tokens may have a `prefix` of others, where a CLS token would be: each of these is the mean of the image's tokens.

    >>> bright = torch.tensor([[[[0.0, 2.0], [4.0, 6.0]]]])
    >>> Resized((1, 1), "nchw")(bright), Resized((2, 2), "nd")(bright)
    (tensor([[[[3.]]]]), tensor([[0., 2., 4., 6.]]))
    """

    def __init__(self, grid: tuple[int, int], layout: Layout, prefix: int = 0) -> None:
        super().__init__()
        self.grid, self.layout, self.prefix = grid, layout, prefix

    def forward(self, images: Tensor) -> Tensor:
        """(n, c, h, w) in, and (n, c, h', w'), (n, prefix + h'·w', c) or (n, c·h'·w') out."""
        small = interpolate(images, size=self.grid, mode="bilinear", antialias=True)
        if self.layout == "nchw":
            return small
        if self.layout == "nd":
            return small.flatten(1)
        tokens = to_tokens(small)
        return torch.cat([tokens.mean(1, keepdim=True).expand(-1, self.prefix, -1), tokens], dim=1)


@dataclass(frozen=True)
class Input(Control):
    """The input itself as activations: how much stitch and receiver can do without any sender.

    An image of 3 × 28 × 28 for a cut of 64 × 7 × 7 becomes a map of 3 × 7 × 7. For tokens it becomes a map on their
    square grid; for a vector it is flattened, from at most 8 × 8 pixels. Inputs that are vectors stay as they are. A
    stitch that only fits the sender's positions is given the image on those.
    """

    name = "input"
    formula = "tail(stitch(resize(x)))"
    about = "the input itself, resized to the cut: how much the stitch alone can do"
    known = "nothing"
    origin = "input"

    def stitches(self, case: Case) -> int:
        """One per seed."""
        return len(case.seeds)

    def counterparts(self, case: Case) -> Iterator[Counterpart]:
        """The input, once for each seed of the stitch."""
        sender = _sender(case)
        for seed in case.seeds:
            yield Counterpart(sender.model.source, seed, sender, *case.receiver_samples)


def _sender(case: Case) -> Split:
    """The first of the ways to use the inputs as activations that the stitch of the case can join to the receiver."""
    example, why = _example(case.fit.receiver), None
    for make, source in _ways(case, example):
        sender = stand_in(make, example, source)
        why = case.misfit(sender.cut)
        if why is None:
            return sender
    raise InapplicableError(f"The control 'input' uses the stitch of the comparison. {why}")


def _ways(case: Case, example: Tensor) -> Iterator[tuple[nn.Module, str]]:
    """Vectors as they are; images on the receiver's grid, then in the form of the sender's activations."""
    if example.dim() == 2:
        yield AsTheyAre(), "the input"
        return
    for cut, tokens in ((case.receiver.cut, False), (case.sender.cut, True)):
        grid = cut.grid
        if cut.layout == "nd":
            grid = min(_SIDE, example.shape[2]), min(_SIDE, example.shape[3])
        layout: Layout = "nchw" if cut.layout == "ntd" and not tokens else cut.layout
        yield Resized(grid, layout, cut.prefix), f"the input, resized to {shape_text(grid)}"


def _example(samples: Samples) -> Tensor:
    """An example of the inputs; an error if they are neither images nor vectors."""
    inputs = samples.batch(slice(0, 2))
    if not isinstance(inputs, Tensor):
        raise InapplicableError(f"{samples.name} has named inputs (text), which cannot serve as activations.")
    if inputs.dim() not in (2, 4) or not inputs.is_floating_point():
        raise InapplicableError(
            f"The control 'input' is for images and vectors of numbers, but {samples.name} has inputs of shape "
            f"{shape_text(inputs.shape[1:])} ({str(inputs.dtype).removeprefix('torch.')})."
        )
    return inputs
