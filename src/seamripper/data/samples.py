"""Samples: inputs with labels and ids, in order, and the fingerprint that names them."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import torch
from torch import Tensor
from torch.nn import functional as F

from seamripper._devices import move
from seamripper._doors import require, require_whole
from seamripper._fingerprint import join_fingerprints, tensor_fingerprint
from seamripper._notebook import short
from seamripper._words import shape_text
from seamripper.errors import DataError

Interpolation = Literal["nearest", "bilinear", "bicubic"]
VIEW = ("mean", "std", "size", "interpolation", "dtype", "range", "device")
"""What samples say of how they are shown."""
MASK = "attention_mask"
"""The named input that tells which tokens count: see `seamripper.data.padding`."""
UNKNOWN = -1
"""The label of every sample of a set without labels."""
_PICTURE = 4
"""Axes of pictures (n, channels, height, width); video has one more."""
UNASKED = -100
"""The label of a token that has none, where tokens have labels; PyTorch's cross-entropy leaves it out."""
Inputs: TypeAlias = Tensor | dict[str, Tensor]
"""What a model is called with: one tensor, or named tensors (`input_ids`, `attention_mask`); one row per sample."""


def first_input(inputs: Inputs) -> Tensor:
    """The inputs themselves, or the first of named ones."""
    return inputs if isinstance(inputs, Tensor) else next(iter(inputs.values()))


@dataclass(frozen=True, eq=False)
class Samples:
    """Inputs, labels and ids of a data set, with one row per sample.

    Pixels may be kept as bytes: `batch` turns them into floats, (x / 255 − mean) / std, so sixty thousand colour images
    take 141 MB instead of 564. Of named inputs, bytes are pixels only in pictures (n, channels, height, width): masks
    and token ids stay whole numbers. If pixels are floats, `range` gives the values of black and white. A model with an
    input contract gets pictures as its contract says, whatever `mean` and `std` are: these are for models without a
    contract. `size` and `dtype` are how a contract is met. `labels` is int64: (n), or (n, tokens) with a label for each
    token and -100 where a token has none. Samples without labels have -1 for each, and no classes. `ids` is int64, and
    unique within a data set over all its splits, so that no sample is used both to fit and to score; by default samples
    are numbered from 0.

    >>> pixels = torch.tensor([[[[0, 255]]], [[[255, 0]]]], dtype=torch.uint8)
    >>> two = Samples("toy", pixels, torch.tensor([0, 1]), torch.arange(2), classes=2, mean=0.5, std=0.5)
    >>> len(two), two.shape
    (2, (1, 1, 2))
    >>> two.batch(torch.tensor([1]))
    tensor([[[[ 1., -1.]]]])
    >>> Samples("bare", pixels).labelled, two.labelled
    (False, True)
    """

    name: str
    inputs: Inputs
    labels: Tensor = None  # type: ignore[assignment]  # None may be given, and is never kept.
    ids: Tensor = None  # type: ignore[assignment]
    classes: int = None  # type: ignore[assignment]
    mean: float | tuple[float, ...] = 0.0
    std: float | tuple[float, ...] = 1.0
    source: str = "memory"
    """Where the bytes came from, in words that a result can repeat."""
    range: tuple[float, float] | None = None
    """For pictures that are floats: the values of black and white."""
    ready: bool = False
    """Whether every model takes them just as `batch` gives them, whatever its input contract says."""
    size: tuple[int, int] | None = None
    """Height and width that pictures are brought to as they are shown; None leaves them as they are."""
    interpolation: Interpolation = "bilinear"
    dtype: torch.dtype | None = None
    """The precision in which floats are shown; None leaves them in theirs, and bytes become float32."""
    tokenizer: str | None = None
    """What made the token ids, where that is known."""
    assumed: bool = False
    """Whether `mean` and `std` were not given, so that a model without an input contract is shown a guess."""
    recipe: Mapping[str, Any] | None = None
    """The arguments of `load_data` that give these samples and no others; None if that is not known."""
    device: torch.device | None = None
    """The device that a batch is moved to as it is shown; None leaves it where the samples are."""

    def __post_init__(self) -> None:
        self._fill_in()
        self._require_kinds()
        for key, value in self.columns():
            if len(value) != len(self.labels):
                raise DataError(
                    f"Expected {self.name} to have as many {key} as labels ({len(self.labels)}), but got {len(value)}."
                )
        if len(self.labels) == 0:
            raise DataError(f"{self.name} is empty: a comparison needs at least two samples.")
        given = self.labels[self.labels != UNASKED] if self.per_token else self.labels
        if self.labelled and len(given) and (int(given.min()) < 0 or int(given.max()) >= self.classes):
            without = f", or to be {UNASKED} for a token that has none" if self.per_token else ""
            raise DataError(
                f"Expected the labels of {self.name} to lie in 0 … {self.classes - 1}{without}, "
                f"but got {int(given.min())} … {int(given.max())}."
            )
        for key, value in self.columns():
            if value.is_floating_point() and not bool(torch.isfinite(value).all()):
                bad = int((~torch.isfinite(value).flatten(1).all(1)).nonzero()[0])
                raise DataError(
                    f"{self.name} holds NaN or Inf in {key!r}, first in sample {bad} (id {int(self.ids[bad])}). "
                    "Repair or drop such samples before comparing models on them."
                )

    def _fill_in(self) -> None:
        """Labels and ids that were not given, and how many classes the labels name."""
        first = next(iter(self.inputs.values()), None) if isinstance(self.inputs, Mapping) else self.inputs
        n = len(first) if isinstance(first, Tensor) and first.dim() else 0
        if self.labels is None:
            object.__setattr__(self, "labels", torch.full((n,), UNKNOWN))
        if self.ids is None:
            object.__setattr__(self, "ids", torch.arange(n))
        if self.classes is None and isinstance(self.labels, Tensor) and self.labels.numel():
            # Of a few texts, no token may have a label.
            object.__setattr__(self, "classes", max(int(self.labels.max()) + 1, int(self.per_token)))

    @property
    def _one_token(self) -> bool:
        """Whether the inputs are texts of one token, so that labels (n, 1) are one per token, and not one too deep."""
        return any(value.dim() == 2 and value.shape[1] == 1 for key, value in self.columns() if key != "labels")

    @property
    def per_token(self) -> bool:
        """Whether each token has a label, (n, tokens), and not each sample."""
        return self.labels.dim() == 2

    @property
    def labels_by_sample(self) -> Tensor:
        """One label per sample (n), by which samples are grouped; -1 for each where tokens have labels, or nothing."""
        return self.labels.new_full((len(self),), UNKNOWN) if self.per_token else self.labels

    @property
    def labelled(self) -> bool:
        """Whether these samples have labels."""
        return self.classes > 0

    def require_labels(self, what: str, advice: str = "") -> None:
        """Refuse samples without labels for what needs them."""
        if not self.labelled:
            raise DataError(f"{self.name} has no labels, and {what} needs them.{advice and ' '}{advice}")

    def require_one_label(self, what: str, advice: str = "") -> None:
        """Refuse samples that do not have one label each for what needs that."""
        self.require_labels(what, advice)
        if self.per_token:
            raise DataError(
                f"{self.name} has a label for each token, and {what} needs one for each sample.{advice and ' '}{advice}"
            )

    def _require_kinds(self) -> None:
        """Tensors for tensors, a name for a name; labels that are whole numbers."""
        require(self.name, str, "name of the samples", error=DataError)
        advice = "Make one tensor of them: torch.stack(images), torch.tensor(labels)."
        for key, value in self.columns():
            require(value, Tensor, f"{key} of {self.name}", error=DataError, advice=advice)
            if value.dim() == 0:
                raise DataError(f"Expected {key} of {self.name} to have a row for each sample, but got one number.")
        for key in ("labels", "ids"):
            column = getattr(self, key)
            per_token = key == "labels" and column.dim() == 2 and (column.shape[1] != 1 or self._one_token)
            if (column.dim() != 1 and not per_token) or column.is_floating_point() or column.is_complex():
                each = "each sample or each token of it" if key == "labels" else "each sample"
                raise DataError(
                    f"Expected {key} of {self.name} to be whole numbers, one for {each}, but got "
                    f"{str(column.dtype).removeprefix('torch.')} of shape {tuple(column.shape)}."
                )
        unknown = isinstance(self.labels, Tensor) and not self.per_token and bool((self.labels == UNKNOWN).all())
        require_whole(self.classes, f"classes of {self.name}", least=0 if unknown else 1, error=DataError)

    def __repr__(self) -> str:
        name, size = short(self.name, 60), shape_text(self.shape)
        classes = f"classes = {self.classes}" if self.labelled else "no labels"
        classes += ", a label per token" if self.per_token else ""
        return f"Samples({name!r}, n = {len(self)}, {size}, {classes})"

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one sample's (first) input, as it is shown."""
        first = first_input(self.inputs)
        return tuple(first.shape[1:]) if self.size is None else (first.shape[1], *self.size)

    @property
    def pictures(self) -> bool:
        """Whether these are pictures whose black and white are known: bytes, or floats with a range."""
        if not isinstance(self.inputs, Tensor) or self.inputs.dim() != 4:
            return False
        return self.inputs.dtype == torch.uint8 or self.range is not None

    def in_view(self, dtype: torch.dtype | None, **view: Any) -> Samples:
        """The same samples, shown in another way: by `mean`, `std`, `size`, `interpolation` and precision."""
        if all(getattr(self, name) == value for name, value in {"dtype": dtype, **view}.items()):
            return self
        other = replace(self, dtype=dtype, **view)
        if "_prints" in vars(self):
            # It shares the columns, which need not be fingerprinted again.
            vars(other)["_prints"] = self._prints
        return other

    @functools.cached_property
    def fingerprint(self) -> str:
        """sha256 over inputs, labels, ids and the normalisation: same fingerprint, same samples."""
        return self.fingerprint_of(self._prints)

    def fingerprint_of(self, columns: Mapping[str, str]) -> str:
        """The fingerprint of samples that are shown as these are, and have columns of these fingerprints."""
        prints = dict(columns)
        # What is not said does not count, so that samples without it keep the fingerprints that they have always had.
        view: dict[str, object] = {
            "range": self.range,
            "size": self.size,
            "dtype": self.dtype,
            "tokenizer": self.tokenizer,
        }
        view["ready"] = self.ready or None
        if self.size is not None:
            view["interpolation"] = self.interpolation
        prints |= {name: str(value) for name, value in view.items() if value is not None}
        return join_fingerprints({**prints, "normalisation": f"{self.mean} {self.std}"})

    @functools.cached_property
    def _prints(self) -> dict[str, str]:
        return {key: tensor_fingerprint(value) for key, value in self.columns()}

    def with_inputs(self, inputs: Inputs, *, name: str) -> Samples:
        """The same samples with other inputs, given in the way that `batch` shows these; pictures stay pictures."""
        if not self.pictures:
            return replace(self, name=name, inputs=inputs, recipe=None)
        assert isinstance(inputs, Tensor)
        mean, std = (torch.tensor(value).reshape(-1, 1, 1).to(inputs) for value in (self.mean, self.std))
        return replace(
            self, name=name, inputs=inputs * std + mean, range=(0.0, 1.0), size=None, dtype=None, recipe=None
        )

    def batch(self, index: Tensor | slice) -> Inputs:
        """The inputs at `index`, ready for a model."""
        if isinstance(self.inputs, Tensor):
            return self._prepare(self._show(self.inputs[index]))
        return {key: self._prepare_named(key, self._show(value[index])) for key, value in self.inputs.items()}

    def _show(self, rows: Tensor) -> Tensor:
        """The rows on the device of the model that is shown them: as bytes, if they are kept so, which are fewer."""
        return rows if self.device is None else move(rows, self.device)

    def fitting(self, most: int) -> int:
        """How many of them to show at a time: as many as their size allows, at most so many."""
        return fitting_batch(self.shape, most)

    def batches(self, size: int, order: Tensor | None = None) -> Iterator[tuple[Inputs, Tensor]]:
        """(inputs, labels) in steps of `size`, in the order of the samples or in the one given."""
        for start in range(0, len(self), size):
            index = slice(start, start + size) if order is None else order[start : start + size]
            yield self.batch(index), self.labels[index]

    def take(self, index: Tensor | slice) -> Samples:
        """These samples and no others, as Samples."""
        rows = {key: value[index] for key, value in self.columns()}
        labels, ids = rows.pop("labels"), rows.pop("ids")
        inputs: Inputs = rows["inputs"] if isinstance(self.inputs, Tensor) else rows
        return replace(self, inputs=inputs, labels=labels, ids=ids, recipe=None)

    def first(self, n: int | None) -> Samples:
        """The first `n` samples (all of them if `n` is None or larger)."""
        return self if n is None or n >= len(self) else self.take(slice(0, n))

    def first_classes(self, k: int) -> Samples:
        """The samples of the first `k` classes, 0 … k − 1, as samples of no more classes than these."""
        if not 2 <= k <= self.classes:
            raise DataError(
                f"Expected classes to be at least 2, and at most the {self.classes} of {self.name}, but got {k}."
            )
        if k == self.classes:
            return self
        self.require_one_label("a choice of classes")
        return replace(self.take(self.labels < k), classes=k)

    def draw(self, n: int, *, seed: int = 0) -> Samples:
        """`n` samples drawn without replacement, in their old order; all of them if there are no more."""
        if n >= len(self):
            return self
        if n < 1:
            raise DataError(f"Expected at least 1 sample to be drawn from {self.name}, but got n = {n}.")
        order = torch.randperm(len(self), generator=torch.Generator().manual_seed(seed))
        return self.take(order[:n].sort().values)

    def _prepare_named(self, name: str, rows: Tensor) -> Tensor:
        """A named input ready for a model: bytes are pixels where they are pictures, else masks or token ids."""
        if rows.dtype != torch.uint8 or (rows.dim() >= _PICTURE and "mask" not in name):
            return self._prepare(rows)
        # As tokenizers give them: in bytes, a model's `mask - 1` would come to 255.
        return rows.long()

    def _prepare(self, rows: Tensor) -> Tensor:
        if rows.dtype == torch.uint8:
            ready = self._normalise(self._resize(rows.float(), 0.0, 255.0), 0.0, 255.0)
        elif rows.is_floating_point() and self.range is not None:
            ready = self._normalise(self._resize(rows.clone(), *self.range), *self.range)
        else:
            ready = rows
        return ready if self.dtype is None or not ready.is_floating_point() else ready.to(self.dtype)

    def _resize(self, rows: Tensor, black: float, white: float) -> Tensor:
        """Pictures in the size that they are shown in; smoothed where they shrink, so that no pixel is passed over."""
        if self.size is None or tuple(rows.shape[-2:]) == self.size:
            return rows
        if self.interpolation == "nearest":
            return F.interpolate(rows, self.size, mode="nearest")
        sized = F.interpolate(rows, self.size, mode=self.interpolation, align_corners=False, antialias=True)
        return sized.clamp_(black, white)

    def _normalise(self, rows: Tensor, black: float, white: float) -> Tensor:
        """((x − black) / (white − black) − mean) / std, in place."""
        spread = white - black
        if isinstance(self.mean, tuple) or isinstance(self.std, tuple):
            mean, std = (torch.tensor(value, device=rows.device).reshape(-1, 1, 1) for value in (self.mean, self.std))
            return rows.sub_(black).div_(spread).sub_(mean).div_(std)
        # One multiplication and one addition.
        return rows.mul_(1 / (spread * self.std)).sub_(self.mean / self.std + black / (spread * self.std))

    def columns(self) -> Iterator[tuple[str, Tensor]]:
        """Inputs, labels and ids by name, each with one row per sample."""
        if isinstance(self.inputs, Mapping):
            yield from self.inputs.items()
        else:
            yield "inputs", self.inputs
        yield "labels", self.labels
        yield "ids", self.ids


def join_samples(parts: Sequence[Samples]) -> Samples:
    """Samples that follow each other, as one set.

    >>> few = Samples("few", torch.eye(4), torch.tensor([0, 1, 2, 0]))
    >>> join_samples([few.take(slice(0, 3)), few.take(slice(3, 4))]).labels
    tensor([0, 1, 2, 0])
    """
    first = parts[0]
    if len(parts) == 1:
        return first
    columns = {key: torch.cat([dict(part.columns())[key] for part in parts]) for key, _ in first.columns()}
    labels, ids = columns.pop("labels"), columns.pop("ids")
    inputs: Inputs = columns["inputs"] if isinstance(first.inputs, Tensor) else columns
    return replace(
        first, inputs=inputs, labels=labels, ids=ids, classes=max(part.classes for part in parts), recipe=None
    )


def batches_in(n: int, size: int) -> int:
    """How many steps of `size` cover `n` samples.

    >>> batches_in(257, 128)
    3
    """
    return math.ceil(n / size)


_VALUES = 1 << 22
"""So many values of inputs are shown at a time: 27 pictures of 3 × 224 × 224, any number up to 1365 of 3 × 32 × 32."""


def fitting_batch(shape: Sequence[int], most: int) -> int:
    """How many inputs of this shape to show at a time: as many as their size allows, from 8 to `most`.

    What a network computes on its way takes memory in proportion to its inputs.

    >>> fitting_batch((3, 32, 32), 256), fitting_batch((3, 224, 224), 256), fitting_batch((3, 1024, 1024), 256)
    (256, 27, 8)
    """
    return min(most, max(8, _VALUES // max(1, math.prod(shape))))


def batch_bounds(n: int, size: int) -> Iterator[tuple[int, int]]:
    """Where each batch starts and stops; a last batch of one, which batch norms fail on, joins the previous.

    >>> list(batch_bounds(9, 4))
    [(0, 4), (4, 9)]
    """
    starts = list(range(0, n, size))
    if n % size == 1 and len(starts) > 1:
        starts.pop()
    yield from zip(starts, [*starts[1:], n], strict=True)
