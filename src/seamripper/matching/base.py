"""What a matching is: a way to find the stitch between a sender and a receiver."""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch
from torch import Tensor

from seamripper._progress import Watcher, nobody
from seamripper.activations.activations import Activations
from seamripper.cut.frozen import Freeze
from seamripper.cut.split import Split
from seamripper.data.paired import Paired
from seamripper.data.samples import MASK, UNASKED, Inputs, Samples
from seamripper.errors import DataError, MatchError
from seamripper.registry import Choice, Registry
from seamripper.stitches.base import Layer


class Natives:
    """The receiver's own activations, computed once for several matches into one cut that show it the same samples.

    Those that were `collected` before, of all samples that will be asked for, are not computed at all.
    """

    def __init__(self, most: int = 1 << 30, *, collected: Activations | None = None) -> None:
        self._parts: dict[tuple[str, bytes], Tensor] = {}
        self._room = most
        self._collected = collected
        self._rows = {} if collected is None else {number: row for row, number in enumerate(collected.ids.tolist())}

    def of(self, receiver: Split, inputs: Inputs, samples: Samples, ids: Tensor) -> Tensor:
        """The activations of those of the samples with these ids, whose inputs are given.

        Once the room is used up, others are computed each time.
        """
        if self._collected is not None:
            values: Tensor = self._collected.values[[self._rows[number] for number in ids.tolist()]]
            # Fewer samples may have been trimmed to fewer tokens.
            mask = None if isinstance(inputs, Tensor) or values.dim() != 3 else inputs.get(MASK)
            return values if mask is None else values[:, : mask.shape[1]]
        # Samples that are held out may be another set's, with the same ids.
        key = samples.fingerprint, ids.numpy().tobytes()
        if key not in self._parts:
            values = receiver.head(inputs)
            if values.nbytes > self._room:
                return values
            self._room -= values.nbytes
            self._parts[key] = values
        return self._parts[key]


@dataclass(frozen=True, eq=False)
class Problem:
    """What a matching is given: two frozen halves, the layer to be found between them, and samples."""

    sender: Split
    receiver: Split
    layer: Layer
    fit: Paired
    held_out: Paired | None
    seed: int = 0
    freeze: Freeze = "all"
    watch: Watcher = nobody
    natives: Natives | None = None

    def native(self, inputs: Inputs, samples: Samples, ids: Tensor) -> Tensor:
        """The receiver's own activations of these inputs, those of the samples with these ids."""
        natives = self.natives
        return self.receiver.head(inputs) if natives is None else natives.of(self.receiver, inputs, samples, ids)

    def carrier(self, sent: Activations, mask: Tensor | None) -> Callable[[Tensor], Tensor]:
        """Gives what the layer makes of these activations for some samples, by their numbers.

        The mask (n, tokens), if any, says which tokens count.
        """
        return lambda index: self.layer.carry(sent.values[index], None if mask is None else mask[index])


@dataclass(frozen=True)
class Findings:
    """What a matching reports beside the layer it has changed: how it ended, its figures, its curves."""

    status: str
    figures: Mapping[str, Any] = field(default_factory=dict)
    curves: Mapping[str, Tensor] = field(default_factory=dict)


@dataclass(frozen=True)
class Matching(Choice):
    """The choice of a matching. Leaves are frozen dataclasses with a `name` and their options."""

    what, error = "matching", MatchError
    holds_out: ClassVar[bool] = True
    """Whether some of the samples are held out for residuals that it reports, if no others are given for that."""

    @abc.abstractmethod
    def find(self, problem: Problem) -> Findings:
        """Set the problem's layer to the stitch that this way finds."""


def map_labels(samples: Samples | Paired, label_map: tuple[int, ...] | None) -> Tensor:
    """The samples' labels, through the label map if there is one.

    >>> three = Samples("three", torch.zeros(3, 1), torch.tensor([0, 1, 1]), torch.arange(3), classes=2)
    >>> map_labels(three, (7, 4))
    tensor([7, 4, 4])
    """
    shown = samples if isinstance(samples, Samples) else samples.receiver
    shown.require_labels("this matching", "'direct', 'downstream' and 'regression' match without labels.")
    if label_map is None:
        return samples.labels
    if len(label_map) < samples.classes:
        raise DataError(
            f"Expected label_map to have an entry for each of the {samples.classes} classes of "
            f"{samples.name}, but it has {len(label_map)}."
        )
    mapped = torch.tensor(label_map)[samples.labels.clamp(min=0)]
    return torch.where(samples.labels == UNASKED, UNASKED, mapped)


matchings: Registry[Matching] = Registry(Matching, "seamripper.matching", what="matching", error=MatchError)
"""Every matching by name. `matchings.make("task?epochs=3")` makes one: options of its training stand beside its own."""
