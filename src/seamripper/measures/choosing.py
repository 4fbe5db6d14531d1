"""Choosing measures: by name with options, by a class in a user's own file, in groups, or all that there are."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import MappingProxyType
from typing import TypeGuard

from seamripper._doors import require
from seamripper._options import read_options, split_options
from seamripper._own_code import import_file, running
from seamripper._plugins import discover
from seamripper._words import did_you_mean
from seamripper.errors import MeasureError
from seamripper.measures.base import Measure

DIRECT, TASK = "direct_functional", "task_functional"

FUNCTIONAL: dict[str, str] = {
    DIRECT: "Relative accuracy of the two networks joined by least squares, on samples that were not fitted on.",
    TASK: "Relative accuracy of the two networks joined by a stitch trained on the task, from the direct one on.",
}
"""The matrices that `compare` fills by stitching the models, with a line on each: no measure may have their names."""

_GROUPS = ("all", "moments", "batches", "rows")
"""Words that stand for many measures: all of them, or those that need just this."""


@functools.cache
def measures() -> Mapping[str, type[Measure]]:
    """Every measure there is, by name: the files of this package, and third parties' entry points.

    >>> measures()["linear_cka"].paper
    'Kornblith, Norouzi, Lee, Hinton 2019'
    """
    # mypy wants a concrete class here, and the base of them all is abstract.
    return MappingProxyType(discover("seamripper.measures", Measure))  # type: ignore[type-abstract]


def measure_named(words: str, /) -> Measure:
    """The measure that `words` mean: `linear_cka`, `svcca?dims=20` with options, or `file.py:MyMeasure`.

    The last runs the file, which is its user's own.

    >>> measure_named("linear_cka")
    LinearCKA()
    >>> measure_named("linear_cak")
    Traceback (most recent call last):
    seamripper.errors.MeasureError: There is no measure 'linear_cak': did you mean 'linear_cka'...
    """
    require(words, str, "the name of a measure", error=MeasureError)
    name, given = split_options(words, error=MeasureError)
    file, _, word = name.rpartition(":")
    guard: AbstractContextManager[None] = contextlib.nullcontext()
    if file:
        cls = _class_in(Path(file), word)
        guard = running(Path(file), f"{name} could not be made", error=MeasureError)
    else:
        cls = _class_named(name)
    with guard:
        return cls(**read_options(given, cls, f"measure {cls.name!r}", error=MeasureError))


def chosen(words: Sequence[str]) -> tuple[Measure, ...]:
    """The measures that these words mean, each once; a word may be several, with commas between them.

    `all` is every measure in every variant that has a name of its own; `moments`, `batches` and `rows` are those of
    them that are computed from moments, from sums over minibatches, and from kept rows. None stands for the
    functional matrices, which need the models.

    >>> [measure.label for measure in chosen(["linear_cka,linear_cka"])]
    ['linear_cka']
    """
    found: dict[str, Measure] = {}
    for word in (part.strip() for given in words for part in given.split(",")):
        if word in _GROUPS:
            known = [variant for cls in measures().values() for variant in cls.variants()]
            meant = [measure for measure in known if word in ("all", measure.claims.needs)]
        else:
            meant = [measure_named(word)]
        for measure in meant:
            if _home(found.setdefault(measure.label, measure)) != _home(measure):
                raise MeasureError(
                    f"Two different measures go by {measure.label!r}, and their scores could not be told apart: "
                    "give one of their classes another `name`."
                )
    return tuple(found.values())


def _home(measure: Measure) -> tuple[str, str]:
    """Where its class is defined: the same for a user's file that was run twice."""
    return type(measure).__module__, type(measure).__qualname__


def _class_named(name: str) -> type[Measure]:
    known = measures()
    if name in known:
        return known[name]
    if name.endswith(".py"):
        raise MeasureError(f"Say which class of the file is the measure: '{name}:MyMeasure'.")
    if name in FUNCTIONAL:
        raise MeasureError(f"{name!r} stitches the models themselves: `seamripper compare` fills it, and nothing else.")
    raise MeasureError(f"There is no measure {name!r}: {did_you_mean(name, [*known, *FUNCTIONAL, *_GROUPS])}")


def _class_in(path: Path, word: str) -> type[Measure]:
    """The measure that a user's own file defines under this name."""
    if path.suffix != ".py":
        raise MeasureError(f"Expected a measure by name or as FILE.py:CLASS, but got '{path}:{word}'.")
    imported = import_file(path, word, error=MeasureError)
    cls = getattr(imported, word, None)
    if cls is None:
        own = [k for k, v in vars(imported).items() if _is_measure(v) and v.__module__ == imported.__name__]
        near = did_you_mean(word, own) if own else "it defines no measure."
        raise MeasureError(f"{path} has no class {word!r}: {near}")
    if not _is_measure(cls):
        what = cls.__name__ if inspect.isclass(cls) else f"a {type(cls).__name__}"
        raise MeasureError(f"Expected {path}:{word} to be a class made from seamripper.Measure, but it is {what}.")
    missing = sorted(cls.__abstractmethods__) or [k for k in ("name", "paper") if not hasattr(cls, k)]
    if missing:
        raise MeasureError(f"{path}:{word} is not a whole measure: it does not define {' and '.join(missing)}.")
    return cls


def _is_measure(thing: object) -> TypeGuard[type[Measure]]:
    return inspect.isclass(thing) and issubclass(thing, Measure)
