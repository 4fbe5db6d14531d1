"""The doors of public functions: what is given is of the kind that is taken, or a sentence says what was expected.

Each door is told the argument's name and the error of its function's own branch of the tree.
"""

from __future__ import annotations

import contextlib
import inspect
import operator
import os
from collections.abc import Iterable, Mapping
from typing import Any

from seamripper._words import shape_text
from seamripper.errors import SeamripperError

_WORDS = {str: "a word", os.PathLike: "a path", dict: "a dict", Mapping: "a mapping", bool: "True or False"}
_LONGEST = 60
"""Characters of a value that a sentence repeats."""


def require(
    value: object, kind: type | tuple[type, ...], name: str, *, error: type[SeamripperError], advice: str = ""
) -> None:
    """Refuse a value that is of another kind, or of none of several; `advice` says what to do next.

    >>> require(3, (str, dict), "matching", error=SeamripperError, advice="Take 'direct'.")
    Traceback (most recent call last):
      ...
    seamripper.errors.SeamripperError: Expected matching to be a word or a dict, but got 3. Take 'direct'.
    """
    kinds = kind if isinstance(kind, tuple) else (kind,)
    if isinstance(value, kinds):
        return
    wanted = " or ".join(_kind(accepted) for accepted in kinds)
    if isinstance(value, type) and issubclass(value, kinds):
        advice = f"Make one of it: {value.__name__}()."
    raise error(f"Expected {name} to be {wanted}, but got {in_words(value)}.{advice and ' '}{advice}")


def require_whole(
    value: object, name: str, *, least: int, most: int | None = None, error: type[SeamripperError]
) -> int:
    """The value as an int; a number that is not whole, one out of bounds, True and False are refused.

    >>> require_whole(2.0, "batch", least=1, error=SeamripperError)
    Traceback (most recent call last):
      ...
    seamripper.errors.SeamripperError: Expected batch to be a whole number of at least 1, but got 2.0.
    """
    # To Python True is the number 1; to a reader of `batch=True` it is a slip.
    number = None
    if not isinstance(value, bool):
        with contextlib.suppress(TypeError):
            number = operator.index(value)  # type: ignore[arg-type]
    if number is None or number < least or (most is not None and number > most):
        bounds = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise error(f"Expected {name} to be a whole number {bounds}, but got {in_words(value)}.")
    return number


def require_path(value: object, name: str, *, error: type[SeamripperError]) -> str:
    """The path as a string; what is neither a string nor a path, and a string that no file can go by, is refused."""
    require(value, (str, os.PathLike), name, error=error)
    path = os.fspath(value)  # type: ignore[call-overload]
    if not isinstance(path, str) or not path or "\0" in path:
        raise error(f"Expected {name} to be the name of a file or folder, but got {in_words(value)}.")
    return path


def require_function(value: object, name: str, *, error: type[SeamripperError]) -> None:
    """Refuse what cannot be called."""
    if not callable(value):
        raise error(f"Expected {name} to be a function, but got {in_words(value)}.")


def several(value: object, kind: type, name: str, *, error: type[SeamripperError]) -> tuple[Any, ...]:
    """Some words, or values of a kind, as a tuple; one alone may be given as it is.

    >>> several("self,shuffled", dict, "controls", error=SeamripperError), several(["self"], dict, "controls",
    ...     error=SeamripperError)
    (('self,shuffled',), ('self',))
    """
    if isinstance(value, (str, kind)):
        return (value,)
    require(value, Iterable, name, error=error)
    given: tuple[Any, ...] = tuple(value)  # type: ignore[arg-type]
    for member in given:
        require(member, (kind, str), f"each of {name}", error=error)
    return given


def in_words(value: object) -> str:
    """A value as a sentence names it: numbers, words and None by themselves, anything else by its type.

    >>> in_words("digit"), in_words(True), in_words([1, 2]), in_words(dict), in_words(object())
    ("'digit'", 'True', 'a list', 'the class dict', 'an object')
    """
    if value is None or isinstance(value, (bool, int, float, str, bytes)):
        text = repr(value)
        return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
    if inspect.isclass(value):
        return f"the class {value.__name__}"
    if inspect.isroutine(value):
        return f"the function {getattr(value, '__name__', 'without a name')}"
    if inspect.ismodule(value):
        return f"the module {value.__name__}"
    name = type(value).__name__
    if name == "Samples":
        return name
    shape = getattr(value, "shape", ()) if name in ("Tensor", "ndarray") else ()
    size = f" of {shape_text(shape)}" if shape else ""
    return f"{_article(name)} {name}{size}"


def _kind(kind: type) -> str:
    name = kind.__name__
    if name == "Samples":
        return name
    if kind is Iterable:
        return "a word or a list"
    return _WORDS.get(kind) or f"{_article(name)} {'torch.nn.' if name == 'Module' else ''}{name}"


def _article(name: str) -> str:
    return "an" if name[0].lower() in "aeiou" else "a"
