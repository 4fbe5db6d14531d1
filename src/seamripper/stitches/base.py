"""What a stitch is: a choice that builds a small layer between two cuts.

A `Stitch` is the choice (frozen, with its options); `build` makes the `Layer` for two given cuts. A layer
whose output is linear in its parameters is a `LinearLayer`: it shows its rows and targets, so that a closed
form can find it.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, Self, get_args

import torch
from torch import Tensor, nn

from seamripper._devices import move, wide
from seamripper.cut.place import Cut, Layout
from seamripper.errors import StitchError
from seamripper.registry import Choice, Registry
from seamripper.stitches.positions import other_positions, to_rows, wrong_layouts

Constraint = Literal["none", "orthogonal", "rank"]
WithPadding = Literal["refused", "each", "masked"]
"""What a layer makes of tokens that are padding: it is `refused` if there are any, as the layer would mix them with the
others; it maps `each` token by itself, so that padding stays padding; or it is `masked`, told which tokens count."""


class Layer(nn.Module, abc.ABC):
    """A built stitch: the sender's activations in, activations of the receiver's shape out.

    One whose `with_padding` is "masked" takes a second argument: which of the sender's tokens count (n, tokens).
    """

    with_padding: WithPadding = "refused"
    device: torch.device | None = None
    """Where it computes; None where nobody has said, and it then takes activations as they come."""
    gives: torch.dtype | None = None
    """The precision of what it gives out: the receiver's."""

    def live_with(self, device: torch.device, dtype: torch.dtype) -> Self:
        """The layer on the receiver's device, giving out the receiver's precision; in float32 itself, or float64."""
        self.device, self.gives = device, dtype
        return self.to(device, wide(dtype))

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        # By `.to` of a network that it is part of, too: what it is given is then brought to the new device.
        if self.device is not None:
            self.device = fn(torch.empty(0, device=self.device)).device
        moved: Self = super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        return moved

    def receive(self, x: Tensor) -> Tensor:
        """The sender's activations on the layer's device, in the layer's precision."""
        return x if self.device is None or self.gives is None else move(x, self.device).to(wide(self.gives))

    @abc.abstractmethod
    def forward(self, x: Tensor) -> Tensor:
        """Activations of the sender's cut → activations for the receiver's cut."""

    def carry(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """What the layer makes of x, where the mask (n, tokens), if any, says which of the sender's tokens count.

        The sender may be on another device and in another precision; what comes out is as the receiver takes it.
        """
        x = self.receive(x)
        if mask is None or self.with_padding != "masked":
            out: Tensor = self(x)
        else:
            out = self(x, move(mask, x.device))
        return out if self.gives is None else out.to(self.gives)


class LinearLayer(Layer):
    """A stitch that is one linear map, the same at every row: targets(forward(x)) = rows(x) Wᵀ + b.

    `constraint` says which W it can hold: any, orthogonal ones, or those of rank at most `rank`. Without
    an `intercept` it can hold b = 0 only.
    """

    layout: Layout
    """How the receiver's activations become rows: one for each position of a map, each token, or each sample."""
    constraint: Constraint = "none"
    rank: int | None = None
    pointwise: bool = False
    """Whether positions stay what they are, so that the map commutes with an average over them."""
    intercept: bool = True

    @abc.abstractmethod
    def rows(self, x: Tensor) -> Tensor:
        """The design: sender activations (n, …) as rows (n·positions, p). A "masked" layer takes the mask as well."""

    def targets(self, y: Tensor) -> Tensor:
        """Receiver activations (n, …) as rows (n·positions, q), in the order of `rows`."""
        return to_rows(y, self.layout)

    @abc.abstractmethod
    def install(self, weight: Tensor, bias: Tensor) -> None:
        """Take this map: `weight` (q, p) and `bias` (q); under a constraint, the nearest W that meets it."""

    @abc.abstractmethod
    def map(self) -> tuple[Tensor, Tensor]:
        """The map that is installed, as a copy: `weight` (q, p) and `bias` (q)."""

    def rows_and_targets(self, x: Tensor, y: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """The rows of x and the targets of y, without those of tokens that do not count by the mask (n, tokens)."""
        x = self.receive(x)
        y = move(y, x.device)
        if mask is None:
            return self.rows(x), self.targets(y)
        mask = move(mask, x.device)
        if self.with_padding == "masked":
            return self.rows(x, mask), self.targets(y)  # type: ignore[call-arg]
        counted = mask.flatten()
        return self.rows(x)[counted], self.targets(y)[counted]


@dataclass(frozen=True)
class Stitch(Choice):
    """The choice of a stitch. Leaves are frozen dataclasses with a `name` and whatever options they have.

    They declare the layouts that they join, and whether they need the same positions on both sides.
    """

    what, error = "stitch", StitchError
    source_layouts: ClassVar[Sequence[Layout]] = get_args(Layout)
    target_layouts: ClassVar[Sequence[Layout]] = get_args(Layout)
    same_positions: ClassVar[bool] = False

    def misfit(self, source: Cut, target: Cut) -> str | None:
        """Why this stitch cannot join the two cuts, as the end of a sentence; None if it can.

        A leaf with conditions of its own adds them to these.
        """
        why = wrong_layouts(source, target, takes=self.source_layouts, gives=self.target_layouts)
        return why or (other_positions(source, target) if self.same_positions else None)

    @abc.abstractmethod
    def layer(self, source: Cut, target: Cut) -> Layer:
        """The layer, for cuts that fit."""

    def build(self, source: Cut, target: Cut) -> Layer:
        """The layer that takes the sender's cut `source` to the receiver's cut `target`."""
        why = self.misfit(source, target)
        if why is not None:
            raise StitchError(f"The stitch {self.name!r} cannot join {source} to {target}: {why}.")
        return self.layer(source, target)


stitches: Registry[Stitch] = Registry(Stitch, "seamripper.stitches", what="stitch", error=StitchError)
"""Every stitch by name. `stitches.make("conv?kernel=5")` makes one."""
