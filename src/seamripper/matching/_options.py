"""Options of a matching and of its parts, held to the types and bounds that they declare."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, get_type_hints

from seamripper.errors import MatchError
from seamripper.stitches._options import accepts, described


def require_options(choice: Any, what: str, **least: float) -> None:
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
        if not right:
            raise MatchError(f"Expected {field.name} of {what} to be {wanted}, but got {value!r}.")
