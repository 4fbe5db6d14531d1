"""Items: what data sets, loaders and generators give, a sample or a batch at a time, as inputs and labels.

An item is the inputs alone, a pair (inputs, label), or a dict with a value for each column. Inputs are numbers, a
picture of Pillow, a text, or named inputs.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from seamripper._doors import in_words
from seamripper._words import word_list
from seamripper.data.columns import LABELS, require_column
from seamripper.data.images import require_eight_bits
from seamripper.data.samples import Inputs
from seamripper.data.stream import Rows
from seamripper.data.tokens import Tokenizer
from seamripper.errors import DataError

_AT_ONCE = 64
"""Samples that are made one tensor, where they come one by one."""


@dataclass(frozen=True, eq=False)
class Reader:
    """How items are read: which columns are the inputs and which the labels, and what makes tokens of text."""

    name: str
    inputs: str | Sequence[str] | None = None
    labels: str | bool | None = None
    """A column; None finds it by its name, and False leaves labels out."""
    tokenizer: Tokenizer | None = None

    def rows_of_items(self, items: Iterable[Any]) -> Iterator[Rows]:
        """The rows of items that are one sample each."""
        remaining = iter(items)
        while group := list(itertools.islice(remaining, _AT_ONCE)):
            yield self._rows([self._columns(item) for item in group])

    def rows_of_batches(self, batches: Iterable[Any]) -> Iterator[Rows]:
        """The rows of items that are batches."""
        for batch in batches:
            columns, labels = self._columns(batch)
            yield self._tensors(columns, labels)

    def _rows(self, group: Sequence[tuple[dict[str, Any], Any]]) -> Rows:
        """The rows of samples, each with its columns and its label."""
        labels = [label for _, label in group if label is not None]
        if labels and len(labels) != len(group):
            raise DataError(f"Some samples of {self.name} have a label and others have none: give all of them or none.")
        names = list(group[0][0])
        if other := next((columns for columns, _ in group if list(columns) != names), None):
            raise DataError(
                f"Expected all samples of {self.name} to have the inputs {word_list(names)}, but one has "
                f"{word_list(other)}."
            )
        return self._tensors({key: [columns[key] for columns, _ in group] for key in names}, labels or None)

    def _columns(self, item: Any) -> tuple[dict[str, Any], Any]:
        """The inputs by name, and the label or None; inputs without a name have the name ''."""
        label = None
        if isinstance(item, (tuple, list)) and not _numbers(item):
            if len(item) not in (1, 2):
                raise DataError(
                    f"Expected each item of {self.name} to be inputs, a pair (inputs, label) or a dict, but got "
                    f"{in_words(item)} of {len(item)}."
                )
            item, label = item[0], item[1] if len(item) == 2 and self.labels is not False else None
        if not isinstance(item, Mapping):
            return {"": item}, label
        columns = dict(item)
        if label is None:
            column = self._label_column(columns)
            label = columns.pop(column) if column else None
        return self._inputs(columns), label if self.labels is not False else None

    def _label_column(self, columns: Mapping[str, Any]) -> str | None:
        if isinstance(self.labels, str):
            require_column(self.labels, columns, self.name)
            return self.labels
        return next((name for name in LABELS if name in columns), None)

    def _inputs(self, columns: dict[str, Any]) -> dict[str, Any]:
        """The columns that a model is shown: one alone has no name, as it is the model's first argument."""
        if isinstance(self.inputs, str):
            require_column(self.inputs, columns, self.name)
            return {"": columns[self.inputs]}
        if self.inputs is not None:
            for name in self.inputs:
                require_column(name, columns, self.name)
            return {name: columns[name] for name in self.inputs}
        if not columns:
            raise DataError(f"{self.name} has labels and no inputs.")
        if len(columns) > 1 and "input_ids" in columns:
            if texts := [name for name, value in columns.items() if _holds_text(value)]:
                others = [name for name in columns if name not in texts]
                raise DataError(
                    f"{self.name} has token ids, and text beside them in {word_list(texts)}. Say which columns the "
                    f"models are shown: inputs={others!r}."
                )
            return columns
        if len(columns) == 1:
            ((name, value),) = columns.items()
            return columns if name == "input_ids" else {"": value}
        raise DataError(
            f"{self.name} has the columns {word_list(columns)}. Say which of them the models are shown: "
            f"inputs={next(iter(columns))!r}."
        )

    def _tensors(self, columns: Mapping[str, Any], labels: Any) -> Rows:
        made: dict[str, Tensor] = {}
        for key, values in columns.items():
            if _texts(values):
                made |= self._tokens(values)
            else:
                made[key] = self._tensor(values, key or "the inputs")
        inputs: Inputs = made[""] if list(made) == [""] else made
        return inputs, None if labels is None else self._whole(labels)

    def _tokens(self, texts: Sequence[str]) -> dict[str, Tensor]:
        if self.tokenizer is None:
            raise DataError(
                f"{self.name} holds text, and models read tokens. Say what makes them: tokenizer='FOLDER' for that of "
                "a Hugging Face model, or tokenizer='bytes'."
            )
        return self.tokenizer(texts)

    def _whole(self, labels: Any) -> Tensor:
        tensor = self._tensor(labels, "the labels")
        if tensor.is_floating_point() or tensor.is_complex():
            raise DataError(
                f"Expected the labels of {self.name} to be whole numbers, but got "
                f"{str(tensor.dtype).removeprefix('torch.')}. To leave them out, give labels=False."
            )
        return tensor.to(torch.int64)

    def _tensor(self, values: Any, what: str) -> Tensor:
        """Values as one tensor with one row per sample."""
        try:
            if isinstance(values, Tensor):
                return values
            if isinstance(values, np.ndarray):
                return _from_array(values)
            if isinstance(values[0], Tensor):
                return torch.stack(list(values))
            if hasattr(values[0], "convert") and hasattr(values[0], "mode"):
                return torch.stack([_picture(value, self.name) for value in values])
            return _from_array(np.stack([np.asarray(value) for value in values]))
        except (TypeError, ValueError, RuntimeError) as e:
            raise DataError(
                f"Expected {what} of {self.name} to be numbers of one shape for all samples, but {e}. Resize pictures "
                "to one size, and pad texts to one length."
            ) from e


def _numbers(item: Sequence[Any]) -> bool:
    """Whether a list is one sample's numbers, and not a pair."""
    return isinstance(item, list) and all(isinstance(value, (int, float)) for value in item)


def _texts(values: Any) -> bool:
    return isinstance(values, (list, tuple)) and bool(values) and isinstance(values[0], str)


def _holds_text(value: Any) -> bool:
    """Whether it is a text, or a list of texts or of words."""
    return isinstance(value, str) or (isinstance(value, (list, tuple)) and bool(value) and _holds_text(value[0]))


def _from_array(array: np.ndarray[Any, Any]) -> Tensor:
    if array.dtype.kind not in "fiub":
        raise TypeError(f"they are {array.dtype}")
    # A copy, because torch warns of arrays that cannot be written to. Networks compute in float32, whatever numpy does.
    plain = np.array(array, dtype=np.float32 if array.dtype.kind == "f" and array.dtype.itemsize > 4 else None)
    return torch.from_numpy(plain.astype(plain.dtype.newbyteorder("="), copy=False))


def _picture(image: Any, who: str) -> Tensor:
    """A picture of Pillow as bytes (channels, height, width)."""
    require_eight_bits(image, f"A picture of {who}")
    plain = image if image.mode in ("L", "RGB") else image.convert("RGB")
    pixels = torch.from_numpy(np.array(plain))
    return pixels[None] if pixels.dim() == 2 else pixels.permute(2, 0, 1).contiguous()
