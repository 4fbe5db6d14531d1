"""Columns of a table: which of them hold the inputs and the labels, and the numbers that labels stand for."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from seamripper._words import word_list
from seamripper.data.samples import UNASKED
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
    """The number of each label: of whole numbers from 0 on themselves, of words their place in the alphabet.

    Words that a model names its classes by have the numbers that it gives them, whether they are written in capitals.
    Numbers may be written, and 3.0 is the whole number 3. If several are negative, or if there are -1 and 1 alone,
    numbers have their places in order.
    """

    numbers: dict[Any, int]

    @classmethod
    def of(cls, values: Iterable[Any], who: str, *, classes: Mapping[str, int] | None = None) -> LabelNumbers:
        """The numbers of the labels of a whole file, train and test; `classes` are those of a model, by their names.

        >>> LabelNumbers.of(["good", "bad", "good"], "reviews").numbers
        {'bad': 0, 'good': 1}
        >>> LabelNumbers.of(["3", "0"], "reviews").numbers, LabelNumbers.of([10.0, 2.0], "reviews").numbers
        ({'0': 0, '3': 3}, {2.0: 2, 10.0: 10})
        >>> LabelNumbers.of(["good", "bad"], "reviews", classes={"GOOD": 0, "BAD": 1}).numbers
        {'bad': 1, 'good': 0}
        """
        known: set[Any] = set()
        for value in _each_label(values):
            if value is None or value == "" or value != value:
                raise DataError(f"Some rows of {who} have no label: give all of them one, or leave the labels out.")
            known.add(value)
            if len(known) > _MOST:
                raise DataError(f"{who} has more than {_MOST:,} different labels: is this the column of labels?")
        sizes = {value: size for value in known if (size := _number(value)) is not None}
        if sizes and all(_is_nan(value) for value in known - sizes.keys()) and len(sizes) < len(known):
            raise DataError(f"Some rows of {who} have NaN for a label: give all of them one, or leave the labels out.")
        if len(sizes) < len(known):
            return cls(_word_numbers(sorted(known, key=str), classes or {}, who))
        _require_whole(sizes, who)
        ordered = sorted(sizes, key=sizes.__getitem__)
        if sizes[ordered[0]] >= 0:
            return cls({value: int(sizes[value]) for value in ordered})
        _require_no_mark(list(sizes.values()), who)
        places = {size: place for place, size in enumerate(sorted(set(sizes.values())))}
        return cls({value: places[sizes[value]] for value in ordered})

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return max(self.numbers.values()) + 1

    def tensor(self, values: Iterable[Any]) -> Tensor:
        """Labels as numbers, (n), or (n, tokens) where each row has a list of them.

        >>> LabelNumbers({"noun": 0, "verb": 1}).tensor([["verb", -100], ["noun", "verb"]])
        tensor([[   1, -100],
                [   0,    1]])
        """
        rows = list(values)
        if len(lengths := {len(row) if isinstance(row, list) else None for row in rows}) > 1:
            raise DataError(
                "Expected a label per row, or lists of labels of one length, but they are of the lengths "
                f"{word_list(sorted(str(length or 'none') for length in lengths))}. Pad texts to one length, and their "
                f"labels with {UNASKED}."
            )
        numbers = {**self.numbers, UNASKED: UNASKED}
        return torch.tensor([[numbers[v] for v in row] if isinstance(row, list) else numbers[row] for row in rows])


def _word_numbers(words: Sequence[Any], classes: Mapping[str, int], who: str) -> dict[Any, int]:
    """The numbers of words: a model's own if it names its classes so, else their places."""
    named = {name.casefold(): number for name, number in classes.items()}
    numbers = {word: named[str(word).casefold()] for word in words if str(word).casefold() in named}
    if not numbers:
        return {word: number for number, word in enumerate(words)}
    if unknown := [word for word in words if word not in numbers]:
        raise DataError(
            f"The labels of {who} are named like classes of the model that its tokenizer belongs to "
            f"({word_list(classes)}), but {word_list(unknown)} is none of them. Name the labels as the model does, or "
            "give their numbers."
        )
    return numbers


def _require_whole(sizes: dict[Any, float], who: str) -> None:
    """Refuse fractions, which are measurements and no classes."""
    fractions = sorted((size for size in sizes.values() if not size.is_integer()), key=abs)
    if fractions:
        raise DataError(
            f"Expected the labels of {who} to be words or whole numbers, but got {fractions[0]:g}. Is this the column "
            "of labels? Choose another, or write the classes as words, or leave the labels out."
        )


def _require_no_mark(sizes: list[float], who: str) -> None:
    """Refuse one negative number beside others, by which samples without a label are marked: it would be class 0."""
    negative = {size for size in sizes if size < 0}
    if len(negative) == 1 and set(sizes) != {-1, 1}:
        (mark,) = negative
        raise DataError(
            f"The labels of {who} are {mark:g} and numbers from {min(set(sizes) - negative, default=mark):g} on. Does "
            f"{mark:g} mark rows without a label? It would be a class, and move all others. Drop these rows, or, if it "
            "is a class, write the labels as words or as numbers from 0 on."
        )


def _each_label(values: Iterable[Any]) -> Iterator[Any]:
    """The labels of all rows; of lists of labels each one, but for tokens that have none."""
    for value in values:
        if isinstance(value, list):
            yield from (label for label in value if label != UNASKED)
        else:
            yield value


def _number(value: Any) -> float | None:
    """The number that a label is, written or not; None if it is a word."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def _is_nan(value: Any) -> bool:
    return str(value).strip().lower() == "nan"
