"""Options of a choice: as text, and whether a value is of the type its field declares, in words if it is not."""

from __future__ import annotations

import math
import types
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from seamripper._words import listed, nearest
from seamripper.errors import SeamripperError

_KINDS = {
    bool: "True or False",
    int: "a whole number",
    float: "a number",
    str: "a string",
    type(None): "None",
}


def accepts(hint: Any, value: object) -> bool:
    """Whether `value` is of the type `hint`; a hint that is not known here accepts everything.

    >>> accepts(int, 3), accepts(int, True), accepts(float, 3), accepts(Literal["a", "b"], "c")
    (True, False, True, False)
    """
    if get_origin(hint) is Literal:
        return value in get_args(hint)
    if get_origin(hint) in (Union, types.UnionType):
        return any(accepts(one, value) for one in get_args(hint))
    if hint is float and isinstance(value, float) and not math.isfinite(value):
        return False
    if hint in (int, float):
        # To Python True is the number 1; to a reader of `rank=True` it is a slip.
        return isinstance(value, int if hint is int else (int, float)) and not isinstance(value, bool)
    return isinstance(value, hint) if isinstance(hint, type) else True


def described(hint: Any) -> str:
    """The type `hint` in words.

    >>> described(Literal["mean", "cls"]), described(int | None)
    ("'mean' or 'cls'", 'a whole number or None')
    """
    if get_origin(hint) is Literal:
        return listed(get_args(hint), last="or")
    if get_origin(hint) in (Union, types.UnionType):
        return " or ".join(described(one) for one in get_args(hint))
    return _KINDS.get(hint, str(getattr(hint, "__name__", hint)))


def require_options(choice: Any, what: str, *, error: type[SeamripperError], **least: float) -> None:
    """Refuse an option that is not of the type its field declares, or lies below its least value.

    A word that no branch knows must not fall through to the last of them.
    """
    hints = get_type_hints(type(choice))
    for field in fields(choice):
        value = getattr(choice, field.name)
        wanted = described(hints[field.name])
        right = accepts(hints[field.name], value)
        if field.name in least:
            wanted += f" of at least {least[field.name]:g}"
            # Not <, or NaN would pass.
            right = right and (value is None or value >= least[field.name])
        if isinstance(value, float) and not math.isfinite(value):
            wanted = wanted.replace("a number", "a finite number")
        if not right:
            raise error(f"Expected {field.name} of {what} to be {wanted}, but got {value!r}.")


def require_known(options: Mapping[str, object], cls: Any, what: str, *, error: type[SeamripperError]) -> None:
    """Refuse an option that the dataclass `cls` does not have, with the nearest that it has."""
    known = [field.name for field in fields(cls)]
    for option in options:
        if option not in known:
            close = nearest(option, known, n=1)
            guess = f"did you mean {close[0]!r}? " if close else ""
            has = f"Its options are {listed(known)}." if known else "It has none."
            raise error(f"{what} has no option {option!r}: {guess}{has}")


def split_options(text: str, *, error: type[SeamripperError]) -> tuple[str, dict[str, str]]:
    """A name and its options, still as text.

    >>> split_options("resnet18?width=0.25&stem=3x3", error=SeamripperError)
    ('resnet18', {'width': '0.25', 'stem': '3x3'})
    """
    name, _, query = text.partition("?")
    options: dict[str, str] = {}
    for part in filter(None, query.split("&")):
        key, equals, value = part.partition("=")
        if not (key and equals and value):
            raise error(f"Expected options like ?name=value&name=value, but got {part!r} in {text!r}.")
        if key in options:
            raise error(f"Option {key!r} is given twice in {text!r}: keep one of them.")
        options[key] = value
    return name, options


def read_options(options: Mapping[str, str], cls: Any, what: str, *, error: type[SeamripperError]) -> dict[str, Any]:
    """The options that text means, by the types that the fields of the dataclass `cls` declare."""
    require_known(options, cls, f"The {what}", error=error)
    hints = get_type_hints(cls)
    read = {}
    for name, text in options.items():
        found = _meanings(hints[name], text)
        if not found:
            raise error(f"Expected {name} of the {what} to be {described(hints[name])}, but got {text!r}.")
        read[name] = found[0]
    return read


def _meanings(hint: Any, text: str) -> list[Any]:
    """The value of the type `hint` that `text` means, in a list; an empty list if it means none.

    >>> _meanings(int | None, "20"), _meanings(int | None, "None"), _meanings(Literal["a", "b"], "c")
    ([20], [None], [])
    """
    if get_origin(hint) is Literal:
        return [word for word in get_args(hint) if str(word) == text]
    if get_origin(hint) in (Union, types.UnionType):
        return [value for one in get_args(hint) for value in _meanings(one, text)]
    if hint is bool:
        return [word == "true" for word in [text.lower()] if word in ("true", "false")]
    if hint is type(None):
        return [None] * (text.lower() == "none")
    if hint is str:
        return [text]
    try:
        value = hint(text) if hint in (int, float) else math.nan
    except ValueError:
        return []
    return [value] if math.isfinite(value) else []
