"""Samples: inputs with labels and ids, in order, and the fingerprint that names them."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from seamripper._doors import require, require_whole
from seamripper._fingerprint import joined, tensor_fingerprint
from seamripper._notebook import short
from seamripper._words import shown_shape
from seamripper.errors import DataError

Inputs: TypeAlias = Tensor | dict[str, Tensor]
"""What a model is called with: one tensor, or named tensors (`input_ids`, `attention_mask`), a row a sample."""


@dataclass(frozen=True, eq=False)
class Samples:
    """Inputs, labels and ids of a data set, a row a sample.

    Pixels may be kept as bytes: `batch` turns them into floats, (x / 255 − mean) / std, so sixty thousand
    colour images take 141 MB and not 564. `labels` is int64; `ids` is int64, and unique within a data set over all
    its splits, so that no sample is fitted on and scored on.

    >>> pixels = torch.tensor([[[[0, 255]]], [[[255, 0]]]], dtype=torch.uint8)
    >>> two = Samples("toy", pixels, torch.tensor([0, 1]), torch.arange(2), classes=2, mean=0.5, std=0.5)
    >>> len(two), two.shape
    (2, (1, 1, 2))
    >>> two.batch(torch.tensor([1]))
    tensor([[[[ 1., -1.]]]])
    """

    name: str
    inputs: Inputs
    labels: Tensor
    ids: Tensor
    classes: int
    mean: float = 0.0
    std: float = 1.0
    source: str = "memory"
    """Where the bytes came from, in words that a result can repeat."""
    shown: Samples | None = None
    """What a sender is shown in place of these, row by row: noise, another image. The receiver is shown these."""

    def __post_init__(self) -> None:
        self._require_kinds()
        for key, value in self._columns():
            if len(value) != len(self.labels):
                raise DataError(
                    f"Expected {self.name} to have as many {key} as labels ({len(self.labels)}), but got {len(value)}."
                )
        if self.shown is not None and len(self.shown) != len(self):
            raise DataError(
                f"Expected {self.name} to show a sender as many samples as the receiver ({len(self)}), "
                f"but got {len(self.shown)}."
            )
        if len(self.labels) == 0:
            raise DataError(f"{self.name} is empty: a comparison needs at least two samples.")
        if int(self.labels.min()) < 0 or int(self.labels.max()) >= self.classes:
            raise DataError(
                f"Expected the labels of {self.name} to lie in 0 … {self.classes - 1}, "
                f"but got {int(self.labels.min())} … {int(self.labels.max())}."
            )
        for key, value in self._columns():
            if value.is_floating_point() and not bool(torch.isfinite(value).all()):
                bad = int((~torch.isfinite(value).flatten(1).all(1)).nonzero()[0])
                raise DataError(
                    f"{self.name} holds NaN or Inf in {key!r}, first in sample {bad} (id {int(self.ids[bad])}). "
                    "Repair or drop such samples before comparing models on them."
                )

    def _require_kinds(self) -> None:
        """Tensors for tensors, a name for a name; labels that are whole numbers."""
        require(self.name, str, "name of the samples", error=DataError)
        advice = "Make one tensor of them: torch.stack(images), torch.tensor(labels)."
        for key, value in self._columns():
            require(value, Tensor, f"{key} of {self.name}", error=DataError, advice=advice)
            if value.dim() == 0:
                raise DataError(f"Expected {key} of {self.name} to have a row for each sample, but got one number.")
        for key in ("labels", "ids"):
            column = getattr(self, key)
            if column.dim() != 1 or column.is_floating_point() or column.is_complex():
                raise DataError(
                    f"Expected {key} of {self.name} to be whole numbers, one for each sample, but got "
                    f"{str(column.dtype).removeprefix('torch.')} of shape {tuple(column.shape)}."
                )
        require_whole(self.classes, f"classes of {self.name}", least=1, error=DataError)

    def __repr__(self) -> str:
        shown = "" if self.shown is None else f", a sender is shown {short(self.shown.name, 60)!r}"
        name, size = short(self.name, 60), shown_shape(self.shape)
        return f"Samples({name!r}, n = {len(self)}, {size}, classes = {self.classes}{shown})"

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one sample's (first) input."""
        first = self.inputs if isinstance(self.inputs, Tensor) else next(iter(self.inputs.values()))
        return tuple(first.shape[1:])

    @property
    def for_sender(self) -> Samples:
        """What a sender is shown: these samples, unless something else is `shown` to it."""
        return self if self.shown is None else self.shown

    @property
    def as_it_is(self) -> Samples:
        """These samples, and nothing else shown to a sender."""
        return self if self.shown is None else replace(self, shown=None)

    @functools.cached_property
    def fingerprint(self) -> str:
        """sha256 over inputs, labels, ids and the normalisation: same fingerprint, same samples."""
        prints = {key: tensor_fingerprint(value) for key, value in self._columns()}
        if self.shown is not None:
            prints["shown to the sender"] = self.shown.fingerprint
        return joined({**prints, "normalisation": f"{self.mean} {self.std}"})

    def batch(self, index: Tensor | slice) -> Inputs:
        """The inputs at `index`, ready for a model."""
        if isinstance(self.inputs, Tensor):
            return self._ready(self.inputs[index])
        return {key: self._ready(value[index]) for key, value in self.inputs.items()}

    def batches(self, size: int, order: Tensor | None = None) -> Iterator[tuple[Inputs, Tensor]]:
        """(inputs, labels) in steps of `size`, in the order of the samples or in the one given."""
        for start in range(0, len(self), size):
            index = slice(start, start + size) if order is None else order[start : start + size]
            yield self.batch(index), self.labels[index]

    def take(self, index: Tensor | slice) -> Samples:
        """These samples and no others, as Samples."""
        rows = {key: value[index] for key, value in self._columns()}
        labels, ids = rows.pop("labels"), rows.pop("ids")
        inputs: Inputs = rows["inputs"] if isinstance(self.inputs, Tensor) else rows
        shown = None if self.shown is None else self.shown.take(index)
        return replace(self, inputs=inputs, labels=labels, ids=ids, shown=shown)

    def first(self, n: int | None) -> Samples:
        """The first `n` samples (all of them if `n` is None or larger)."""
        return self if n is None or n >= len(self) else self.take(slice(0, n))

    def first_classes(self, k: int) -> Samples:
        """The samples of the first `k` classes, 0 … k − 1, as samples of no more classes than these."""
        if not 2 <= k <= self.classes:
            raise DataError(
                f"Expected classes to be at least 2, and at most the {self.classes} of {self.name}, but got {k}."
            )
        return self if k == self.classes else replace(self.take(self.labels < k), classes=k)

    def draw(self, n: int, *, seed: int = 0) -> Samples:
        """`n` samples drawn without replacement, in their old order; all of them if there are no more."""
        if n >= len(self):
            return self
        if n < 1:
            raise DataError(f"Expected at least 1 sample to be drawn from {self.name}, but got n = {n}.")
        order = torch.randperm(len(self), generator=torch.Generator().manual_seed(seed))
        return self.take(order[:n].sort().values)

    def _ready(self, rows: Tensor) -> Tensor:
        if rows.dtype == torch.uint8:
            # One multiplication and one addition, in place on the fresh float copy.
            return rows.float().mul_(1 / (255 * self.std)).sub_(self.mean / self.std)
        return rows

    def _columns(self) -> Iterator[tuple[str, Tensor]]:
        if isinstance(self.inputs, Mapping):
            yield from self.inputs.items()
        else:
            yield "inputs", self.inputs
        yield "labels", self.labels
        yield "ids", self.ids


def require_samples(value: object, name: str) -> None:
    """Refuse what is no Samples, and say how to make some of it.

    >>> require_samples("mnist", "fit")
    Traceback (most recent call last):
      ...
    seamripper.errors.DataError: Expected fit to be Samples, but got 'mnist'. Load them: load_data('mnist', 'train').
    """
    if isinstance(value, str):
        advice = f"Load them: load_data({value!r}, 'train')."
    elif isinstance(value, (Dataset, DataLoader)):
        items = "dataset" if isinstance(value, Dataset) else "loader.dataset"
        advice = (
            f"Make Samples of it: Samples('mine', torch.stack([x for x, _ in {items}]), torch.tensor([y for _, y in "
            f"{items}]), torch.arange(len({items})), classes=10)."
        )
    else:
        advice = "Load some, load_data('mnist', 'train'), or make some: Samples(name, inputs, labels, ids, classes)."
    require(value, Samples, name, error=DataError, advice=advice)


def both(samples: Samples, size: int) -> Iterator[tuple[tuple[Inputs, Tensor], tuple[Inputs, Tensor]]]:
    """Batches of what the receiver is shown, each with the batch that a sender is shown; often they are the same."""
    if samples.shown is None:
        yield from ((batch, batch) for batch in samples.batches(size))
    else:
        yield from zip(samples.batches(size), samples.shown.batches(size), strict=True)


def batches_in(n: int, size: int) -> int:
    """How many steps of `size` cover `n` samples.

    >>> batches_in(257, 128)
    3
    """
    return math.ceil(n / size)


def batch_bounds(n: int, size: int) -> Iterator[tuple[int, int]]:
    """Where each batch starts and stops; a last batch of one, which batch norms fail on, joins the previous.

    >>> list(batch_bounds(9, 4))
    [(0, 4), (4, 9)]
    """
    starts = list(range(0, n, size))
    if n % size == 1 and len(starts) > 1:
        starts.pop()
    yield from zip(starts, [*starts[1:], n], strict=True)
