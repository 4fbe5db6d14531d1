"""Columns of a table: which of them hold the inputs and the labels, and the numbers that labels stand for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from seamripper._words import word_list
from seamripper.errors import DataError

LABELS = ("label", "labels", "target")
"""Columns of these names hold the labels, unless the caller says otherwise."""
_MOST = 10_000
"""Different labels that a column may have, to be one of labels."""


def label_column(names: Sequence[str], asked: str | None, who: str) -> str | None:
    """The column that holds the labels; None if there is none.

    >>> label_column(["text", "label"], None, "reviews"), label_column(["text"], None, "reviews")
    ('label', None)
    """
    if asked is None:
        return next((name for name in LABELS if name in names), None)
    require_column(asked, names, who)
    return asked


def require_column(column: str, names: Iterable[str], who: str) -> None:
    """Refuse a column that a table does not have."""
    if column not in list(names):
        raise DataError(f"{who} has no column {column!r}; it has {word_list(names)}.")


@dataclass(frozen=True)
class LabelNumbers:
    """The number of each label: of whole numbers themselves, of other labels their place in alphabetical order."""

    numbers: dict[Any, int]

    @classmethod
    def of(cls, values: Iterable[Any], who: str) -> LabelNumbers:
        """The numbers of the labels of a whole file, train and test.

        >>> LabelNumbers.of(["good", "bad", "good"], "reviews").numbers
        {'bad': 0, 'good': 1}
        >>> LabelNumbers.of(["3", "0"], "reviews").numbers
        {'0': 0, '3': 3}
        """
        known: set[Any] = set()
        for value in values:
            if value is None or value == "":
                raise DataError(f"Some rows of {who} have no label: give all of them one, or leave the labels out.")
            known.add(value)
            if len(known) > _MOST:
                raise DataError(f"{who} has more than {_MOST:,} different labels: is this the column of labels?")
        whole = {value: int(value) for value in known if _is_whole(value)}
        if len(whole) == len(known):
            return cls(dict(sorted(whole.items(), key=lambda item: item[1])))
        return cls({value: number for number, value in enumerate(sorted(known, key=str))})

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return max(self.numbers.values()) + 1

    def tensor(self, values: Iterable[Any]) -> Tensor:
        """Labels as numbers."""
        return torch.tensor([self.numbers[value] for value in values])


def _is_whole(value: Any) -> bool:
    """Whether a label is a number from 0, written or not."""
    return (isinstance(value, int) and value >= 0) or (isinstance(value, str) and value.isdecimal())
