"""Options of a stitch: whether a value is of the type its field declares, in words if it is not."""

from __future__ import annotations

import types
from typing import Any, Literal, Union, get_args, get_origin

from seamripper._words import listed

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
