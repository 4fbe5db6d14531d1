"""Head and tail: the two halves of a cut model, whichever way they were made."""

from __future__ import annotations

import abc
from collections.abc import Iterator, Mapping
from typing import ClassVar

import torch
from torch import Tensor, nn

from seamripper.data.samples import Inputs

Context = dict[str, Tensor]
"""What passes beside the cut: integer inputs (masks, types, the shape of the ids), a row a sample."""


class Head(nn.Module, abc.ABC):
    """Inputs → activations at the cut; stops there."""

    computes: ClassVar[bool] = True
    """Whether it runs the model's front; a head that hands on what was computed before does not."""

    @abc.abstractmethod
    def forward(self, inputs: Inputs) -> Tensor:
        """The activations at the cut."""


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


class Beside:
    """Chooses, from a model's inputs, what its tail is given beside the activations.

    Inputs in `needed` pass as they are. Other integer inputs pass as zeros of the same shape, floats not at all: a
    tail cannot depend on what it never sees.
    """

    def __init__(self, needed: tuple[str, ...]) -> None:
        self.needed = needed

    def __call__(self, inputs: Inputs) -> Context:
        """What the tail is given of these inputs."""
        if not isinstance(inputs, Mapping):
            return {}
        whole = {key: value for key, value in inputs.items() if not value.is_floating_point()}
        return {key: value if key in self.needed else torch.zeros_like(value) for key, value in whole.items()}
