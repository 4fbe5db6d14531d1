"""Head and tail: the two halves of a cut model, whichever way they were made."""

from __future__ import annotations

import abc
from collections.abc import Collection, Iterator
from typing import ClassVar

import torch
from torch import Tensor, nn

from seamripper.data.samples import Inputs

Context = dict[str, Tensor]
"""What passes beside the cut: integer inputs (masks, types, the shape of the ids), one row per sample."""


class Head(nn.Module, abc.ABC):
    """Inputs → activations at the cut; stops there."""

    computes: ClassVar[bool] = True
    """Whether it runs the model's front; a head that hands on what was computed before does not."""

    @abc.abstractmethod
    def forward(self, inputs: Inputs) -> Tensor:
        """The activations at the cut."""

    def knows(self, inputs: Inputs) -> bool:
        """Whether it has computed the activations of all these inputs before, and need not do so again."""
        return False


class Tail(nn.Module, abc.ABC):
    """Activations at the cut → the model's answer; starts there."""

    @abc.abstractmethod
    def forward(self, activations: Tensor, context: Context | None = None) -> Tensor:
        """The answer, from activations at the cut and what passes beside it."""

    def twins(self) -> Iterator[Tail]:
        """The same tail with other values where its front was, if it has such a place: a true one answers the same."""
        yield from ()


class CloningTail(Tail):
    """A tail whose first operation would overwrite the activations (an in-place ReLU): it gets a copy of them."""

    def __init__(self, tail: Tail) -> None:
        super().__init__()
        self.tail = tail

    def forward(self, activations: Tensor, context: Context | None = None) -> Tensor:
        """The answer; `activations` are as they were."""
        answer: Tensor = self.tail(activations.clone(), context)
        return answer

    def twins(self) -> Iterator[Tail]:
        """The tail's own, each with a copy of the activations."""
        return map(CloningTail, self.tail.twins())


def context_of(inputs: Inputs, needed: Collection[str]) -> Context:
    """What a tail is given of the model's inputs beside the activations.

    Inputs in `needed` pass as they are. Other integer inputs pass as zeros of the same shape, floats not at all: a
    tail cannot depend on what it never sees.
    """
    if isinstance(inputs, Tensor):
        return {}
    integers = {name: value for name, value in inputs.items() if not value.is_floating_point()}
    return {name: value if name in needed else torch.zeros_like(value) for name, value in integers.items()}
