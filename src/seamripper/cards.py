"""Methods cards: how a number was made, in one paragraph and in JSON from which it can be made again.

A result that derives from `WithMethods` has `card`, for one of its numbers, and `methods`, for all of them.
`seamripper.remaking.remake` makes the number of a card again.
"""

from __future__ import annotations

import abc
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from seamripper._doors import require_path
from seamripper._files import plain, write_json
from seamripper._frames import Row, Tabular
from seamripper._notebook import card as html_card, facts, line
from seamripper._words import did_you_mean, word_list
from seamripper.errors import FileError, MeasureError

FILE = "methods.json"
"""The file in a folder of results that has how they were made."""
PART = "methods-{}.json"
"""The same for a part of them: the league of a benchmark, an item of a paper."""
MEASURED_ON = "measured_on"
"""The column of a row that is a time: on what it was measured, as such a number cannot be made again."""
_PRINT = 12
"""Digits of a fingerprint that a sentence has; the JSON has all of them."""


@dataclass(frozen=True)
class Card:
    """How one number was made.

    `kind` is that of the result and `labels` name the number in it; `row` has its value, interval, n and null; `method`
    is all that decides it: models with their cuts and fingerprints, data, sampling, mask, estimator, null, versions.
    """

    kind: str
    labels: Mapping[str, str]
    row: Mapping[str, Any]
    method: Mapping[str, Any] = field(repr=False)
    text: str = field(repr=False)

    def __str__(self) -> str:
        return self.text

    def as_record(self) -> dict[str, Any]:
        """The card as JSON has it."""
        return {
            "card": 1,
            "kind": self.kind,
            "labels": dict(self.labels),
            "row": dict(self.row),
            "method": dict(self.method),
            "text": self.text,
        }

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the card to a JSON file, whole or not at all."""
        return _write(path, self.as_record())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Card:
        """Read the card that `save` wrote."""
        record = _read(path, "card")
        return cls(record["kind"], record["labels"], record["row"], record["method"], record["text"])

    def _repr_html_(self) -> str:
        return html_card(" · ".join(self.labels.values()), line(self.text), facts(self.row.items()))


@dataclass(frozen=True)
class Methods:
    """How all numbers of a result were made; `card` has one of them.

    `text` says how the result was made, and `about` has a sentence on each figure, by its label.
    """

    kind: str
    axes: tuple[str, ...]
    method: Mapping[str, Any] = field(repr=False)
    text: str = field(repr=False)
    about: Mapping[str, str] = field(repr=False)
    rows: tuple[Row, ...] = field(repr=False)

    def card(self, *labels: str) -> Card:
        """The card of the number with these labels, one for each axis; a label that all rows share may be left out.

        A label may be how it begins, if only one does.
        """
        row = self._row(labels)
        named = {axis: str(row[axis]) for axis in self.axes}
        known = {name: value for name, value in row.items() if name not in self.axes and value is not None}
        sentences = [_headline(named, known), *(self.about[label] for label in named.values() if label in self.about)]
        if MEASURED_ON in known:
            sentences.append(measured_words(known[MEASURED_ON]))
        return Card(self.kind, named, known, self.method, " ".join([*sentences, self.text]))

    def _row(self, labels: Sequence[str]) -> Row:
        """The row that these labels name; an error lists the labels that there are."""
        rest, given = list(self.rows), list(labels)
        for axis in self.axes:
            there = list(dict.fromkeys(str(row[axis]) for row in rest))
            if len(there) == 1 and (not given or given[0] != there[0]):
                continue
            if not given:
                raise MeasureError(f"Say which {axis!r} the card is for: {word_list(there[:12], last='or')}.")
            label = _whole(given.pop(0), there)
            if label not in there:
                raise MeasureError(f"There is no {axis} {label!r} here: {did_you_mean(label, there)}")
            rest = [row for row in rest if str(row[axis]) == label]
        if given:
            raise MeasureError(
                f"Expected a label for each of {word_list(self.axes)}, but got {word_list(given)} as well."
            )
        return rest[0]

    def as_record(self) -> dict[str, Any]:
        """All of it as JSON has it."""
        named = {name: getattr(self, name) for name in ("kind", "axes", "method", "text", "about", "rows")}
        return {"methods": 1, **named}

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write all of it to a JSON file, whole or not at all."""
        return _write(path, self.as_record())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Methods:
        """Read what `save` wrote."""
        record = _read(path, "methods")
        named = {name: record[name] for name in ("kind", "method", "text", "about")}
        return cls(**named, axes=tuple(record["axes"]), rows=tuple(record["rows"]))


def method_record(
    function: str,
    *,
    cut: Any,
    n: int | None,
    sampling: str | None,
    pooling: str | None,
    mask: str | None,
    estimator: Mapping[str, Any],
    null: Any,
    versions: Mapping[str, str],
    **parts: Any,
) -> dict[str, Any]:
    """All that decides the numbers of a result, in the one form that all cards have.

    `function` makes them; `parts` are what it is given, by role: models, samples and files, with their fingerprints.
    """
    choices = {"sampling": sampling, "pooling": pooling, "mask": mask, "estimator": dict(estimator), "null": null}
    return {"function": function, **parts, "cut": cut, "n": n, **choices, "versions": dict(versions)}


class WithMethods(Tabular):
    """A result whose numbers have methods cards."""

    kind: ClassVar[str]

    @abc.abstractmethod
    def method(self) -> dict[str, Any]:
        """All that decides the numbers, as JSON has it."""

    @abc.abstractmethod
    def sentences(self) -> list[str]:
        """How the result was made, for a reader."""

    def figure_sentences(self) -> dict[str, str]:
        """A sentence on each figure, by its label."""
        return {}

    def methods(self) -> Methods:
        """How all numbers of this result were made."""
        # The method first: it says so if how the result was made is not known.
        method, text = self.method(), " ".join(filter(None, self.sentences()))
        return Methods(self.kind, self.axes, method, text, self.figure_sentences(), tuple(self.rows()))

    def card(self, *labels: str) -> Card:
        """How one of its numbers was made; the labels are those of the columns `axes`."""
        return self.methods().card(*labels)


def _whole(label: str, known: Sequence[str]) -> str:
    """The one label that begins so; the label itself if it is one, or if none or several do.

    >>> _whole("The smaller", ["The smaller, the better", "The larger"]), _whole("The", ["The smaller", "The larger"])
    ('The smaller, the better', 'The')
    """
    begun = [name for name in known if label and name.startswith(label)]
    return begun[0] if len(begun) == 1 and label not in known else label


def _headline(labels: Mapping[str, str], row: Mapping[str, Any]) -> str:
    """The number itself, with all that is known of its doubt.

    >>> _headline({"measure": "cka", "sender": "a"}, {"value": 0.5, "low": 0.25, "high": 1.0, "n": 9, "unit": "rows"})
    'cka, a: 0.5 [0.25, 1], n = 9 rows.'
    """
    value = row.get("value")
    words = "no value" if value is None else f"{value:.6g}"
    if "low" in row and "high" in row:
        words += f" [{row['low']:.6g}, {row['high']:.6g}]"
    words += f", n = {row['n']:,} {row.get('unit', '')}".rstrip() if "n" in row else ""
    if "calibrated" in row:
        words += f"; p = {row['p']:.4g}, threshold {row['threshold']:.4g}, calibrated {row['calibrated']:.4g}"
    return f"{', '.join(filter(None, labels.values()))}: {words}."


def model_words(record: Mapping[str, Any], cut: str = "") -> str:
    """A model as a sentence names it.

    >>> model_words({"source": "zoo:lenet", "fingerprint": "0123456789abcdef"}, "conv1")
    'zoo:lenet at conv1 (weights 0123456789ab…)'
    """
    return f"{record['source']}{cut and f' at {cut}'} (weights {record['fingerprint'][:_PRINT]}…)"


def data_words(record: Mapping[str, Any], n: int) -> str:
    """Samples as a sentence names them.

    >>> data_words({"name": "digits", "fingerprint": "0123456789abcdef", "recipe": {"split": "test", "seed": 0}}, 9)
    '9 samples of digits (test split, seed 0; fingerprint 0123456789ab…)'
    """
    recipe = record.get("recipe")
    drawn = f"{recipe['split']} split, seed {recipe['seed']}; " if recipe else ""
    return f"{n:,} samples of {record['name']} ({drawn}fingerprint {record['fingerprint'][:_PRINT]}…)"


def measured_words(machine: str) -> str:
    """What a card says of a time.

    >>> measured_words("Linux x86_64, 2 cores")
    'It is a time, measured on Linux x86_64, 2 cores: it cannot be made again, only measured anew.'
    """
    return f"It is a time, measured on {machine}: it cannot be made again, only measured anew."


def version_words(versions: Mapping[str, str]) -> str:
    """The versions as a sentence."""
    return f"Made with {', '.join(f'{name} {version}' for name, version in versions.items())}."


def _write(path: str | os.PathLike[str], record: Mapping[str, Any]) -> Path:
    path = Path(require_path(path, "path", error=FileError))
    write_json(path, plain(record), indent=1)
    return path


_KEYS: dict[str, tuple[str, ...]] = {
    "card": ("kind", "labels", "row", "method", "text"),
    "methods": ("kind", "axes", "method", "text", "about", "rows"),
}


def holds(path: Path) -> str:
    """Whether a file holds a "card" or "methods"; an error if it holds neither."""
    try:
        record = json.loads(path.read_bytes())
        return next(what for what, keys in _KEYS.items() if record.get(what) == 1 and set(keys) <= set(record))
    except OSError as e:
        raise FileError(f"Could not read {path}: {e.strerror or e}.") from e
    except (ValueError, AttributeError, RecursionError, StopIteration) as e:
        raise FileError(
            f"{path} holds no methods card. `seamripper compare`, `audit`, `diff`, `swap` and `map` write {FILE} into "
            "the folder that --out names, `bench` and `reproduce` into their store, and `stitch --methods FILE.json` "
            "writes one."
        ) from e


def _read(path: str | os.PathLike[str], what: str) -> dict[str, Any]:
    path = Path(require_path(path, "path", error=FileError))
    held = holds(path)
    if held != what:
        raise FileError(f"Expected {path} to hold a {what!r}, but it holds {held!r}.")
    record: dict[str, Any] = json.loads(path.read_bytes())
    return record
