"""A sender that is not a network: its activations are given, or made from the inputs by a plain function."""

from __future__ import annotations

from torch import Tensor, nn

from seamripper.cut.split import Split, split
from seamripper.data.samples import Inputs
from seamripper.models.model import Model


class _Answering(nn.Module):
    """A model to cut: `given` makes activations of the inputs, and an answer follows that nobody asks for."""

    def __init__(self, given: nn.Module) -> None:
        super().__init__()
        self.given = given

    def forward(self, inputs: Tensor) -> Tensor:
        activations: Tensor = self.given(inputs)
        return activations.flatten(1).sum(1, keepdim=True)


class _AnsweringTokens(_Answering):
    """The same for activations with a mask, which says which of their tokens count."""

    def forward(self, activations: Tensor, attention_mask: Tensor) -> Tensor:  # type: ignore[override]
        return super().forward(activations)


class AsTheyAre(nn.Module):
    """The inputs as activations."""

    def forward(self, inputs: Tensor) -> Tensor:
        """A copy, as a cut must be a new value."""
        return inputs * 1


def stand_in(make: nn.Module, example: Inputs, source: str) -> Split:
    """A sender whose activations are what `make` gives for its inputs: a tensor, or activations with a mask.

    >>> import torch
    >>> sender = stand_in(AsTheyAre(), torch.zeros(2, 8, 4, 4), "noise")
    >>> sender.cut.shape, sender.cut.layout, sender.model.source
    ((8, 4, 4), 'nchw', 'noise')
    """
    kind = _Answering if isinstance(example, Tensor) else _AnsweringTokens
    return split(Model(kind(make).eval(), source), "given", example)
