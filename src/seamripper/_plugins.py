"""Plug-ins are files: whatever a package's files define, and third parties' entry points, by name."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from importlib.metadata import entry_points
from typing import TypeVar

from seamripper._words import did_you_mean
from seamripper.errors import SeamripperError

T = TypeVar("T")


def discover(package: str, base: type[T]) -> dict[str, type[T]]:
    """The leaf classes of `base` that the files of `package` and its entry points define, by their `name`.

    A third party registers one under the entry point group `package`, "seamripper.stitches" for example.
    """
    found: dict[str, type[T]] = {}
    folder = importlib.import_module(package)
    for info in pkgutil.iter_modules(folder.__path__):
        module = importlib.import_module(f"{package}.{info.name}")
        for _, cls in inspect.getmembers(module, inspect.isclass):
            if issubclass(cls, base) and cls.__module__ == module.__name__ and not inspect.isabstract(cls):
                found[cls.name] = cls  # type: ignore[attr-defined]
    for entry in entry_points(group=package):
        found[entry.name] = entry.load()
    return dict(sorted(found.items()))


def named(word: str, known: dict[str, type[T]], *, what: str, error: type[SeamripperError]) -> type[T]:
    """The class that goes by `word`, or an error with the nearest names."""
    if word not in known:
        raise error(f"There is no {what} {word!r}: {did_you_mean(word, list(known))}")
    return known[word]
