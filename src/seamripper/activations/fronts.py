"""Fronts: heads that compute the activations of an input once, however often it is shown to them."""

from __future__ import annotations

import contextlib
import hashlib
import math
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor, nn

from seamripper._devices import move, to_memory
from seamripper._fingerprint import tensors_of
from seamripper.activations.collect import room
from seamripper.cut.halves import Head
from seamripper.cut.split import Split
from seamripper.data.samples import Inputs, first_input
from seamripper.errors import FileError

MEMORY = 1 << 30
"""Activations are kept in this many bytes of memory, and on disk beyond that, unless the caller says otherwise."""
_VALUES, _FEWEST = 1 << 18, 4
"""Values of inputs that a front is shown at a time, and inputs at least: 4 of 3 × 224 × 224, 85 of 3 × 32 × 32. With 27
in place of 4, EfficientNet-Lite0 took five times as long: memory that is larger than an allocator keeps is given back
and taken anew for each layer."""


class Fronts:
    """The activations that several networks' heads have shown, kept by the content of each input.

    Inputs are told apart by their bytes, so samples that are drawn, shuffled or paired in another way are found again.
    What is kept beyond `memory` bytes goes to files in `folder` (by default the system's temporary folder), which
    vanish with the process; where there is no room for them either, activations are computed each time.

    >>> from torch import nn
    >>> from seamripper.cut import split
    >>> fronts = Fronts()
    >>> half = fronts.keep(split(nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 2)), "0", torch.zeros(1, 4)))
    >>> once, again = half.head(torch.eye(4)), half.head(torch.eye(4).flip(0))
    >>> torch.equal(once, again.flip(0)), fronts.computed, fronts.found
    (True, 4, 4)
    """

    def __init__(self, memory: int = MEMORY, folder: Path | None = None) -> None:
        self.memory, self.folder = memory, folder
        self.computed, self.found = 0, 0
        """How many inputs were shown to a network, and for how many it was not needed."""
        self.keeps = True
        self._fronts: dict[tuple[int, str], _Front] = {}

    def keep(self, half: Split) -> Split:
        """The same split with a head that keeps what it computes; one that computes nothing stays as it is."""
        if isinstance(half.head, KeepingHead):
            return half
        if not half.head.computes or not tensors_of(half.model.module):
            return half
        front = self._fronts.setdefault(half.front, _Front(half.model.module))
        return replace(half, head=KeepingHead(half.head, front, self))

    @contextlib.contextmanager
    def keeping_nothing(self) -> Iterator[None]:
        """Within, inputs are shown that will not be shown again: nothing is looked up, and nothing is kept."""
        before, self.keeps = self.keeps, False
        try:
            yield
        finally:
            self.keeps = before

    def forget(self, half: Split) -> None:
        """Let go of what was kept of one network."""
        if half.front in self._fronts:
            self._fronts[half.front].clear()

    def clear(self) -> None:
        """Let go of all that was kept."""
        for front in self._fronts.values():
            front.clear()

    def store(self, values: Tensor, front: _Front) -> Tensor | None:
        """A copy of these activations, in memory or on disk; None if there is room in neither."""
        if values.nbytes + sum(each.in_memory for each in self._fronts.values()) <= self.memory:
            front.in_memory += values.nbytes
            return to_memory(values).clone()
        try:
            place = room(tuple(values.shape), values.dtype, self.folder or Path(tempfile.gettempdir()))
        except FileError:
            return None
        return place.copy_(to_memory(values))


class _Front:
    """What was kept of one network, by the name of the input; the module is held on to, as its id is its key."""

    def __init__(self, module: nn.Module) -> None:
        self.module = module
        self.rows: dict[bytes, Tensor] = {}
        self.in_memory = 0

    def clear(self) -> None:
        self.rows.clear()
        self.in_memory = 0


class KeepingHead(Head):
    """A head whose activations are kept, so that the same input is not computed again."""

    def __init__(self, head: Head, front: _Front, fronts: Fronts) -> None:
        super().__init__()
        self.head, self._front, self._fronts = head, front, fronts

    def forward(self, inputs: Inputs) -> Tensor:
        """The activations at the cut; a new tensor, as what comes behind may write into it."""
        n = len(first_input(inputs))
        if not self._fronts.keeps:
            self._fronts.computed += n
            return self._compute(inputs)
        names, rows = _row_names(inputs), self._front.rows
        places: dict[bytes, int] = {}
        for place, name in enumerate(names):
            if name not in rows:
                places.setdefault(name, place)
        self._fronts.computed += len(places)
        self._fronts.found += n - len(places)
        new: dict[bytes, Tensor] = {}
        if places:
            values = self._compute(inputs if len(places) == n else _take(inputs, torch.tensor(list(places.values()))))
            stored = self._fronts.store(values, self._front)
            if stored is not None:
                rows.update(zip(places, stored, strict=True))
            if len(places) == n:
                return values
            new = dict(zip(places, to_memory(values), strict=True))
        kept = torch.stack([new[name] if name in new else rows[name] for name in names])
        return move(kept, first_input(inputs).device)

    def knows(self, inputs: Inputs) -> bool:
        """Whether all of them are kept."""
        return self._fronts.keeps and all(name in self._front.rows for name in _row_names(inputs))

    def _compute(self, inputs: Inputs) -> Tensor:
        """The head's activations, so few inputs at a time that what it computes on its way stays small."""
        n, values = len(first_input(inputs)), math.prod(first_input(inputs).shape[1:])
        size = max(_FEWEST, _VALUES // max(1, values))
        with torch.no_grad():
            if n <= size:
                activations: Tensor = self.head(inputs)
                return activations
            return torch.cat([self.head(_take(inputs, rows)) for rows in torch.arange(n).split(size)])  # type: ignore[no-untyped-call]


def _take(inputs: Inputs, rows: Tensor) -> Inputs:
    rows = move(rows, first_input(inputs).device)
    return inputs[rows] if isinstance(inputs, Tensor) else {name: value[rows] for name, value in inputs.items()}


def _row_names(inputs: Inputs) -> list[bytes]:
    """A short name for each row: equal for equal bytes of equal shape and type.

    >>> a, b, c = _row_names(torch.tensor([[1.0, 2.0], [1.0, 2.0], [2.0, 1.0]]))
    >>> a == b, a == c
    (True, False)
    """
    columns = {"": inputs} if isinstance(inputs, Tensor) else inputs
    n = len(first_input(inputs))
    parts = []
    for name, column in sorted(columns.items()):
        plain = to_memory(column.detach()).contiguous()
        kind = f"{name} {plain.dtype} {tuple(plain.shape[1:])}".encode()
        # Viewed as bytes because numpy knows no bfloat16.
        parts.append((kind, plain.reshape(n, -1).view(torch.uint8).numpy()))
    names = []
    for row in range(n):
        digest = hashlib.blake2b(digest_size=16)
        for kind, values in parts:
            digest.update(kind)
            digest.update(values[row].data)
        names.append(digest.digest())
    return names
