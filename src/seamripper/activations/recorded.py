"""Recorded: a sender whose activations were computed before, and are handed on as they are."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import torch
from torch import Tensor

from seamripper.activations.activations import Activations
from seamripper.cut.halves import Head
from seamripper.cut.split import Split
from seamripper.data.paired import Paired
from seamripper.data.samples import MASK, Inputs, Samples
from seamripper.errors import DataError

VALUES = "activations"
"""What activations are called where a mask is handed on beside them."""


class _HandedOn(Head):
    """Activations in, activations out."""

    computes: ClassVar[bool] = False

    def forward(self, inputs: Inputs) -> Tensor:
        """A copy, as what comes behind may write into it."""
        return (inputs if isinstance(inputs, Tensor) else inputs[VALUES]).clone()


def replay(half: Split, samples: Samples, activations: Activations) -> tuple[Split, Paired]:
    """The same sender with nothing left to compute, and the samples paired with what it has computed of them before.

    Whatever is matched or scored with the two is what it is with the sender itself, at the cost of reading memory. The
    model, and so its fingerprint, is the sender's own.

    >>> from torch import nn
    >>> from seamripper.activations import collect
    >>> from seamripper.cut import split
    >>> toy = Samples("toy", torch.eye(4), torch.arange(4) % 2, torch.arange(4), classes=2)
    >>> half = split(nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 2)), "0", torch.zeros(1, 4))
    >>> same, pair = replay(half, toy, collect(half, toy))
    >>> torch.equal(same.head(pair.sender.batch(slice(0, 4))), half.head(toy.batch(slice(0, 4))))
    True
    """
    if activations.cut.name != half.cut.name or not torch.equal(activations.ids, samples.ids):
        raise DataError(
            f"Expected the activations at {half.cut.name!r} of the {len(samples)} samples of {samples.name}, but got "
            f"those at {activations.cut.name!r} of {len(activations)} samples, or in another order."
        )
    head = _HandedOn().eval()
    # With the mask, by which a stitch and a matching leave padding out as they do for the sender itself.
    inputs: Inputs = (
        activations.values if activations.mask is None else {VALUES: activations.values, MASK: activations.mask}
    )
    shown = Samples(
        samples.name, inputs, samples.labels, samples.ids, samples.classes, source=samples.source, ready=True
    )
    return replace(half, head=head, example=half.model.present(shown).batch(slice(0, 2)), proved=set()), Paired(
        shown, samples
    )
