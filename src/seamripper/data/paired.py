"""Paired: what a sender and what a receiver is shown, sample by sample."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from seamripper._doors import require
from seamripper._fingerprint import join_fingerprints
from seamripper.data.samples import Inputs, Samples
from seamripper.data.stream import Stream
from seamripper.data.yours import as_samples
from seamripper.errors import DataError


@dataclass(frozen=True)
class Paired:
    """Two sets of equally many samples, one for the sender and one for the receiver. Usually they are the same set.

    Name, labels and ids of the pair are the receiver's.

    >>> import torch
    >>> digits = Samples("digits", torch.rand(2, 4), torch.tensor([0, 1]), torch.arange(2), classes=2)
    >>> noise = Samples("noise", torch.rand(2, 9), torch.tensor([0, 1]), torch.arange(2), classes=2)
    >>> Paired(noise, digits)
    Paired('noise' for the sender, 'digits' for the receiver, n = 2)
    >>> Paired.of(digits).same, Paired(noise, digits).same
    (True, False)
    """

    sender: Samples
    receiver: Samples

    def __post_init__(self) -> None:
        for role in ("sender", "receiver"):
            require(getattr(self, role), Samples, f"samples for the {role}", error=DataError)
        if len(self.sender) != len(self.receiver):
            raise DataError(
                f"Expected as many samples for the sender as {self.receiver.name} has for the receiver "
                f"({len(self.receiver)}), but got {len(self.sender)}."
            )

    @classmethod
    def of(cls, samples: Samples | Stream | Paired, name: str = "samples") -> Paired:
        """The pair in which both networks are shown these samples; a pair is returned as it is.

        What is not in memory is taken into it (see `seamripper.data.yours`).
        """
        if isinstance(samples, Paired):
            return samples
        shown = as_samples(samples, name)
        return cls(shown, shown)

    def __repr__(self) -> str:
        return f"Paired({self.sender.name!r} for the sender, {self.name!r} for the receiver, n = {len(self)})"

    def __len__(self) -> int:
        return len(self.receiver)

    @property
    def same(self) -> bool:
        """Whether both networks are shown the same samples."""
        return self.sender is self.receiver

    @property
    def name(self) -> str:
        """The name of the receiver's set."""
        return self.receiver.name

    @property
    def labels(self) -> Tensor:
        """The receiver's labels."""
        return self.receiver.labels

    @property
    def ids(self) -> Tensor:
        """The receiver's ids."""
        return self.receiver.ids

    @property
    def classes(self) -> int:
        """The number of classes of the receiver's set."""
        return self.receiver.classes

    @functools.cached_property
    def fingerprint(self) -> str:
        """The fingerprint of the samples if both are shown the same, else one over both sets."""
        if self.same:
            return self.receiver.fingerprint
        return join_fingerprints({"sender": self.sender.fingerprint, "receiver": self.receiver.fingerprint})

    def as_record(self) -> dict[str, Any]:
        """What a result says of its data."""
        record = {"name": self.name, "n": len(self), "fingerprint": self.fingerprint, "source": self.receiver.source}
        return {**record, "recipe": self.receiver.recipe if self.same else None}

    def take(self, index: Tensor | slice) -> Paired:
        """The pairs at `index` and no others."""
        receiver = self.receiver.take(index)
        return Paired(receiver if self.same else self.sender.take(index), receiver)

    def draw(self, n: int, *, seed: int = 0) -> Paired:
        """`n` pairs drawn without replacement, in their old order; all of them if there are no more."""
        receiver = self.receiver.draw(n, seed=seed)
        return Paired(receiver if self.same else self.sender.draw(n, seed=seed), receiver)

    def fitting(self, most: int) -> int:
        """How many of them to show at a time: as many as their size allows, at most so many."""
        return min(self.sender.fitting(most), self.receiver.fitting(most))

    def batches(self, size: int) -> Iterator[tuple[Inputs, Inputs]]:
        """(the sender's inputs, the receiver's inputs) in steps of `size`; if both are the same, one object."""
        for start in range(0, len(self), size):
            receiver = self.receiver.batch(slice(start, start + size))
            yield receiver if self.same else self.sender.batch(slice(start, start + size)), receiver
