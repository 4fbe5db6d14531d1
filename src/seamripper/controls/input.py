"""The control `input`: the input itself, made small, in the place of the sender's activations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import interpolate

from seamripper._words import shape_text
from seamripper.controls.base import Case, Control, Counterpart, Known, misfit
from seamripper.controls.stand_in import AsTheyAre, stand_in
from seamripper.cut.place import Layout
from seamripper.cut.split import Split
from seamripper.data.paired import Paired
from seamripper.data.samples import Samples
from seamripper.errors import InapplicableError
from seamripper.stitches.positions import to_tokens

_SIDE = 8
"""An image that becomes a vector is first brought to at most this many pixels a side."""


class Resized(nn.Module):
    """Images on another grid, bilinear with antialiasing: as a map, as tokens row by row, or as a vector.

    Tokens may have a `prefix` of others before them, where a CLS token stands: each is the mean of the image's.

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
    """The input itself as activations: how much stitch and receiver can do with no sender at all.

    An image of 3 × 28 × 28 before a cut of 64 × 7 × 7 becomes a map of 3 × 7 × 7. Before tokens it is a map of their
    square; before a vector it is flattened, from at most 8 × 8 pixels. Inputs that are vectors stay as they are. A
    stitch that was chosen for the sender's positions gets the image on those.
    """

    name: ClassVar[str] = "input"
    about: ClassVar[str] = "the input itself, resized to the cut: how much the stitch alone can do"
    known: ClassVar[Known] = "nothing"

    def counterparts(self, case: Case) -> Iterator[Counterpart]:
        """The input, once for each seed of the stitch."""
        sender = _sender(case)
        fit, test = (Paired.of(pair.receiver) for pair in (case.fit, case.test))
        for seed in case.seeds:
            yield Counterpart(sender.model.source, seed, sender, fit, test)


def _sender(case: Case) -> Split:
    """What makes activations of the inputs: the first way that the case's stitch can join to the receiver."""
    example, why = _numbers(case.fit.receiver), None
    for make, source in _ways(case, example):
        sender = stand_in(make, example, source)
        why = misfit(case, sender.cut)
        if why is None:
            return sender
    raise InapplicableError(f"The control 'input' keeps the stitch of the comparison. {why}")


def _ways(case: Case, example: Tensor) -> Iterator[tuple[nn.Module, str]]:
    """Vectors as they are; images on the receiver's grid, then in the form that the sender's activations have."""
    if example.dim() == 2:
        yield AsTheyAre(), "the input"
        return
    for cut, tokens in ((case.receiver.cut, False), (case.sender.cut, True)):
        grid = cut.grid
        if cut.layout == "nd":
            grid = min(_SIDE, example.shape[2]), min(_SIDE, example.shape[3])
        layout: Layout = "nchw" if cut.layout == "ntd" and not tokens else cut.layout
        yield Resized(grid, layout, cut.prefix), f"the input, resized to {shape_text(grid)}"


def _numbers(samples: Samples) -> Tensor:
    """An example of the inputs; an error if they are neither images nor vectors."""
    inputs = samples.batch(slice(0, 2))
    if not isinstance(inputs, Tensor):
        raise InapplicableError(f"{samples.name} has named inputs (text), which are no activations themselves.")
    if inputs.dim() not in (2, 4) or not inputs.is_floating_point():
        raise InapplicableError(
            f"The control 'input' is for images and vectors of numbers, but {samples.name} has inputs of shape "
            f"{shape_text(inputs.shape[1:])} ({str(inputs.dtype).removeprefix('torch.')})."
        )
    return inputs
