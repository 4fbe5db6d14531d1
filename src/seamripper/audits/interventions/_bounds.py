"""Bounds of an option that the type of its field cannot tell."""

from __future__ import annotations

import math

from seamripper.audits.interventions.base import Intervention
from seamripper.errors import AuditError


def require_between(choice: Intervention, option: str, *, above: float, below: float = math.inf) -> None:
    """Refuse an option that is not above one number and below another."""
    value = getattr(choice, option)
    # Not `value <= above or …`, or NaN would pass.
    if not above < value < below:
        upper = "" if below == math.inf else f" and below {below:g}"
        raise AuditError(
            f"Expected {option} of the intervention {choice.name!r} to be a number above {above:g}{upper}, "
            f"but got {value!r}."
        )
